import { createHash } from 'node:crypto';
import { shared } from '../structures/slabs.js';
import type { Snapshot } from './snapshot.js';

/** What one publication changed, as plain data that crosses threads. */
export interface Delta {
  readonly from: string;
  readonly to: string;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** The earlier state of each event in the counts; null when there are too many to keep. */
  readonly before: PastRecords | null;
}

/** Earlier records. Flat: a map of 100,000 entries takes 0.1 s to cross threads. */
export interface PastRecords {
  /** Id n is UTF-8 bytes [idStart[n], idStart[n + 1]). */
  readonly ids: Uint8Array;
  readonly idStart: Uint32Array;
  readonly digests: Uint8Array;
}

/** `digest` has DIGEST_BYTES latin1 characters; null: there was no record. */
export type PastRecord = readonly [id: string, digest: string | null];

/** 96 bits: two records of one id never share them. */
const DIGEST_BYTES = 12;
const NO_DIGEST = '\0'.repeat(DIGEST_BYTES);

/**
 * Compares two snapshots in one merge. The index of ids detects moved events.
 *
 * @param entriesMax with more changes only the counts are kept
 */
export function compareSnapshots(before: Snapshot, after: Snapshot, entriesMax: number): Delta {
  const past: PastRecord[] = [];
  let added = 0;
  let removed = 0;
  let changed = 0;
  let b = 0;
  let a = 0;
  // Terminates: each round advances `b` or `a`.
  while (b < before.eventCount || a < after.eventCount) {
    const isBoth = b < before.eventCount && a < after.eventCount;
    if (isBoth && before.rows.rowOf(b).equals(after.rows.rowOf(a))) {
      b++;
      a++;
      continue;
    }
    const order = isBoth ? before.compareEvents(b, after, a) : b < before.eventCount ? -1 : 1;
    if (order > 0) {
      const id = after.rows.idOf(a++);
      // Moved events are counted at their earlier place.
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

export function rowDigest(snapshot: Snapshot, ordinal: number): string {
  return createHash('sha1').update(snapshot.rows.rowOf(ordinal)).digest('binary').slice(0, DIGEST_BYTES);
}

export function writePastRecords(records: readonly PastRecord[]): PastRecords {
  const ids = Buffer.from(records.map(([id]) => id).join(''), 'utf8');
  const digests = Buffer.from(records.map(([, digest]) => digest ?? NO_DIGEST).join(''), 'latin1');
  const idStart = shared.uint32(records.length + 1);
  for (const [n, [id]] of records.entries()) idStart[n + 1] = idStart[n]! + Buffer.byteLength(id, 'utf8');
  return { ids: sharedCopy(ids), idStart, digests: sharedCopy(digests) };
}

export function pastRecordCount(records: PastRecords | null): number {
  return records === null ? 0 : records.idStart.length - 1;
}

export function* readPastRecords(records: PastRecords | null): Generator<PastRecord> {
  if (records === null) return;
  const { ids, idStart, digests } = records;
  // Unlike a TextDecoder, a Buffer decodes shared memory.
  const text = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  const all = Buffer.from(digests.buffer, digests.byteOffset, digests.byteLength);
  for (let n = 0; n < pastRecordCount(records); n++) {
    const digest = all.toString('latin1', n * DIGEST_BYTES, (n + 1) * DIGEST_BYTES);
    yield [text.toString('utf8', idStart[n]!, idStart[n + 1]!), digest === NO_DIGEST ? null : digest];
  }
}

export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = shared.uint8(bytes.length);
  copy.set(bytes);
  return copy;
}
