/**
 * Folder base/structures/. Data structures that could be published on their own. This folder knows nothing of
 * timetables.
 */

import type { IntervalTree } from 'interval-tree-1d';
import createIntervalTree from 'interval-tree-1d';
import { hasSameBytes } from './byte-strings.js';
import { lowerBound } from './search.js';
import { results, shared } from './slabs.js';

/**
 * The index over half-open intervals [start, end), sorted by (start, end). An empty interval contains only `start`.
 *
 * Intervals that start inside a window are one run. Intervals running at the start of a window need a tree.
 * interval-tree-1d builds slowly and cannot cross threads, so there are many small trees, each built after
 * enough scans of its intervals. Intervals are grouped by the power of two of their length and cut into
 * buckets by start. One tree over the spans of the buckets selects buckets.
 */
export interface IntervalIndexImage {
  /** Interval numbers, bucket by bucket. */
  readonly members: Uint32Array;
  /** Bucket b is members [bucketStart[b], bucketStart[b + 1]). */
  readonly bucketStart: Uint32Array;
  /** The largest integer in any interval of the bucket. */
  readonly bucketLast: Float64Array;
}

/** Class 0 holds empty intervals. */
const LENGTH_CLASSES = 54;

/** The tree stores closed intervals. */
function lastOf(start: number, end: number): number {
  return end > start ? end - 1 : start;
}

function lengthClass(length: number): number {
  return length <= 0 ? 0 : Math.floor(Math.log2(length)) + 1;
}

/** All starts and ends are integers; `starts` ascend. */
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
  bucketStarts.push(count);
  const bucketStart = shared.copyUint32(bucketStarts);
  const bucketLast = shared.float64(bucketStart.length - 1).fill(Number.NEGATIVE_INFINITY);
  for (let bucket = 0; bucket < bucketLast.length; bucket++) {
    for (let m = bucketStart[bucket]!; m < bucketStart[bucket + 1]!; m++) {
      const i = members[m]!;
      bucketLast[bucket] = Math.max(bucketLast[bucket]!, lastOf(starts[i]!, ends[i]!));
    }
  }
  return { members, bucketStart, bucketLast };
}

type IndexedInterval = readonly [first: number, last: number, number: number];

export class IntervalIndex {
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  readonly #image: IntervalIndexImage;
  readonly #bounds: { readonly treesMax: number; readonly scansMax: number };
  readonly #scans: Uint8Array;
  readonly #bucketTree: IntervalTree<IndexedInterval>;
  /** Trees by bucket, the oldest first. */
  readonly #trees: Map<number, IntervalTree<IndexedInterval>>;

  /**
   * @param bounds trees kept at a time; scans of a bucket before its tree is built, at most 255
   * @param before shares its trees if it has the same intervals
   */
  constructor(
    starts: Float64Array,
    ends: Float64Array,
    image: IntervalIndexImage,
    bounds: { readonly treesMax: number; readonly scansMax: number },
    before: IntervalIndex | null = null,
  ) {
    this.#starts = starts;
    this.#ends = ends;
    this.#image = image;
    this.#bounds = bounds;
    if (before !== null && hasSameBytes(before.#starts, starts) && hasSameBytes(before.#ends, ends)) {
      this.#scans = before.#scans;
      this.#trees = before.#trees;
      this.#bucketTree = before.#bucketTree;
      return;
    }
    this.#trees = new Map();
    this.#scans = new Uint8Array(image.bucketLast.length);
    const spans: IndexedInterval[] = [];
    for (let bucket = 0; bucket < image.bucketLast.length; bucket++) {
      const first = image.members[image.bucketStart[bucket]!]!;
      spans.push([starts[first]!, image.bucketLast[bucket]!, bucket]);
    }
    this.#bucketTree = createIntervalTree(spans);
  }

  get treeCount(): number {
    return this.#trees.size;
  }

  /** The run of intervals that start within [from, to). Bounds may be infinite. */
  startingWithin(from: number, to: number): { first: number; end: number } {
    const first = lowerBound(this.#starts, from);
    return { first, end: Math.max(first, lowerBound(this.#starts, to, first)) };
  }

  runningAt(point: number): Uint32Array {
    return this.runningUpTo(point, Number.POSITIVE_INFINITY) as Uint32Array;
  }

  /** The intervals running at `point`; null if more than `max` are. */
  runningUpTo(point: number, max: number): Uint32Array | null {
    const found: number[] = [];
    if (!Number.isFinite(point)) return results.copyUint32(found);
    // A truthy value stops the traversal of this tree; the outer visit then stops the traversal of the tree
    // over the buckets.
    const visitInterval = (entry: IndexedInterval): boolean => {
      if (entry[0] < point) found.push(entry[2]);
      return found.length > max;
    };
    let hasBuilt = false;
    this.#bucketTree.queryPoint(point, (span) => {
      const bucket = span[2];
      let tree = this.#trees.get(bucket);
      // Building a tree takes milliseconds: at most one per query.
      if (tree === undefined && !hasBuilt && this.#scans[bucket]! >= this.#bounds.scansMax) {
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
    if (this.#scans[bucket]! < this.#bounds.scansMax) this.#scans[bucket]!++;
    const { members, bucketStart } = this.#image;
    const end = bucketStart[bucket + 1]!;
    for (let m = bucketStart[bucket]!; m < end && found.length <= max; m++) {
      const i = members[m]!;
      // Buckets are sorted by start.
      if (this.#starts[i]! >= point) return;
      if (this.#ends[i]! > point) found.push(i);
    }
  }

  #buildTree(bucket: number): IntervalTree<IndexedInterval> {
    const { members, bucketStart } = this.#image;
    const entries: IndexedInterval[] = [];
    for (let m = bucketStart[bucket]!; m < bucketStart[bucket + 1]!; m++) {
      const i = members[m]!;
      entries.push([this.#starts[i]!, lastOf(this.#starts[i]!, this.#ends[i]!), i]);
    }
    const tree = createIntervalTree(entries);
    if (this.#trees.size >= this.#bounds.treesMax) {
      const [oldest] = this.#trees.keys();
      this.#trees.delete(oldest!);
      this.#scans[oldest!] = 0;
    }
    this.#trees.set(bucket, tree);
    return tree;
  }
}
