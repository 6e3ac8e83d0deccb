import { SNAPSHOT_HISTORY_ENTRIES_MAX, SNAPSHOTS_KEPT_MAX } from '../limits.js';
import type { Delta } from './delta.js';
import { type Differences, differencesOf } from './differences.js';
import { pastRecordCount } from './past-records.js';
import type { Snapshot } from './snapshot.js';

/** What is known of past snapshots. Plain data in shared memory: it crosses threads. */
export interface History {
  /** What led to the present snapshot, oldest first: each begins where the one before ended. */
  readonly deltas: readonly Delta[];
  /** What is different between the snapshots that they begin with and the present one. */
  readonly differences: Differences;
}

/**
 * The history after one more publication. Bounded in snapshots and in entries: the oldest go first.
 *
 * @param deltas of the history before
 * @param present what `delta` leads to
 */
export function extendHistory(
  deltas: readonly Delta[],
  delta: Delta,
  present: Snapshot,
  entriesMax: number = Number.POSITIVE_INFINITY,
): History {
  const kept = newestDeltas([...deltas, delta], Math.min(entriesMax, SNAPSHOT_HISTORY_ENTRIES_MAX));
  return { deltas: kept, differences: differencesOf(kept, present) };
}

function newestDeltas(deltas: readonly Delta[], entriesMax: number): readonly Delta[] {
  // A difference too large to keep is a gap: what lies before it cannot be reached any more.
  const gap = deltas.findLastIndex((each) => each.before === null);
  let first = Math.max(gap + 1, deltas.length - SNAPSHOTS_KEPT_MAX);
  let entries = 0;
  for (let i = deltas.length - 1; i >= first; i--) {
    const past = deltas[i]?.before ?? null;
    entries += past === null ? 0 : pastRecordCount(past);
    if (entries > entriesMax) first = i + 1;
  }
  return deltas.slice(first);
}
