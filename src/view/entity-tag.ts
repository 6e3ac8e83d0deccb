import { PAGE_REVISION } from '../encode/page-rows.js';
import type { AnyFormatName } from '../model/format.js';
import type { EndpointName } from '../query/endpoint-parameters.js';
import type { Parameters } from '../query/parameters.js';
import type { FieldFilter } from '../query/query.js';
import { DIGEST_CHARACTERS, Digest } from '../structures/digest.js';

/** Revisions of representations whose content is not only the timetable. */
const REVISIONS: { readonly [Name in AnyFormatName]?: string } = { html: PAGE_REVISION };

/**
 * Weak entity tags of one snapshot's answers, computed from everything that decides an answer. 64 bits of
 * digest suffice: tags are compared only among answers of one URL, and a client that finds two queries with
 * one digest harms only itself.
 */
export class EntityTags {
  /** `W/"<snapshot id>-<digest>"`; only the digest changes. */
  readonly #bytes: Buffer;
  readonly #digestOffset: number;

  constructor(contentId: string) {
    const before = `W/"${contentId}-`;
    this.#bytes = Buffer.from(`${before}${'x'.repeat(DIGEST_CHARACTERS)}"`, 'latin1');
    this.#digestOffset = before.length;
  }

  of(
    endpoint: EndpointName,
    parameters: Parameters,
    identities: readonly FieldFilter[] | null,
    format: AnyFormatName,
    rooms = '',
  ): string {
    const { startMs, endMs, limit, eventCursor, conflictCursor, directoryCursor, q } = parameters;
    const { by, merge, since, clashes } = parameters;
    const digest = new Digest();
    digest.text(endpoint);
    digest.text(format);
    digest.number(startMs);
    digest.number(endMs);
    digest.number(limit);
    addFilters(digest, parameters.filters);
    // Filters of equal fields and values differ in this alone.
    for (const { isExcluding } of parameters.filters) digest.word(isExcluding ? 1 : 0);
    if (identities !== null) {
      digest.text('identities');
      addFilters(digest, identities);
    }
    if (eventCursor !== null) {
      digest.text('after');
      digest.number(eventCursor.timeMs);
      digest.number(eventCursor.endTimeMs);
      digest.text(eventCursor.id);
    }
    if (conflictCursor !== null) digest.text(JSON.stringify(conflictCursor));
    if (directoryCursor !== null) digest.text(JSON.stringify(directoryCursor));
    if (q !== null) {
      digest.text('q');
      digest.text(q);
    }
    if (endpoint === 'conflicts') {
      digest.text(by.join());
      digest.word(merge ? 1 : 0);
    }
    if (since !== null) digest.text(since);
    if (parameters.free !== null) {
      digest.text(JSON.stringify(parameters.free));
      digest.text(rooms);
    }
    if (clashes && format === 'ics') digest.text('clashes');
    const revision = REVISIONS[format];
    if (revision !== undefined) digest.text(revision);
    return this.#tag(digest);
  }

  ofEvent(ordinal: number, format: AnyFormatName): string {
    const digest = new Digest();
    digest.text('events');
    digest.text(format);
    digest.number(ordinal);
    return this.#tag(digest);
  }

  #tag(digest: Digest): string {
    digest.writeTo(this.#bytes, this.#digestOffset);
    return this.#bytes.toString('latin1');
  }
}

function addFilters(digest: Digest, filters: readonly FieldFilter[]): void {
  digest.word(filters.length);
  for (const { field, values } of filters) {
    digest.text(field);
    digest.word(values.length);
    for (const value of values) digest.text(value);
  }
}
