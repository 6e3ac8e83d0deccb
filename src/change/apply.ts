/** How a change makes the next image: it copies what stays, and computes only what the changed events touch. */

import { INTERVALS_PER_TREE_MAX } from '../base/limits.js';
import type { NormalisedEvent, TimetableEvent } from '../base/model/event.js';
import {
  INDEXED_FIELDS,
  type IndexedFieldName,
  NAMED_FIELDS,
  type NamedFieldName,
  OUTPUT_FIELDS,
  UNINDEXED_FIELDS,
} from '../base/model/fields.js';
import { compareCodePoints } from '../base/model/text.js';
import { formatInstant } from '../base/model/time.js';
import { viewOf } from '../base/structures/byte-strings.js';
import { Dictionary, NO_CODE } from '../base/structures/dictionary.js';
import { buildHashTable, type HashIndexImage } from '../base/structures/hash-index.js';
import { buildIntervalIndex } from '../base/structures/interval-index.js';
import { KeyedHash } from '../base/structures/keyed-hash.js';
import { buildPostingLists, type CodeColumn, sharedCodeColumn } from '../base/structures/posting-lists.js';
import { firstWhere, lowerBound } from '../base/structures/search.js';
import { inOwnBuffers, scratch, shared } from '../base/structures/slabs.js';
import { Splice, spliceDictionary } from '../base/structures/splice.js';
import { CODED_FIELDS, type CodedField, HIDDEN_FIELDS, spanOf } from '../snapshot/columns.js';
import {
  contentVersionOf,
  DAY_DIGEST_BYTES,
  dayOf,
  daysOf,
  digestDays,
} from '../snapshot/content-version.js';
import { DisplayNames, type Namer, namerOf } from '../snapshot/display-names.js';
import {
  byteLengthOf,
  type ColumnImage,
  columnsOf,
  type FieldImage,
  type NamesImage,
  type RowsImage,
  revisionSeconds,
  type SlotsImage,
  type SnapshotImage,
} from '../snapshot/image.js';
import {
  checkSize,
  PACKED_ROW_FRAME_BYTES,
  packedByteLength,
  Rows,
  serialiseEvent,
} from '../snapshot/rows.js';
import { Snapshot } from '../snapshot/snapshot.js';
import type { FieldUse, SnapshotSummary } from '../snapshot/summary.js';
import { patchClusters } from './apply-clusters.js';
import { type Change, type EventEdit, unpackEdit } from './change.js';

/**
 * Makes the later image of changes in a row. Its bytes are those of the image from which the last change was made,
 * but for the table of ids, which has the seed of `base`.
 *
 * @throws Error if a change has no edit or begins elsewhere, or if the result is not the image of the last change
 */
export function apply(base: SnapshotImage, ...changes: readonly Change[]): SnapshotImage {
  let { summary } = base;
  const events = new Map<string, NormalisedEvent | null>();
  for (const { from, edit } of changes) {
    if (edit === null || from !== summary.id) throw new Error('the change is of another image');
    const { came, went, summary: next } = unpackEdit(edit);
    for (const event of came) events.set(event.id, event);
    for (const id of went) events.set(id, null);
    summary = next;
  }
  const came = [...events.values()].filter((event) => event !== null);
  const went = [...events].flatMap(([id, event]) => (event === null ? [id] : []));
  const { image } = editImage(base, { came, went });
  const isSame = (['id', 'events', 'slots', 'bytes'] as const).every(
    (name) => image.summary[name] === summary[name],
  );
  if (!isSame) throw new Error('the change makes another image');
  return { ...image, summary };
}

/** The result of an edit, and the events that differ from the base. */
export interface EditedImage extends EventEdit {
  readonly image: SnapshotImage;
}

/**
 * Makes the image that results from an edit. The bytes equal those of a whole build from the same events and seed.
 * The new image copies unchanged parts and shares unchanged arrays; `base` stays the same.
 *
 * @throws LecternError `source-too-large` like SnapshotBuilder; an Error for an id that occurs twice
 */
