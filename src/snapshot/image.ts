import {
  CONFLICT_DIMENSIONS,
  type ConflictBy,
  type IndexedFieldName,
  type NamedFieldName,
  type UnindexedFieldName,
} from '../base/model/fields.js';
import { hasSameBytes } from '../base/structures/byte-strings.js';
import type { DictionaryImage } from '../base/structures/dictionary.js';
import type { HashIndexImage } from '../base/structures/hash-index.js';
import type { IntervalIndexImage } from '../base/structures/interval-index.js';
import type { HashSeed } from '../base/structures/keyed-hash.js';
import type { CodeColumn, PostingListsImage } from '../base/structures/posting-lists.js';
import type { SnapshotSummary } from './summary.js';

/**
 * A snapshot as flat data: typed arrays over SharedArrayBuffers, a seed and a small summary. An image crosses
 * threads without a copy, and is stored and read without parsing. The **ordinal** of an event is its place in
 * the order of (time, endTime, id).
 */
export interface SnapshotImage {
  readonly summary: SnapshotSummary;
  readonly slots: SlotsImage;
  readonly fields: Readonly<Record<IndexedFieldName, FieldImage>>;
  /**
   * Values of fields without an index, for patches; indexed fields are in `fields`. A column is empty if no event has the
   * field.
   */
  readonly columns: Readonly<Record<UnindexedFieldName, ColumnImage>>;
  readonly names: Readonly<Record<NamedFieldName, NamesImage>>;
  readonly rows: RowsImage;
  /**
   * For each ordinal, when the event last changed: seconds since 1970, or 0 if unknown. Not part of the content's id.
   * See change/revisions.ts.
   */
  readonly modified: Uint32Array;
  /** DAY_DIGEST_BYTES for each day in which events start: see content-version.ts. */
  readonly dayDigests: Uint8Array;
  /** Random for each timetable, so that attackers cannot choose colliding ids. The seed is not part of the summary, because clients see the summary. */
  readonly hashSeed: HashSeed;
  readonly ids: HashIndexImage;
  /** Conflict clusters in two forms: equal rows merged into one lesson, or every row a lesson. */
  readonly clusters: { readonly merged: ClustersImage; readonly unmerged: ClustersImage };
}

/** Slot s is a distinct (time, endTime) with ordinals [first[s], first[s + 1]). Sorted. */
export interface SlotsImage {
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
  readonly first: Uint32Array;
  readonly index: IntervalIndexImage;
}

export interface ColumnImage {
  readonly dictionary: DictionaryImage;
  /** For each ordinal: a code of the dictionary, or a larger number for null. */
  readonly codes: CodeColumn;
}

/** The columns of all fields, by name. */
export function columnsOf({
  fields,
  columns,
}: Pick<SnapshotImage, 'fields' | 'columns'>): Readonly<Record<string, ColumnImage>> {
  return { ...fields, ...columns };
}

export interface FieldImage extends ColumnImage {
  readonly postings: PostingListsImage;
  /** For each code: the length of its longest event in milliseconds, which bounds the search for running events. */
  readonly longestMs: Float64Array;
}

/** Display names of the values of one field. */
export interface NamesImage {
  readonly dictionary: DictionaryImage;
  /** For each code of the field: a code of this dictionary, or a larger number for no name. */
  readonly codes: CodeColumn;
}

/** All rows as one JSON array in ordinal order. Row n is bytes [start[n], start[n + 1] - 1), before a comma or bracket. */
export interface RowsImage {
  readonly bytes: Uint8Array;
  readonly start: Uint32Array;
  /** Rows [m, n) take packedStart[n] - packedStart[m] bytes in MessagePack, which is made on request. */
  readonly packedStart: Uint32Array;
}

/** Sorted by (start, end, by, key). */
export interface ClustersImage {
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
  readonly by: Uint8Array;
  readonly key: Uint32Array;
  readonly keys: DictionaryImage;
  readonly peak: Uint32Array;
  readonly jsonBytes: Uint32Array;
  readonly packedBytes: Uint32Array;
  /** Cluster c has ordinals [first[c], first[c + 1]) of `events`. */
  readonly first: Uint32Array;
  readonly events: Uint32Array;
  /** For each ordinal, its clusters in ascending order. */
  readonly clustersOf: PostingListsImage;
  readonly index: IntervalIndexImage;
}

/** A time of change as it stands in `modified`. @param ms in epoch milliseconds; null or NaN if unknown */
export function revisionSeconds(ms: number | null): number {
  if (ms === null || Number.isNaN(ms)) return 0;
  // 32 bits last until 2106.
  return Math.min(Math.max(Math.floor(ms / 1000), 1), 2 ** 32 - 2);
}

export function byteLengthOf(part: unknown): number {
  if (ArrayBuffer.isView(part)) return part.byteLength;
  if (typeof part !== 'object' || part === null) return 0;
  return Object.values(part).reduce((bytes: number, inner) => bytes + byteLengthOf(inner), 0);
}

/**
 * Whether two images have equal events. Ignores the seed, the summary and the table of ids, which depends on
 * the seed.
 */
export function isSameImage(a: SnapshotImage, b: SnapshotImage): boolean {
  const { summary: _a, hashSeed: _seedA, ids: _idsA, ...partsOfA } = a;
  const { summary: _b, hashSeed: _seedB, ids: _idsB, ...partsOfB } = b;
  return isSamePart(partsOfA, partsOfB);
}

function isSamePart(a: unknown, b: unknown): boolean {
  if (ArrayBuffer.isView(a)) return ArrayBuffer.isView(b) && hasSameBytes(a, b);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const ofB = b as Readonly<Record<string, unknown>>;
  return Object.entries(a).every(([name, part]) => isSamePart(part, ofB[name]));
}

export interface Inspection {
  readonly summary: SnapshotSummary;
  readonly conflicts: Readonly<Record<'merged' | 'unmerged', Readonly<Record<ConflictBy, number>>>>;
  /** The bytes of each part, without caches and interval trees, which grow while serving. */
  readonly bytes: Readonly<
    Record<'rows' | 'fields' | 'names' | 'slots' | 'ids' | 'clusters' | 'total', number>
  >;
}

export function inspectImage(image: SnapshotImage): Inspection {
  const { summary, rows, modified, dayDigests, fields, columns, names, slots, ids, clusters } = image;
  return {
    summary,
    conflicts: { merged: countByDimension(clusters.merged), unmerged: countByDimension(clusters.unmerged) },
    bytes: {
      rows: byteLengthOf({ rows, modified, dayDigests }),
      fields: byteLengthOf({ fields, columns }),
      names: byteLengthOf(names),
      slots: byteLengthOf(slots),
      ids: byteLengthOf(ids),
      clusters: byteLengthOf(clusters),
      total: summary.bytes,
    },
  };
}

function countByDimension({ by }: ClustersImage): Record<ConflictBy, number> {
  const counts: Record<ConflictBy, number> = { group: 0, lecturer: 0, room: 0 };
  for (const dimension of by) counts[CONFLICT_DIMENSIONS[dimension]!.by]++;
  return counts;
}
