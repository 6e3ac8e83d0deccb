/** The bounded list of changes, and the net differences from each past snapshot to the present one. */
import { pack } from 'msgpackr';
import {
  SNAPSHOT_DIFFERENCES_ENTRIES_MAX,
  SNAPSHOT_HISTORY_ENTRIES_MAX,
  SNAPSHOTS_KEPT_MAX,
  SNAPSHOTS_KEPT_MIN,
} from '../base/limits.js';
import { compareCodePoints } from '../base/model/text.js';
import { shared } from '../base/structures/slabs.js';
import { jsonByteLength } from '../snapshot/rows.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import {
  type Change,
  type ChangeCounts,
  countsOf,
  type EarlierRows,
  earlierRowCount,
  earlierRowsIn,
  rowDigest,
  sharedCopy,
} from './change.js';

export interface History {
  /** Oldest first, without edits. Each begins where the previous one ended, and the last leads to the present snapshot. */
  readonly changes: readonly Change[];
  readonly differences: Differences;
}

/** Net differences, each from a past snapshot to the present one. */
export interface Differences {
  readonly since: readonly Difference[];
  readonly removedIds: RemovedIds;
  /** Past snapshots, the oldest first. Each was served until the sequence; 0 for that of the present snapshot. */
  readonly served: readonly { readonly from: string; readonly until: number }[];
  /** The kept rows of each change, oldest first. */
  readonly earlierRows: readonly EarlierRows['rows'][];
}

/** Events that were changed and changed back are left out. */
export interface Difference {
  readonly from: string;
  readonly added: DifferenceList;
  readonly changed: DifferenceList;
  readonly removed: DifferenceList;
  /** The rows of changed and removed events as they were, as far as they are kept: pairs of the change and the row. */
  readonly earlier: Uint32Array;
}

export interface DifferenceList {
  /** Ascending ordinals of the present snapshot; for removed events, their numbers in {@link RemovedIds}. */
  readonly entries: Uint32Array;
  readonly jsonBytes: number;
  readonly packedBytes: number;
}

/** Ids of removed events in order of code points, encoded so that requests only copy them. */
export interface RemovedIds {
  /** One JSON array. Id n is bytes [start[n], start[n + 1] - 1): a comma or the closing bracket follows. */
  readonly json: { readonly bytes: Uint8Array; readonly start: Uint32Array };
  /** Id n is bytes [start[n], start[n + 1]). */
  readonly packed: { readonly bytes: Uint8Array; readonly start: Uint32Array };
}

export const NO_DIFFERENCES: Differences = {
  since: [],
  removedIds: {
    json: { bytes: Uint8Array.of(0x5b, 0x5d), start: Uint32Array.of(1) },
    packed: { bytes: new Uint8Array(0), start: Uint32Array.of(0) },
  },
  served: [],
  earlierRows: [],
};

const EMPTY_LIST: DifferenceList = { entries: new Uint32Array(0), jsonBytes: 0, packedBytes: 0 };

/** Null for an unknown or forgotten snapshot. */
export function differenceSince(differences: Differences, from: string, present: string): Difference | null {
  if (from === present) {
    const earlier = new Uint32Array(0);
    return { from, added: EMPTY_LIST, changed: EMPTY_LIST, removed: EMPTY_LIST, earlier };
  }
  return differences.since.find((difference) => difference.from === from) ?? null;
}

/**
 * The snapshot that was served at an instant, or the oldest known one; null for the present one.
 *
 * @param sequence of the present snapshot. Sequences are milliseconds since 1970, or a little more.
 */
export function snapshotServedAt(
  { served }: Differences,
  instantMs: number,
  sequence: number,
): string | null {
  return served.find(({ until }) => (until || sequence) > instantMs)?.from ?? null;
}

/** Numbers of events that differ after changes in a row; null without changes, and if they are unknown. */
export function netCounts(changes: readonly Change[], differences: Differences): ChangeCounts | null {
  const [first, ...more] = changes;
  if (first === undefined) return null;
  if (more.length === 0) return countsOf(first);
  const difference = differenceSince(differences, first.from, more.at(-1)?.to ?? first.to);
  return difference && countsOfDifference(difference);
}

