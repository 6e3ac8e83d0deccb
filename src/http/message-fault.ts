/**
 * Requests that node:http lets through although RFC 9112 section 3.2 wants 400, and those with more header fields than are
 * read.
 */
import type { IncomingMessage } from 'node:http';
import { HEADER_FIELDS_MAX } from '../limits.js';
import type { HeaderFacts } from './exchange.js';
import type { Problem } from './problem.js';

/** RFC 9110 section 7.2: a host as in a URI (RFC 3986 section 3.2.2) and a port; both may be empty. */
const HOST = /^(?:\[[\w.:~%-]+\]|(?:[\w\-.~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/;

/** The last one that was good: nearly always the present one, too. */
let lastHost = '';

/**
 * What is wrong with a request before anything of it is understood; null where nothing is. After such an answer the connection
 * has to be closed.
 */
export function messageFault(req: IncomingMessage, { hosts, host }: HeaderFacts): Problem | null {
  const fields = req.rawHeaders.length / 2;
  if (fields > HEADER_FIELDS_MAX) {
    // Node drops fields after some number of them; then the count is no more than what it kept.
    return {
      code: 'headers-too-large',
      detail: `The request has more than ${HEADER_FIELDS_MAX} header fields, the most that are read.`,
    };
  }
  if (hosts > 1) return malformed('The Host header is given more than once.');
  if (hosts === 0 && req.httpVersion === '1.1') return malformed('The Host header is missing.');
  if (host !== lastHost && !HOST.test(host)) {
    return malformed(
      'The Host header is not a host name or address with an optional port, as example.org:8080.',
    );
  }
  lastHost = host;
  if (req.httpVersionMajor < 1) return malformed('HTTP/0.9 is not spoken here.');
  return null;
}

function malformed(detail: string): Problem {
  return { code: 'invalid-request', detail };
}
