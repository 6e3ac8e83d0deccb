import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { usable } from './inner-parts.js';

/** Has clients that close their half of the connection behind a request get their answer all the same. */
export function allowHalfOpen(server: Server): void {
  if (usable.halfOpen) Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Has a connection ended after its last answer, where node would destroy it: what the client still sends would reset it, and the
 * answer could be lost.
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
