/**
 * The server's lifecycle: a server with every limit set, a listen that says what went wrong, and a close
 * that ends in time.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { CONNECTIONS_MAX_DEFAULT, DRAIN_SWEEP_MS, OVERLOAD_MS_DEFAULT } from '../../limits.js';
import { CELL, routeNumber } from '../../metrics/cells.js';
import type { Meter } from '../../metrics/meter.js';
import { type OriginFields, PLAIN_FIELDS } from '../answer/answer-fields.js';
import type { LoneRequestHandler, RequestHandler } from '../handler.js';
import { LoneRequest } from '../node/lone-request.js';
import { takeQueued } from '../node/take-queued.js';
import { createBareServer, type ServerTimes } from './bare-server.js';
import { answerClientError, answerConnect, type LastWord } from './client-error.js';
import {
  type Connection,
  type ConnectionCounts,
  type ConnectionPatience,
  Connections,
} from './connections.js';
import {
  describeListenError,
  type ListenAddress,
  type ListenOptions,
  toListenAddress,
} from './listen-address.js';
import { Overload, type OverloadCounts } from './overload.js';
import { handleInTurn } from './pipeline-guard.js';
import { refuse, refuseDirectly } from './refusal.js';

const UNREADABLE = routeNumber('unreadable');

/** How often close() looks for connections that have become idle. */
const CLOSE_POLL_MS = 25;
/** What a connection is kept longer than clients are told, as node does: their last request may be on its way. */
const KEEP_ALIVE_GRACE_MS = 1000;
/** How long close() waits for the first request of a connection. */
const CLOSE_UNUSED_MS = 200;

export interface HttpServerOptions {
  /** Connections at a time; more are closed as they come, and counted. Default CONNECTIONS_MAX_DEFAULT. */
  readonly connectionsMax?: number | undefined;
  /**
   * What makes room for a connection that comes when there are as many as there may be: nothing, so that it is closed, or the one
   * that has waited longest for a request. Default `refuse`.
   */
  readonly whenFull?: 'refuse' | 'close-idle' | undefined;
  /** For tests. Default: the bounds of limits.ts. */
  readonly patience?: ConnectionPatience | undefined;
  /** For tests. Default: the bounds of limits.ts. */
  readonly times?: ServerTimes | undefined;
  /** Milliseconds that requests may wait for this thread before some are refused; 0: none ever is. Default OVERLOAD_MS_DEFAULT. */
  readonly overloadMs?: number | undefined;
  /** Told when an overload begins and when it is over. */
  readonly onOverload?: ((isOverloaded: boolean) => void) | undefined;
  /** Those of the handler: what is answered without it says of origins what it says. Default: no origin is allowed. */
  readonly origins?: OriginFields | null | undefined;
  /** Counts connections, and answers to what could not be read. */
  readonly meter?: Meter | null | undefined;
}

export interface HttpServer {
  /** How many connections there are, and how many were closed for what their clients did. */
  readonly counts: ConnectionCounts;
  /** Whether there are more requests than can be answered, and how many were refused for it. */
  readonly load: OverloadCounts;
  /** Counts a request that the handler has refused for a like reason; whether there is an overload is not changed by it. */
  countRefusal(): void;
  /** @throws LecternError `address-unavailable` */
  listen(options: ListenOptions): Promise<ListenAddress>;
  /**
   * From now on every answer is the last of its connection, and connections without requests are closed again and again. New
   * ones are still accepted: whoever distributes them learns elsewhere that none should come. Ends with {@link HttpServer.close}.
   */
  drain(): void;
  /**
   * Stops accepting, closes idle connections, lets answers in flight finish with `Connection: close`, and cuts what is
   * left after the deadline. Resolves when every connection is closed; can be called again.
   *
   * @param deadlineMs default 10,000
   */
  close(options?: { readonly deadlineMs?: number }): Promise<void>;
}

