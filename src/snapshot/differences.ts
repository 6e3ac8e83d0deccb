import { pack } from 'msgpackr';
import {
  SNAPSHOT_DIFFERENCES_ENTRIES_MAX,
  SNAPSHOT_HISTORY_ENTRIES_MAX,
  SNAPSHOTS_KEPT_MAX,
  SNAPSHOTS_KEPT_MIN,
} from '../limits.js';
import { compareCodePoints } from '../model/text.js';
import { hasSameBytes } from '../structures/same-bytes.js';
import { shared } from '../structures/slabs.js';
import type { Day } from './content-version.js';
import {
  type PastRecord,
  type PastRecords,
  pastEvents,
  pastRecordCount,
  rowDigest,
  sharedCopy,
  writePastRecords,
} from './past-records.js';
import { jsonByteLength } from './rows.js';
import { compareKeys, type EventKey, type Snapshot } from './snapshot.js';

/** Number of events that differ from another snapshot. */
export interface ChangeCounts {
  /** Events that are new. */
  readonly added: number;
  /** Events that have other values. */
  readonly changed: number;
  /** Events that are gone. */
  readonly removed: number;
}

/** The changes of one publication. */
export interface Delta extends ChangeCounts {
  readonly from: string;
  readonly to: string;
  /** The earlier state of each event in the counts; null if there are too many to keep. */
  readonly before: PastRecords | null;
}

/**
 * Compares two snapshots in one merge, which skips days with equal digests. With more than `entriesMax`
 * changes, only the counts are kept.
 */
export function compareSnapshots(before: Snapshot, after: Snapshot, entriesMax: number): Delta {
  const past: PastRecord[] = [];
  let added = 0;
  let removed = 0;
  let changed = 0;
  let b = 0;
  let a = 0;
  const equalDays = daysInBoth(before, after);
  let day = 0;
  // Terminates: each round advances `b`, `a` or `day`.
  while (b < before.eventCount || a < after.eventCount) {
    const next = equalDays[day];
    if (next !== undefined && b >= next.before.first && a >= next.after.first) {
      b = next.before.end;
      a = next.after.end;
      day++;
      continue;
    }
    const isBoth = b < before.eventCount && a < after.eventCount;
    if (isBoth && before.rows.isEqual(b, after.rows, a)) {
      b++;
      a++;
      continue;
    }
    const order = isBoth ? before.compareEvents(b, after, a) : b < before.eventCount ? -1 : 1;
    if (order > 0) {
      const id = after.rows.idOf(a++);
      // A moved event is counted at its other position.
      if (before.ordinalOf(id) !== -1) continue;
      added++;
      if (past.length < entriesMax) past.push([id, null]);
      continue;
    }
    const id = before.rows.idOf(b);
    if (order === 0 || after.ordinalOf(id) !== -1) changed++;
    else removed++;
    if (past.length < entriesMax) past.push([id, rowDigest(before, b)]);
    b++;
    if (order === 0) a++;
  }
  return {
    from: before.summary.id,
    to: after.summary.id,
    added,
    removed,
    changed,
    before: added + removed + changed <= entriesMax ? writePastRecords(past) : null,
  };
}

/** Days with equal rows, in order. The events of each day are one run of ordinals in each snapshot. */
function daysInBoth(before: Snapshot, after: Snapshot): { readonly before: Day; readonly after: Day }[] {
  const of = new Map(before.days().map((day) => [day.day, day]));
  const equal: { before: Day; after: Day }[] = [];
  for (const day of after.days()) {
    const same = of.get(day.day);
    if (same !== undefined && hasSameBytes(same.digest, day.digest)) equal.push({ before: same, after: day });
  }
  return equal;
}

