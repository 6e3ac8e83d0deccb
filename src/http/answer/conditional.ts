/** Conditional requests (RFC 9110 section 13) and the header fields that make them possible. */

import type { ParameterPairs } from '../../answer/view.js';
import { LIST_ENTRIES_MAX } from '../../base/limits.js';
import { formatQueryString } from '../request/target.js';
import { tagWithoutCoding } from './compression.js';

/** Reads an `entity-tag` (RFC 9110 section 8.8.3) at a given place. */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/y;
const SEPARATOR = /[ \t,]*/y;

/**
 * The tag in If-None-Match that equals `entityTag` by weak comparison (RFC 9110 section 13.1.2), whatever its
 * content coding; null if there is none. The list ends after LIST_ENTRIES_MAX entries, or at a character that fits
 * neither a tag nor a separator.
 */
export function matchedEntityTag(ifNoneMatch: string, entityTag: string): string | null {
  if (ifNoneMatch === entityTag || ifNoneMatch.trim() === '*') return entityTag;
  const opaque = tagWithoutCoding(entityTag.replace(/^W\//, ''));
  let at = 0;
  for (let entries = 0; entries < LIST_ENTRIES_MAX; entries++) {
    SEPARATOR.lastIndex = at;
    SEPARATOR.test(ifNoneMatch);
    ENTITY_TAG.lastIndex = SEPARATOR.lastIndex;
    const tag = ENTITY_TAG.exec(ifNoneMatch);
    if (tag === null) return null;
    const named = tag[1] as string;
    if (tagWithoutCoding(named) === opaque) return `W/${named}`;
    at = ENTITY_TAG.lastIndex;
  }
  return null;
}

/** The forms of a date (RFC 9110 section 5.6.7): the usual form, and two old forms that must be read. */
const HTTP_DATES = [
  /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/,
];

/** Null for text that is not a date; the condition is then ignored (RFC 9110 section 13.1.4). */
function parseHttpDate(text: string): number | null {
  const form = HTTP_DATES.findIndex((each) => each.test(text));
  if (form === -1) return null;
  const ms = Date.parse(form === 2 ? `${text} GMT` : text);
  if (Number.isNaN(ms)) return null;
  // Date.parse takes 31 February for a day in March.
  const [, day] = /[ ,](\d?\d)[ -]/.exec(text) ?? [];
  return new Date(ms).getUTCDate() === Number(day) ? ms : null;
}

/** Whether an answer has changed since a date, in whole seconds; null if the text is no date. */
export function isModifiedSince(since: string, modifiedMs: number): boolean | null {
  const sinceMs = parseHttpDate(since.trim());
  return sinceMs === null ? null : Math.floor(modifiedMs / 1000) * 1000 > sinceMs;
}

/** The value of Last-Modified, which must not be in the future (RFC 9110 section 8.8.2.1). */
export function lastModified(modifiedMs: number): string {
  return new Date(Math.min(modifiedMs, Date.now())).toUTCString();
}

/** Caches may keep an answer but must revalidate it, because the next snapshot may come within a second. */
export const CACHE_CONTROL = 'private, no-cache';
export const VARY = 'Accept, Accept-Encoding, Authorization';

/**
 * The value of Link for the next page (RFC 8288). The query is encoded again, so that it cannot contain "<",
 * ">" or a line break from the client.
 */
export function nextLink(path: string, pairs: ParameterPairs, cursor: string): string {
  const next = pairs.filter(([name]) => name !== 'cursor');
  return `<${path}?${formatQueryString([...next, ['cursor', cursor]])}>; rel="next"`;
}
