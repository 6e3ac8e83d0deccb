import type { FormatName } from '../model/format.js';
import type { EndpointName, Parameters } from '../query/parameters.js';
import type { FieldFilter } from '../query/query.js';
import { textDigest } from '../structures/text-digest.js';

/**
 * A weak tag over everything that decides the answer: content, endpoint, canonical parameters, identities, media type.
 * Weak, because representations of one content are equivalent rather than promised to be equal to the byte for ever.
 *
 * The query's part is a digest of 64 bits that is no secret and keeps nobody out: tags are compared among answers of one
 * URL, and whoever looks for two queries with one digest finds them for themselves only.
 */
export function entityTagOf(
  contentId: string,
  endpoint: EndpointName,
  parameters: Parameters,
  identities: readonly FieldFilter[] | null,
  format: FormatName,
): string {
  return `W/"${contentId}-${textDigest(canonicalText(endpoint, parameters, identities, format))}"`;
}

/** Texts that are equal exactly when the queries are. */
function canonicalText(
  endpoint: EndpointName,
  parameters: Parameters,
  identities: readonly FieldFilter[] | null,
  format: FormatName,
): string {
  const { filters, startMs, endMs, limit, eventCursor, conflictCursor, by, merge, since } = parameters;
  let text = `${endpoint} ${format} ${startMs} ${endMs} ${limit}${filtersText(filters)}`;
  if (identities !== null) text += ` identities${filtersText(identities)}`;
  if (eventCursor !== null || conflictCursor !== null)
    text += ` ${JSON.stringify([eventCursor, conflictCursor])}`;
  if (endpoint === 'conflicts') text += ` ${by.join()} ${merge}`;
  if (since !== null) text += ` ${JSON.stringify(since)}`;
  return text;
}

/** Values may hold any character, so each is told with its length. */
function filtersText(filters: readonly FieldFilter[]): string {
  let text = '';
  for (const { field, values } of filters) {
    text += ` ${field}`;
    for (const value of values) text += ` ${value.length}:${value}`;
  }
  return text;
}
