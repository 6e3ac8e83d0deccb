/** Room structures/. Data structures that could be published alone. They know nothing of timetables. */
import createIntervalTree, { type IntervalTree } from 'interval-tree-1d';
import { lowerBound } from './search.js';
import { results, shared } from './slabs.js';

/**
 * Which intervals overlap a window? The index over half-open intervals [start, end), sorted by (start, end); an empty
 * interval counts as the single integer `start`.
 *
 * Those that start inside the window are one run of the sorted intervals, found by binary search. Only those that are
 * already running when the window begins need a tree, as a point query. interval-tree-1d builds slowly (6 s for
 * 1,000,000 intervals) and cannot cross threads, so there is not one tree but many small ones, each built when its
 * intervals have been asked for often enough to repay it, and scanned until then: intervals are grouped by the power of two of their length, then cut into buckets in order of their
 * start, and one tree over the buckets' spans says which of them to ask. Grouping by length keeps those spans short:
 * a bucket is only asked when intervals of that length can still be running, however long others are.
 */
export interface IntervalIndexImage {
  /** Interval numbers, bucket by bucket. */
  readonly members: Uint32Array;
  /** Bucket b is members [bucketStart[b], bucketStart[b + 1]). */
  readonly bucketStart: Uint32Array;
  /** The last integer that any interval of the bucket contains. */
  readonly bucketLast: Float64Array;
}

/** Lengths are below 2^53, so they fall into 54 classes, 0 for empty ones. */
const LENGTH_CLASSES = 54;

/** The last integer of [start, end); `start` itself for an empty interval. Closed intervals are what the tree stores. */
function lastOf(start: number, end: number): number {
  return end > start ? end - 1 : start;
}

function lengthClass(length: number): number {
  return length <= 0 ? 0 : Math.floor(Math.log2(length)) + 1;
}

/**
 * @param starts integers, ascending
 * @param ends integers, each at least its start
 * @param perBucketMax intervals in one bucket
 */
export function buildIntervalIndex(
  starts: Float64Array,
  ends: Float64Array,
  perBucketMax: number,
): IntervalIndexImage {
  const count = starts.length;
  const classes = new Uint8Array(count);
  const next = new Uint32Array(LENGTH_CLASSES + 1);
  for (let i = 0; i < count; i++) {
    const group = lengthClass(ends[i]! - starts[i]!);
    classes[i] = group;
    next[group + 1]!++;
  }
  const bucketStarts: number[] = [];
  for (let group = 0; group < LENGTH_CLASSES; group++) {
    const size = next[group + 1]!;
    for (let offset = 0; offset < size; offset += perBucketMax) bucketStarts.push(next[group]! + offset);
    next[group + 1]! += next[group]!;
  }
  const members = shared.uint32(count);
  for (let i = 0; i < count; i++) members[next[classes[i]!]!++] = i;
  const bucketStart = shared.uint32(bucketStarts.length + 1);
  bucketStart.set(bucketStarts);
  bucketStart[bucketStarts.length] = count;
  const bucketLast = shared.float64(bucketStarts.length);
  for (let bucket = 0; bucket < bucketStarts.length; bucket++) {
    let last = Number.NEGATIVE_INFINITY;
    for (let m = bucketStart[bucket]!; m < bucketStart[bucket + 1]!; m++) {
      const i = members[m]!;
      last = Math.max(last, lastOf(starts[i]!, ends[i]!));
    }
    bucketLast[bucket] = last;
  }
  return { members, bucketStart, bucketLast };
}

/** [first integer, last integer, number]: of an interval or of a bucket. */
type Entry = readonly [first: number, last: number, number: number];

export class IntervalIndex {
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  readonly #image: IntervalIndexImage;
  readonly #treesMax: number;
  readonly #scansMax: number;
  /** How often each bucket was scanned. */
  readonly #scans: Uint8Array;
  readonly #bucketTree: IntervalTree<Entry>;
  /** The oldest goes when there are too many, and has to be asked for often again to come back. */
  readonly #trees = new Map<number, IntervalTree<Entry>>();

