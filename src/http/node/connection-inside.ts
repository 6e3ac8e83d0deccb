/**
 * Functions that use undocumented parts of Node's connections. If a part is missing, they use a documented
 * one.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { READER_BYTES_MIN } from '../../limits.js';
import { usable } from './inner-parts.js';

/**
 * Largest write when only completed writes can be counted. It is much smaller than READER_BYTES_MIN, so that
 * steady readers show progress.
 */
export const WRITE_BYTES_MAX: number = READER_BYTES_MIN / 4;

/** Whether a body may be sent in one write: the progress of a write can be measured, or the body is small. */
export function canSendWhole(chunks: readonly Uint8Array[]): boolean {
  if (usable.writeProgress) return true;
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.length;
  return bytes <= WRITE_BYTES_MAX;
}

/** Bytes that the system has taken; if Node does not count them, the bytes of completed writes. */
export function bytesTaken(socket: Socket): number {
  if (!usable.writeProgress) return socket.bytesWritten - socket.writableLength;
  const { _handle: handle } = socket as unknown as {
    readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
  };
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** Closes the connection after the answer. The call has no effect after the head is written. */
export function endWithAnswer(res: ServerResponse): void {
  if (usable.keepAlive) res.shouldKeepAlive = false;
  else if (!res.headersSent) res.setHeader('Connection', 'close');
}

export function endsWithAnswer(res: ServerResponse): boolean {
  if (usable.keepAlive) return !res.shouldKeepAlive;
  const { headers, httpVersion } = res.req;
  const { connection = '' } = headers;
  const isAsked = httpVersion === '1.1' ? /close/i.test(connection) : !/keep-alive/i.test(connection);
  return isAsked || res.getHeader('Connection') === 'close';
}

/**
 * Ends a connection after its last answer. Node would destroy the connection: further bytes from the client
 * would then cause a reset, and the answer could be lost.
 *
 * @param onEnd called when the answer was sent
 */
export function closeGently(socket: Socket, last: ServerResponse, onEnd: () => void): void {
  if (!usable.gentleClose) {
    last.once('finish', onEnd);
    return;
  }
  socket.destroySoon = () => {
    socket.end();
    onEnd();
  };
}

export interface ParserFault {
  readonly code: string;
  /**
   * The last packet, or an empty text. `line` is the part of the packet that begins with the line where the
   * parser stopped.
   */
  readonly packet: string;
  readonly line: string;
  /**
   * Whether the fault is a line that does not end with CR LF. The parser has several codes for it, so the
   * message decides.
   */
  readonly isLineEnd: boolean;
}

export function parserFaultOf(
  error: NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number; reason?: string },
): ParserFault {
  const { code = '', reason, rawPacket, bytesParsed = 0 } = error;
  if (!usable.parserErrors) return { code, packet: '', line: '', isLineEnd: false };
  const packet = rawPacket?.toString('latin1') ?? '';
  const lineStart = bytesParsed === 0 ? 0 : packet.lastIndexOf('\n', bytesParsed - 1) + 1;
  const isLineEnd = /^(?:Expected CRLF|Missing expected CR)/.test(reason ?? '');
  return { code, packet, line: packet.slice(lineStart), isLineEnd };
}
