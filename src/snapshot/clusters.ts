import { INTERVALS_PER_TREE_MAX } from '../limits.js';
import { CONFLICT_DIMENSIONS } from '../model/fields.js';
import { type DictionaryImage, NO_CODE } from '../structures/dictionary.js';
import { buildIntervalIndex } from '../structures/interval-index.js';
import type { PostingListsImage } from '../structures/posting-lists.js';
import { sortByIntervals } from '../structures/radix-sort.js';
import { scratch, shared } from '../structures/slabs.js';
import { ClusterSweep, type FoundClusters, type KeyedRows } from './cluster-sweep.js';
import { entryByteLengths, type UnmeasuredClusters } from './entry-lengths.js';
import type { ClustersImage, RowsImage, SlotsImage } from './image.js';

/** What clustering needs to know of the events, by ordinal unless stated. */
export interface ClusterInput {
  readonly count: number;
  readonly slotOf: Uint32Array;
  /** By slot. */
  readonly slots: Pick<SlotsImage, 'startMs' | 'endMs'>;
  /** Numbers below `count`, equal for rows of one lesson; NO_CODE for a lesson of its own. */
  readonly lesson: Uint32Array;
  /** For each of CONFLICT_DIMENSIONS the key of each event, as a code of `keys`, or NO_CODE. */
  readonly keyOf: readonly Uint32Array[];
  readonly keys: DictionaryImage;
}

/**
 * Finds the conflicts, with rows of one lesson as one and with every row a lesson: for each dimension and key the maximal
 * sets of at least two lessons that overlaps connect. Of each lesson a cluster has the rows with its key: so there are at most as
 * many rows in the clusters of one dimension as there are events. O(n log n) in the number of events, whatever overlaps.
 *
 * @param rows of the same events, for their lengths
 */
export function buildClusters(
  input: ClusterInput,
  rows: RowsImage,
): { readonly merged: ClustersImage; readonly unmerged: ClustersImage } {
  const keyCount = input.keys.start.length - 1;
  const sweep = new ClusterSweep(input.slots, input.count);
  for (let by = 0; by < CONFLICT_DIMENSIONS.length; by++) {
    const keyed = sortByKey(input, by, keyCount);
    for (let key = 0; key < keyCount; key++) sweep.add(keyed, key);
  }
  const imageOf = (found: FoundClusters): ClustersImage => {
    const unmeasured = finish(input, found);
    return { ...unmeasured, ...entryByteLengths(unmeasured, rows) };
  };
  return { merged: imageOf(sweep.merged), unmerged: imageOf(sweep.unmerged) };
}

/** A counting sort, as that of posting lists. */
function sortByKey(input: ClusterInput, by: number, keyCount: number): KeyedRows {
  const { slotOf, lesson, count } = input;
  const { startMs, endMs } = input.slots;
  const keyOf = input.keyOf[by]!;
  const start = scratch.uint32(keyCount + 1);
  // An event of zero length takes no time and cannot overlap anything.
  const isKeyed = (ordinal: number): boolean =>
    keyOf[ordinal] !== NO_CODE && startMs[slotOf[ordinal]!] !== endMs[slotOf[ordinal]!];
  for (let ordinal = 0; ordinal < count; ordinal++) {
    if (isKeyed(ordinal)) start[keyOf[ordinal]! + 1]!++;
  }
  for (let key = 0; key < keyCount; key++) start[key + 1]! += start[key]!;
  const total = start[keyCount]!;
  const next = start.slice(0, keyCount);
  const sorted = {
    by,
    start,
    ordinals: scratch.uint32(total),
    slots: scratch.uint32(total),
    lessons: scratch.uint32(total),
  };
  for (let ordinal = 0; ordinal < count; ordinal++) {
    if (!isKeyed(ordinal)) continue;
    const place = next[keyOf[ordinal]!]!++;
    sorted.ordinals[place] = ordinal;
    sorted.slots[place] = slotOf[ordinal]!;
    sorted.lessons[place] = lesson[ordinal]!;
  }
  return sorted;
}

/** Sorts the clusters by (start, end, by, key) and builds what reading them needs. */
function finish(input: ClusterInput, found: FoundClusters): UnmeasuredClusters {
  const count = found.by.length;
  const [by, key, peak] = [found.by.view(), found.key.view(), found.peak.view()];
  const [foundFirst, foundEvents] = [found.first.view(), found.events.view()];
  const [foundStart, foundEnd] = [found.startMs.view(), found.endMs.view()];
  const order = scratch.uint32(count);
  for (let c = 0; c < count; c++) order[c] = c;
  sortByIntervals(order, foundStart, foundEnd);
  const sorted = {
    startMs: shared.float64(count),
    endMs: shared.float64(count),
    by: shared.uint8(count),
    key: shared.uint32(count),
    peak: shared.uint32(count),
    first: shared.uint32(count + 1),
    events: shared.uint32(foundEvents.length),
  };
  let events = 0;
  for (let c = 0; c < count; c++) {
    const from = order[c]!;
    sorted.startMs[c] = foundStart[from]!;
    sorted.endMs[c] = foundEnd[from]!;
    sorted.by[c] = by[from]!;
    sorted.key[c] = key[from]!;
    sorted.peak[c] = peak[from]!;
    const end = from + 1 < count ? foundFirst[from + 1]! : foundEvents.length;
    for (let e = foundFirst[from]!; e < end; e++) sorted.events[events++] = foundEvents[e]!;
    sorted.first[c + 1] = events;
  }
  return {
    ...sorted,
    keys: input.keys,
    clustersOf: clustersOfEvents(input.count, sorted.first, sorted.events),
    index: buildIntervalIndex(sorted.startMs, sorted.endMs, INTERVALS_PER_TREE_MAX),
  };
}

/** For each ordinal the clusters that it is in, ascending: the cluster lists turned around, by counting sort. */
export function clustersOfEvents(
  eventCount: number,
  first: Uint32Array,
  events: Uint32Array,
): PostingListsImage {
  const start = shared.uint32(eventCount + 1);
  for (const ordinal of events) start[ordinal + 1]!++;
  for (let ordinal = 0; ordinal < eventCount; ordinal++) start[ordinal + 1]! += start[ordinal]!;
  const next = start.slice(0, eventCount);
  const clusters = shared.uint32(events.length);
  for (let cluster = 0; cluster + 1 < first.length; cluster++) {
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) clusters[next[events[e]!]!++] = cluster;
  }
  return { start, ordinals: clusters };
}
