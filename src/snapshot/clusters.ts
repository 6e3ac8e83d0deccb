import { INTERVALS_PER_TREE_MAX } from '../limits.js';
import { CONFLICT_DIMENSIONS } from '../model/fields.js';
import { type DictionaryImage, NO_CODE } from '../structures/dictionary.js';
import { GrowableUint32 } from '../structures/growable.js';
import { buildIntervalIndex } from '../structures/interval-index.js';
import { buildPostingLists, type PostingListsImage } from '../structures/posting-lists.js';
import { sharedUint8, sharedUint32, shareFloat64, shareUint32 } from '../structures/shared.js';
import { entryByteLengths, type UnmeasuredClusters } from './entry-lengths.js';
import type { ClustersImage, RowsImage } from './image.js';

/** What clustering needs to know of the events, all by ordinal. */
export interface ClusterInput {
  readonly count: number;
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
  /** Numbers that are equal when the events are rows of one lesson; NO_CODE for a lesson of its own. */
  readonly lesson: Uint32Array;
  /** For each of CONFLICT_DIMENSIONS the key of each event, as a code of `keys`, or NO_CODE. */
  readonly keyOf: readonly Uint32Array[];
  readonly keys: DictionaryImage;
}

/** Clusters as they are found, in columns; `finish` brings them into order. */
interface FoundClusters {
  readonly by: GrowableUint32;
  readonly key: GrowableUint32;
  readonly peak: GrowableUint32;
  readonly first: GrowableUint32;
  readonly events: GrowableUint32;
}

/**
 * Finds the conflicts: for each dimension and key the maximal sets of at least two lessons that overlaps connect.
 * One sweep over the events of a key in time order: an event that starts before everything so far has ended belongs to
 * the present cluster. O(n log n) in the number of events, never in the number of overlapping pairs.
 *
 * @param rows of the same events, for their lengths
 * @param merge whether rows of one lesson count as one; otherwise every row is a lesson
 */
export function buildClusters(input: ClusterInput, rows: RowsImage, merge: boolean): ClustersImage {
  const found: FoundClusters = {
    by: new GrowableUint32(),
    key: new GrowableUint32(),
    peak: new GrowableUint32(),
    first: new GrowableUint32(),
    events: new GrowableUint32(),
  };
  const keyCount = input.keys.start.length - 1;
  const lessonRows = merge ? buildPostingLists(input.lesson, input.count) : null;
  for (let by = 0; by < CONFLICT_DIMENSIONS.length; by++) {
    const byKey = buildPostingLists(input.keyOf[by]!, keyCount);
    for (let key = 0; key < keyCount; key++) {
      const ordinals = byKey.ordinals.subarray(byKey.start[key]!, byKey.start[key + 1]!);
      sweep(input, lessonRows, by, key, ordinals, found);
    }
  }
  const unmeasured = finish(input, found);
  return { ...unmeasured, ...entryByteLengths(unmeasured, rows) };
}

/**
 * Adds the clusters of one key.
 *
 * @param lessonRows the rows of each lesson by its number; null where every row is a lesson
 * @param ordinals all events of the key, in order of start
 */
function sweep(
  input: ClusterInput,
  lessonRows: PostingListsImage | null,
  by: number,
  key: number,
  ordinals: Uint32Array,
  found: FoundClusters,
): void {
  const { startMs, endMs, lesson } = input;
  /** One row of each lesson of the present cluster. Most clusters are one lesson, so nothing is made anew for each. */
  const lessons: number[] = [];
  /** The numbers of the lessons, once they are too many to be looked through. */
  const seen = new Set<number>();
  let clusterEndMs = Number.NEGATIVE_INFINITY;
  const close = (): void => {
    if (lessons.length < 2) return;
    found.by.push(by);
    found.key.push(key);
    found.peak.push(peakOf(lessons, startMs, endMs));
    found.first.push(found.events.length);
    for (const ordinal of rowsOf(lessons, lesson, lessonRows)) found.events.push(ordinal);
  };
  for (const ordinal of ordinals) {
    // An empty event takes no time and cannot overlap anything.
    if (startMs[ordinal] === endMs[ordinal]) continue;
    if (startMs[ordinal]! >= clusterEndMs) {
      close();
      lessons.length = 0;
      if (seen.size > 0) seen.clear();
      clusterEndMs = endMs[ordinal]!;
    }
    const number = lessonRows === null ? NO_CODE : lesson[ordinal]!;
    if (number === NO_CODE || !isAmong(number, lessons, lesson, seen)) {
      lessons.push(ordinal);
      if (lessons.length > LESSONS_LOOKED_THROUGH_MAX) {
        if (seen.size === 0) for (const row of lessons) seen.add(lesson[row]!);
        else seen.add(number);
      }
    }
    if (endMs[ordinal]! > clusterEndMs) clusterEndMs = endMs[ordinal]!;
  }
  close();
}