  /**
   * @param starts the arrays that the image was built from
   * @param bounds.treesMax trees kept at a time
   * @param bounds.scansMax times that a bucket is scanned before a tree is built of it; at most 255
   */
  constructor(
    starts: Float64Array,
    ends: Float64Array,
    image: IntervalIndexImage,
    bounds: { readonly treesMax: number; readonly scansMax: number },
  ) {
    this.#starts = starts;
    this.#ends = ends;
    this.#image = image;
    this.#treesMax = bounds.treesMax;
    this.#scansMax = bounds.scansMax;
    this.#scans = new Uint8Array(image.bucketLast.length);
    const spans: Entry[] = [];
    for (let bucket = 0; bucket < image.bucketLast.length; bucket++) {
      const first = image.members[image.bucketStart[bucket]!]!;
      spans.push([starts[first]!, image.bucketLast[bucket]!, bucket]);
    }
    this.#bucketTree = createIntervalTree(spans);
  }

  get count(): number {
    return this.#starts.length;
  }

  /** Trees in memory at present. */
  get treeCount(): number {
    return this.#trees.size;
  }

  /**
   * The intervals that start within [from, to): one run of interval numbers.
   *
   * @param from -Infinity for no lower bound
   * @param to Infinity for no upper bound
   */
  startingWithin(from: number, to: number): { first: number; end: number } {
    const first = lowerBound(this.#starts, from);
    return { first, end: Math.max(first, lowerBound(this.#starts, to, first)) };
  }

  /** The intervals that start before `point` and end after it, ascending. They and startingWithin are a window. */
  runningAt(point: number): Uint32Array {
    return this.runningUpTo(point, Number.POSITIVE_INFINITY) as Uint32Array;
  }

  /** The same, or null where they are more than `max`: the search stops at the first one beyond it. */
  runningUpTo(point: number, max: number): Uint32Array | null {
    const found: number[] = [];
    if (!Number.isFinite(point)) return results.copyUint32(found);
    // A truthy value stops the traversal: of this tree, and then of the tree over the buckets.
    const visitInterval = (entry: Entry): boolean => {
      if (entry[0] < point) found.push(entry[2]);
      return found.length > max;
    };
    let hasBuilt = false;
    this.#bucketTree.queryPoint(point, (span) => {
      const bucket = span[2];
      let tree = this.#trees.get(bucket);
      // One tree takes 2 ms: no more than that for one question.
      if (tree === undefined && !hasBuilt && this.#scans[bucket]! >= this.#scansMax) {
        tree = this.#buildTree(bucket);
        hasBuilt = true;
      }
      if (tree === undefined) this.#scan(bucket, point, max, found);
      else tree.queryPoint(point, visitInterval);
      return found.length > max;
    });
    return found.length > max ? null : results.copyUint32(found).sort();
  }

  #scan(bucket: number, point: number, max: number, found: number[]): void {
    if (this.#scans[bucket]! < this.#scansMax) this.#scans[bucket]!++;
    const { members, bucketStart } = this.#image;
    const end = bucketStart[bucket + 1]!;
    for (let m = bucketStart[bucket]!; m < end && found.length <= max; m++) {
      const i = members[m]!;
      // Within a bucket they are in order of their start.
      if (this.#starts[i]! >= point) return;
      if (this.#ends[i]! > point) found.push(i);
    }
  }

  #buildTree(bucket: number): IntervalTree<Entry> {
    const { members, bucketStart } = this.#image;
    const entries: Entry[] = [];
    for (let m = bucketStart[bucket]!; m < bucketStart[bucket + 1]!; m++) {
      const i = members[m]!;
      entries.push([this.#starts[i]!, lastOf(this.#starts[i]!, this.#ends[i]!), i]);
    }
    const tree = createIntervalTree(entries);
    if (this.#trees.size >= this.#treesMax) {
      const oldest = this.#trees.keys().next();
      if (oldest.done !== true) {
        this.#trees.delete(oldest.value);
        this.#scans[oldest.value] = 0;
      }
    }
    this.#trees.set(bucket, tree);
    return tree;
  }
}
