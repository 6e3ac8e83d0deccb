/**
 * Bounds what pipelined requests of one connection can pile up. node:http would run the handlers of all that have arrived and
 * keep the answers; here requests beyond a few wait unhandled.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PIPELINED_BYTES_MAX, PIPELINED_WAITING_MAX, REQUESTS_IN_FLIGHT_MAX } from '../../limits.js';
import type { Connection, PipelineQueue } from './connections.js';

type Handle = (connection: Connection, req: IncomingMessage, res: ServerResponse) => void;

/** Handles a request now or later. @returns false if too many of its connection wait, which then has to be closed */
export function handleInTurn(
  connection: Connection,
  req: IncomingMessage,
  res: ServerResponse,
  handle: Handle,
): boolean {
  // A response gets its socket when its turn comes; for all but pipelined requests that is at once.
  if (res.socket !== null) {
    handle(connection, req, res);
    return true;
  }
  connection.queue ??= { inFlight: 0, bytes: 0, waiting: [] };
  const { queue } = connection;
  if (queue.waiting.length >= PIPELINED_WAITING_MAX) return false;
  queue.waiting.push({ req, res });
  handleWaiting(connection, queue, handle);
  return true;
}

function handleWaiting(connection: Connection, queue: PipelineQueue, handle: Handle): void {
  // One or two more are under way than are counted here: those that found the connection free.
  while (queue.inFlight < REQUESTS_IN_FLIGHT_MAX - 1 && queue.bytes < PIPELINED_BYTES_MAX) {
    const next = queue.waiting.shift();
    // After an answer that closes the connection none of the others can be sent.
    if (next === undefined || !connection.socket.writable) return;
    const { req, res } = next;
    handle(connection, req, res);
    // An answer that is still being worked on counts as a request, and its bytes not at all.
    const bytes = res.socket === null ? res.writableLength : 0;
    queue.inFlight++;
    queue.bytes += bytes;
    res.once('close', () => {
      queue.inFlight--;
      queue.bytes -= bytes;
      handleWaiting(connection, queue, handle);
    });
  }
}
