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
 * Compares two snapshots, event by event: a merge of both in order of (time, endTime, id). An event that has no equal at
 * its place stands elsewhere in the other set, where its times changed, or is not in it; the index of ids tells. So
 * nothing is collected, also where every event is another.
 *
 * @param entriesMax beyond it only the counts are kept
 */
export function compareSnapshots(before: Snapshot, after: Snapshot, entriesMax: number): Delta {
  const past = new PastRecordsBuilder();
  const remember = (id: string, digest: () => string | null): void => {
    if (past.size < entriesMax) past.add(id, digest());
  };
  let added = 0;
  let removed = 0;
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
    if (order <= 0) {
      const ordinal = b++;
      const id = before.rows.idOf(ordinal);
      if (order === 0 || after.ordinalOf(id) !== -1) changed++;
      else removed++;
      remember(id, () => rowDigest(before, ordinal));
      if (order === 0) a++;
    } else {
      // What has changed its place was counted, or will be, where it was before.
      const id = after.rows.idOf(a++);
      if (before.ordinalOf(id) !== -1) continue;
      added++;
      remember(id, () => null);
    }
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