/** Like {@link compareSnapshots}, for snapshots that differ at most in the events of `ids`, which are distinct. */
export function compareEvents(
  before: Snapshot,
  after: Snapshot,
  ids: readonly string[],
  entriesMax: number,
): Delta {
  const counts = { added: 0, removed: 0, changed: 0 };
  const touched: { readonly key: EventKey; readonly past: PastRecord }[] = [];
  for (const id of ids) {
    const [b, a] = [before.ordinalOf(id), after.ordinalOf(id)];
    if (b === -1 && a === -1) continue;
    if (b === -1) {
      counts.added++;
      touched.push({ key: after.keyOf(a), past: [id, null] });
      continue;
    }
    if (a !== -1 && before.rows.isEqual(b, after.rows, a)) continue;
    if (a === -1) counts.removed++;
    else counts.changed++;
    touched.push({ key: before.keyOf(b), past: [id, rowDigest(before, b)] });
  }
  const isKept = touched.length <= entriesMax;
  if (isKept) touched.sort((x, y) => compareKeys(x.key, y.key));
  return {
    from: before.summary.id,
    to: after.summary.id,
    ...counts,
    before: isKept ? writePastRecords(touched.map(({ past }) => past)) : null,
  };
}

export interface History {
  /** Oldest first; each begins where the previous one ended. The last delta leads to the present snapshot. */
  readonly deltas: readonly Delta[];
  readonly differences: Differences;
}

/** Net differences, each from a past snapshot to the present one. */
export interface Differences {
  readonly since: readonly Difference[];
  readonly goneIds: GoneIds;
}

/** Events that were changed and changed back are left out. */
export interface Difference {
  readonly from: string;
  readonly added: DifferenceList;
  readonly changed: DifferenceList;
  readonly removed: DifferenceList;
}

export interface DifferenceList {
  /** Ascending ordinals of the present snapshot; for removed events, their numbers in {@link GoneIds}. */
  readonly entries: Uint32Array;
  readonly jsonBytes: number;
  readonly packedBytes: number;
}

/** Ids of removed events in order of code points, encoded so that requests only copy them. */
export interface GoneIds {
  /** One JSON array. Id n is bytes [start[n], start[n + 1] - 1): a comma or the closing bracket follows. */
  readonly json: { readonly bytes: Uint8Array; readonly start: Uint32Array };
  /** Id n is bytes [start[n], start[n + 1]). */
  readonly packed: { readonly bytes: Uint8Array; readonly start: Uint32Array };
}

export const NO_DIFFERENCES: Differences = {
  since: [],
  goneIds: {
    json: { bytes: Uint8Array.of(0x5b, 0x5d), start: Uint32Array.of(1) },
    packed: { bytes: new Uint8Array(0), start: Uint32Array.of(0) },
  },
};

const EMPTY_LIST: DifferenceList = { entries: new Uint32Array(0), jsonBytes: 0, packedBytes: 0 };

/** Null for an unknown or forgotten snapshot. */
export function differenceSince(differences: Differences, from: string, present: string): Difference | null {
  if (from === present) return { from, added: EMPTY_LIST, changed: EMPTY_LIST, removed: EMPTY_LIST };
  return differences.since.find((difference) => difference.from === from) ?? null;
}

/** Adds a publication. The history is bounded in snapshots and entries: the oldest are dropped. */
export function extendHistory(
  deltas: readonly Delta[],
  delta: Delta,
  present: Snapshot,
  entriesMax: number = Number.POSITIVE_INFINITY,
): History {
  const kept = newestDeltas([...deltas, delta], Math.min(entriesMax, SNAPSHOT_HISTORY_ENTRIES_MAX));
  return historyOf(kept, present);
}

/** @param deltas each with its entries; the last leads to `present` */
export function historyOf(deltas: readonly Delta[], present: Snapshot): History {
  return { deltas, differences: differencesOf(deltas, present) };
}

/** The newest deltas whose history is within the bounds. */
export function newestDeltas(deltas: readonly Delta[], entriesMax: number): readonly Delta[] {
  // A delta without entries is a gap: earlier snapshots are out of reach.
  const gap = deltas.findLastIndex((each) => each.before === null);
  let first = Math.max(gap + 1, deltas.length - SNAPSHOTS_KEPT_MAX);
  let entries = 0;
  let differences = 0;
  for (let i = deltas.length - 1; i >= first; i--) {
    entries += pastRecordCount(deltas[i]?.before ?? null);
    // The difference from this snapshot has at most the entries of all deltas since then.
    differences += entries;
    const isBeyond = deltas.length - i > SNAPSHOTS_KEPT_MIN && differences > SNAPSHOT_DIFFERENCES_ENTRIES_MAX;
    if (entries > entriesMax || isBeyond) first = i + 1;
  }
  return deltas.slice(first);
}

