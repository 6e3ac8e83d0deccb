/**
 * Folder http/server/. The port and its connections: limits, overload, closing. This folder knows nothing of
 * timetables.
 *
 * The server is one of node:http with every limit set. Requests that node:http cannot read have only a socket; they are
 * answered here, too.
 */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { PROBLEMS } from '../../base/errors.js';
import {
  CONNECTIONS_CHECKING_INTERVAL_MS,
  CONNECTIONS_MAX_DEFAULT,
  HEADER_FIELDS_MAX,
  HEADERS_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  OVERLOAD_MS_DEFAULT,
  REQUEST_TARGET_BYTES_MAX,
  REQUEST_TIMEOUT_MS,
} from '../../base/limits.js';
import { CELL, routeNumber } from '../../base/metrics/cells.js';
import type { Meter } from '../../base/metrics/meter.js';
import { type AnswerFields, OriginFields } from '../answer/answer-fields.js';
import { PROBLEM_CONTENT_TYPE, type Problem, problemBody } from '../answer/problem.js';
import type { LaneHandler, RequestHandler, StreamingHandler } from '../handler.js';
import { METHOD_NOT_ALLOWED, WRONG_VERSION } from '../message-fault.js';
import {
  checkInternals,
  closeGently,
  endsWithAnswer,
  endWithAnswer,
  parserFaultOf,
} from '../node/internals.js';
import { Lane } from '../node/lane.js';
import { allowHalfOpen, stopListening, takeQueued } from '../node/listener.js';
import { ALLOW } from '../routes.js';
import { type Connection, type ConnectionBounds, type ConnectionCounts, Connections } from './connections.js';
import {
  describeListenError,
  type ListenAddress,
  type ListenOptions,
  toListenAddress,
} from './listen-address.js';
import { Overload, type OverloadCounts } from './overload.js';
import { refuse, refuseDirectly } from './refusal.js';

/** Time between two sweeps while draining: an idle connection is closed after 0.5 to 1 s. */
const DRAIN_SWEEP_MS = 500;

/** How often close() looks for connections that have become idle. */
const CLOSE_POLL_MS = 25;
/** Connections stay open this much longer than announced, as in Node, because a request may be in transit. */
const KEEP_ALIVE_GRACE_MS = 1000;
/** How long close() waits for the first request of a connection. */
const CLOSE_UNUSED_MS = 200;

/** Plain data, checked by the table of settings. */
export interface ServerSettings {
  /** Longest wait for this thread before requests are refused; 0 disables refusals. Default OVERLOAD_MS_DEFAULT. */
  readonly overloadMs?: number | undefined;
  readonly corsOrigins?: readonly string[] | undefined;
}

export interface HttpServerOptions extends ServerSettings {
  /** Connections beyond this number are closed on arrival and counted. Default CONNECTIONS_MAX_DEFAULT. */
  readonly connectionsMax?: number | undefined;
  /** `close-idle`: the connection that has been idle longest makes room for a new one. Default `refuse`. */
  readonly whenFull?: 'refuse' | 'close-idle' | undefined;
  /** Like `times`, for tests only. Default: the bounds of limits.ts. */
  readonly bounds?: ConnectionBounds | undefined;
  readonly times?: ServerTimes | undefined;
  readonly onOverload?: ((isOverloaded: boolean) => void) | undefined;
  readonly meter?: Meter | null | undefined;
}

/** How long a closing server waits for unfinished answers. */
export const CLOSE_MS_MAX = 10_000;

export class HttpServer {
  readonly #handler: RequestHandler | LaneHandler;
  readonly #answerOnLane: LaneHandler['lane'] | undefined;
  readonly #endStreams: () => void;
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #overload: Overload;
  readonly #origins: OriginFields;
  readonly #idleMs: number;
  #accepted = 0;
  #isDraining = false;
  #sweeping: NodeJS.Timeout | undefined;
  /** Sweeps keep new connections, whose first request may be in transit. */
  #sparesUnused = false;
  #closing: Promise<void> | null = null;