export function editImage(base: SnapshotImage, given: EventEdit): EditedImage {
  const beganMs = performance.now();
  const edit = placeEdit(base, given);
  const { splice, events: came, went } = edit;
  const image = splice.isEmpty
    ? { ...base, summary: { ...base.summary, ...timesOf(beganMs) } }
    : spliceImage(base, edit, beganMs);
  return { image, came, went };
}

function spliceImage(base: SnapshotImage, edit: PlacedEdit, beganMs: number): SnapshotImage {
  const { splice } = edit;
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
    modified: patchModified(base.modified, edit),
    dayDigests: patchDigests(base, edit, slots, rows),
    ids: patchIds(base.ids, edit, hash),
    clusters: patchClusters(base, splice, { fields, columns, rows, slots, slotOf }),
  });
  return {
    ...parts,
    hashSeed: base.hashSeed,
    summary: {
      ...base.summary,
      id: contentVersionOf(base.summary.identifiers, parts),
      events: splice.after,
      slots: slots.startMs.length,
      ...timesOf(beganMs),
      bytes: byteLengthOf(parts),
      fields: usesAfter(base, edit, { fields, columns }),
      span: spanOf(slots),
    },
  };
}

/**
 * An edit as places. Events that stay the same are left out. A changed event counts as removed and added, even if its
 * place stays the same.
 */
export interface PlacedEdit {
  readonly splice: Splice;
  /** The added items, in order; one for each entry of `splice.inserted`. */
  readonly events: readonly NormalisedEvent[];
  /** The rows of the added events, each with a comma. */
  readonly rows: readonly Buffer[];
  /** The ids of the removed events. */
  readonly went: readonly string[];
}

/** @throws LecternError `source-too-large` past EVENTS_MAX; an Error for an id that occurs twice */
function placeEdit(base: SnapshotImage, { came, went }: EventEdit): PlacedEdit {
  const snapshot = new Snapshot(base);
  const removed: number[] = [];
  const named = new Set<string>();
  for (const id of [...went, ...came.map((event) => event.id)]) {
    if (named.has(id)) throw new Error(`the changes name the id ${JSON.stringify(id)} twice`);
    named.add(id);
  }
  const known = went.filter((id) => {
    const ordinal = snapshot.ordinalOf(id);
    if (ordinal !== -1) removed.push(ordinal);
    return ordinal !== -1;
  });
  const changed: { event: NormalisedEvent; row: Buffer }[] = [];
  for (const event of came) {
    const ordinal = snapshot.ordinalOf(event.id);
    const row = rowOf(event);
    const isSame = ordinal !== -1 && isSameEvent(base, ordinal, event, row);
    if (isSame && base.modified[ordinal] === revisionSeconds(event.modified ?? null)) continue;
    if (ordinal !== -1) removed.push(ordinal);
    changed.push({ event, row });
  }
  changed.sort(
    ({ event: a }, { event: b }) => a.time - b.time || a.endTime - b.endTime || compareCodePoints(a.id, b.id),
  );
  const places = changed.map(({ event: { time, endTime, id } }) =>
    snapshot.ordinalAfter({ timeMs: time, endTimeMs: endTime, id }),
  );
  const splice = new Splice(
    snapshot.eventCount,
    removed.sort((a, b) => a - b),
    places,
  );
  checkSize(splice.after);
  const rows = changed.map(({ row }) => row);
  return { splice, events: changed.map(({ event }) => event), rows, went: known };
}

/** Whether an event of the image has these values, whenever they changed. */
export function isSameEvent(
  image: SnapshotImage,
  ordinal: number,
  event: NormalisedEvent,
  row: Buffer = rowOf(event),
): boolean {
  const { rows } = image;
  const [from, to] = [rows.start[ordinal]!, rows.start[ordinal + 1]! - 1];
  if (row.compare(rows.bytes, from, to, 0, row.length - 1) !== 0) return false;
  const all = columnsOf(image);
  return HIDDEN_FIELDS.every(({ name }) => {
    const { dictionary, codes } = all[name]!;
    const code = codes[ordinal] ?? NO_CODE;
    const { start, bytes } = dictionary;
    const value = event[name] ?? null;
    if (value === null || code >= start.length - 1) return value === null && code >= start.length - 1;
    return Buffer.from(value, 'utf8').compare(bytes, start[code], start[code + 1]) === 0;
  });
}

