/**
 * Functions that use undocumented parts of Node's connections. If a part is missing, they use a documented
 * one.
 *
 * Folder http/node/. The only folder that uses internals of node:http. This folder knows nothing of timetables or
 * tokens.
 *
 * Each internal is tried once per process, on a connection made for this check. A feature with a missing
 * internal is off, and a slower public way replaces it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { READER_BYTES_MIN } from '../../base/limits.js';
import type { Logger } from '../logger.js';

const FEATURES = {
  /** Answers a request before node:http makes a request and a response of it, in one write. */
  lane: [
    'parser.constructor',
    'parser.onIncoming',
    'parser.incoming',
    'request.upgrade',
    'handle.bytesWritten',
    'handle.writeQueueSize',
  ],
  /** Ends a connection with an answer, and tells whether an answer ends its connection. */
  keepAlive: ['response.shouldKeepAlive'],
  /** Counts the bytes that the system has taken. */
  writeProgress: ['handle.bytesWritten', 'handle.writeQueueSize'],
  /** Shows the bytes that arrived after a request. */
  readAhead: ['parser.getCurrentBuffer'],
  /** Accepts the waiting connections of a port before it closes. */
  shortBacklog: ['listener.listen'],
  descriptor: ['listener.fd'],
  /** Answers clients that have closed their sending side. */
  halfOpen: ['server.httpAllowHalfOpen'],
  /** Continues to read for a moment after the last answer. */
  gentleClose: ['socket.destroySoon'],
  /** Explains the fault of unreadable requests. */
  parserErrors: ['error.reason', 'error.rawPacket', 'error.bytesParsed'],
} as const;

type Feature = keyof typeof FEATURES;
export type Internal = (typeof FEATURES)[Feature][number];
export const INTERNALS: readonly Internal[] = [...new Set(Object.values(FEATURES).flat())];

/** All false before the check. */
export const usable: Readonly<Record<Feature, boolean>> = usableWithout(INTERNALS);

let checking: Promise<readonly Internal[]> | null = null;
let missing: readonly Internal[] = [];
/** The missing parts that were logged. */
let told: readonly Internal[] = missing;

/** Empty before the check. */
export function missingInternals(): readonly Internal[] {
  return missing;
}

/** Warns once per process, whatever the number of its servers. */
export function warnOfMissingInternals(log: Logger): void {
  if (missing.length > 0 && told !== missing) {
    log.warn(
      { parts: missing, node: process.version },
      'some parts of Node do not work as expected and are not used: answers are right, but slower',
    );
  }
  told = missing;
}

export function checkInternals(): Promise<readonly Internal[]> {
  checking ??= probeInternals().then(useInternals);
  return checking;
}

/** Other threads use the result of the main thread. */
export function useInternals(found: readonly Internal[]): readonly Internal[] {
  missing = found;
  checking = Promise.resolve(found);
  Object.assign(usable, usableWithout(found));
  return found;
}

function usableWithout(found: readonly Internal[]): Record<Feature, boolean> {
  const features = Object.entries(FEATURES) as [Feature, readonly Internal[]][];
  const entries = features.map(([feature, parts]) => [feature, !parts.some((part) => found.includes(part))]);
  return Object.fromEntries(entries) as Record<Feature, boolean>;
}

const HOSTS: readonly string[] = ['127.0.0.1', '::1'];
/** This limit counts checks instead of time, because the process may be busy while it starts. */
const LOOKS_MAX = 20;
const LOOK_MS = 50;

const HEAD = 'HTTP/1.1 204 No Content\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const HEAD_REQUEST = 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n';
const MALFORMED = 'GET / HTTP/1.1\nHost: a\r\n\r\n';

type Inside = Record<string, unknown>;
type Check = (part: Internal, works: boolean) => void;

const insideOf = (object: unknown): Inside => (object ?? {}) as Inside;

/** @returns the internals that did not work; all of them if there is no loopback address */
export async function probeInternals(): Promise<readonly Internal[]> {
  for (const host of HOSTS) {
    const passed = new Set<Internal>();
    const isConnected = await probe(host, (part, works) => {
      if (works) passed.add(part);
    });
    if (isConnected) return INTERNALS.filter((part) => !passed.has(part));
  }
  return INTERNALS;
}