/** Creates a server for a handler. Nothing is opened before `listen`. */
export function createHttpServer(
  handler: RequestHandler | LoneRequestHandler,
  {
    connectionsMax = CONNECTIONS_MAX_DEFAULT,
    whenFull = 'refuse',
    patience,
    times,
    overloadMs = OVERLOAD_MS_DEFAULT,
    onOverload,
    origins = null,
    meter = null,
  }: HttpServerOptions = {},
): HttpServer {
  const answerLone = 'lone' in handler ? handler.lone : undefined;
  const connections = new Connections(patience);
  const overload = new Overload(overloadMs, onOverload);
  /** Nobody knows from which page it came. */
  const unreadableFields = origins?.of(undefined) ?? PLAIN_FIELDS;
  let closing: Promise<void> | null = null;
  if (meter !== null) meterConnections(meter, connections);
  let isDraining = false;
  let accepted = 0;
  /** Their first request may be on its way. */
  let sparesUnused = false;
  let draining: NodeJS.Timeout | null = null;

  /** Before node makes a response: whether the request has been refused. */
  function refuses(lone: LoneRequest, isAlone: boolean): boolean {
    // What cannot be refused here is refused in its turn.
    if (!isTooMany() || !isAlone || !refuseDirectly(lone, origins)) return false;
    overload.count();
    return true;
  }

  /** To be asked once for each request. */
  function isTooMany(): boolean {
    if (overload.isWatching) return overload.refuses();
    overload.pass();
    return false;
  }

  /** Each request, before node makes a response for it. */
  function see(connection: Connection, lone: LoneRequest, req: IncomingMessage, keepAlive: boolean): number {
    endAwaiting(connection);
    const isAlone = keepAlive && !isDraining && !lone.isTraced && standsAlone(connection, req);
    if (refuses(lone, isAlone)) {
      connections.use(connection, null);
      return 0;
    }
    if (answerLone === undefined || !isAlone || overload.isFull) return lone.handOn(req, keepAlive);
    connections.use(connection, null);
    answerLone(lone);
    const { response } = lone;
    if (response !== null) settle(connection, req, response);
    return 0;
  }

  /** Before anything else happens on a connection, or to it: an answer that comes later goes by node's response from now on. */
  function endAwaiting(connection: Connection): void {
    const res = connection.lone?.endAwaiting() ?? null;
    if (res !== null) settle(connection, res.req, res);
  }

  function answer(req: IncomingMessage, res: ServerResponse): void {
    const connection = connections.get(req.socket);
    // What follows on a connection that is about to be closed may not be a request at all.
    if (connection === undefined || connection.isEnding) return;
    connections.use(connection, res);
    if (connection.lone?.takes(res)) return;
    // Nobody has asked before; handle() sees what came of it.
    if (connection.lone === null) isTooMany();
    if (handleInTurn(connection, req, res, handle)) return;
    connections.flooded++;
    req.socket.destroy();
  }

  function handle(connection: Connection, req: IncomingMessage, res: ServerResponse): void {
    // Those that came before their turn are all answered before the connection ends.
    if (isDraining && !connection.queue?.waiting.length) res.shouldKeepAlive = false;
    // A preflight costs as much as its refusal, and would keep a page from reading that of its request.
    if (overload.isFull && !origins?.isPreflight(req)) {
      overload.count();
      refuse(req, res, origins);
    } else handler(req, res);
    settle(connection, req, res);
  }

  /** After a response was handed to who answers. */
  function settle(connection: Connection, req: IncomingMessage, res: ServerResponse): void {
    if (!res.headersSent) {
      connection.pending.add(res);
      res.once('close', () => connection.pending.delete(res));
    } else if (!res.shouldKeepAlive) {
      connection.isEnding = true;
      if (announcesBody(req)) closeGently(connection);
    }
  }

  /** Instead of destroying the socket as soon as the answer is out, as node would. */
  function closeGently(connection: Connection): void {
    const { socket } = connection;
    socket.destroySoon = () => {
      socket.end();
      connections.linger(connection);
    };
  }

  /** Says a last word on a connection when everything before it has been said. */
  function endWith(socket: Socket, say: () => LastWord | null): void {
    const connection = connections.get(socket);
    if (connection === undefined || connection.isEnding) return;
    endAwaiting(connection);
    connection.isEnding = true;
    const speak = (): void => {
      const said = say();
      // When it began nobody knows.
      if (said !== null) meter?.answeredUntimed(UNREADABLE, said.status, said.bytes);
      connections.linger(connection);
    };
    if (isAnswering(connection)) connection.answer?.once('close', speak);
    // Behind an answer to a lone request, some of which waits. An error ends the connection, and with it all there is to say.
    else if (connection.answer === null && socket.writableLength > 0) socket.write('', speak);
    else speak();
  }

  const server = createBareServer(answer, times);
  const idleMs = server.keepAliveTimeout + KEEP_ALIVE_GRACE_MS;
  // Otherwise they are counted as they come: of those that make room node still counts some.
  if (whenFull === 'refuse') server.maxConnections = connectionsMax;
  server.on('drop', () => {
    connections.dropped++;
  });
  // No body is ever asked for (RFC 9110 section 10.1.1: a final status may come in place of 100); the handler refuses the rest.
  server.on('checkContinue', (req, res) => {
    // As node does where 100 was expected and not sent: what would follow is not waited for.
    res.shouldKeepAlive = false;
    answer(req, res);
  });
  server.on('checkExpectation', answer);
  server.on('connect', (_req, duplex) => {
    const socket = duplex as Socket;
    // Node has taken its own listeners off: an error that nobody listens to would end the process.
    socket.on('error', () => socket.destroy());
    socket.resume();
    endWith(socket, () => answerConnect(socket, unreadableFields));
  });
  function onEnd(this: Socket): void {
    const connection = connections.get(this);
    if (connection !== undefined) endAwaiting(connection);
  }
  function forget(this: Socket): void {
    onEnd.call(this);
    connections.delete(this);
  }
  server.on('connection', (socket) => {
    accepted++;
    if (whenFull === 'close-idle') connections.makeRoom(connectionsMax - 1, isAnswering);
    const connection = connections.add(socket);
    connection.lone = LoneRequest.watch(server, socket, idleMs, (lone, req, keepAlive) =>
      see(connection, lone, req, keepAlive),
    );
    // Before node, which ends the other half where it knows of no response.
    socket.prependListener('end', onEnd);
    socket.once('close', forget);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket;
    endWith(socket, () => answerClientError(error, socket, unreadableFields));
  });

  /**
   * Destroys the connections that are idle: nothing came in since the last sweep, nothing waits to go out, no answer is
   * being worked on. Node's own closeIdleConnections counts an answer as over when it was handed to the socket, and
   * cuts off what a slow reader has not taken yet.
   */
  function sweep(): void {
    for (const connection of connections) {
      const { socket, bytesRead, pending } = connection;
      if (socket.bytesRead !== bytesRead) connection.bytesRead = socket.bytesRead;
      else if (sparesUnused && connection.isUnused) continue;
      else if (socket.writableLength === 0 && pending.size === 0 && !isAnswering(connection))
        socket.destroy();
    }
  }

  /**
   * Looks for idle connections again and again; each look right after the event loop has read whatever had arrived, so that a
   * request that came while this thread was busy is not taken for none.
   */
  function sweepEvery(ms: number): NodeJS.Timeout {
    return setInterval(() => setImmediate(sweep), ms);
  }

  function announceEnd(): void {
    isDraining = true;
    for (const connection of connections) {
      endAwaiting(connection);
      for (const res of connection.pending) res.shouldKeepAlive = false;
    }
  }

  async function finish(deadlineMs: number): Promise<void> {
    announceEnd();
    if (draining !== null) clearInterval(draining);
    if (!server.listening) return;
    if (deadlineMs > 0) await takeQueued(server, () => accepted);
    // The http server's own close() would call closeIdleConnections; this only stops listening.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    for (const connection of connections) {
      connection.bytesRead = connection.isUnused ? 0 : connection.socket.bytesRead;
    }
    sparesUnused = deadlineMs > 0;
    const sparing = setTimeout(() => {
      sparesUnused = false;
    }, CLOSE_UNUSED_MS);
    const poll = sweepEvery(CLOSE_POLL_MS);
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs);
    await closed;
    clearInterval(poll);
    clearTimeout(sparing);
    clearTimeout(deadline);
    connections.stop();
    overload.stop();
    // Ends the http server's own timer; it has no connection left to close.
    server.close();
  }

  return {
    get counts() {
      return connections.counts;
    },
    get load() {
      return overload.counts;
    },
    countRefusal: () => overload.count(),
    listen(options) {
      return new Promise((resolve, reject) => {
        const onError = (error: NodeJS.ErrnoException) => {
          server.off('listening', onListening);
          reject(describeListenError(error, options));
        };
        const onListening = () => {
          server.off('error', onError);
          connections.start();
          overload.start();
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
    drain() {
      if (isDraining) return;
      announceEnd();
      draining = sweepEvery(DRAIN_SWEEP_MS).unref();
    },
    close({ deadlineMs = 10_000 } = {}) {
      closing ??= finish(deadlineMs);
      return closing;
    },
  };
}

function meterConnections(meter: Meter, connections: Connections): void {
  meter.onSample(() => meter.set(CELL.connectionsOpen, connections.counts.open));
  meter.onSampleOfCounts(() => {
    const { dropped, slowReaders, silent, flooded } = connections.counts;
    return [
      [CELL.connectionsDropped, dropped],
      [CELL.slowReaders, slowReaders],
      [CELL.silent, silent],
      [CELL.flooded, flooded],
    ];
  });
}

/**
 * Whether the answer to the last request goes on. One that is made in slices has nothing to write in between.
 */
function isAnswering({ answer }: Connection): boolean {
  return answer !== null && !answer.writableFinished && !answer.destroyed;
}

/** Whether it is the only one under way on its connection, and no more than a request. */
function standsAlone(connection: Connection, req: IncomingMessage): boolean {
  const { socket, isEnding } = connection;
  const { httpVersionMajor, httpVersionMinor, upgrade } = req as IncomingMessage & {
    readonly upgrade: unknown;
  };
  if (isEnding || httpVersionMajor !== 1 || httpVersionMinor !== 1 || upgrade) return false;
  if (socket.writableLength > 0 || !socket.writable) return false;
  return !isAnswering(connection);
}

/** RFC 9112 section 6.3; asked only where the connection is about to be closed. */
function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
