import { Server as NetServer, type Server } from 'node:net';
import { LecternError } from '../../errors.js';
import { usable } from './inner-parts.js';

/** How long it goes on: node takes one connection in each turn of the event loop. */
const TAKE_MS_MAX = 1000;

interface ListeningHandle {
  readonly fd: number;
  listen(backlog: number): number;
}

function handleOf(server: Server): ListeningHandle | null {
  return (server as unknown as { readonly _handle: ListeningHandle | null })._handle;
}

/**
 * The descriptor of a server that listens, for threads that are to share its port.
 *
 * @throws LecternError `address-unavailable`
 */
export function descriptorOf(server: Server): number {
  const handle = usable.descriptor ? handleOf(server) : null;
  if (handle !== null) return handle.fd;
  throw new LecternError(
    'address-unavailable',
    'this version of Node does not tell the descriptor of a port, which several threads need: --workers 1',
  );
}

/**
 * Await this right before a port is closed: connections that the system has accepted and the server has not taken yet would be
 * reset with it. The system is told to accept one at most, and this resolves after a turn of the event loop without any.
 * Clients that come meanwhile try again after a second, as TCP has it, and are refused.
 *
 * @param accepted connections that the server has taken so far
 */
export async function takeQueued(server: Server, accepted: () => number): Promise<void> {
  // What server.listen() calls with its backlog, and what the system lets be called again.
  if (usable.shortBacklog) handleOf(server)?.listen(0);
  const untilMs = performance.now() + TAKE_MS_MAX;
  let before = -1;
  for (let turn = 0; accepted() !== before && performance.now() < untilMs; turn++) {
    // The first turn may have begun before.
    if (turn > 0) before = accepted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Stops listening, and no more: close() of an http server would also close connections whose answer is not read yet. */
export function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve()));
}
