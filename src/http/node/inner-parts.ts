/**
 * Folder http/node/. The only folder that uses internals of node:http. This folder knows nothing of timetables or
 * tokens.
 *
 * Each internal is tried once per process, on a connection made for this check. A feature with a missing
 * internal is off, and a slower public way replaces it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Logger } from '../logger.js';

const FEATURES = {
  /** Answers a request before node:http makes a response for it. */
  loneRequests: ['parser.onIncoming', 'parser.incoming', 'request.upgrade'],
  /** Sends a whole answer without the response object. */
  directAnswers: ['response._header', 'response.finished', 'response.shouldKeepAlive'],
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
export type InnerPart = (typeof FEATURES)[Feature][number];
export const INNER_PARTS: readonly InnerPart[] = [...new Set(Object.values(FEATURES).flat())];

/** All false before the check. */
export const usable: Readonly<Record<Feature, boolean>> = usableWithout(INNER_PARTS);

let checking: Promise<readonly InnerPart[]> | null = null;
let missing: readonly InnerPart[] = [];
/** The missing parts that were logged. */
let told: readonly InnerPart[] = missing;

/** Empty before the check. */
export function missingInnerParts(): readonly InnerPart[] {
  return missing;
}

/** Warns once per process, whatever the number of its servers. */
export function tellMissingInnerParts(log: Logger): void {
  if (missing.length > 0 && told !== missing) {
    log.warn(
      { parts: missing, node: process.version },
      'some parts of Node do not work as expected and are not used: answers are right, but slower',
    );
  }
  told = missing;
}

export function checkInnerParts(): Promise<readonly InnerPart[]> {
  checking ??= probeInnerParts().then(useInnerParts);
  return checking;
}

/** Other threads use the result of the main thread. */
export function useInnerParts(found: readonly InnerPart[]): readonly InnerPart[] {
  missing = found;
  checking = Promise.resolve(found);
  Object.assign(usable, usableWithout(found));
  return found;
}

function usableWithout(found: readonly InnerPart[]): Record<Feature, boolean> {
  const features = Object.entries(FEATURES) as [Feature, readonly InnerPart[]][];
  const entries = features.map(([feature, parts]) => [feature, !parts.some((part) => found.includes(part))]);
  return Object.fromEntries(entries) as Record<Feature, boolean>;
}

const HOSTS: readonly string[] = ['127.0.0.1', '::1'];
/** This limit counts checks instead of time, because the process may be busy while it starts. */
const LOOKS_MAX = 20;
const LOOK_MS = 50;

const HEAD = 'HTTP/1.1 204 No Content\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const MALFORMED = 'GET / HTTP/1.1\nHost: a\r\n\r\n';

type Inside = Record<string, unknown>;
type Check = (part: InnerPart, works: boolean) => void;

const insideOf = (object: unknown): Inside => (object ?? {}) as Inside;

/** @returns the internals that did not work; all of them if there is no loopback address */
export async function probeInnerParts(): Promise<readonly InnerPart[]> {
  for (const host of HOSTS) {
    const passed = new Set<InnerPart>();
    const isConnected = await probe(host, (part, works) => {
      if (works) passed.add(part);
    });
    if (isConnected) return INNER_PARTS.filter((part) => !passed.has(part));
  }
  return INNER_PARTS;
}

/**
 * Tries every internal with three requests. The first is answered without its response object, the second
 * before node:http makes a response, and the third is unreadable.
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
      const requests = [GET, MALFORMED];
      client.on('data', () => client?.write(requests.shift() ?? ''));
    });
    server.once('connection', (socket) => {
      isConnected = true;
      check('socket.destroySoon', typeof socket.destroySoon === 'function');
      server.once('clientError', (error) => {
        tryError(error, check);
        tryHandle(socket, check);
        end();
      });
    });
    server.once('request', (req, res) => {
      const parser = tryRequest(req, check);
      // The next request arrives only if Node continues after this answer.
      if (!tryResponse(req.socket, res, check)) res.writeHead(204).end();
      if (parser === null) server.once('request', (_req, next) => next.writeHead(204).end());
      else takeNext(parser, req.socket, check);
    });
  });
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

function tryResponse(socket: Socket, res: ServerResponse, check: Check): boolean {
  const inside = insideOf(res);
  check('response.shouldKeepAlive', inside.shouldKeepAlive === true);
  const isHeader = inside._header === null;
  const isFinished = inside.finished === false;
  if (isHeader) inside._header = ' ';
  if (isFinished) inside.finished = true;
  check('response._header', isHeader && res.headersSent);
  check('response.finished', isFinished && res.writableEnded);
  if (res.headersSent && res.writableEnded) {
    socket.write(HEAD);
    res.emit('finish');
    return true;
  }
  if (isHeader) inside._header = null;
  if (isFinished) inside.finished = false;
  return false;
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
