import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { LecternError } from '../errors.js';
import { checkInnerParts } from '../http/node/inner-parts.js';
import { descriptorOf, duplicateSocket } from '../http/node/listener.js';
import { describeListenError, type ListenAddress, toListenAddress } from '../http/server/listen-address.js';

export interface Door {
  readonly address: ListenAddress;
  /**
   * A socket that each thread duplicates, because closing the original would close it for all threads; null
   * if each thread binds its own socket.
   */
  readonly descriptor: number | null;
  /** Closes the port for threads that start later. May be called again. */
  close(): void;
}

/** Systems that divide the connections of a port among its sockets (libuv's UV_TCP_REUSEPORT). */
const REUSE_PORT_PLATFORMS: readonly string[] = ['linux', 'freebsd', 'aix', 'sunos'];

/**
 * Whether this version of Node can listen with `reusePort`: Node 22 since 22.12, and later versions since
 * 23.1.
 */
export function canReusePort(version: string, platform: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const isKnown = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
  return isKnown && REUSE_PORT_PLATFORMS.includes(platform);
}

/**
 * Takes a port for several threads. With `reusePort` each thread binds its own socket; otherwise all threads
 * listen on duplicates of one socket. This function accepts no connection. Throws `address-unavailable`.
 */
export async function openDoor(
  { host, port }: { readonly host: string; readonly port: number },
  reusePort: boolean = canReusePort(process.version, process.platform),
): Promise<Door> {
  if (!reusePort && process.platform === 'win32') {
    throw new LecternError(
      'address-unavailable',
      'on Windows only one thread can serve a port: use --workers 1',
    );
  }
  if (!reusePort) await checkInnerParts();
  const server = createServer();
  // The port is first bound without `reusePort`: with it, a second service of the same user could share a
  // taken port.
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    throw describeListenError(error as NodeJS.ErrnoException, { host, port });
  }
  // The server closes in the same turn of the event loop, so that it accepts no connection.
  const address = toListenAddress(server.address() as AddressInfo);
  const closed = once(server, 'close');
  const duplicate = reusePort ? null : duplicateSocket(descriptorOf(server));
  server.close();
  await closed;
  if (duplicate === null) return { address, descriptor: null, close() {} };
  const socket = await duplicate.catch((cause: Error) => {
    const message = `cannot share ${address.origin} among threads: ${cause.message}`;
    throw new LecternError('address-unavailable', message, { cause });
  });
  let isOpen = true;
  return {
    address,
    descriptor: socket.fd,
    close: () => {
      if (isOpen) socket.close();
      isOpen = false;
    },
  };
}