/** Rows of events, because an edit asks twice: to find the times of change, and to place the events. */
const rowsMade = new WeakMap<NormalisedEvent, Buffer>();

/** With a comma. */
function rowOf(event: NormalisedEvent): Buffer {
  let row = rowsMade.get(event);
  if (row === undefined) {
    row = Buffer.from(`${serialiseEvent(recordOf(event))},`, 'utf8');
    rowsMade.set(event, row);
  }
  return row;
}

function recordOf(event: NormalisedEvent): TimetableEvent {
  const values = OUTPUT_FIELDS.map(({ name, kind }) => [
    name,
    kind === 'instant' ? formatInstant(event[name] as number) : event[name],
  ]);
  return Object.fromEntries(values) as TimetableEvent;
}

/** Reads events of an image by ordinal, with the fields that no row shows. */
export function eventReader(base: SnapshotImage): (ordinal: number) => NormalisedEvent {
  const rows = new Rows(base.rows);
  const columns = columnsOf(base);
  const hidden = HIDDEN_FIELDS.map(({ name }) => ({ name, values: new DisplayNames(columns[name]!) }));
  return (ordinal) => {
    const row = JSON.parse(rows.rowOf(ordinal).toString('utf8')) as TimetableEvent;
    const event: Record<string, unknown> = {
      ...row,
      time: Date.parse(row.time),
      endTime: Date.parse(row.endTime),
      modified: base.modified[ordinal]! * 1000 || null,
    };
    for (const { name, values } of hidden) event[name] = values.nameOf(ordinal);
    return event as NormalisedEvent;
  };
}

function timesOf(beganMs: number): Pick<SnapshotSummary, 'builtAtMs' | 'buildMs'> {
  return { builtAtMs: Date.now(), buildMs: Math.round(performance.now() - beganMs) };
}

function patchFields(
  base: SnapshotImage,
  edit: PlacedEdit,
  slots: SlotsImage,
  slotOf: Uint32Array,
): Readonly<Record<IndexedFieldName, PatchedColumn<FieldImage>>> {
  const fields = INDEXED_FIELDS.map(({ name }) => [
    name,
    patchField(base.fields[name], edit.splice, valuesOf(edit, name), slots, slotOf),
  ]);
  return Object.fromEntries(fields) as Record<IndexedFieldName, PatchedColumn<FieldImage>>;
}

function valuesOf({ events }: PlacedEdit, name: CodedField['name']): (string | null)[] {
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
  edit: PlacedEdit,
  later: Pick<SnapshotImage, 'fields' | 'columns'>,
): FieldUse[] {
  const [before, after] = [columnsOf(base), columnsOf(later)];
  return CODED_FIELDS.map(({ name }) => {
    const { codes, dictionary } = before[name]!;
    let events = base.summary.fields.find((use) => use.name === name)?.events ?? 0;
    for (const ordinal of edit.splice.removed) if (codes[ordinal]! < dictionary.start.length - 1) events--;
    for (const value of valuesOf(edit, name)) if (value !== null) events++;
    return { name, values: after[name]!.dictionary.start.length - 1, events };
  });
}

type CellValues = readonly (string | null)[];

interface PatchedColumn<Image extends ColumnImage = ColumnImage> {
  /** The earlier column if nothing changed. */
  readonly image: Image;
  readonly codes: Splice;
  /** Codes of the values of removed and added items, ascending. */
  readonly touched: readonly number[];
}

/**
 * Values without items leave the dictionary, and new ones join it.
 *
 * @param values of the added items
 * @param usesOf how many items had a code before the change
 */
