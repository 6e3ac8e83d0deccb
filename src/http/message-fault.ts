import { HEADER_FIELDS_MAX } from '../base/limits.js';
import type { Problem } from './answer/problem.js';
import type { RequestHead } from './node/lane.js';
import type { HeaderFacts } from './request/header-facts.js';
import { ALLOW } from './routes.js';

/**
 * The value of Host (RFC 9110 section 7.2): a host as in a URI (RFC 3986 section 3.2.2) and a port; both may
 * be empty.
 */
const HOST = /^(?:\[[\w.:~%-]+\]|(?:[\w\-.~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/;

/** The last good Host, because the next request usually repeats it. */
let lastHost = '';

export const WRONG_VERSION: Problem = {
  code: 'version-not-supported',
  detail: 'The service supports HTTP/1.1 and HTTP/1.0.',
};

export const METHOD_NOT_ALLOWED: Problem = {
  code: 'method-not-allowed',
  detail: `The timetable is read-only; the methods are ${ALLOW}.`,
  headers: ['Allow', ALLOW],
};

/**
 * The fault of a request that node:http accepts but Lectern must refuse: RFC 9112 section 3.2 demands 400, a
 * proxy may parse the request differently, or it has too many header fields. The answer must close the
 * connection.
 */
export function messageFault(req: RequestHead, path: string, facts: HeaderFacts): Problem | null {
  const { hosts, host, expect } = facts;
  if (req.rawHeaders.length / 2 > HEADER_FIELDS_MAX) {
    return {
      code: 'headers-too-large',
      detail: `The request has more than ${HEADER_FIELDS_MAX} header fields, the limit.`,
    };
  }
  if (req.httpVersionMajor < 1) return malformed('HTTP/0.9 is not supported.');
  if (req.httpVersionMajor > 1) return WRONG_VERSION;
  if (hosts > 1) return malformed('The Host header is given more than once.');
  if (hosts === 0 && req.httpVersion === '1.1') return malformed('The Host header is missing.');
  if (host !== lastHost && !HOST.test(host)) {
    return malformed(
      'The Host header is not a host name or address with an optional port, as example.org:8080.',
    );
  }
  lastHost = host;
  // The path may be empty if a framework removes its mount path. The meaning of "*" depends on the method.
  if (path.charCodeAt(0) !== 0x2f && path !== '' && path !== '*') {
    return malformed('The request target is neither a path nor an http or https address.');
  }
  if (facts.hasContent) {
    const fault = contentFault(req, facts.transferEncoding);
    if (fault !== null) return fault;
  }
  // RFC 9110 section 10.1.1: expectations in HTTP/1.0 must be ignored.
  if (expect !== undefined && req.httpVersion !== '1.0' && expect.toLowerCase() !== '100-continue') {
    return {
      code: 'expectation-failed',
      detail: 'The only supported expectation is 100-continue.',
    };
  }
  // RFC 9110 section 9.3.8: TRACE would show the client's own header fields to a page that makes the client send it.
  return req.method === 'TRACE' ? METHOD_NOT_ALLOWED : null;
}

/** RFC 9112 sections 6.1 and 6.3, and RFC 9110 section 9.3.1: GET with content is a means of request smuggling. */
function contentFault(
  { method, httpVersion }: RequestHead,
  transferEncoding: string | undefined,
): Problem | null {
  if (transferEncoding !== undefined) {
    if (httpVersion === '1.0') return malformed('HTTP/1.0 has no Transfer-Encoding.');
    // Newer versions of Node refuse this themselves.
    if (transferEncoding === '') return malformed('The Transfer-Encoding header names no transfer coding.');
    if (transferEncoding.toLowerCase() !== 'chunked') {
      return {
        code: 'transfer-coding-not-implemented',
        detail: 'The only supported transfer coding is chunked.',
      };
    }
  }
  if (method !== 'GET' && method !== 'HEAD') return null;
  return malformed(`A ${method} request must not have a body.`);
}

function malformed(detail: string): Problem {
  return { code: 'invalid-request', detail };
}