export function countsOfDifference({ added, changed, removed }: Difference): ChangeCounts {
  return {
    added: added.entries.length,
    changed: changed.entries.length,
    removed: removed.entries.length,
  };
}

/** Adds publications. The history is bounded in snapshots and entries: the oldest are dropped. */
export function extendHistory(
  earlier: readonly Change[],
  more: readonly Change[],
  present: Snapshot,
  entriesMax: number = Number.POSITIVE_INFINITY,
): History {
  const kept = newestChanges([...earlier, ...more], Math.min(entriesMax, SNAPSHOT_HISTORY_ENTRIES_MAX));
  return historyOf(kept, present);
}

/** The last change gets the sequence of its publication. */
export function numbered(history: History, sequence: number): History {
  const last = history.changes.at(-1);
  if (last === undefined || last.sequence !== 0) return history;
  return { ...history, changes: history.changes.with(-1, { ...last, sequence }) };
}

/** Whether each change begins where the previous one ended, and the last leads to this snapshot. */
export function leadTo(changes: readonly Change[], id: string): boolean {
  return changes.every(({ to }, n) => to === (changes[n + 1]?.from ?? id));
}

/** @param changes the last leads to `present` */
export function historyOf(changes: readonly Change[], present: Snapshot): History {
  return { changes: changes.map(withoutEdit), differences: differencesOf(changes, present) };
}

function withoutEdit(change: Change): Change {
  return change.edit === null ? change : { ...change, edit: null };
}

/** The newest changes whose history is within the bounds. */
export function newestChanges(
  changes: readonly Change[],
  entriesMax: number = SNAPSHOT_HISTORY_ENTRIES_MAX,
): readonly Change[] {
  // A change without entries is a gap: earlier snapshots are out of reach.
  const gap = changes.findLastIndex((each) => each.earlier === null);
  let first = Math.max(gap + 1, changes.length - SNAPSHOTS_KEPT_MAX);
  let entries = 0;
  let differences = 0;
  for (let i = changes.length - 1; i >= first; i--) {
    entries += earlierRowCount(changes[i]?.earlier ?? null);
    // The difference from this snapshot has at most the entries of all changes since then.
    differences += entries;
    const isBeyond =
      changes.length - i > SNAPSHOTS_KEPT_MIN && differences > SNAPSHOT_DIFFERENCES_ENTRIES_MAX;
    if (entries > entriesMax || isBeyond) first = i + 1;
  }
  return changes.slice(first);
}

interface TouchedEvent {
  /** -1 if the present snapshot does not have it. */
  readonly ordinal: number;
  /** Only for events that are gone. */
  readonly id: string;
  /** The number of changes so far that name it. */
  changes: number;
  /** The digest before the oldest of them; null for no row. */
  before: string | null;
  /** The change and the place of this row; the change is -1 if it did not keep the row. */
  row: readonly [change: number, n: number];
  digest: string | null;
}

const NO_ROW: TouchedEvent['row'] = [-1, 0];

