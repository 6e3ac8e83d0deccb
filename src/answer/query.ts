import type { FieldFilter } from '../base/model/fields.js';

export type { FieldFilter } from '../base/model/fields.js';

export interface QueryFilter extends FieldFilter {
  /** Whether events with one of the values are left out (`field!=value`) instead of chosen. */
  readonly isExcluding: boolean;
}

/** The half-open interval [startMs, endMs) that events must overlap; ±Infinity if a side was left out. */
export interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

/** A selection, independent of any snapshot. */
export interface Query {
  /** All filters must match. In the order of the descriptor table, at most one of each kind per field. */
  readonly filters: readonly QueryFilter[];
  /**
   * The identities of the user of /schedule/personal, of which at least one must match. Null for other
   * endpoints; an empty list matches nothing.
   */
  readonly identities: readonly FieldFilter[] | null;
  readonly window: Window;
}