interface TouchedEvent {
  /** -1 if the present snapshot does not have it. */
  readonly ordinal: number;
  /** Only for events that are gone. */
  readonly id: string;
  /** The number of deltas so far that name it. */
  deltas: number;
  /** The digest before the oldest of them; null for no record. */
  before: string | null;
  digest: string | null;
}

function differencesOf(deltas: readonly Delta[], present: Snapshot): Differences {
  /** By ordinal, or by id for events that are gone: few ids are decoded. */
  const touched = new Map<number | string, TouchedEvent>();
  /** For each delta, its events and their digests, so that the records are decoded only once. */
  const steps = deltas.map(({ from, before }) => {
    const events: TouchedEvent[] = [];
    const digests: (string | null)[] = [];
    for (const [ordinal, id, digest] of pastEvents(before, present)) {
      const key = ordinal === -1 ? id : ordinal;
      let event = touched.get(key);
      if (event === undefined) {
        event = { ordinal, id, deltas: 0, before: null, digest: null };
        touched.set(key, event);
      }
      events.push(event);
      digests.push(digest);
    }
    return { from, events, digests };
  });
  const events = [...touched.values()];
  const there = events.filter(({ ordinal }) => ordinal !== -1).sort((a, b) => a.ordinal - b.ordinal);
  const gone = events.filter(({ ordinal }) => ordinal === -1).sort((a, b) => compareCodePoints(a.id, b.id));
  const found: ({ from: string } & Record<'added' | 'changed' | 'removed', number[]>)[] = [];
  // The loop starts with the newest delta. Each round reaches one snapshot further back.
  for (const { from, events: named, digests } of steps.toReversed()) {
    for (const [n, event] of named.entries()) {
      event.deltas++;
      event.before = digests[n] ?? null;
    }
    // Equal contents share one difference; the present content has none.
    if (from === present.summary.id || found.some((each) => each.from === from)) continue;
    const difference = { from, added: [] as number[], changed: [] as number[], removed: [] as number[] };
    for (const event of there) {
      if (event.deltas === 0) continue;
      if (event.before === null) difference.added.push(event.ordinal);
      else if (hasChanged(event, present)) difference.changed.push(event.ordinal);
    }
    for (const [number, event] of gone.entries()) {
      if (event.deltas > 0 && event.before !== null) difference.removed.push(number);
    }
    found.push(difference);
  }
  const goneIds = gone.map(({ id }) => id);
  const json = Buffer.from(JSON.stringify(goneIds), 'utf8');
  const packed = goneIds.map((id) => pack(id));
  let byteLength = json.length + 8 * (goneIds.length + 4);
  for (const { length } of packed) byteLength += length;
  // Alignment wastes up to 4 bytes per array.
  for (const { added, changed, removed } of found) {
    byteLength += 12 + 4 * (added.length + changed.length + removed.length);
  }
  return shared.within(byteLength, () => {
    const ids = {
      json: { bytes: sharedCopy(json), start: sumsOf(1, goneIds, (id) => jsonByteLength(id) + 1) },
      packed: { bytes: sharedCopy(Buffer.concat(packed)), start: sumsOf(0, packed, ({ length }) => length) },
    };
    const ofRows = (ordinals: readonly number[]): DifferenceList =>
      listOf(ordinals, present.rows.start, present.rows.packedStart);
    const since = found.map(({ from, added, changed, removed }) => ({
      from,
      added: ofRows(added),
      changed: ofRows(changed),
      removed: listOf(removed, ids.json.start, ids.packed.start),
    }));
    return { since, goneIds: ids };
  });
}

/** A single delta always means a change. Several deltas may cancel each other out. */
function hasChanged(event: TouchedEvent, present: Snapshot): boolean {
  if (event.deltas === 1) return true;
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
