/**
 * Bounds what pipelined requests of one connection can pile up: node:http runs the handler of every request that has
 * arrived, and keeps the answers until those before them have been sent.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PIPELINED_BYTES_MAX, PIPELINED_REQUESTS_MAX } from '../limits.js';

/** Answers of one connection that wait behind an earlier one. */
interface Queue {
  requests: number;
  bytes: number;
}

export interface PipelineGuard {
  /** Before the handler. False: the connection has had too much and was closed. */
  admit(socket: Socket, res: ServerResponse): boolean;
  /** After the handler: what it left waiting. */
  count(socket: Socket, res: ServerResponse): void;
}

export function createPipelineGuard(): PipelineGuard {
  const queues = new WeakMap<Socket, Queue>();
  return {
    admit(socket, res) {
      // A response gets its socket when its turn comes; for all but pipelined requests that is at once.
      if (res.socket !== null) return true;
      const queue = queues.get(socket);
      if (queue === undefined) return true;
      if (queue.requests < PIPELINED_REQUESTS_MAX && queue.bytes < PIPELINED_BYTES_MAX) return true;
      socket.destroy();
      return false;
    },
    count(socket, res) {
      if (res.socket !== null) return;
      const queue = queues.get(socket) ?? { requests: 0, bytes: 0 };
      queues.set(socket, queue);
      // An answer that is still being worked on counts as a request, and its bytes not at all.
      const bytes = res.writableLength;
      queue.requests++;
      queue.bytes += bytes;
      res.once('close', () => {
        queue.requests--;
        queue.bytes -= bytes;
      });
    },
  };
}
