import { pack } from 'msgpackr';
import { SNAPSHOT_HISTORY_ENTRIES_MAX, SNAPSHOTS_KEPT_MAX } from '../limits.js';
import { compareCodePoints } from '../model/text.js';
import { shared } from '../structures/slabs.js';
import { type Delta, pastRecordCount, readPastRecords, rowDigest, sharedCopy } from './delta.js';
import { jsonByteLength } from './rows.js';
import type { Snapshot } from './snapshot.js';

/** Past snapshots, as plain data in shared memory that crosses threads. */
export interface History {
  /** Oldest first; each begins where the one before ended. The last leads to the present snapshot. */
  readonly deltas: readonly Delta[];
  readonly differences: Differences;
}

/** Net differences from past snapshots to the present one. */
export interface Differences {
  readonly since: readonly Difference[];
  readonly goneIds: GoneIds;
}

/** Events that were changed back are not included. */
export interface Difference {
  readonly from: string;
  readonly added: DifferenceList;
  readonly changed: DifferenceList;
  readonly removed: DifferenceList;
}

export interface DifferenceList {
  /** Ascending ordinals of the present snapshot; for removed events, numbers of {@link GoneIds}. */
  readonly entries: Uint32Array;
  readonly jsonBytes: number;
  readonly packedBytes: number;
}

/** Ids of removed events, by code points, encoded so that requests only copy them. */
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

/** Adds a publication. Bounded in snapshots and entries: the oldest are dropped. */
export function extendHistory(deltas: readonly Delta[], delta: Delta, present: Snapshot): History {
  const kept = newestDeltas([...deltas, delta]);
  return { deltas: kept, differences: differencesOf(kept, present) };
}

function newestDeltas(deltas: readonly Delta[]): readonly Delta[] {
  // A delta without entries is a gap: earlier snapshots cannot be reached.
  const gap = deltas.findLastIndex((each) => each.before === null);
  let first = Math.max(gap + 1, deltas.length - SNAPSHOTS_KEPT_MAX);
  let entries = 0;
  for (let i = deltas.length - 1; i >= first; i--) {
    entries += pastRecordCount(deltas[i]?.before ?? null);
    if (entries > SNAPSHOT_HISTORY_ENTRIES_MAX) first = i + 1;
  }
  return deltas.slice(first);
}

interface TouchedEvent {
  readonly id: string;
  /** In the present snapshot, or -1. */
  readonly ordinal: number;
  /** The number of deltas so far that name it. */
  deltas: number;
  /** The digest before the oldest of them; null for no record. */
  before: string | null;
  /** The digest of the present record, made on demand. */
  digest: string | null;
}

function differencesOf(deltas: readonly Delta[], present: Snapshot): Differences {
  const touched = touchedEvents(deltas, present);
  const events = [...touched.values()];
  const there = events.filter(({ ordinal }) => ordinal !== -1).sort((a, b) => a.ordinal - b.ordinal);
  const gone = events.filter(({ ordinal }) => ordinal === -1).sort((a, b) => compareCodePoints(a.id, b.id));
  const found: ({ from: string } & Record<'added' | 'changed' | 'removed', number[]>)[] = [];
  // Newest first: each delta reaches one snapshot further back.
  for (const { from, before } of deltas.toReversed()) {
    for (const [id, digest] of readPastRecords(before)) {
      const event = touched.get(id)!;
      event.deltas++;
      event.before = digest;
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

function touchedEvents(deltas: readonly Delta[], present: Snapshot): Map<string, TouchedEvent> {
  const touched = new Map<string, TouchedEvent>();
  for (const { before } of deltas) {
    for (const [id] of readPastRecords(before)) {
      if (touched.has(id)) continue;
      touched.set(id, { id, ordinal: present.ordinalOf(id), deltas: 0, before: null, digest: null });
    }
  }
  return touched;
}

/** A single delta is a change. Several may cancel out. */
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
