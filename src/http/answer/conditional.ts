/** Conditional requests (RFC 9110 section 13) and the header fields that make them possible. */
import type { ParameterPairs } from '../../view/view.js';
import { formatQueryString } from '../request/query-string.js';

/** RFC 9110 section 8.8.3, `entity-tag`, at a given place. */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/y;
const SEPARATOR = /[ \t,]*/y;

/** Whether If-None-Match names the entity tag, by weak comparison (RFC 9110 section 13.1.2). Anything else ends the list. */
export function matchesEntityTag(ifNoneMatch: string, entityTag: string): boolean {
  if (ifNoneMatch === entityTag || ifNoneMatch.trim() === '*') return true;
  const opaque = entityTag.replace(/^W\//, '');
  let at = 0;
  for (;;) {
    SEPARATOR.lastIndex = at;
    SEPARATOR.test(ifNoneMatch);
    ENTITY_TAG.lastIndex = SEPARATOR.lastIndex;
    const tag = ENTITY_TAG.exec(ifNoneMatch);
    if (tag === null) return false;
    if (tag[1] === opaque) return true;
    at = ENTITY_TAG.lastIndex;
  }
}

/** Caches may keep an answer but must ask before using it: the next snapshot may be a second away. */
export const CACHE_CONTROL = 'private, no-cache';
/** Calendar programs ask at their own pace; a page that shows a feed need not ask each time. */
export const FEED_CACHE_CONTROL = 'private, max-age=300';
export const VARY = 'Accept, Accept-Encoding, Authorization';

/** The value of Link for the next page (RFC 8288). Encoded anew: no "<", ">" or line break of the client's gets in. */
export function nextLink(path: string, pairs: ParameterPairs, cursor: string): string {
  const next = pairs.filter(([name]) => name !== 'cursor');
  return `<${path}?${formatQueryString([...next, ['cursor', cursor]])}>; rel="next"`;
}
