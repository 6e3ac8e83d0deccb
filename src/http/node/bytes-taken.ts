import type { Socket } from 'node:net';
import { READER_BYTES_MIN } from '../../limits.js';
import { usable } from './inner-parts.js';

interface StreamHandle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

/** Where only whole writes are counted: small beside READER_BYTES_MIN, so that steady readers are seen to read. */
export const WRITE_BYTES_MAX: number = READER_BYTES_MIN / 4;

/** Whether a body may be written at once: its progress is seen, or it is small. */
export function canSendWhole(chunks: readonly Uint8Array[]): boolean {
  if (usable.writeProgress) return true;
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.length;
  return bytes <= WRITE_BYTES_MAX;
}

/**
 * Bytes of a connection that the operating system has taken. Where node's counts are missing, the bytes of writes that are over: large
 * bodies are then written in pieces, see {@link canSendWhole}.
 */
export function bytesTaken(socket: Socket): number {
  if (!usable.writeProgress) return socket.bytesWritten - socket.writableLength;
  const { _handle: handle } = socket as unknown as { readonly _handle: StreamHandle | null };
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}