function patchColumn(
  column: ColumnImage,
  items: Splice,
  values: CellValues,
  usesOf: (code: number) => number,
): PatchedColumn {
  const dictionary = new Dictionary(column.dictionary);
  const uses = new Map<number, number>();
  const count = (code: number, more: number): void => {
    uses.set(code, (uses.get(code) ?? usesOf(code)) + more);
  };
  for (const place of items.removed) {
    const code = column.codes[place]!;
    if (code < dictionary.size) count(code, -1);
  }
  const fresh = new Set<string>();
  for (const value of values) {
    if (value === null) continue;
    const code = dictionary.codeOf(value);
    if (code === NO_CODE) fresh.add(value);
    else count(code, 1);
  }
  const unused = [...uses].filter(([, left]) => left === 0).map(([code]) => code);
  const spliced = spliceDictionary(
    column.dictionary,
    unused.sort((a, b) => a - b),
    fresh,
  );
  const { splice } = spliced;
  const recode = splice.newPlaces;
  const freshCodes = new Map(spliced.values.map((value, n) => [value, splice.inserted[n]!]));
  const inserted = values.map((value) => {
    if (value === null) return NO_CODE;
    return freshCodes.get(value) ?? recode[dictionary.codeOf(value)]!;
  });
  const kept = [...uses.keys()].map((code) => recode[code]!).filter((code) => code !== NO_CODE);
  const touched = [...kept, ...splice.inserted].sort((a, b) => a - b);
  if (splice.isEmpty && hasSameCodes(column.codes, dictionary.size, items, inserted)) {
    return { image: column, codes: splice, touched };
  }
  const codes = sharedCodeColumn(items.after, splice.after);
  // Only a column with another dictionary can have codes of another width.
  if (splice.isEmpty) items.copy(column.codes, codes);
  else items.copyMapped(column.codes, codes, recode);
  for (const [n, place] of items.inserted.entries()) codes[place] = inserted[n]!;
  return { image: { dictionary: spliced.image, codes }, codes: splice, touched };
}

function hasSameCodes(codes: CodeColumn, size: number, items: Splice, inserted: readonly number[]): boolean {
  if (items.isShifted || items.after !== items.before) return false;
  // Every other item keeps its position here, so each added item is at the position of a removed item.
  return inserted.every((code, n) => {
    const before = codes[items.inserted[n]!]!;
    return before === code || (before >= size && code === NO_CODE);
  });
}

function patchField(
  field: FieldImage,
  events: Splice,
  values: CellValues,
  slots: SlotsImage,
  slotOf: Uint32Array,
): PatchedColumn<FieldImage> {
  const { start } = field.postings;
  const patched = patchColumn(field, events, values, (code) => start[code + 1]! - start[code]!);
  const { codes, touched } = patched;
  const postings =
    patched.image === field ? field.postings : buildPostingLists(patched.image.codes, codes.after);
  const longestMs = patchLongest(field.longestMs, patched, postings, slots, slotOf);
  return { image: { ...patched.image, postings, longestMs }, codes, touched };
}

function patchLongest(
  longestMs: Float64Array,
  { codes, touched }: PatchedColumn,
  { start, ordinals }: FieldImage['postings'],
  { startMs, endMs }: SlotsImage,
  slotOf: Uint32Array,
): Float64Array {
  const next = codes.copy(longestMs, shared.float64(codes.after));
  let isSame = codes.isEmpty;
  for (const code of touched) {
    let longest = 0;
    for (let n = start[code]!; n < start[code + 1]!; n++) {
      const slot = slotOf[ordinals[n]!]!;
      longest = Math.max(longest, endMs[slot]! - startMs[slot]!);
    }
    if (next[code] !== longest) isSame = false;
    next[code] = longest;
  }
  return isSame ? longestMs : next;
}

/** Patches the column of a field without an index. The column is empty if no event has the field. */
function patchUnindexed(column: ColumnImage, events: Splice, values: CellValues): ColumnImage {
  const size = column.dictionary.start.length - 1;
  if (size === 0 && values.every((value) => value === null)) return column;
  const codes = size === 0 ? new Uint8Array(events.before).fill(NO_CODE) : column.codes;
  const { image } = patchColumn({ ...column, codes }, events, values, useCounter(codes, size));
  if (image.dictionary.start.length === 1) return { ...image, codes: sharedCodeColumn(0, 0) };
  return image.codes === codes ? column : image;
}

