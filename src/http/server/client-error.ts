/** Answers requests that node:http could not read, for which only a socket exists. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { PROBLEMS } from '../../errors.js';
import { HEADER_FIELDS_MAX, REQUEST_TARGET_BYTES_MAX } from '../../limits.js';
import { routeNumber } from '../../metrics/cells.js';
import type { Meter } from '../../metrics/meter.js';
import type { AnswerFields } from '../answer/answer-fields.js';
import { PROBLEM_CONTENT_TYPE, type Problem, problemBody } from '../answer/problem.js';
import { METHOD_NOT_ALLOWED, WRONG_VERSION } from '../message-fault.js';
import { parserFaultOf } from '../node/connection-inside.js';
import { ALLOW } from '../routes.js';

const MALFORMED: Problem = {
  code: 'invalid-request',
  detail: 'The received bytes are not an HTTP/1.1 request.',
};

/** A proxy may parse a lone LF differently; RFC 9112 section 2.2 allows refusing it. */
const LINE_END: Problem = {
  code: 'invalid-request',
  detail: 'A line of the request does not end with CR LF, as every line of HTTP/1.1 does.',
};

/** 501 (RFC 9110 section 9.1); methods are case-sensitive. */
const UNKNOWN_METHOD: Problem = {
  code: 'method-not-implemented',
  detail: `The method of the request is not known here; the methods are ${ALLOW}, in capital letters.`,
};

/** RFC 9112 section 3, `request-line` with any method. */
const REQUEST_LINE = /^[\w!#$%&'*+\-.^`|~]+ [^\s]+ HTTP\/1\.[01]\r\n/;

const OTHER_VERSION = /^[\w!#$%&'*+\-.^`|~]+ [^\s]+ HTTP\/(?!1\.[01]\r)\d\.\d\r\n/;

const PROBLEM_BY_CODE: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: {
    code: 'headers-too-large',
    // Node uses the same code for more than 2,000 fields.
    detail: `Request line and header fields together are longer than 16 KiB, or there are more than ${HEADER_FIELDS_MAX} header fields.`,
  },
  HPE_PAUSED_H2_UPGRADE: WRONG_VERSION,
  HPE_INVALID_URL: {
    code: 'invalid-request',
    detail:
      'The request target has characters that a URL must not have; percent-encode non-ASCII characters, as in %C3%9C.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request-timeout',
    detail: 'The request did not arrive in time; nothing was done.',
  },
};

const TARGET_TOO_LONG: Problem = {
  code: 'request-target-too-long',
  detail: `The request target is too long; at most ${REQUEST_TARGET_BYTES_MAX} bytes are read.`,
};

/** Ends the connection with a problem document, but not inside an unfinished answer. */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  fields: AnswerFields,
  meter: Meter | null,
): void {
  if (!socket.writable || socket.writableLength > 0 || error.code === 'ECONNRESET') socket.destroy();
  else sendLast(socket, problemOf(error), fields, meter);
}

/** CONNECT asks for a tunnel. For such a request Node gives only a bare socket. */
export function answerConnect(socket: Socket, fields: AnswerFields, meter: Meter | null): void {
  sendLast(socket, METHOD_NOT_ALLOWED, fields, meter);
}

function sendLast(socket: Socket, problem: Problem, fields: AnswerFields, meter: Meter | null): void {
  const body = problemBody(problem);
  const { status } = PROBLEMS[problem.code];
  const bytes = Buffer.byteLength(body);
  const [name, value] = problem.headers ?? [];
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Content-Type: ${PROBLEM_CONTENT_TYPE}`,
      'Cache-Control: no-store',
      `Content-Length: ${bytes}`,
      ...(name === undefined ? [] : [`${name}: ${value}`]),
      `${fields.text}Connection: close`,
      '',
      body,
    ].join('\r\n'),
  );
  meter?.answeredUntimed(routeNumber('unreadable'), status, bytes);
}

function problemOf(error: NodeJS.ErrnoException): Problem {
  const { code, packet, line, isLineEnd } = parserFaultOf(error);
  if (code === 'HPE_INVALID_METHOD') return REQUEST_LINE.test(line) ? UNKNOWN_METHOD : MALFORMED;
  if (isLineEnd) return LINE_END;
  if (code === 'HPE_INVALID_VERSION') return OTHER_VERSION.test(line) ? WRONG_VERSION : MALFORMED;
  const problem = PROBLEM_BY_CODE[code] ?? MALFORMED;
  // If the packet begins with a method, its first line shows whether the target is too long.
  if (problem.code === 'headers-too-large' && /^[A-Z]+ /.test(packet)) {
    const lineEnd = packet.indexOf('\r\n');
    if (lineEnd < 0 || lineEnd > REQUEST_TARGET_BYTES_MAX) return TARGET_TOO_LONG;
  }
  return problem;
}
