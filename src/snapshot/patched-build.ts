import { BUILD_PATCH_SHARE_MAX, PATCH_EVENTS_MIN } from '../limits.js';
import type { NormalisedEvent } from '../model/event.js';
import { isPlainJsonText } from '../model/text.js';
import { type ByteStrings, isSame, viewOf } from '../structures/byte-strings.js';
import { NO_CODE } from '../structures/dictionary.js';
import { findInHashIndex } from '../structures/hash-index.js';
import type { SnapshotBuilder } from './builder.js';
import type { ArrivedEvents, Column } from './columns.js';
import type { ColumnImage, SnapshotImage } from './image.js';
import { type EventChanges, patchImage, slotsOfEvents } from './patch.js';
import { ID_OFFSET, Rows } from './rows.js';
import type { ReadingNotes } from './summary.js';

const QUOTE = 0x22;

export interface PatchedBuild {
  readonly image: SnapshotImage;
  /** The ids of all events that differ from the base. */
  readonly changedIds: readonly string[];
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
): PatchedBuild | null {
  const changes = differingEvents(base, builder.arrived());
  if (changes === null) return null;
  const patched = patchImage(base, changes);
  const { expanded: _earlier, ...summary } = patched.summary;
  return {
    image: { ...patched, summary: { ...summary, ...builder.recordSummary(summary.fields, notes) } },
    changedIds: [...changes.upserts.map(({ id }) => id), ...changes.removals],
  };
}

/** The changes that turn the events of an image into the arrived ones; null if they exceed the bound. */
export function differingEvents(base: SnapshotImage, arrived: ArrivedEvents): EventChanges | null {
  const { timeMs, endTimeMs, ids } = arrived;
  const eventsBefore = base.summary.events;
  /** The most removed and added events; a changed event counts twice. */
  const editsMax = Math.max(PATCH_EVENTS_MIN, BUILD_PATCH_SHARE_MAX * eventsBefore);
  if (Math.abs(ids.size - eventsBefore) > editsMax) return null;
  const slotOf = slotsOfEvents(base.slots);
  const { startMs, endMs } = base.slots;
  const ordinalOf = idFinder(base, ids);
  const comparisons = comparisonsOf(base, arrived.columns);
  const isThere = new Uint8Array(eventsBefore);
  const upserts: number[] = [];
  let found = 0;
  let edits = 0;
  for (let arrival = 0; arrival < ids.size; arrival++) {
    const ordinal = ordinalOf(arrival);
    if (ordinal !== -1) {
      isThere[ordinal] = 1;
      found++;
      const slot = slotOf[ordinal]!;
      const isSameTime = startMs[slot] === timeMs[arrival] && endMs[slot] === endTimeMs[arrival];
      if (isSameTime && hasSameValues(comparisons, arrival, ordinal)) continue;
    }
    edits += ordinal === -1 ? 1 : 2;
    if (edits > editsMax) return null;
    upserts.push(arrival);
  }
  if (edits + eventsBefore - found > editsMax) return null;
  return {
    upserts: upserts.map((arrival) => eventOf(arrived, arrival)),
    removals: found === eventsBefore ? [] : idsWithout(base, isThere),
  };
}

/** Finds the event of an image that has the id of an arrived event; -1 if there is none. */
function idFinder({ ids: index, rows }: SnapshotImage, ids: ByteStrings): (arrival: number) => number {
  const { bytes, start } = rows;
  const view = viewOf(bytes);
  const all = new Rows(rows);
  return (arrival) => {
    const from = ids.startOf(arrival);
    const to = ids.startOf(arrival + 1);
    const length = to - from;
    if (!isPlainJsonText(ids.bytes, from, to)) {
      const text = Buffer.from(JSON.stringify(ids.textOf(arrival)).slice(1, -1), 'utf8');
      return findInHashIndex(index, ids.hashOf(arrival), (ordinal) => all.hasId(ordinal, text));
    }
    return findInHashIndex(index, ids.hashOf(arrival), (ordinal) => {
      const at = start[ordinal]! + ID_OFFSET;
      if (at + length >= start[ordinal + 1]! || bytes[at + length] !== QUOTE) return false;
      return isSame(view, at, ids.view, from, length);
    });
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

function comparisonsOf({ fields, columns }: SnapshotImage, arrived: readonly Column[]): Comparison[] {
  const all: Readonly<Record<string, ColumnImage>> = { ...fields, ...columns };
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

function eventOf({ ids, timeMs, endTimeMs, columns }: ArrivedEvents, arrival: number): NormalisedEvent {
  const values = columns.map(({ name, dictionary, codes }) => {
    return [name, arrival < codes.length ? dictionary.valueOf(codes.at(arrival)) : null];
  });
  const event = { id: ids.textOf(arrival), time: timeMs[arrival]!, endTime: endTimeMs[arrival]! };
  return { ...event, ...Object.fromEntries(values) } as NormalisedEvent;
}

function idsWithout(base: SnapshotImage, isThere: Uint8Array): string[] {
  const rows = new Rows(base.rows);
  const gone: string[] = [];
  for (let ordinal = isThere.indexOf(0); ordinal !== -1; ordinal = isThere.indexOf(0, ordinal + 1)) {
    gone.push(rows.idOf(ordinal));
  }
  return gone;
}