/** The number of items with a code. Counts all codes on first use. */
function useCounter(codes: CodeColumn, size: number): (code: number) => number {
  let counts: Uint32Array | null = null;
  return (code) => {
    if (counts === null) {
      counts = new Uint32Array(size);
      for (let n = 0; n < codes.length; n++) if (codes[n]! < size) counts[codes[n]!]!++;
    }
    return counts[code]!;
  };
}

function patchNames(
  base: SnapshotImage['names'],
  fields: Readonly<Record<NamedFieldName, PatchedColumn<FieldImage>>>,
  columns: Pick<SnapshotImage, 'fields' | 'columns'>,
): SnapshotImage['names'] {
  const names = NAMED_FIELDS.map(({ name }) => [
    name,
    namesOf(base[name], fields[name], namerOf(name, columns)),
  ]);
  return Object.fromEntries(names) as Record<NamedFieldName, NamesImage>;
}

function namesOf(before: NamesImage, field: PatchedColumn<FieldImage>, namer: Namer): NamesImage {
  const { image, codes, touched } = field;
  const { start, ordinals } = image.postings;
  const unnamed = Array.from(codes.inserted, () => null);
  const moved = patchNamesColumn(before, codes, unnamed);
  const values = touched.map((code) => namer.nameOf(ordinals.subarray(start[code], start[code + 1])));
  return patchNamesColumn(moved, Splice.inPlace(codes.after, touched), values);
}

function patchNamesColumn(names: NamesImage, codes: Splice, values: CellValues): NamesImage {
  if (codes.isEmpty) return names;
  const size = names.dictionary.start.length - 1;
  return patchColumn(names, codes, values, useCounter(names.codes, size)).image;
}

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;
const PACKED_INSTANT_BYTES = packedByteLength(formatInstant(0));

/** @throws LecternError `source-too-large` when the rows do not fit into one arena */
function patchRows(rows: RowsImage, { splice, events, rows: texts }: PlacedEdit): RowsImage {
  const lengths = texts.map(({ length }) => length);
  const bytesAfter = lengthAfter(rows.start, splice.removed, lengths);
  checkSize(splice.after, bytesAfter);
  const start = splice.starts(rows.start, lengths);
  const packedStart = splice.starts(rows.packedStart, events.map(packedLength));
  const bytes = shared.uint8(Math.max('[]'.length, bytesAfter));
  splice.copyPieces(rows.start, rows.bytes, start, bytes);
  for (const [n, text] of texts.entries()) bytes.set(text, start[splice.inserted[n]!]);
  bytes[0] = OPENING_BRACKET;
  const lastBefore = splice.newPlaceOf(splice.before - 1);
  if (lastBefore !== -1) bytes[start[lastBefore + 1]! - 1] = COMMA;
  bytes[bytes.length - 1] = CLOSING_BRACKET;
  return { bytes, start, packedStart };
}

function patchModified(modified: Uint32Array, { splice, events }: PlacedEdit): Uint32Array {
  const next = splice.copy(modified, shared.uint32(splice.after));
  for (const [n, event] of events.entries())
    next[splice.inserted[n]!] = revisionSeconds(event.modified ?? null);
  return next;
}

function lengthAfter(start: Uint32Array, removed: Uint32Array, lengths: readonly number[]): number {
  let length = start[start.length - 1]!;
  for (const ordinal of removed) length -= start[ordinal + 1]! - start[ordinal]!;
  for (const more of lengths) length += more;
  return length;
}

function packedLength(event: NormalisedEvent): number {
  let length = PACKED_ROW_FRAME_BYTES;
  for (const { name } of OUTPUT_FIELDS) {
    const value = event[name];
    length += typeof value === 'number' ? PACKED_INSTANT_BYTES : packedByteLength(value);
  }
  return length;
}

/** Hashes only the days with removed or added events. */
function patchDigests(
  before: { readonly slots: SlotsImage; readonly dayDigests: Uint8Array },
  { splice, events }: PlacedEdit,
  slots: SlotsImage,
  rows: RowsImage,
): Uint8Array {
  const changed = new Set(events.map(({ time }) => dayOf(time)));
  const known = new Map<number, Uint8Array>();
  let g = 0;
  for (const [n, { day, end }] of daysOf(before.slots).entries()) {
    const at = n * DAY_DIGEST_BYTES;
    const hasLost = g < splice.removed.length && splice.removed[g]! < end;
    while (g < splice.removed.length && splice.removed[g]! < end) g++;
    if (hasLost || changed.has(day)) continue;
    known.set(day, before.dayDigests.subarray(at, at + DAY_DIGEST_BYTES));
  }
  return digestDays(slots, rows, (day) => known.get(day));
}

