/**
 * Answers what node:http could not read as a request: there is no request and no response object then, only a socket.
 */
import type { Socket } from 'node:net';
import { PROBLEMS, type ProblemCode } from '../errors.js';
import { REQUEST_TARGET_BYTES_MAX } from '../limits.js';
import { PROBLEM_CONTENT_TYPE, problemBody } from './problem.js';
import { ALLOW } from './routes.js';

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

/** By the code of node's error. */
const KINDS: Readonly<Record<string, ClientErrorKind>> = {
  HPE_HEADER_OVERFLOW: {
    code: 'headers-too-large',
    reason: 'Request Header Fields Too Large',
    detail: 'Request line and header fields together are longer than 16 KiB.',
  },
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

/**
 * Sends a problem document and closes the connection. Where an answer is still being written, or the client has gone,
 * the connection is only closed: a second answer would end up inside the first.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.writableLength > 0 || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  socket.end(format(kindOf(error), []), () => socket.destroy());
}

/** CONNECT asks for a tunnel, which node hands over as a bare socket. */
export function answerConnect(socket: Socket): void {
  const kind: ClientErrorKind = {
    code: 'method-not-allowed',
    reason: 'Method Not Allowed',
    detail: `The timetable is for reading only; the methods are ${ALLOW}.`,
  };
  socket.end(format(kind, [`Allow: ${ALLOW}`]), () => socket.destroy());
}

function format({ code, reason, detail }: ClientErrorKind, headers: readonly string[]): string {
  const body = problemBody({ code, detail }, undefined);
  return [
    `HTTP/1.1 ${PROBLEMS[code].status} ${reason}`,
    `Content-Type: ${PROBLEM_CONTENT_TYPE}`,
    'Cache-Control: no-store',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...headers,
    '',
    body,
  ].join('\r\n');
}

function kindOf(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): ClientErrorKind {
  const kind = KINDS[error.code ?? ''] ?? MALFORMED;
  // The first packet of a request that is all target so far: then it is the target that is too long.
  const packet = error.rawPacket?.toString('latin1') ?? '';
  if (kind.code === 'headers-too-large' && /^[A-Z]+ /.test(packet)) {
    const lineEnd = packet.indexOf('\r\n');
    if (lineEnd < 0 || lineEnd > REQUEST_TARGET_BYTES_MAX) return TARGET_TOO_LONG;
  }
  return kind;
}
