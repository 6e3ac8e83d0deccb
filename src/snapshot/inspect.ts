import { CONFLICT_DIMENSIONS, type ConflictBy } from '../model/fields.js';
import type { Clusters } from './cluster-reader.js';
import { byteLengthOf, type SnapshotImage } from './image.js';
import { Snapshot } from './snapshot.js';
import type { SnapshotSummary } from './summary.js';

/** What is in a data set, counted. */
export interface Inspection {
  readonly summary: SnapshotSummary;
  /** Conflict clusters of each kind: rows of one lesson merged, and every row a lesson of its own. */
  readonly conflicts: {
    readonly merged: Readonly<Record<ConflictBy, number>>;
    readonly unmerged: Readonly<Record<ConflictBy, number>>;
  };
  /** Bytes of the snapshot's parts. What caches and interval trees add while serving is not in it. */
  readonly bytes: {
    readonly rows: number;
    readonly fields: number;
    readonly slots: number;
    readonly ids: number;
    readonly clusters: number;
    readonly total: number;
  };
}

/** Counts what an image holds. Walks every column once. */
export function inspectImage(image: SnapshotImage): Inspection {
  const snapshot = new Snapshot(image);
  return {
    summary: image.summary,
    conflicts: { merged: countByDimension(snapshot.merged), unmerged: countByDimension(snapshot.unmerged) },
    bytes: {
      rows: byteLengthOf(image.rows),
      fields: byteLengthOf(image.fields),
      slots: byteLengthOf(image.slots),
      ids: byteLengthOf(image.ids),
      clusters: byteLengthOf(image.clusters),
      total: image.summary.bytes,
    },
  };
}

function countByDimension(clusters: Clusters): Record<ConflictBy, number> {
  const counts: Record<ConflictBy, number> = { group: 0, lecturer: 0, room: 0 };
  for (let cluster = 0; cluster < clusters.count; cluster++) {
    const dimension = CONFLICT_DIMENSIONS[clusters.dimensionOf(cluster)];
    if (dimension !== undefined) counts[dimension.by]++;
  }
  return counts;
}