function patchIds(ids: HashIndexImage, { splice, events }: PlacedEdit, hash: KeyedHash): HashIndexImage {
  const inserted = events.map(({ id }) => {
    const bytes = Buffer.from(id, 'utf8');
    return hash.bytes(viewOf(bytes), 0, bytes.length) >>> 0;
  });
  const isInPlace = !splice.isShifted && splice.after === splice.before;
  if (isInPlace && inserted.every((value, n) => value === ids.hashes[splice.inserted[n]!])) return ids;
  const hashes = splice.copy(ids.hashes, shared.uint32(splice.after));
  for (const [n, value] of inserted.entries()) hashes[splice.inserted[n]!] = value;
  return { hashes, table: buildHashTable(hashes) };
}

/** Removes slots without events and adds new ones. If no slot is removed or new, the earlier index stays. */
function patchSlots(slots: SlotsImage, { splice, events }: PlacedEdit): SlotsImage {
  const count = slots.startMs.length;
  const sizes = scratch.uint32(count);
  for (let slot = 0; slot < count; slot++) sizes[slot] = slots.first[slot + 1]! - slots.first[slot]!;
  const removed: number[] = [];
  for (const ordinal of splice.removed) sizes[lowerBound(slots.first, ordinal + 1) - 1]!--;
  const inserted: { place: number; startMs: number; endMs: number; size: number }[] = [];
  for (const { time, endTime } of events) {
    const place = slotFrom(slots, time, endTime);
    const last = inserted.at(-1);
    if (place < count && slots.startMs[place] === time && slots.endMs[place] === endTime) sizes[place]!++;
    else if (last?.startMs === time && last.endMs === endTime) last.size++;
    else inserted.push({ place, startMs: time, endMs: endTime, size: 1 });
  }
  for (let slot = 0; slot < count; slot++) if (sizes[slot] === 0) removed.push(slot);
  const slotSplice = new Splice(
    count,
    removed,
    inserted.map(({ place }) => place),
  );
  const nextSizes = slotSplice.copy(sizes, scratch.uint32(slotSplice.after));
  for (const [n, { size }] of inserted.entries()) nextSizes[slotSplice.inserted[n]!] = size;
  const first = shared.uint32(slotSplice.after + 1);
  for (let slot = 0; slot < nextSizes.length; slot++) first[slot + 1] = first[slot]! + nextSizes[slot]!;
  if (slotSplice.isEmpty) return { ...slots, first: isEqual(first, slots.first) ? slots.first : first };
  const startMs = slotSplice.copy(slots.startMs, shared.float64(slotSplice.after));
  const endMs = slotSplice.copy(slots.endMs, shared.float64(slotSplice.after));
  for (const [n, slot] of slotSplice.inserted.entries()) {
    startMs[slot] = inserted[n]!.startMs;
    endMs[slot] = inserted[n]!.endMs;
  }
  return { startMs, endMs, first, index: buildIntervalIndex(startMs, endMs, INTERVALS_PER_TREE_MAX) };
}

/** The first slot at or after these times. */
function slotFrom({ startMs, endMs }: SlotsImage, start: number, end: number): number {
  const from = lowerBound(startMs, start);
  return firstWhere(from, startMs.length, (slot) => startMs[slot]! > start || endMs[slot]! >= end);
}

function isEqual(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, n) => value === b[n]);
}

/** The slot of each event, by ordinal. */
export function slotsOfEvents({ first }: SlotsImage): Uint32Array {
  const slotOf = scratch.uint32(first[first.length - 1]!);
  for (let slot = 0; slot + 1 < first.length; slot++) {
    for (let ordinal = first[slot]!; ordinal < first[slot + 1]!; ordinal++) slotOf[ordinal] = slot;
  }
  return slotOf;
}
