/**
 * Room view/. One snapshot, opened for reading: all that HTTP and the library use of it. It knows neither status codes
 * nor sockets.
 */
export type { ParameterPairs, ParseOptions } from '../query/parameters.js';

import type { Explanation } from '../query/explain.js';
import type { ParameterPairs, ParseOptions } from '../query/parameters.js';
import type { FieldFilter } from '../query/query.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { ReadFaults, ReadResult } from './answer.js';

/**
 * One snapshot, opened for reading: what the HTTP layer and the in-process API both use, and all they use. A request
 * takes one view and so sees one snapshot.
 */
export interface View {
  /** What is known of the snapshot. */
  readonly summary: SnapshotSummary;
  /** GET /schedule. */
  schedule(parameters: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/personal: the filters of /schedule, narrowed to the user's identities. */
  personal(parameters: ParameterPairs, options: ParseOptions, identities: readonly FieldFilter[]): ReadResult;
  /** GET /schedule/all. */
  all(parameters: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/types. */
  types(parameters: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/conflicts. */
  conflicts(parameters: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/changes: what is different from a past snapshot. */
  changes(parameters: ParameterPairs, options: ParseOptions): ReadResult;
  /** The cache of rows that are laid side by side, in this view's time. */
  readonly rowCache: {
    /** Memory that it takes. */
    readonly bytes: number;
    /** Results that were made of it. */
    readonly hits: number;
    /** Results that were not. */
    readonly misses: number;
  };
  /** Gives the memory of caches back, when another view takes the place of this one. It can be read all the same. */
  dropCaches(): void;
  /** The JSON of one event by its canonical id, or null. A view of shared memory. */
  eventOf(id: string): Uint8Array | null;
  /** How GET /schedule answers: the plan as text, with counts and timings. Executes the query. */
  explain(parameters: ParameterPairs, options: ParseOptions): Explanation | ReadFaults;
  /** A value that the field has in this data set, or null where no event has one: for examples and test tokens. */
  sampleValue(field: FieldFilter['field']): string | null;
}
