import { compareCodePoints } from '../model/text.js';
import { shared } from '../structures/slabs.js';
import { type Delta, rowDigest } from './delta.js';
import { type GoneIds, goneIdsBytes, NO_GONE_IDS, writeGoneIds } from './gone-ids.js';
import { readPastRecords } from './past-records.js';
import type { Snapshot } from './snapshot.js';

/**
 * What is different between each past snapshot and the present one. Plain data in shared memory: the thread that builds a
 * snapshot makes it, and all serving threads read it.
 */
export interface Differences {
  readonly since: readonly Difference[];
  readonly goneIds: GoneIds;
}

/** The net difference: an event that was changed and changed back is not part of it. */
export interface Difference {
  /** The id of the past snapshot. */
  readonly from: string;
  readonly added: DifferenceList;
  readonly changed: DifferenceList;
  readonly removed: DifferenceList;
}

export interface DifferenceList {
  /** Ordinals of the present snapshot; of removed events, numbers of {@link GoneIds}. Ascending. */
  readonly entries: Uint32Array;
  /** Bytes of all entries as JSON, with the commas between them. */
  readonly jsonBytes: number;
  /** Bytes of all entries in MessagePack. */
  readonly packedBytes: number;
}

export const NO_DIFFERENCES: Differences = { since: [], goneIds: NO_GONE_IDS };

const EMPTY_LIST: DifferenceList = { entries: new Uint32Array(0), jsonBytes: 0, packedBytes: 0 };

/**
 * Looks up what changed since a past snapshot.
 *
 * @param present id of the present snapshot
 * @returns null where the past snapshot is not known, or not any more
 */
export function differenceSince(differences: Differences, from: string, present: string): Difference | null {
  if (from === present) return { from, added: EMPTY_LIST, changed: EMPTY_LIST, removed: EMPTY_LIST };
  return differences.since.find((difference) => difference.from === from) ?? null;
}

/** An event that was added, removed or changed on the way to the present snapshot. */
interface TouchedEvent {
  readonly id: string;
  /** In the present snapshot; -1 where it is not there. */
  readonly ordinal: number;
  /** Of the deltas that were looked at so far, how many name it. */
  deltas: number;
  /** Digest of its record before the oldest of them; null where there was no record. */
  before: string | null;
  /** Digest of its present record, once it is needed. */
  digest: string | null;
}

/**
 * Makes the net difference to every snapshot that the deltas begin with.
 *
 * @param deltas oldest first; the last one leads to `present`
 */
export function differencesOf(deltas: readonly Delta[], present: Snapshot): Differences {
  const touched = touchedEvents(deltas, present);
  const there = touched.filter(({ ordinal }) => ordinal !== -1).sort((a, b) => a.ordinal - b.ordinal);
  const gone = touched.filter(({ ordinal }) => ordinal === -1).sort((a, b) => compareCodePoints(a.id, b.id));
  const goneIds = gone.map(({ id }) => id);
  const byId = new Map(touched.map((event) => [event.id, event]));
  const found: Record<'added' | 'changed' | 'removed', number[]>[] = [];
  const fromIds: string[] = [];
  // From the newest delta on, each older one reaches one snapshot further back.
  for (const { from, before } of deltas.toReversed()) {
    if (before !== null) {
      for (const [id, digest] of readPastRecords(before)) {
        const event = byId.get(id)!;
        event.deltas++;
        event.before = digest;
      }
    }
    // Of equal contents one is enough, and of what is served nothing is different.
    if (from === present.summary.id || fromIds.includes(from)) continue;
    const added: number[] = [];
    const changed: number[] = [];
    const removed: number[] = [];
    for (const event of there) {
      if (event.deltas === 0) continue;
      if (event.before === null) added.push(event.ordinal);
      else if (hasChanged(event, present)) changed.push(event.ordinal);
    }
    for (const [number, event] of gone.entries()) {
      if (event.deltas > 0 && event.before !== null) removed.push(number);
    }
    fromIds.push(from);
    found.push({ added, changed, removed });
  }
  const entries = found.reduce(
    (sum, { added, changed, removed }) => sum + added.length + changed.length + removed.length,
    0,
  );
  // Each array may leave up to 4 bytes free behind it.
  const byteLength = goneIdsBytes(goneIds) + 4 * entries + 12 * found.length;
  return shared.within(byteLength, () => {
    const ids = writeGoneIds(goneIds);
    const ofRows = (ordinals: readonly number[]): DifferenceList =>
      listOf(ordinals, present.rows.start, present.rows.packedStart);
    const since = found.map(({ added, changed, removed }, n) => ({
      from: fromIds[n]!,
      added: ofRows(added),
      changed: ofRows(changed),
      removed: listOf(removed, ids.json.start, ids.packed.start),
    }));
    return { since, goneIds: ids };
  });
}

function touchedEvents(deltas: readonly Delta[], present: Snapshot): TouchedEvent[] {
  const seen = new Set<string>();
  const touched: TouchedEvent[] = [];
  for (const { before } of deltas) {
    if (before === null) continue;
    for (const [id] of readPastRecords(before)) {
      if (seen.has(id)) continue;
      seen.add(id);
      touched.push({ id, ordinal: present.ordinalOf(id), deltas: 0, before: null, digest: null });
    }
  }
  return touched;
}

/** Whether the record is another than before. One delta names an event only if it is; several may lead back. */
function hasChanged(event: TouchedEvent, present: Snapshot): boolean {
  if (event.deltas === 1) return true;
  event.digest ??= rowDigest(present, event.ordinal);
  return event.before !== event.digest;
}

/**
 * @param start offsets of the entries in JSON, each with one byte for what separates it from the next
 * @param packedStart the same in MessagePack, without anything between
 */
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
