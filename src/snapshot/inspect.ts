import {
  CONFLICT_DIMENSIONS,
  type ConflictBy,
  INDEXED_FIELDS,
  type IndexedFieldName,
} from '../model/fields.js';
import { NO_CODE } from '../structures/dictionary.js';
import type { Clusters } from './cluster-reader.js';
import { byteLengthOf, type SnapshotImage } from './image.js';
import { Snapshot } from './snapshot.js';
import type { SnapshotSummary } from './summary.js';

/** What is in a data set, counted. */
export interface Inspection {
  readonly summary: SnapshotSummary;
  readonly fields: readonly {
    readonly name: IndexedFieldName;
    /** Distinct values. */
    readonly values: number;
    /** Events that have one. */
    readonly events: number;
  }[];
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
    fields: INDEXED_FIELDS.map((field) => {
      const { dictionary, codes } = snapshot.field(field.name);
      let events = 0;
      for (const code of codes) if (code !== NO_CODE) events++;
      return { name: field.name, values: dictionary.size, events };
    }),
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
