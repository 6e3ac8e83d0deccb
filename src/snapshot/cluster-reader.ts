import { INTERVAL_TREES_MAX } from '../limits.js';
import { CONFLICT_DIMENSIONS, type ConflictBy } from '../model/fields.js';
import { compareCodePoints } from '../model/text.js';
import { Dictionary, NO_CODE } from '../structures/dictionary.js';
import { IntervalIndex } from '../structures/interval-index.js';
import { lowerBound } from '../structures/search.js';
import type { ClustersImage } from './image.js';

/** The sort key of a cluster. */
export interface ClusterKey {
  readonly startMs: number;
  readonly endMs: number;
  readonly by: ConflictBy;
  readonly key: string;
}

/** The conflict clusters of a snapshot, for reading; cluster numbers are in the documented order. */
export class Clusters {
  readonly index: IntervalIndex;
  readonly #image: ClustersImage;
  readonly #keys: Dictionary;

  constructor(image: ClustersImage) {
    this.#image = image;
    this.#keys = new Dictionary(image.keys);
    this.index = new IntervalIndex(image.startMs, image.endMs, image.index, INTERVAL_TREES_MAX);
  }

  get count(): number {
    return this.#image.peak.length;
  }

  /** Index into CONFLICT_DIMENSIONS. */
  dimensionOf(cluster: number): number {
    return this.#image.by[cluster]!;
  }

  keyOf(cluster: number): ClusterKey {
    return {
      startMs: this.#image.startMs[cluster]!,
      endMs: this.#image.endMs[cluster]!,
      by: CONFLICT_DIMENSIONS[this.#image.by[cluster]!]!.by,
      key: this.#keys.valueOf(this.#image.key[cluster]!),
    };
  }

  peakOf(cluster: number): number {
    return this.#image.peak[cluster]!;
  }

  /** The ordinals of a cluster's events, ascending. A view of shared memory. */
  eventsOf(cluster: number): Uint32Array {
    return this.#image.events.subarray(this.#image.first[cluster]!, this.#image.first[cluster + 1]!);
  }

  /** The cluster that an event belongs to in one dimension, or NO_CODE. */
  clusterOf(dimension: number, ordinal: number): number {
    return this.#image.clusterOf[dimension]?.[ordinal] ?? NO_CODE;
  }

  /** The first cluster whose sort key is greater than `key`. */
  clusterAfter(key: ClusterKey): number {
    let low = lowerBound(this.#image.startMs, key.startMs);
    let high = this.count;
    // Invariant: clusters before `low` are not greater, clusters from `high` on are; the gap halves each time.
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.keyOf(middle), key) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function compareKeys(a: ClusterKey, b: ClusterKey): number {
  return (
    a.startMs - b.startMs ||
    a.endMs - b.endMs ||
    compareCodePoints(a.by, b.by) ||
    compareCodePoints(a.key, b.key)
  );
}
