/** What node:http knows of a connection and does not tell in public. Each function has a substitute for parts that are missing. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { READER_BYTES_MIN } from '../../limits.js';
import { usable } from './inner-parts.js';

/** Where only whole writes are counted: small beside READER_BYTES_MIN, so that steady readers are seen to read. */
export const WRITE_BYTES_MAX: number = READER_BYTES_MIN / 4;

/** Whether a body may be written at once: its progress is seen, or it is small. */
export function canSendWhole(chunks: readonly Uint8Array[]): boolean {
  if (usable.writeProgress) return true;
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.length;
  return bytes <= WRITE_BYTES_MAX;
}

/** Bytes of a connection that the operating system has taken; without node's counts, the bytes of completed writes. */
export function bytesTaken(socket: Socket): number {
  if (!usable.writeProgress) return socket.bytesWritten - socket.writableLength;
  const { _handle: handle } = socket as unknown as {
    readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
  };
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** Has the connection end with this answer. No effect once its head is written. */
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
 * Has a connection ended after its last answer, where node would destroy it: bytes that the client still sends would then reset
 * it, and the answer could be lost.
 *
 * @param onEnd called when the answer is out
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
  /** What arrived last, or nothing; `line` begins with the line where the parser stopped. */
  readonly packet: string;
  readonly line: string;
  /** A line does not end with CR LF: the parser has several codes for that, and only its words tell. */
  readonly isLineEnd: boolean;
}

/** The parser stopped in `rawPacket`, which arrived last, behind `bytesParsed`. */
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
