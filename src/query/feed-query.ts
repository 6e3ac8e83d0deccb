import type { ParameterFault } from '../errors.js';
import { formatInstant } from '../model/time.js';
import { type DataSetFacts, type ParameterPairs, type ParseOptions, parseParameters } from './parameters.js';

/** The filters and window of a feed in canonical form. */
export interface FeedQuery {
  /** Whether the feed shows only the events of its user. */
  readonly isPersonal: boolean;
  /** Filters, window and marks, as parameters of /schedule. */
  readonly pairs: ParameterPairs;
}

export function parseFeedQuery(
  pairs: ParameterPairs,
  options: ParseOptions,
  facts: DataSetFacts,
): FeedQuery | { readonly faults: readonly ParameterFault[] } {
  const parsed = parseParameters('feed', pairs, options, facts);
  if ('faults' in parsed) return parsed;
  const { isPersonal, filters, startMs, endMs, clashes } = parsed.parameters;
  const canonical: [string, string][] = filters.flatMap(({ field, values, isExcluding }) =>
    values.map((value): [string, string] => [isExcluding ? `${field}!` : field, value]),
  );
  if (startMs !== Number.NEGATIVE_INFINITY) canonical.push(['startTime', formatInstant(startMs)]);
  if (endMs !== Number.POSITIVE_INFINITY) canonical.push(['endTime', formatInstant(endMs)]);
  if (clashes) canonical.push(['clashes', 'mark']);
  return { isPersonal, pairs: canonical };
}
