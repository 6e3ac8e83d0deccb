/** How changes are found: by comparing two snapshots, or a snapshot with the events of a whole load. */

import { BUILD_PATCH_SHARE_MAX, PATCH_EVENTS_MIN } from '../base/limits.js';
import type { NormalisedEvent } from '../base/model/event.js';
import { NO_CODE } from '../base/structures/dictionary.js';
import type { SnapshotBuilder } from '../snapshot/builder.js';
import type { ArrivedEvents, Column } from '../snapshot/columns.js';
import { type ColumnImage, columnsOf, type SnapshotImage } from '../snapshot/image.js';
import { Rows } from '../snapshot/rows.js';
import { compareKeys, type EventKey, Snapshot } from '../snapshot/snapshot.js';
import type { ReadingNotes } from '../snapshot/summary.js';
import { type EditedImage, editImage, slotsOfEvents } from './apply.js';
import {
  type Change,
  type EarlierRow,
  type EventEdit,
  earlierRowsOf,
  packEdit,
  rowDigest,
} from './change.js';
import { reviseEdit } from './revisions.js';

/**
 * The change from one snapshot to another, found in one merge, which skips days with equal digests. The change has no
 * edit. With more than `entriesMax` differing events, only the counts are kept.
 */
export function compare(before: Snapshot, after: Snapshot, entriesMax: number): Change {
  const earlier: EarlierRow[] = [];
  let added = 0;
  let removed = 0;
  let changed = 0;
  const tell = (b: number, a: number, hasSameRow: boolean): void => {
    if (hasSameRow) return;
    if (b === -1) added++;
    else if (a === -1) removed++;
    else changed++;
    if (earlier.length >= entriesMax) return;
    earlier.push(b === -1 ? [after.rows.idOf(a), null] : [before.rows.idOf(b), rowDigest(before, b)]);
  };
  after.mergeWith(before, tell, () => {});
  const isKept = added + removed + changed <= entriesMax;
  return changeBetween(before, after, {
    ...{ added, removed, changed },
    earlier: isKept ? earlierRowsOf(before, earlier) : null,
    edit: null,
  });
}

function changeBetween(
  before: Snapshot,
  after: Snapshot,
  more: Omit<Change, 'from' | 'to' | 'sequence'>,
): Change {
  return { from: before.summary.id, to: after.summary.id, sequence: 0, ...more };
}

/**
 * The change that an edit has made.
 *
 * @param after the edited image, with its last summary
 * @param edit without events that stay the same
 */
export function changeOfEdit(
  before: Snapshot,
  after: Snapshot,
  { came, went }: EventEdit,
  entriesMax: number,
): Change {
  const counts = { added: 0, removed: 0, changed: 0 };
  const differing: { readonly key: EventKey; readonly row: EarlierRow }[] = [];
  const hidden: string[] = [];
  for (const id of [...came.map((event) => event.id), ...went]) {
    const [b, a] = [before.ordinalOf(id), after.ordinalOf(id)];
    if (b === -1) {
      counts.added++;
      differing.push({ key: after.keyOf(a), row: [id, null] });
    } else if (a !== -1 && before.rows.isEqual(b, after.rows, a)) hidden.push(id);
    else {
      if (a === -1) counts.removed++;
      else counts.changed++;
      differing.push({ key: before.keyOf(b), row: [id, rowDigest(before, b)] });
    }
  }
  if (differing.length + hidden.length > entriesMax)
    return changeBetween(before, after, { ...counts, earlier: null, edit: null });
  differing.sort((x, y) => compareKeys(x.key, y.key));
  const rows = differing.map(({ row }) => row);
  const earlier = earlierRowsOf(before, rows, hidden);
  const edit = packEdit({ summary: after.summary, came, went });
  return changeBetween(before, after, { ...counts, earlier, edit });
}

/**
 * Gives the result of `builder.finish(notes)`, byte for byte, by patching an image from which few events
 * differ. Null if many events differ; then the builder can still finish.
 *
 * @param base with the builder's seed and identifier mode
 * @throws LecternError `source-too-large` like `finish`
 */
export function buildByPatch(
  builder: SnapshotBuilder,
  base: SnapshotImage,
  notes: Partial<ReadingNotes>,
  nowMs: number = Date.now(),
): EditedImage | null {
  const edit = differingEvents(base, builder.arrived());
  if (edit === null) return null;
  const { image, ...made } = editImage(base, reviseEdit(base, edit, nowMs));
  const { expanded: _expanded, patterns: _patterns, ...summary } = image.summary;
  return {
    image: { ...image, summary: { ...summary, ...builder.recordSummary(summary.fields, notes) } },
    ...made,
  };
}

