import type { ConflictBy, IndexedFieldName } from '../model/fields.js';

/** "field is one of values": one field, canonical values in code point order without repeats, at least one. */
export interface FieldFilter {
  /** The field. */
  readonly field: IndexedFieldName;
  /** Its values. */
  readonly values: readonly string[];
}

/** The half-open interval [startMs, endMs) that events must overlap; ±Infinity where a side was left out. */
export interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * What to select, independent of any snapshot. All filters must match (AND), each with any of its values (OR); of
 * the identities, where there are any, at least one must match.
 */
export interface Query {
  /** In the order of the descriptor table, at most one per field. */
  readonly filters: readonly FieldFilter[];
  /** The user of /schedule/personal; null for everyone. An empty list matches nothing. */
  readonly identities: readonly FieldFilter[] | null;
  readonly window: Window;
}

/** What /schedule/conflicts adds to a query. */
export interface ConflictOptions {
  /** In sort order, without repeats, at least one. */
  readonly by: readonly ConflictBy[];
  /** False: every row is a lesson of its own. */
  readonly merge: boolean;
}

/** The sort key after which a page of events continues. */
export interface EventCursor {
  readonly timeMs: number;
  readonly endTimeMs: number;
  readonly id: string;
}

/** The sort key after which a page of conflicts continues. */
export interface ConflictCursor {
  readonly startMs: number;
  readonly endMs: number;
  readonly by: ConflictBy;
  /** The key, or the beginning of a very long one. */
  readonly key: string;
  /** Where `key` is only a beginning: the digest of the whole, see query/cursor.ts. */
  readonly keyDigest: string | null;
}

/** Which part of a result to return. */
export interface Page<Cursor> {
  /** Infinity: everything. */
  readonly limit: number;
  readonly after: Cursor | null;
}

export const WHOLE: Page<never> = { limit: Number.POSITIVE_INFINITY, after: null };
export const ALWAYS: Window = {
  startMs: Number.NEGATIVE_INFINITY,
  endMs: Number.POSITIVE_INFINITY,
};
