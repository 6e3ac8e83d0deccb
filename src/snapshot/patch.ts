import { PATCH_EVENTS_MIN, PATCH_SHARE_MAX } from '../limits.js';
import { INDEXED_FIELDS, type IndexedFieldName, UNINDEXED_FIELDS } from '../model/fields.js';
import { KeyedHash } from '../structures/keyed-hash.js';
import { inOwnBuffers } from '../structures/slabs.js';
import { CODED_FIELDS, type CodedField } from './columns.js';
import { contentVersionOf } from './content-version.js';
import { byteLengthOf, type FieldImage, type SlotsImage, type SnapshotImage } from './image.js';
import { patchClusters } from './patch-clusters.js';
import { type PatchedColumn, patchField, patchNames, patchUnindexed } from './patch-columns.js';
import { type Edit, type EventChanges, placeChanges } from './patch-edit.js';
import { patchDigests, patchIds, patchRows } from './patch-rows.js';
import { patchSlots, slotsOfEvents } from './patch-slots.js';
import { rebuildImage } from './rebuild.js';
import type { FieldUse, RecordCounts, SnapshotSummary } from './summary.js';

export type { EventChanges } from './patch-edit.js';

/**
 * Makes the image that results from some changes. The bytes equal those of a whole build from the same events
 * and seed. The new image copies unchanged parts and shares unchanged arrays; `base` stays the same.
 *
 * @param counts of records; those of `base` if left out
 * @throws LecternError `source-too-large` like SnapshotBuilder; an Error for an id that occurs twice
 */
export function patchImage(
  base: SnapshotImage,
  changes: EventChanges,
  counts: Partial<RecordCounts> = {},
): SnapshotImage {
  const beganMs = performance.now();
  const edit = placeChanges(base, changes);
  const { splice } = edit;
  if (splice.isEmpty) return { ...base, summary: { ...base.summary, ...counts, ...timesOf(beganMs) } };
  if (splice.gone.length + splice.come.length > Math.max(PATCH_EVENTS_MIN, PATCH_SHARE_MAX * splice.before)) {
    const image = rebuildImage(base, changes);
    const { id, events, slots, bytes, fields, span } = image.summary;
    const built = { id, events, slots, bytes, fields, span, ...timesOf(beganMs) };
    return { ...image, summary: { ...base.summary, ...counts, ...built } };
  }
  const hash = new KeyedHash(base.hashSeed);
  const slots = patchSlots(base.slots, edit);
  const slotOf = slotsOfEvents(slots);
  const rows = patchRows(base.rows, edit);
  const patched = patchFields(base, edit, slots, slotOf);
  const fields = mapValues(patched, ({ image }) => image);
  const columns = Object.fromEntries(
    UNINDEXED_FIELDS.map(({ name }) => [
      name,
      patchUnindexed(base.columns[name], splice, valuesOf(edit, name)),
    ]),
  ) as unknown as SnapshotImage['columns'];
  const parts = inOwnBuffers({
    slots,
    fields,
    columns,
    names: patchNames(base.names, patched, { fields, columns }),
    rows,
    dayDigests: patchDigests(base, edit, slots, rows),
    ids: patchIds(base.ids, edit, hash),
    clusters: patchClusters(base, edit, { fields, rows, slots, slotOf }),
  });
  return {
    ...parts,
    hashSeed: base.hashSeed,
    summary: {
      ...base.summary,
      ...counts,
      id: contentVersionOf(base.summary.identifiers, parts),
      events: splice.after,
      slots: slots.startMs.length,
      ...timesOf(beganMs),
      bytes: byteLengthOf(parts),
      fields: usesAfter(base, edit, { ...fields, ...columns }),
      span: spanOf(slots),
    },
  };
}

function timesOf(beganMs: number): Pick<SnapshotSummary, 'builtAtMs' | 'buildMs'> {
  return { builtAtMs: Date.now(), buildMs: Math.round(performance.now() - beganMs) };
}

function patchFields(
  base: SnapshotImage,
  edit: Edit,
  slots: SlotsImage,
  slotOf: Uint32Array,
): Readonly<Record<IndexedFieldName, PatchedColumn<FieldImage>>> {
  const fields = INDEXED_FIELDS.map(({ name }) => [
    name,
    patchField(base.fields[name], edit.splice, valuesOf(edit, name), slots, slotOf),
  ]);
  return Object.fromEntries(fields) as Record<IndexedFieldName, PatchedColumn<FieldImage>>;
}

function valuesOf({ events }: Edit, name: CodedField['name']): (string | null)[] {
  return events.map((event) => event[name] ?? null);
}

function mapValues<Name extends string, From, To>(
  from: Readonly<Record<Name, From>>,
  map: (value: From) => To,
): Record<Name, To> {
  const entries = Object.entries(from) as [Name, From][];
  return Object.fromEntries(entries.map(([name, value]) => [name, map(value)])) as Record<Name, To>;
}

function usesAfter(
  base: SnapshotImage,
  edit: Edit,
  after: SnapshotImage['fields'] & SnapshotImage['columns'],
): FieldUse[] {
  const before = { ...base.fields, ...base.columns };
  return CODED_FIELDS.map(({ name }) => {
    const { codes, dictionary } = before[name];
    let events = base.summary.fields.find((use) => use.name === name)?.events ?? 0;
    for (const ordinal of edit.splice.gone) if (codes[ordinal]! < dictionary.start.length - 1) events--;
    for (const value of valuesOf(edit, name)) if (value !== null) events++;
    return { name, values: after[name].dictionary.start.length - 1, events };
  });
}

function spanOf({ startMs, endMs }: SlotsImage): SnapshotSummary['span'] {
  if (startMs.length === 0) return null;
  return { startMs: startMs[0]!, endMs: endMs.reduce((max, end) => Math.max(max, end)) };
}
