/**
 * Conditional requests (RFC 9110 section 13) and the header fields that make them possible.
 */
import type { ParameterPairs } from '../../view/view.js';
import { formatQueryString } from '../request/query-string.js';

/** RFC 9110 section 8.8.3, `entity-tag`, at a given place. */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/y;
const SEPARATOR = /[ \t,]*/y;

/**
 * Whether If-None-Match names the present entity tag: RFC 9110 section 13.1.2, a list, weak comparison, or "*".
 * What is not an entity tag ends the list.
 */
export function matchesEntityTag(ifNoneMatch: string, entityTag: string): boolean {
  if (ifNoneMatch === entityTag) return true;
  if (ifNoneMatch.trim() === '*') return true;
  const opaque = opaqueTag(entityTag);
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

function opaqueTag(entityTag: string): string {
  return entityTag.startsWith('W/') ? entityTag.slice(2) : entityTag;
}

/** Caches may keep an answer but must ask before using it: the next snapshot may be a second away. */
export const CACHE_CONTROL = 'private, no-cache';
/** What an answer depends on beside its URL. */
export const VARY = 'Accept, Accept-Encoding, Authorization';

/**
 * The value of Link for the next page (RFC 8288): a relative reference with an absolute path.
 *
 * @param path of the route, not as the client spelled it
 * @param pairs the query of this page; its cursor is replaced. Everything is encoded anew, so that neither "<", ">" nor
 *   a line break of the client's gets into the header.
 */
export function nextLink(path: string, pairs: ParameterPairs, cursor: string): string {
  const next = pairs.filter(([name]) => name !== 'cursor');
  return `<${path}?${formatQueryString([...next, ['cursor', cursor]])}>; rel="next"`;
}