function differencesOf(changes: readonly Change[], present: Snapshot): Differences {
  /** By ordinal, or by id for events that are gone: few ids are decoded. */
  const touched = new Map<number | string, TouchedEvent>();
  /** For each change, its events and their digests, so that the rows are decoded only once. */
  const steps = changes.map(({ from, earlier }, change) => {
    const events: TouchedEvent[] = [];
    const digests: (string | null)[] = [];
    for (const [ordinal, id, digest] of earlierRowsIn(earlier, present)) {
      const key = ordinal === -1 ? id : ordinal;
      let event = touched.get(key);
      if (event === undefined) {
        event = { ordinal, id, changes: 0, before: null, row: NO_ROW, digest: null };
        touched.set(key, event);
      }
      events.push(event);
      digests.push(digest);
    }
    return { from, events, digests, change: (earlier?.rows ?? null) === null ? -1 : change };
  });
  const events = [...touched.values()];
  const there = events.filter(({ ordinal }) => ordinal !== -1).sort((a, b) => a.ordinal - b.ordinal);
  const gone = events.filter(({ ordinal }) => ordinal === -1).sort((a, b) => compareCodePoints(a.id, b.id));
  const found: ({ from: string } & Record<'added' | 'changed' | 'removed' | 'earlier', number[]>)[] = [];
  // The loop starts with the newest change. Each round reaches one snapshot further back.
  for (const { from, events: named, digests, change } of steps.toReversed()) {
    for (const [n, event] of named.entries()) {
      event.changes++;
      event.before = digests[n] ?? null;
      event.row = [change, n];
    }
    // Equal contents share one difference; the present content has none.
    if (from === present.summary.id || found.some((each) => each.from === from)) continue;
    const [added, changed, removed, earlier]: [number[], number[], number[], number[]] = [[], [], [], []];
    const tell = (list: number[], number: number, { row }: TouchedEvent): void => {
      list.push(number);
      if (row[0] !== -1) earlier.push(...row);
    };
    for (const event of there) {
      if (event.changes === 0) continue;
      if (event.before === null) added.push(event.ordinal);
      else if (hasChanged(event, present)) tell(changed, event.ordinal, event);
    }
    for (const [number, event] of gone.entries()) {
      if (event.changes > 0 && event.before !== null) tell(removed, number, event);
    }
    found.push({ from, added, changed, removed, earlier });
  }
  const removedIds = gone.map(({ id }) => id);
  const json = Buffer.from(JSON.stringify(removedIds), 'utf8');
  const packed = removedIds.map((id) => pack(id));
  let byteLength = json.length + 8 * (removedIds.length + 4);
  for (const { length } of packed) byteLength += length;
  // Alignment wastes up to 4 bytes per array.
  for (const { added, changed, removed, earlier } of found) {
    byteLength += 16 + 4 * (added.length + changed.length + removed.length + earlier.length);
  }
  return shared.within(byteLength, () => {
    const ids = {
      json: { bytes: sharedCopy(json), start: sumsOf(1, removedIds, (id) => jsonByteLength(id) + 1) },
      packed: { bytes: sharedCopy(Buffer.concat(packed)), start: sumsOf(0, packed, ({ length }) => length) },
    };
    const ofRows = (ordinals: readonly number[]): DifferenceList =>
      listOf(ordinals, present.rows.start, present.rows.packedStart);
    const since = found.map(({ from, added, changed, removed, earlier }) => ({
      from,
      earlier: shared.copyUint32(earlier),
      added: ofRows(added),
      changed: ofRows(changed),
      removed: listOf(removed, ids.json.start, ids.packed.start),
    }));
    const served = changes.map(({ from, sequence }) => ({ from, until: sequence }));
    return {
      since,
      removedIds: ids,
      served,
      earlierRows: changes.map(({ earlier }) => earlier?.rows ?? null),
    };
  });
}

/** A single change always makes a difference. Several may cancel each other out. */
function hasChanged(event: TouchedEvent, present: Snapshot): boolean {
  if (event.changes === 1) return true;
  event.digest ??= rowDigest(present, event.ordinal);
  return event.before !== event.digest;
}

function sumsOf<Item>(first: number, items: readonly Item[], lengthOf: (item: Item) => number): Uint32Array {
  const sums = shared.uint32(items.length + 1);
  sums[0] = first;
  for (const [n, item] of items.entries()) sums[n + 1] = sums[n]! + lengthOf(item);
  return sums;
}

/** Offsets in JSON include one separator per entry. */
function listOf(entries: readonly number[], start: Uint32Array, packedStart: Uint32Array): DifferenceList {
  if (entries.length === 0) return EMPTY_LIST;
  let jsonBytes = -1;
  let packedBytes = 0;
  for (const entry of entries) {
    jsonBytes += start[entry + 1]! - start[entry]!;
    packedBytes += packedStart[entry + 1]! - packedStart[entry]!;
  }
  return { entries: shared.copyUint32(entries), jsonBytes, packedBytes };
}
