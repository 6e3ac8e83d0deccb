import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { Server as NetServer, type Server } from 'node:net';
import { LecternError } from '../../base/errors.js';
import { usable } from './internals.js';

interface ListeningHandle {
  readonly fd: number;
  listen(backlog: number): number;
}

function handleOf(server: Server): ListeningHandle | null {
  return (server as unknown as { readonly _handle: ListeningHandle | null })._handle;
}

/** Clients may close their sending side after a request and still get the answer. */
export function allowHalfOpen(server: HttpServer): void {
  if (usable.halfOpen) Object.assign(server, { httpAllowHalfOpen: true });
}

const TAKE_MS_MAX = 1000;

/**
 * Await this right before a port is closed, because closing resets connections that the system has accepted
 * but Node has not taken. Shrinks the system's queue to one connection if Node can. Resolves after a turn of
 * the event loop without a new connection.
 *
 * @param accepted number of connections that the server has taken
 */
export async function takeQueued(server: Server, accepted: () => number): Promise<void> {
  if (usable.shortBacklog) handleOf(server)?.listen(0);
  const untilMs = performance.now() + TAKE_MS_MAX;
  let before = -1;
  for (let turn = 0; accepted() !== before && performance.now() < untilMs; turn++) {
    // The first turn may have begun before this call.
    if (turn > 0) before = accepted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * Stops listening without close() of the http server, which would also close connections with an unread
 * answer.
 */
export function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve()));
}

/** The descriptor for {@link duplicateSocket}. @throws LecternError `address-unavailable` */
export function descriptorOf(server: Server): number {
  const handle = usable.descriptor ? handleOf(server) : null;
  if (handle !== null) return handle.fd;
  throw new LecternError(
    'address-unavailable',
    'this version of Node does not expose the descriptor of a socket, which several threads need; use --workers 1',
  );
}

export interface SocketHandle {
  readonly fd: number;
  close(): void;
}

/** The child closes its copy in the same turn of its event loop, so it accepts no connection. */
const CHILD_TEXT = `
const server = require('node:net').createServer();
server.listen({ fd: 4 });
process.send('socket', server._handle);
server.close();
process.disconnect();`;

/**
 * Duplicates a listening socket, because an ending thread would close a shared descriptor for all threads.
 * Node has no call for this: a child process gets the descriptor, and the system makes a new one when the
 * child returns it.
 *
 * @param fd may be closed as soon as the call returns, even before the promise resolves
 */
export async function duplicateSocket(fd: number): Promise<SocketHandle> {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, ['-e', CHILD_TEXT], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', fd],
    env,
  });
  const exited = once(child, 'exit');
  const handle = await new Promise<SocketHandle>((resolve, reject) => {
    child.once('message', (_message, received) => resolve(received as unknown as SocketHandle));
    child.once('error', reject);
    child.once('disconnect', () => reject(new Error('the process that duplicates the socket sent nothing')));
  });
  // Until the child ends, it may also hold the socket.
  await exited;
  return handle;
}
