import { createHash } from 'node:crypto';
import { DIGEST_BYTES, type PastRecords, PastRecordsBuilder } from './past-records.js';
import type { Snapshot } from './snapshot.js';

/** What one publication changed. Plain data: it crosses threads. */
export interface Delta {
  /** Ids of the snapshots before and after. */
  readonly from: string;
  readonly to: string;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** Every event that was added, removed or changed, as it was before. Null where there are too many to keep. */
  readonly before: PastRecords | null;
}

/**
 * Compares two snapshots, event by event: a merge of both in order of (time, endTime, id). An event whose times changed
 * stands at two places and is put together by its id.
 *
 * @param entriesMax beyond it only the counts are kept
 */
export function compareSnapshots(before: Snapshot, after: Snapshot, entriesMax: number): Delta {
  const vanished: number[] = [];
  const appeared: number[] = [];
  const past = new PastRecordsBuilder();
  let changed = 0;
  let b = 0;
  let a = 0;
  // Terminates: each round moves on in at least one of the two.
  while (b < before.eventCount || a < after.eventCount) {
    if (b < before.eventCount && a < after.eventCount && sameRow(before, b, after, a)) {
      b++;
      a++;
      continue;
    }
    const order = compareKeys(before, b, after, a);
    if (order === 0) {
      changed++;
      if (past.size < entriesMax) past.add(before.rows.idOf(b), rowDigest(before, b));
      b++;
      a++;
    } else if (order < 0) vanished.push(b++);
    else appeared.push(a++);
  }
  const appearedIds = new Set(appeared.map((ordinal) => after.rows.idOf(ordinal)));
  let removed = 0;
  for (const ordinal of vanished) {
    const id = before.rows.idOf(ordinal);
    if (appearedIds.delete(id)) changed++;
    else removed++;
    if (past.size < entriesMax) past.add(id, rowDigest(before, ordinal));
  }
  const added = appearedIds.size;
  for (const id of appearedIds) {
    if (past.size < entriesMax) past.add(id, null);
  }
  const kept = added + removed + changed <= entriesMax;
  return {
    from: before.summary.id,
    to: after.summary.id,
    added,
    removed,
    changed,
    before: kept ? past.finish() : null,
  };
}

/** A digest of an event's record, to tell whether it is what it was: DIGEST_BYTES characters of one byte each. */
export function rowDigest(snapshot: Snapshot, ordinal: number): string {
  return createHash('sha1').update(snapshot.rows.rowOf(ordinal)).digest('binary').slice(0, DIGEST_BYTES);
}

function sameRow(before: Snapshot, b: number, after: Snapshot, a: number): boolean {
  return before.rows.rowOf(b).equals(after.rows.rowOf(a));
}

/** By (time, endTime, id); one that has come to its end is greater than everything. */
function compareKeys(before: Snapshot, b: number, after: Snapshot, a: number): number {
  if (b >= before.eventCount) return 1;
  if (a >= after.eventCount) return -1;
  return before.compareEvents(b, after, a);
}
