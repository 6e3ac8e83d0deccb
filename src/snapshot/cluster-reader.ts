import { INTERVAL_SCANS_MAX, INTERVAL_TREES_MAX } from '../base/limits.js';
import { CONFLICT_DIMENSIONS, type ConflictBy } from '../base/model/fields.js';
import { compareCodePoints } from '../base/model/text.js';
import { Dictionary } from '../base/structures/dictionary.js';
import { IntervalIndex } from '../base/structures/interval-index.js';
import { firstWhere } from '../base/structures/search.js';
import type { ClustersImage } from './image.js';

export const TREE_BOUNDS: { readonly treesMax: number; readonly scansMax: number } = {
  treesMax: INTERVAL_TREES_MAX,
  scansMax: INTERVAL_SCANS_MAX,
};

export interface ClusterKey {
  readonly startMs: number;
  readonly endMs: number;
  readonly by: ConflictBy;
  readonly key: string;
}

/** Reads conflict clusters; their numbers are in the documented order. */
export class Clusters {
  readonly image: ClustersImage;
  readonly index: IntervalIndex;
  readonly #keys: Dictionary;

  constructor(image: ClustersImage, before: Clusters | null = null) {
    this.image = image;
    this.#keys = new Dictionary(image.keys);
    this.index = new IntervalIndex(image.startMs, image.endMs, image.index, TREE_BOUNDS, before?.index);
  }

  get count(): number {
    return this.image.peak.length;
  }

  keyOf(cluster: number): ClusterKey {
    const { startMs, endMs, by, key } = this.image;
    return {
      startMs: startMs[cluster]!,
      endMs: endMs[cluster]!,
      by: CONFLICT_DIMENSIONS[by[cluster]!]!.by,
      key: this.#keys.valueOf(key[cluster]!),
    };
  }

  /** This method makes no view, because a view costs more than a few look-ups. */
  hasEvent(cluster: number, passes: (ordinal: number) => boolean): boolean {
    const { first, events } = this.image;
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) if (passes(events[e]!)) return true;
    return false;
  }

  eventsOf(cluster: number): Uint32Array {
    return this.image.events.subarray(this.image.first[cluster]!, this.image.first[cluster + 1]!);
  }

  /** Visits the clusters of events [first, end): ascending per event, with repeats. */
  forEachMembership(first: number, end: number, visit: (cluster: number) => void): void {
    const { start, ordinals } = this.image.clustersOf;
    for (let m = start[first]!; m < start[end]!; m++) visit(ordinals[m]!);
  }

  membershipCount(first: number, end: number): number {
    const { start } = this.image.clustersOf;
    return start[end]! - start[first]!;
  }

  /** The first cluster after a key. No cluster needs to have this key. */
  clusterAfter(key: ClusterKey): number {
    return firstWhere(0, this.count, (cluster) => compareClusterKeys(this.keyOf(cluster), key) > 0);
  }
}

function compareClusterKeys(a: ClusterKey, b: ClusterKey): number {
  return (
    a.startMs - b.startMs ||
    a.endMs - b.endMs ||
    compareCodePoints(a.by, b.by) ||
    compareCodePoints(a.key, b.key)
  );
}
