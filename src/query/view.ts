import type { ParameterFault } from '../errors.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { ReadResult } from './answer.js';
import type { Explanation } from './explain.js';
import type { FieldFilter } from './query.js';

/** Name and value pairs as they were given, decoded; in the order of the request. Repeats are repeated pairs. */
export type ParameterPairs = readonly (readonly [name: string, value: string])[];

export interface ParseOptions {
  /** `reject` (default): an unknown parameter is a fault. `ignore`: it is skipped. */
  readonly unknownParameters: 'reject' | 'ignore';
}

/**
 * One snapshot, opened for reading: what the HTTP layer and the in-process API both use, and all they use. A request
 * takes one view and so sees one snapshot.
 */
export interface View {
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
  /** How GET /schedule answers: the plan as text, with counts and timings. Executes the query. */
  explain(
    parameters: ParameterPairs,
    options: ParseOptions,
  ): Explanation | { readonly faults: readonly ParameterFault[] };
  /** A value that the field has in this data set, or null where no event has one: for examples and test tokens. */
  sampleValue(field: FieldFilter['field']): string | null;
}
