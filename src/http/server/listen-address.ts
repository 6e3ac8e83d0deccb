import type { AddressInfo } from 'node:net';
import { LecternError } from '../../base/errors.js';

export interface ListenOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Several servers share the port. Each has its own socket, and the system divides the connections. */
  readonly reusePort?: boolean | undefined;
  /** A listening socket for node:net; host and port are then only for messages. */
  readonly handle?: object | undefined;
  /** The setting of the port, for messages: the flag of the command line and the option of the library. */
  readonly portSetting?: string | undefined;
}

const PORT_SETTING = '--port (option port)';

/** Where a server listens. */
export interface ListenAddress {
  readonly host: string;
  /** The actual TCP port, even if the setting was 0. */
  readonly port: number;
  /** `http://host:port`, without a path. */
  readonly origin: string;
}

export function toListenAddress({ address, port, family }: AddressInfo): ListenAddress {
  const host = family === 'IPv6' ? `[${address}]` : address;
  return { host: address, port, origin: `http://${host}:${port}` };
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken',
  EACCES: 'permission denied (ports below 1024 are for privileged users)',
  ENOTSUP: 'this system cannot divide the connections of a port among threads',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host name',
  EAI_AGAIN: 'the host name cannot be resolved at the moment',
  ERR_SOCKET_BAD_PORT: 'a port is a number from 0 to 65535',
};

export function describeListenError(
  error: NodeJS.ErrnoException,
  { host, port, portSetting = PORT_SETTING }: Pick<ListenOptions, 'host' | 'port' | 'portSetting'>,
): LecternError {
  const code = error.code ?? 'unknown error';
  const reason = code in LISTEN_ERRORS ? `${LISTEN_ERRORS[code]} (${code})` : code;
  const remedy = code === 'EADDRINUSE' ? `; choose another port with ${portSetting}` : '';
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new LecternError('address-unavailable', `cannot listen on ${address}: ${reason}${remedy}`, {
    cause: error,
  });
}
