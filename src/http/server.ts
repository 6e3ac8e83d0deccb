/**
 * The server's lifecycle: a bare node:http server with every limit set, a listen that says what went wrong, and a close
 * that ends in time.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { LecternError } from '../errors.js';
import {
  CONNECTIONS_CHECKING_INTERVAL_MS,
  HEADERS_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
} from '../limits.js';
import { answerClientError, answerConnect } from './client-error.js';
import type { RequestHandler } from './handler.js';
import { createPipelineGuard } from './pipeline-guard.js';

/** How often close() looks for connections that have become idle. */
const CLOSE_POLL_MS = 25;

/**
 * From Node 24 on, a request that announces no body is not made a stream that would have to be read to its end. Older
 * versions, and the types, do not know the option.
 */
const EMPTY_REQUESTS: object = { optimizeEmptyRequests: true };

export interface ListenOptions {
  /** A name or an address. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Several servers share the port, each with a socket of its own, between which the system divides the connections. */
  readonly reusePort?: boolean | undefined;
  /** A socket that listens already, as node:net takes it; host and port are then for messages. */
  readonly handle?: object | undefined;
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** `http://host:port`, without a path. */
  readonly origin: string;
}

export interface HttpServer {
  /** @throws LecternError `address-unavailable` */
  listen(options: ListenOptions): Promise<ListenAddress>;
  /**
   * Stops accepting, closes idle connections, lets answers in flight finish with `Connection: close`, and cuts what is
   * left after the deadline. Resolves when every connection is closed; can be called again.
   *
   * @param deadlineMs default 10,000
   */
  close(options?: { readonly deadlineMs?: number }): Promise<void>;
}

/** Creates a server for a handler. Nothing is opened before `listen`. */
export function createHttpServer(handler: RequestHandler): HttpServer {
  /** Responses whose handler is still waiting for something: rare, as reads are synchronous. */
  const pending = new Set<ServerResponse>();
  /** Connections without a request so far: node does not count them as idle. */
  const unused = new Set<Socket>();
  /** Connections whose last answer is under way: whatever else arrives on them is not answered. */
  const ending = new WeakSet<Socket>();
  const guard = createPipelineGuard();
  /** Every open connection, and how many bytes had come in when it was last looked at for closing. */
  const sockets = new Map<Socket, number>();
  let closing: Promise<void> | null = null;

  function answer(req: IncomingMessage, res: ServerResponse): void {
    unused.delete(req.socket);
    if (closing !== null) res.shouldKeepAlive = false;
    if (!guard.admit(req.socket, res)) return;
    handler(req, res);
    // What was sent directly has its connection behind it, and waits for nothing.
    if (!res.writableFinished) guard.count(req.socket, res);
    if (!res.headersSent) {
      pending.add(res);
      res.once('close', () => pending.delete(res));
    } else if (!res.shouldKeepAlive) ending.add(req.socket);
  }

  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECKING_INTERVAL_MS,
      maxHeaderSize: HEADERS_BYTES_MAX,
      // The handler answers a missing Host itself, with a problem document.
      requireHostHeader: false,
      noDelay: true,
      ...EMPTY_REQUESTS,
    },
    answer,
  );
  // An expectation that is not understood may be ignored (RFC 9110 section 10.1.1); node would answer 417 without a body.
  server.on('checkExpectation', answer);
  server.on('connect', (_req, socket) => answerConnect(socket as Socket));
  server.on('connection', (socket) => {
    // Accepted by the kernel just before the port was closed.
    if (closing !== null) socket.destroy();
    unused.add(socket);
    sockets.set(socket, 0);
    socket.once('close', () => {
      unused.delete(socket);
      sockets.delete(socket);
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket;
    if (ending.has(socket)) return;
    ending.add(socket);
    answerClientError(error, socket);
  });

  /**
   * Destroys the connections that are idle: nothing came in since the last sweep, nothing waits to go out, no answer is
   * being worked on. Node's own closeIdleConnections counts an answer as over when it was handed to the socket, and
   * cuts off what a slow reader has not taken yet.
   */
  function sweep(): void {
    const busy = new Set([...pending].map((res) => res.req.socket));
    for (const [socket, bytesReadBefore] of sockets) {
      if (socket.bytesRead !== bytesReadBefore) sockets.set(socket, socket.bytesRead);
      else if (socket.writableLength === 0 && !busy.has(socket)) socket.destroy();
    }
  }

  async function finish(deadlineMs: number): Promise<void> {
    for (const res of pending) res.shouldKeepAlive = false;
    if (!server.listening) return;
    // The http server's own close() would call closeIdleConnections; this only stops listening.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    for (const socket of sockets.keys()) sockets.set(socket, unused.has(socket) ? 0 : socket.bytesRead);
    const poll = setInterval(sweep, CLOSE_POLL_MS);
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs);
    await closed;
    clearInterval(poll);
    clearTimeout(deadline);
    // Ends the http server's own timer; it has no connection left to close.
    server.close();
  }

  return {
    listen(options) {
      return new Promise((resolve, reject) => {
        const onError = (error: NodeJS.ErrnoException) => {
          server.off('listening', onListening);
          reject(describeListenError(error, options));
        };
        const onListening = () => {
          server.off('error', onError);
          resolve(toListenAddress(server.address() as AddressInfo));
        };
        server.once('error', onError);
        server.once('listening', onListening);
        try {
          const { host, port, reusePort, handle } = options;
          server.listen(handle ?? { host, port, ...(reusePort ? { reusePort } : {}) });
        } catch (error) {
          server.off('listening', onListening);
          server.off('error', onError);
          reject(describeListenError(error as NodeJS.ErrnoException, options));
        }
      });
    },
    close({ deadlineMs = 10_000 } = {}) {
      closing ??= finish(deadlineMs);
      return closing;
    },
  };
}

/** The address of a server that listens. */
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

/** What a failed attempt to listen means to people. */
export function describeListenError(
  error: NodeJS.ErrnoException,
  { host, port }: Pick<ListenOptions, 'host' | 'port'>,
): LecternError {
  const code = error.code ?? 'unknown error';
  const reason = LISTEN_ERRORS[code];
  return new LecternError(
    'address-unavailable',
    `cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${reason === undefined ? code : `${reason} (${code})`}`,
    { cause: error },
  );
}
