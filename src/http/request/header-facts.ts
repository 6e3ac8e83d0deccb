/**
 * Folder http/request/. Reads requests: target, header fields and query string. This folder makes no answer.
 */

import { LIST_ENTRIES_MAX, REQUEST_ID_CHARACTERS_MAX } from '../../base/limits.js';

/**
 * Facts of the header fields. Fields with the same name are joined to one list (RFC 9110 section 5.3), or the
 * last of them counts.
 */
export interface HeaderFacts {
  readonly accept: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly ifModifiedSince: string | undefined;
  readonly ifUnmodifiedSince: string | undefined;
  readonly expect: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly authorization: string | undefined;
  readonly authorizations: number;
  /** Number of Host fields. HTTP/1.1 requires exactly one (RFC 9112 section 3.2). */
  readonly hosts: number;
  /** The value of Host; empty if there is no such field. */
  readonly host: string;
  readonly hasContent: boolean;
  readonly origin: string | undefined;
  readonly minVersion: string | undefined;
  readonly lastEventId: string | undefined;
}

/** Reads the raw header fields once: Node's `headers` object would hide repeated fields. */
export function readHeaderFacts(rawHeaders: readonly string[]): HeaderFacts {
  const facts: { -readonly [Name in keyof HeaderFacts]: HeaderFacts[Name] } = {
    accept: undefined,
    acceptEncoding: undefined,
    ifMatch: undefined,
    ifNoneMatch: undefined,
    ifModifiedSince: undefined,
    ifUnmodifiedSince: undefined,
    expect: undefined,
    transferEncoding: undefined,
    authorization: undefined,
    authorizations: 0,
    hosts: 0,
    host: '',
    hasContent: false,
    origin: undefined,
    minVersion: undefined,
    lastEventId: undefined,
  };
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const value = rawHeaders[i + 1] as string;
    // Most names differ in length from all names here, so their text is not compared.
    switch (name.length) {
      case 4:
        if (isNamed(name, 'Host', 'host')) {
          facts.hosts++;
          facts.host = value;
        }
        break;
      case 6:
        if (isNamed(name, 'Accept', 'accept')) facts.accept = joined(facts.accept, value);
        else if (isNamed(name, 'Origin', 'origin')) facts.origin = value;
        else if (isNamed(name, 'Expect', 'expect')) facts.expect = joined(facts.expect, value);
        break;
      case 8:
        if (isNamed(name, 'If-Match', 'if-match')) facts.ifMatch = joined(facts.ifMatch, value);
        break;
      case 13:
        if (isNamed(name, 'Authorization', 'authorization')) {
          facts.authorizations++;
          facts.authorization = value;
        } else if (isNamed(name, 'If-None-Match', 'if-none-match'))
          facts.ifNoneMatch = joined(facts.ifNoneMatch, value);
        else if (isNamed(name, 'Last-Event-ID', 'last-event-id')) facts.lastEventId = value;
        break;
      case 14:
        if (isNamed(name, 'Content-Length', 'content-length') && !/^0+$/.test(value)) facts.hasContent = true;
        break;
      case 15:
        if (isNamed(name, 'Accept-Encoding', 'accept-encoding'))
          facts.acceptEncoding = joined(facts.acceptEncoding, value);
        break;
      case 17:
        if (isNamed(name, 'Transfer-Encoding', 'transfer-encoding')) {
          facts.hasContent = true;
          facts.transferEncoding = joined(facts.transferEncoding, value);
        } else if (isNamed(name, 'If-Modified-Since', 'if-modified-since'))
          facts.ifModifiedSince = joined(facts.ifModifiedSince, value);
        break;
      case 19:
        if (isNamed(name, 'Lectern-Min-Version', 'lectern-min-version'))
          facts.minVersion = joined(facts.minVersion, value);
        else if (isNamed(name, 'If-Unmodified-Since', 'if-unmodified-since'))
          facts.ifUnmodifiedSince = joined(facts.ifUnmodifiedSince, value);
    }
  }
  return facts;
}

/** The two usual spellings come first, because converting a name to lower case makes a new text. */
function isNamed(name: string, usual: string, lower: string): boolean {
  return name === usual || name === lower || name.toLowerCase() === lower;
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

/** A list with its first LIST_ENTRIES_MAX entries only. */
export function firstEntries(list: string): string {
  let end = -1;
  for (let entries = 0; entries < LIST_ENTRIES_MAX; entries++) {
    end = list.indexOf(',', end + 1);
    if (end === -1) return list;
  }
  return list.slice(0, end);
}

/** W3C Trace Context, section 3.2. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Characters that identifiers of requests do not have, or that could disturb a reader of the log. */
const NOT_IN_REQUEST_ID = /[^\w.~:+/=@-]/g;

/** The identifiers that clients and proxies gave a request, for the access log. */
export function readRequestIds(rawHeaders: readonly string[]): {
  readonly traceparent?: string;
  readonly requestId?: string;
} {
  const ids: { traceparent?: string; requestId?: string } = {};
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    if (name === 'traceparent' && TRACEPARENT.test(value)) ids.traceparent ??= value;
    else if (name === 'x-request-id' && value !== '')
      ids.requestId ??= value.slice(0, REQUEST_ID_CHARACTERS_MAX).replace(NOT_IN_REQUEST_ID, '?');
  }
  return ids;
}
