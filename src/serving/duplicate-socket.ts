import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A listening socket as node:net takes it. Nothing is accepted before somebody listens on it. */
export interface SocketHandle {
  readonly fd: number;
  close(): void;
}

/**
 * What the child does: it takes the socket that it was started with, sends it back and closes its own, all in one turn of
 * its event loop, so that it accepts no connection.
 */
const CHILD_TEXT = `
const server = require('node:net').createServer();
server.listen({ fd: 4 });
process.send('socket', server._handle);
server.close();
process.disconnect();`;

/**
 * Duplicates a listening socket of this process. Threads share the numbers of descriptors, and libuv closes the one of a
 * handle with the handle: without one of its own, a thread that ends would close the port for all. Node has no call for
 * that; but the system makes a new descriptor of each that is sent to another process. So a child that lives for some 40 ms
 * is started with the socket, and sends it back.
 *
 * @param fd may be closed as soon as this has returned
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
    // Messages come before it.
    child.once('disconnect', () => reject(new Error('the process that duplicates the socket sent nothing')));
  });
  // Until then it may hold the socket, too.
  await exited;
  return handle;
}