/**
 * Node's function for the end of a head, which makes a request and passes it to `onIncoming`. `rawHeaders` and `url` are
 * undefined if the parser gave them in parts. @returns what `onIncoming` returned
 */
export type OnHead<Parser> = (
  this: Parser,
  ...given: [
    versionMajor: number,
    versionMinor: number,
    rawHeaders: string[] | undefined,
    method: number,
    url: string | undefined,
    status: undefined,
    statusText: undefined,
    isUpgrade: boolean,
    keepAlive: boolean,
  ]
) => number;

/** The methods of ordinary heads, by the number that the parser gives. */
export const HEAD_METHODS: readonly (string | undefined)[] = [undefined, 'GET', 'HEAD'];

/**
 * Tries every internal with three requests. Node answers a GET request, a HEAD request is answered before node:http
 * makes a response, and the third is unreadable.
 * @returns false if there was no connection
 */
function probe(host: string, check: Check): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    let client: Socket | null = null;
    let isConnected = false;
    let looks = 0;
    const timer = setInterval(() => {
      if (++looks >= LOOKS_MAX) end();
    }, LOOK_MS);
    const end = (): void => {
      clearInterval(timer);
      client?.destroy();
      server.close(() => resolve(isConnected));
      server.closeAllConnections();
    };
    server.once('error', end);
    server.listen({ host, port: 0 }, () => {
      tryServer(server, check);
      client = connect((server.address() as AddressInfo).port, host, () => client?.write(GET));
      client.on('error', end);
      client.on('close', end);
      const requests = [HEAD_REQUEST, MALFORMED];
      client.on('data', () => client?.write(requests.shift() ?? ''));
    });
    server.once('connection', (socket) => {
      isConnected = true;
      check('socket.destroySoon', typeof socket.destroySoon === 'function');
      tryHeads(insideOf(insideOf(socket).parser), check);
      server.once('clientError', (error) => {
        tryError(error, check);
        tryHandle(socket, check);
        end();
      });
    });
    server.once('request', (req, res) => {
      const parser = tryRequest(req, check);
      check('response.shouldKeepAlive', insideOf(res).shouldKeepAlive === true);
      res.writeHead(204).end();
      if (parser === null) server.once('request', (_req, next) => next.writeHead(204).end());
      else takeNext(parser, req.socket, check);
    });
  });
}

/** Checks that a function may replace Node's for heads, and that it gets the facts of two requests. */
function tryHeads(parser: Inside, check: Check): void {
  const { kOnHeadersComplete } = insideOf(parser.constructor);
  const number = String(kOnHeadersComplete);
  const { [number]: onHead } = parser;
  if (typeof onHead !== 'function') return;
  let requests = 0;
  let areRight = true;
  parser[number] = (...given: unknown[]): unknown => {
    const expected = [1, 1, ['Host', 'a'], ++requests, '/', undefined, undefined, false, true];
    areRight &&= isDeepStrictEqual(given, expected) && HEAD_METHODS[requests] !== undefined;
    if (requests === 2) {
      parser[number] = onHead;
      check('parser.constructor', areRight);
    }
    return onHead.apply(parser, given);
  };
}

function tryServer(server: Server, check: Check): void {
  const { _handle, httpAllowHalfOpen } = insideOf(server);
  const { listen, fd } = insideOf(_handle);
  check('listener.listen', typeof listen === 'function');
  check('listener.fd', Number.isInteger(fd));
  check('server.httpAllowHalfOpen', typeof httpAllowHalfOpen === 'boolean');
}

/** @returns the parser if it is usable */
function tryRequest(req: IncomingMessage, check: Check): Inside | null {
  check('request.upgrade', insideOf(req).upgrade === false);
  const parser = insideOf(insideOf(req.socket).parser);
  const { getCurrentBuffer, onIncoming, incoming } = parser;
  const read: unknown = typeof getCurrentBuffer === 'function' ? getCurrentBuffer.call(parser) : null;
  check('parser.getCurrentBuffer', Buffer.isBuffer(read) && read.toString('latin1') === GET);
  check('parser.incoming', incoming === req);
  if (typeof onIncoming !== 'function') return null;
  if (incoming === req) return parser;
  check('parser.onIncoming', true);
  return null;
}