  constructor(handler: RequestHandler | LaneHandler | StreamingHandler, options: HttpServerOptions = {}) {
    const { connectionsMax = CONNECTIONS_MAX_DEFAULT, whenFull = 'refuse', bounds, times } = options;
    const { overloadMs = OVERLOAD_MS_DEFAULT, onOverload, corsOrigins = [], meter = null } = options;
    this.#handler = handler;
    this.#answerOnLane = 'lane' in handler ? handler.lane : undefined;
    this.#endStreams = 'endStreams' in handler ? handler.endStreams : () => {};
    this.#connections = new Connections(bounds);
    this.#overload = new Overload(overloadMs, onOverload);
    this.#origins = new OriginFields(corsOrigins);
    if (meter !== null) meterConnections(meter, this.#connections);
    const server = createBareServer((req, res) => this.#answer(req, res), times);
    this.#server = server;
    this.#idleMs = server.keepAliveTimeout + KEEP_ALIVE_GRACE_MS;
    // With `close-idle`, Node gets no limit, because it may still count connections that were just closed.
    if (whenFull === 'refuse') server.maxConnections = connectionsMax;
    this.#listenToNode(whenFull === 'close-idle' ? connectionsMax : null, meter);
  }

  get counts(): ConnectionCounts {
    return this.#connections.counts;
  }

  get load(): OverloadCounts {
    return this.#overload.counts;
  }

  countRefusal(): void {
    this.#overload.count();
  }

  async listen(options: ListenOptions): Promise<ListenAddress> {
    await checkInternals();
    const server = this.#server;
    allowHalfOpen(server);
    const { host, port, reusePort, handle } = options;
    try {
      server.listen(handle ?? { host, port, ...(reusePort ? { reusePort } : {}) });
      await once(server, 'listening');
    } catch (error) {
      throw describeListenError(error as NodeJS.ErrnoException, options);
    }
    this.#connections.start();
    this.#overload.start();
    return toListenAddress(server.address() as AddressInfo);
  }

  /** Every answer ends its connection, and idle connections are closed. New connections are still accepted. */
  drain(): void {
    if (this.#isDraining) return;
    this.#announceEnd();
    this.#sweeping = this.#sweepEvery(DRAIN_SWEEP_MS).unref();
  }

  /**
   * Stops accepting, closes idle connections, finishes answers with `Connection: close`, and cuts off
   * unfinished answers at the deadline. Resolves when every connection is closed; can be called again.
   */
  close({ deadlineMs = CLOSE_MS_MAX }: { readonly deadlineMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#finish(deadlineMs);
    return this.#closing;
  }

  /**
   * @param roomFor the largest number of connections, for which old connections are closed; null if Node
   * refuses new connections instead
   */
  #listenToNode(roomFor: number | null, meter: Meter | null): void {
    const server = this.#server;
    const connections = this.#connections;
    server.on('drop', () => {
      connections.closed.dropped++;
    });
    server.on('checkContinue', (req, res) => {
      // The client gets a final status instead of 100 (RFC 9110 section 10.1.1).
      endWithAnswer(res);
      this.#answer(req, res);
    });
    server.on('checkExpectation', (req, res) => this.#answer(req, res));
    server.on('connect', (_req, duplex) => {
      const socket = duplex as Socket;
      connections.open.get(socket)?.lane?.close();
      // Node has removed its listeners, so an unhandled error would end the process.
      socket.on('error', () => socket.destroy());
      socket.resume();
      this.#endWith(socket, (fields) => answerConnect(socket, fields, meter));
    });
    server.on('clientError', (error: NodeJS.ErrnoException, duplex) => {
      const socket = duplex as Socket;
      this.#endWith(socket, (fields) => answerClientError(error, socket, fields, meter));
    });
    server.on('connection', (socket) => {
      this.#accepted++;
      if (roomFor !== null) connections.makeRoom(roomFor - 1);
      const connection = connections.add(socket);
      connection.lane = Lane.watch(server, socket, this.#idleMs, (lane, keepAlive) =>
        this.#see(connection, lane, keepAlive),
      );
      // Runs before Node's own listener, which closes the sending side if Node knows of no pending response.
      socket.prependListener('end', () => this.#endAwaiting(connection));
      socket.once('close', () => {
        this.#endAwaiting(connection);
        connection.lane?.close();
        connections.open.delete(socket);
      });
    });
  }

  /** Sees each request before Node makes a response for it. @returns whether the request was handled */
  #see(connection: Connection, lane: Lane, keepAlive: boolean): boolean {
    this.#endAwaiting(connection);
    const isBusy = this.#isDraining || connection.isEnding || connection.isAnswering;
    const isAlone = !isBusy && lane.isEligible(keepAlive);
    // Other requests are refused in their turn.
    if (this.#overload.refuses() && isAlone && refuseDirectly(lane, this.#origins)) {
      this.#overload.count();
      this.#connections.use(connection, null);
      return true;
    }
    if (this.#answerOnLane === undefined || !isAlone || this.#overload.isFull) return false;
    this.#connections.use(connection, null);
    this.#answerOnLane(lane);
    // The answer is not null if Node has made a response meanwhile.
    if (connection.answer !== null) this.#settle(connection, connection.answer);
    return true;
  }

  /**
   * Call this before any other event of the connection is handled: an awaited request then gets Node's
   * response.
   */
  #endAwaiting(connection: Connection): void {
    const res = connection.lane?.endAwaiting() ?? null;
    if (res !== null) this.#settle(connection, res);
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    const connection = this.#connections.open.get(req.socket);
    // Bytes after the last answer of a connection need not be a request.
    if (connection === undefined || connection.isEnding) return;
    const { lane } = connection;
    this.#connections.use(connection, res);
    if (lane?.takes(res)) return;
    // An answer that closes the connection tells the client that no later request was read.
    if (lane === null ? req.headers.upgrade !== undefined : lane.dropsRest(req)) endWithAnswer(res);
    // On the lane, #see has already called refuses(); #handle uses the result.
    if (lane === null) this.#overload.refuses();
    if (connection.handleInTurn(req, res, this.#handle)) return;
    this.#connections.closed.flooded++;
    req.socket.destroy();
  }

  readonly #handle = (connection: Connection, req: IncomingMessage, res: ServerResponse): void => {
    if (this.#isDraining && connection.waiting.length === 0) endWithAnswer(res);
    // Preflights are answered: answering costs as much as refusing, and lets the page read the 503 of its
    // request.
    if (this.#overload.isFull && !this.#origins.isPreflight(req)) {
      this.#overload.count();
      refuse(res, this.#origins);
    } else this.#handler(req, res);
    this.#settle(connection, res);
  };

  #settle(connection: Connection, res: ServerResponse): void {
    if (!res.headersSent) {
      connection.pending.add(res);
      res.once('close', () => connection.pending.delete(res));
    } else if (endsWithAnswer(res)) {
      connection.isEnding = true;
      if (announcesBody(res.req))
        closeGently(connection.socket, res, () => this.#connections.linger(connection));
    }
  }

  /** Sends the last answer on a connection, after all other answers. */
  #endWith(socket: Socket, say: (fields: AnswerFields) => void): void {
    const connection = this.#connections.open.get(socket);
    if (connection === undefined || connection.isEnding) return;
    this.#endAwaiting(connection);
    connection.isEnding = true;
    const speak = (): void => {
      say(this.#origins.of(undefined));
      this.#connections.linger(connection);
    };
    if (connection.isAnswering) connection.answer?.once('close', speak);
    // Waits for an answer of the lane that is still being sent. An error ends the connection.
    else if (connection.answer === null && socket.writableLength > 0) socket.write('', speak);
    else speak();
  }

  #announceEnd(): void {
    this.#isDraining = true;
    for (const connection of this.#connections.open.values()) {
      this.#endAwaiting(connection);
      for (const res of connection.pending) endWithAnswer(res);
    }
    this.#endStreams();
  }

  /**
   * Each sweep runs right after the event loop has read, so the sweep knows requests that have just arrived.
   */
  #sweepEvery(ms: number): NodeJS.Timeout {
    return setInterval(() => setImmediate(() => this.#connections.sweep(this.#sparesUnused)), ms);
  }

  async #finish(deadlineMs: number): Promise<void> {
    const server = this.#server;
    this.#announceEnd();
    clearInterval(this.#sweeping);
    if (!server.listening) return;
    if (deadlineMs > 0) await takeQueued(server, () => this.#accepted);
    const closed = stopListening(server);
    this.#connections.beginSweeping();
    this.#sparesUnused = deadlineMs > 0;
    const sparing = setTimeout(() => {
      this.#sparesUnused = false;
    }, CLOSE_UNUSED_MS);
    const poll = this.#sweepEvery(CLOSE_POLL_MS);
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs);
    await closed;
    clearInterval(poll);
    clearTimeout(sparing);
    clearTimeout(deadline);
    this.#connections.stop();
    this.#overload.stop();
    // Ends Node's own timer.
    server.close();
  }
}

function meterConnections(meter: Meter, connections: Connections): void {
  meter.onSample(() => meter.set(CELL.connectionsOpen, connections.open.size));
  meter.onSampleOfCounts(() => {
    const { dropped, slowReaders, silent, flooded } = connections.closed;
    return [
      [CELL.connectionsDropped, dropped],
      [CELL.slowReaders, slowReaders],
      [CELL.silent, silent],
      [CELL.flooded, flooded],
    ];
  });
}

/** RFC 9112 section 6.3. */
function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Tests have shorter times. `lookMs`: time between two checks of `headersMs` and `requestMs`. */
type ServerTimes = Readonly<Record<'headersMs' | 'requestMs' | 'keepAliveMs' | 'lookMs', number>>;

const SERVER_TIMES: ServerTimes = {
  headersMs: HEADERS_TIMEOUT_MS,
  requestMs: REQUEST_TIMEOUT_MS,
  keepAliveMs: KEEP_ALIVE_TIMEOUT_MS,
  lookMs: CONNECTIONS_CHECKING_INTERVAL_MS,
};

/** From Node 24 on, requests without a body need not be read to their end. The types do not know the option. */
const EMPTY_REQUESTS: object = { optimizeEmptyRequests: true };

export function createBareServer(listener: RequestListener, times: ServerTimes = SERVER_TIMES): Server {
  return createServer(
    {
      headersTimeout: times.headersMs,
      requestTimeout: times.requestMs,
      keepAliveTimeout: times.keepAliveMs,
      connectionsCheckingInterval: times.lookMs,
      maxHeaderSize: HEADERS_BYTES_MAX,
      // The handler answers a missing Host with a problem document.
      requireHostHeader: false,
      // Overrides NODE_OPTIONS.
      insecureHTTPParser: false,
      noDelay: true,
      ...EMPTY_REQUESTS,
    },
    listener,
  );
}

const MALFORMED: Problem = {
  code: 'invalid-request',
  detail: 'The received bytes are not an HTTP/1.1 request.',
};

/** A proxy may parse a lone LF differently; RFC 9112 section 2.2 allows refusing it. */
const LINE_END: Problem = {
  code: 'invalid-request',
  detail: 'A line of the request does not end with CR LF, as every line of HTTP/1.1 does.',
};

/** 501 (RFC 9110 section 9.1); methods are case-sensitive. */
const UNKNOWN_METHOD: Problem = {
  code: 'method-not-implemented',
  detail: `The method of the request is not known here; the methods are ${ALLOW}, in capital letters.`,
};

/** RFC 9112 section 3, `request-line` with any method. */
const REQUEST_LINE = /^[\w!#$%&'*+\-.^`|~]+ [^\s]+ HTTP\/1\.[01]\r\n/;

const OTHER_VERSION = /^[\w!#$%&'*+\-.^`|~]+ [^\s]+ HTTP\/(?!1\.[01]\r)\d\.\d\r\n/;

const PROBLEM_BY_CODE: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: {
    code: 'headers-too-large',
    // Node uses the same code for more than 2,000 fields.
    detail: `Request line and header fields together are longer than 16 KiB, or there are more than ${HEADER_FIELDS_MAX} header fields.`,
  },
  HPE_PAUSED_H2_UPGRADE: WRONG_VERSION,
  HPE_INVALID_URL: {
    code: 'invalid-request',
    detail:
      'The request target has characters that a URL must not have; percent-encode non-ASCII characters, as in %C3%9C.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request-timeout',
    detail: 'The request did not arrive in time; nothing was done.',
  },
};

const TARGET_TOO_LONG: Problem = {
  code: 'request-target-too-long',
  detail: `The request target is too long; at most ${REQUEST_TARGET_BYTES_MAX} bytes are read.`,
};

/** Ends the connection with a problem document, but not inside an unfinished answer. */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  fields: AnswerFields,
  meter: Meter | null,
): void {
  if (!socket.writable || socket.writableLength > 0 || error.code === 'ECONNRESET') socket.destroy();
  else sendLast(socket, problemOf(error), fields, meter);
}

/** CONNECT asks for a tunnel. For such a request Node gives only a bare socket. */
function answerConnect(socket: Socket, fields: AnswerFields, meter: Meter | null): void {
  sendLast(socket, METHOD_NOT_ALLOWED, fields, meter);
}

function sendLast(socket: Socket, problem: Problem, fields: AnswerFields, meter: Meter | null): void {
  const body = problemBody(problem);
  const { status } = PROBLEMS[problem.code];
  const bytes = Buffer.byteLength(body);
  const [name, value] = problem.headers ?? [];
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Content-Type: ${PROBLEM_CONTENT_TYPE}`,
      'Cache-Control: no-store',
      `Content-Length: ${bytes}`,
      ...(name === undefined ? [] : [`${name}: ${value}`]),
      `${fields.text}Connection: close`,
      '',
      body,
    ].join('\r\n'),
  );
  meter?.answeredUntimed(routeNumber('unreadable'), status, bytes);
}

function problemOf(error: NodeJS.ErrnoException): Problem {
  const { code, packet, line, isLineEnd } = parserFaultOf(error);
  if (code === 'HPE_INVALID_METHOD') return REQUEST_LINE.test(line) ? UNKNOWN_METHOD : MALFORMED;
  if (isLineEnd) return LINE_END;
  if (code === 'HPE_INVALID_VERSION') return OTHER_VERSION.test(line) ? WRONG_VERSION : MALFORMED;
  const problem = PROBLEM_BY_CODE[code] ?? MALFORMED;
  // If the packet begins with a method, its first line shows whether the target is too long.
  if (problem.code === 'headers-too-large' && /^[A-Z]+ /.test(packet)) {
    const lineEnd = packet.indexOf('\r\n');
    if (lineEnd < 0 || lineEnd > REQUEST_TARGET_BYTES_MAX) return TARGET_TOO_LONG;
  }
  return problem;
}