/** The edit that turns the events of an image into the arrived ones; null if it exceeds the bound. */
export function differingEvents(base: SnapshotImage, arrived: ArrivedEvents): EventEdit | null {
  const { timeMs, endTimeMs, ids } = arrived;
  const eventsBefore = base.summary.events;
  /** The most removed and added events; a changed event counts twice. */
  const editsMax = Math.max(PATCH_EVENTS_MIN, BUILD_PATCH_SHARE_MAX * eventsBefore);
  if (Math.abs(ids.size - eventsBefore) > editsMax) return null;
  const slotOf = slotsOfEvents(base.slots);
  const { startMs, endMs } = base.slots;
  const find = new Snapshot(base).ordinalsOf(Buffer.from(ids.bytes.buffer, 0, ids.byteLength));
  const comparisons = comparisonsOf(base, arrived.columns);
  const isThere = new Uint8Array(eventsBefore);
  const came: number[] = [];
  let found = 0;
  let edits = 0;
  for (let arrival = 0; arrival < ids.size; arrival++) {
    const ordinal = find(ids.startOf(arrival), ids.startOf(arrival + 1), ids.hashOf(arrival));
    if (ordinal !== -1) {
      isThere[ordinal] = 1;
      found++;
      const slot = slotOf[ordinal]!;
      const isSameTime = startMs[slot] === timeMs[arrival] && endMs[slot] === endTimeMs[arrival];
      if (isSameTime && hasSameValues(comparisons, arrival, ordinal)) continue;
    }
    edits += ordinal === -1 ? 1 : 2;
    if (edits > editsMax) return null;
    came.push(arrival);
  }
  if (edits + eventsBefore - found > editsMax) return null;
  return {
    came: came.map((arrival) => eventOf(arrived, arrival)),
    went: found === eventsBefore ? [] : idsWithout(base, isThere),
  };
}

/** One column of the arrived events, and the same column of the image. */
interface Comparison {
  readonly column: Column;
  readonly codes: Uint32Array;
  readonly base: ColumnImage;
  readonly baseSize: number;
  /**
   * For each arrived code, the code of the same value in the image; NO_CODE until an event has shown that
   * both codes match.
   */
  readonly known: Uint32Array;
}

function comparisonsOf(image: SnapshotImage, arrived: readonly Column[]): Comparison[] {
  const all = columnsOf(image);
  return arrived.map((column) => {
    const base = all[column.name]!;
    return {
      column,
      codes: column.codes.view(),
      base,
      baseSize: base.dictionary.start.length - 1,
      known: new Uint32Array(column.dictionary.size).fill(NO_CODE),
    };
  });
}

function hasSameValues(comparisons: readonly Comparison[], arrival: number, ordinal: number): boolean {
  for (let n = 0; n < comparisons.length; n++) {
    const comparison = comparisons[n]!;
    const { codes, base, baseSize, known } = comparison;
    const code = arrival < codes.length ? codes[arrival]! : NO_CODE;
    const baseCode = ordinal < base.codes.length ? base.codes[ordinal]! : NO_CODE;
    if (code === NO_CODE || baseCode >= baseSize) {
      if (code !== NO_CODE || baseCode < baseSize) return false;
    } else if (known[code] !== baseCode && !isNewlyKnown(comparison, code, baseCode)) return false;
  }
  return true;
}

/**
 * Compares the values themselves. Values of a dictionary are distinct, so a code with a match can have no
 * other match.
 */
function isNewlyKnown({ column, base, known }: Comparison, code: number, baseCode: number): boolean {
  if (known[code] !== NO_CODE) return false;
  const { bytes, start } = base.dictionary;
  const value = Buffer.from(column.dictionary.valueOf(code) ?? '', 'utf8');
  if (value.compare(bytes, start[baseCode], start[baseCode + 1]) !== 0) return false;
  known[code] = baseCode;
  return true;
}

function eventOf(
  { ids, timeMs, endTimeMs, columns, modified }: ArrivedEvents,
  arrival: number,
): NormalisedEvent {
  const values = columns.map(({ name, dictionary, codes }) => {
    return [name, arrival < codes.length ? dictionary.valueOf(codes.at(arrival)) : null];
  });
  const event = { id: ids.textOf(arrival), time: timeMs[arrival]!, endTime: endTimeMs[arrival]! };
  const changedMs = modified.length === 0 ? null : modified[arrival]! * 1000 || null;
  return { ...event, ...Object.fromEntries(values), modified: changedMs } as NormalisedEvent;
}

function idsWithout(base: SnapshotImage, isThere: Uint8Array): string[] {
  const rows = new Rows(base.rows);
  const gone: string[] = [];
  for (let ordinal = isThere.indexOf(0); ordinal !== -1; ordinal = isThere.indexOf(0, ordinal + 1)) {
    gone.push(rows.idOf(ordinal));
  }
  return gone;
}