function takeNext(parser: Inside, socket: Socket, check: Check): void {
  const { onIncoming } = parser;
  parser.onIncoming = (_req: IncomingMessage, keepAlive: unknown): number => {
    parser.onIncoming = onIncoming;
    check('parser.onIncoming', keepAlive === true);
    socket.write(HEAD);
    parser.incoming = null;
    return 0;
  };
}

function tryError(error: Error, check: Check): void {
  const { reason, rawPacket, bytesParsed } = insideOf(error);
  check('error.reason', typeof reason === 'string' && /CR/.test(reason));
  check('error.rawPacket', Buffer.isBuffer(rawPacket));
  check('error.bytesParsed', Number.isInteger(bytesParsed));
}

/** Checks the counts of the handle. Call this after two answers. */
function tryHandle(socket: Socket, check: Check): void {
  const { bytesWritten, writeQueueSize } = insideOf(insideOf(socket)._handle);
  check('handle.bytesWritten', bytesWritten === socket.bytesWritten);
  check('handle.writeQueueSize', writeQueueSize === 0);
}

/**
 * Largest write when only completed writes can be counted. It is much smaller than READER_BYTES_MIN, so that
 * steady readers show progress.
 */
export const WRITE_BYTES_MAX: number = READER_BYTES_MIN / 4;

/** Whether a body may be sent in one write: the progress of a write can be measured, or the body is small. */
export function canSendWhole(chunks: readonly Uint8Array[]): boolean {
  if (usable.writeProgress) return true;
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.length;
  return bytes <= WRITE_BYTES_MAX;
}

/** Bytes that the system has taken; if Node does not count them, the bytes of completed writes. */
export function bytesTaken(socket: Socket): number {
  if (!usable.writeProgress) return socket.bytesWritten - socket.writableLength;
  const { _handle: handle } = socket as unknown as {
    readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
  };
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** Closes the connection after the answer. The call has no effect after the head is written. */
export function endWithAnswer(res: ServerResponse): void {
  if (usable.keepAlive) res.shouldKeepAlive = false;
  else if (!res.headersSent) res.setHeader('Connection', 'close');
}

export function endsWithAnswer(res: ServerResponse): boolean {
  if (usable.keepAlive) return !res.shouldKeepAlive;
  const { headers, httpVersion } = res.req;
  const { connection = '' } = headers;
  const isAsked = httpVersion === '1.1' ? /close/i.test(connection) : !/keep-alive/i.test(connection);
  return isAsked || res.getHeader('Connection') === 'close';
}

/**
 * Ends a connection after its last answer. Node would destroy the connection: further bytes from the client
 * would then cause a reset, and the answer could be lost.
 *
 * @param onEnd called when the answer was sent
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

export interface ParserFault {
  readonly code: string;
  /**
   * The last packet, or an empty text. `line` is the part of the packet that begins with the line where the
   * parser stopped.
   */
  readonly packet: string;
  readonly line: string;
  /**
   * Whether the fault is a line that does not end with CR LF. The parser has several codes for it, so the
   * message decides.
   */
  readonly isLineEnd: boolean;
}

export function parserFaultOf(
  error: NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number; reason?: string },
): ParserFault {
  const { code = '', reason, rawPacket, bytesParsed = 0 } = error;
  if (!usable.parserErrors) return { code, packet: '', line: '', isLineEnd: false };
  const packet = rawPacket?.toString('latin1') ?? '';
  const lineStart = bytesParsed === 0 ? 0 : packet.lastIndexOf('\n', bytesParsed - 1) + 1;
  const isLineEnd = /^(?:Expected CRLF|Missing expected CR)/.test(reason ?? '');
  return { code, packet, line: packet.slice(lineStart), isLineEnd };
}