/** Lessons of one cluster that are compared one by one; of more the numbers are kept in a set. */
const LESSONS_LOOKED_THROUGH_MAX = 8;

function isAmong(
  number: number,
  lessons: readonly number[],
  lesson: Uint32Array,
  seen: ReadonlySet<number>,
): boolean {
  if (lessons.length > LESSONS_LOOKED_THROUGH_MAX) return seen.has(number);
  for (const row of lessons) if (lesson[row] === number) return true;
  return false;
}

/** Every row of the given lessons, ascending: also those whose own key is another, a second lecturer's for instance. */
function rowsOf(
  lessons: readonly number[],
  lesson: Uint32Array,
  lessonRows: PostingListsImage | null,
): Uint32Array {
  const rows: number[] = [];
  for (const ordinal of lessons) {
    const number = lesson[ordinal]!;
    if (lessonRows === null || number === NO_CODE) rows.push(ordinal);
    else {
      for (let r = lessonRows.start[number]!; r < lessonRows.start[number + 1]!; r++) {
        rows.push(lessonRows.ordinals[r]!);
      }
    }
  }
  return Uint32Array.from(rows).sort();
}

/**
 * The largest number of lessons at one instant. Going through starts and ends in order, an end comes before a start at
 * the same instant, because intervals are half-open.
 */
function peakOf(lessons: readonly number[], startMs: Float64Array, endMs: Float64Array): number {
  const ends = Float64Array.from(lessons, (ordinal) => endMs[ordinal]!).sort();
  let ended = 0;
  let peak = 0;
  for (let started = 0; started < lessons.length; started++) {
    const start = startMs[lessons[started]!]!;
    // Terminates: at most as many lessons have ended as there are.
    while (ended < ends.length && ends[ended]! <= start) ended++;
    peak = Math.max(peak, started + 1 - ended);
  }
  return peak;
}

/** Sorts the clusters by (start, end, by, key) and builds what reading them needs. */
function finish(input: ClusterInput, found: FoundClusters): UnmeasuredClusters {
  const count = found.by.length;
  const by = found.by.view();
  const key = found.key.view();
  const first = found.first.view();
  const events = found.events.view();
  const endOf = (c: number): number => (c + 1 < count ? first[c + 1]! : events.length);
  const startMs = new Float64Array(count);
  const endMs = new Float64Array(count).fill(Number.NEGATIVE_INFINITY);
  for (let c = 0; c < count; c++) {
    startMs[c] = input.startMs[events[first[c]!]!]!;
    for (let e = first[c]!; e < endOf(c); e++) endMs[c] = Math.max(endMs[c]!, input.endMs[events[e]!]!);
  }
  const order = Uint32Array.from({ length: count }, (_, c) => c).sort(
    (a, b) => startMs[a]! - startMs[b]! || endMs[a]! - endMs[b]! || by[a]! - by[b]! || key[a]! - key[b]!,
  );
  const sortedFirst = sharedUint32(count + 1);
  const sortedEvents = sharedUint32(events.length);
  const sortedBy = sharedUint8(count);
  for (let c = 0; c < count; c++) {
    const from = order[c]!;
    const part = events.subarray(first[from]!, endOf(from));
    sortedEvents.set(part, sortedFirst[c]!);
    sortedFirst[c + 1] = sortedFirst[c]! + part.length;
    sortedBy[c] = by[from]!;
  }
  const sortedStart = shareFloat64(order.length === 0 ? [] : Float64Array.from(order, (c) => startMs[c]!));
  const sortedEnd = shareFloat64(order.length === 0 ? [] : Float64Array.from(order, (c) => endMs[c]!));
  const peak = found.peak.view();
  return {
    startMs: sortedStart,
    endMs: sortedEnd,
    by: sortedBy,
    key: shareUint32(Uint32Array.from(order, (c) => key[c]!)),
    keys: input.keys,
    peak: shareUint32(Uint32Array.from(order, (c) => peak[c]!)),
    first: sortedFirst,
    events: sortedEvents,
    clustersOf: clustersOfEvents(input.count, sortedFirst, sortedEvents),
    index: buildIntervalIndex(sortedStart, sortedEnd, INTERVALS_PER_TREE_MAX),
  };
}

/** For each ordinal the clusters that it is in, ascending: the cluster lists turned around, by counting sort. */
function clustersOfEvents(eventCount: number, first: Uint32Array, events: Uint32Array): PostingListsImage {
  const start = sharedUint32(eventCount + 1);
  for (const ordinal of events) start[ordinal + 1]!++;
  for (let ordinal = 0; ordinal < eventCount; ordinal++) start[ordinal + 1]! += start[ordinal]!;
  const next = start.slice(0, eventCount);
  const clusters = sharedUint32(events.length);
  for (let cluster = 0; cluster + 1 < first.length; cluster++) {
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) clusters[next[events[e]!]!++] = cluster;
  }
  return { start, ordinals: clusters };
}
