/**
 * Answers what node:http could not read as a request: there is no request and no response object then, only a socket.
 */
import type { Socket } from 'node:net';
import { PROBLEMS, type ProblemCode } from '../../errors.js';
import { HEADER_FIELDS_MAX, REQUEST_TARGET_BYTES_MAX } from '../../limits.js';
import { type AnswerFields, PLAIN_FIELDS } from '../answer/answer-fields.js';
import { PROBLEM_CONTENT_TYPE, problemBody } from '../answer/problem.js';
import { parserFaultOf } from '../node/parser-error.js';
import { ALLOW } from '../routes.js';

interface ClientErrorKind {
  readonly code: ProblemCode;
  readonly reason: string;
  readonly detail: string;
}

const MALFORMED: ClientErrorKind = {
  code: 'invalid-request',
  reason: 'Bad Request',
  detail: 'What arrived is not an HTTP/1.1 request.',
};

/** LF alone may mean one thing here and another to a proxy; RFC 9112 section 2.2 lets it be refused. */
const LINE_END: ClientErrorKind = {
  ...MALFORMED,
  detail: 'A line of the request does not end with CR LF, as every line of HTTP/1.1 does.',
};

/** RFC 9110 section 9.1: 501 for a method that is not recognised; names of methods are case-sensitive. */
const UNKNOWN_METHOD: ClientErrorKind = {
  code: 'method-not-implemented',
  reason: 'Not Implemented',
  detail: `The method of the request is not known here; the methods are ${ALLOW}, in capital letters.`,
};
const OTHER_HTTP: ClientErrorKind = {
  code: 'version-not-supported',
  reason: 'HTTP Version Not Supported',
  detail: 'HTTP/1.1 and HTTP/1.0 are spoken here.',
};
/** RFC 9112 section 3, `request-line` as far as the version, with any method: RFC 9110 section 5.6.2, `token`. */
const REQUEST_LINE = /^[\w!#$%&'*+\-.^`|~]+ [^\s]+ HTTP\/1\.[01]\r\n/;

/** The same with any version, which is what is wrong. */
const OTHER_VERSION = /^[\w!#$%&'*+\-.^`|~]+ [^\s]+ HTTP\/(?!1\.[01]\r)\d\.\d\r\n/;

/** By the code of node's error. */
const KINDS: Readonly<Record<string, ClientErrorKind>> = {
  HPE_HEADER_OVERFLOW: {
    code: 'headers-too-large',
    reason: 'Request Header Fields Too Large',
    // Node says the same of more than 2,000 fields, from its versions of 2026 on.
    detail: `Request line and header fields together are longer than 16 KiB, or there are more than ${HEADER_FIELDS_MAX} header fields.`,
  },
  HPE_PAUSED_H2_UPGRADE: OTHER_HTTP,
  HPE_INVALID_URL: {
    ...MALFORMED,
    detail:
      'The request target has characters that a URL must not have; what is not ASCII is percent-encoded, as %C3%9C.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request-timeout',
    reason: 'Request Timeout',
    detail: 'The request did not arrive in time; nothing was done.',
  },
};

const TARGET_TOO_LONG: ClientErrorKind = {
  code: 'request-target-too-long',
  reason: 'URI Too Long',
  detail: 'The request target is longer than is read.',
};

/** What was said of what could not be read. */
export interface LastWord {
  readonly status: number;
  /** Of the body. */
  readonly bytes: number;
}

/**
 * Sends a problem document as the last thing on the connection. Where an answer is still being written, or the client has gone,
 * the connection is only closed: a second answer would end up inside the first.
 *
 * @returns null where nothing was sent
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  fields: AnswerFields = PLAIN_FIELDS,
): LastWord | null {
  if (!socket.writable || socket.writableLength > 0 || error.code === 'ECONNRESET') {
    socket.destroy();
    return null;
  }
  return say(socket, kindOf(error), [], fields);
}

/** CONNECT asks for a tunnel, which node hands over as a bare socket. */
export function answerConnect(socket: Socket, fields: AnswerFields = PLAIN_FIELDS): LastWord {
  const kind: ClientErrorKind = {
    code: 'method-not-allowed',
    reason: 'Method Not Allowed',
    detail: `The timetable is for reading only; the methods are ${ALLOW}.`,
  };
  return say(socket, kind, [`Allow: ${ALLOW}`], fields);
}

function say(
  socket: Socket,
  { code, reason, detail }: ClientErrorKind,
  headers: readonly string[],
  fields: AnswerFields,
): LastWord {
  const body = problemBody({ code, detail }, undefined);
  const { status } = PROBLEMS[code];
  const bytes = Buffer.byteLength(body);
  socket.end(
    [
      `HTTP/1.1 ${status} ${reason}`,
      `Content-Type: ${PROBLEM_CONTENT_TYPE}`,
      'Cache-Control: no-store',
      `Content-Length: ${bytes}`,
      ...headers,
      `${fields.text}Connection: close`,
      '',
      body,
    ].join('\r\n'),
  );
  return { status, bytes };
}

function kindOf(error: NodeJS.ErrnoException): ClientErrorKind {
  const { code, packet, line, isLineEnd } = parserFaultOf(error);
  if (code === 'HPE_INVALID_METHOD') return REQUEST_LINE.test(line) ? UNKNOWN_METHOD : MALFORMED;
  if (isLineEnd) return LINE_END;
  if (code === 'HPE_INVALID_VERSION') return OTHER_VERSION.test(line) ? OTHER_HTTP : MALFORMED;
  const kind = KINDS[code] ?? MALFORMED;
  // The first packet of a request that is all target so far: then it is the target that is too long.
  if (kind.code === 'headers-too-large' && /^[A-Z]+ /.test(packet)) {
    const lineEnd = packet.indexOf('\r\n');
    if (lineEnd < 0 || lineEnd > REQUEST_TARGET_BYTES_MAX) return TARGET_TOO_LONG;
  }
  return kind;
}
