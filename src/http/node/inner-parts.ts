/**
 * Room http/node/. The only room that touches the inside of node:http. It knows nothing of timetables or tokens.
 */

/**
 * What this folder uses of node:http and node:net that is no public API. Each part is tried once per process, on a connection made
 * for that. A feature is off if one of its parts does not work: its public substitute is slower.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** The parts that each feature needs. */
const FEATURES = {
  /** Answering a request before node:http makes a response for it. */
  loneRequests: ['parser.onIncoming', 'parser.incoming', 'request.upgrade'],
  /** Sending a whole answer past the response. */
  directAnswers: ['response._header', 'response.finished', 'response.shouldKeepAlive'],
  /** Ending a connection with an answer, and seeing that it ends. */
  keepAlive: ['response.shouldKeepAlive'],
  /** Counting the bytes that the system has taken. */
  writeProgress: ['handle.bytesWritten', 'handle.writeQueueSize'],
  /** Seeing what arrived behind a request. */
  readAhead: ['parser.getCurrentBuffer'],
  /** Taking the connections that wait at a port before it is closed. */
  shortBacklog: ['listener.listen'],
  /** Sharing a port among threads. */
  descriptor: ['listener.fd'],
  /** Answering clients that have closed their half. */
  halfOpen: ['server.httpAllowHalfOpen'],
  /** Reading on for a moment behind the last answer. */
  gentleClose: ['socket.destroySoon'],
  /** Saying what was wrong with unreadable requests. */
  parserErrors: ['error.reason', 'error.rawPacket', 'error.bytesParsed'],
} as const;

type Feature = keyof typeof FEATURES;
export type InnerPart = (typeof FEATURES)[Feature][number];
export const INNER_PARTS: readonly InnerPart[] = [...new Set(Object.values(FEATURES).flat())];

/** What may be used: nothing before the check. */
export const usable: Readonly<Record<Feature, boolean>> = usableWithout(INNER_PARTS);

let checking: Promise<readonly InnerPart[]> | null = null;
let missing: readonly InnerPart[] = [];

/** The parts that do not work; empty before the check. */
export function missingInnerParts(): readonly InnerPart[] {
  return missing;
}

/** Checks the parts, the first time. @returns those that are missing */
export function checkInnerParts(): Promise<readonly InnerPart[]> {
  checking ??= probeInnerParts().then(useInnerParts);
  return checking;
}

/** Takes the result of a check: other threads are given that of the main thread. */
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

/** Without a loopback address all parts count as missing. */
const HOSTS: readonly string[] = ['127.0.0.1', '::1'];
/** Turns of the event loop and not time: the process may be busy while it starts. */
const LOOKS_MAX = 20;
const LOOK_MS = 50;

const HEAD = 'HTTP/1.1 204 No Content\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
/** Its line does not end with CR LF. */
const MALFORMED = 'GET / HTTP/1.1\nHost: a\r\n\r\n';

type Inside = Record<string, unknown>;
type Passed = Set<InnerPart>;

/**
 * Tries every part on a connection within the process: one answer past the response, one past node:http, and one request that
 * cannot be read.
 *
 * @returns the parts that were not seen to work
 */
export async function probeInnerParts(): Promise<readonly InnerPart[]> {
  for (const host of HOSTS) {
    const passed: Passed = new Set();
    if (await probe(host, passed)) return INNER_PARTS.filter((part) => !passed.has(part));
  }
  return INNER_PARTS;
}

/** @returns false if no connection could be made */
function probe(host: string, passed: Passed): Promise<boolean> {
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
    server.once('error', () => {
      clearInterval(timer);
      resolve(false);
    });
    server.listen({ host, port: 0 }, () => {
      tryServer(server, passed);
      client = connect((server.address() as AddressInfo).port, host, () => client?.write(GET));
      client.on('error', end);
      client.on('close', end);
      // Each answer triggers the next request.
      const requests = [GET, MALFORMED];
      client.on('data', () => client?.write(requests.shift() ?? ''));
    });
    server.once('connection', (socket) => {
      isConnected = true;
      if (typeof socket.destroySoon === 'function') passed.add('socket.destroySoon');
      server.once('clientError', (error: Error) => {
        tryError(error as unknown as Inside, passed);
        tryHandle(socket, passed);
        end();
      });
    });
    server.once('request', (req, res) => {
      tryRequest(req, res, passed);
      const parser = tryParser(req, passed);
      // The next request comes only if node goes on behind this answer.
      if (!tryResponse(req.socket, res, passed)) res.writeHead(204).end();
      if (parser === null) server.once('request', (_req, next) => next.writeHead(204).end());
      else takeNext(parser, req.socket, passed);
    });
  });
}

function tryServer(server: Server, passed: Passed): void {
  const { _handle: listener, httpAllowHalfOpen } = server as unknown as {
    readonly _handle?: { readonly listen?: unknown; readonly fd?: unknown };
    readonly httpAllowHalfOpen?: unknown;
  };
  if (typeof listener?.listen === 'function') passed.add('listener.listen');
  if (Number.isInteger(listener?.fd)) passed.add('listener.fd');
  if (typeof httpAllowHalfOpen === 'boolean') passed.add('server.httpAllowHalfOpen');
}

function tryRequest(req: IncomingMessage, res: ServerResponse, passed: Passed): void {
  const { upgrade } = req as IncomingMessage & { readonly upgrade?: unknown };
  if (upgrade === false) passed.add('request.upgrade');
  if (res.shouldKeepAlive === true) passed.add('response.shouldKeepAlive');
}

/** @returns whether an answer was sent */
function tryResponse(socket: Socket, res: ServerResponse, passed: Passed): boolean {
  const inside = res as unknown as Inside;
  const isHeader = inside._header === null;
  const isFinished = inside.finished === false;
  if (isHeader) inside._header = ' ';
  if (isFinished) inside.finished = true;
  if (isHeader && res.headersSent) passed.add('response._header');
  if (isFinished && res.writableEnded) passed.add('response.finished');
  if (!res.headersSent || !res.writableEnded) {
    if (isHeader) inside._header = null;
    if (isFinished) inside.finished = false;
    return false;
  }
  socket.write(HEAD);
  res.emit('finish');
  return true;
}

/** @returns the parser if it can be used */
function tryParser(req: IncomingMessage, passed: Passed): Inside | null {
  const { parser } = req.socket as unknown as { readonly parser?: Inside | null };
  if (parser === null || parser === undefined) return null;
  const { getCurrentBuffer, onIncoming, incoming } = parser;
  const read: unknown = typeof getCurrentBuffer === 'function' ? getCurrentBuffer.call(parser) : null;
  if (Buffer.isBuffer(read) && read.toString('latin1') === GET) passed.add('parser.getCurrentBuffer');
  if (incoming === req) passed.add('parser.incoming');
  if (typeof onIncoming !== 'function') return null;
  if (incoming === req) return parser;
  passed.add('parser.onIncoming');
  return null;
}

/** Takes the next request from the parser, and answers it. */
function takeNext(parser: Inside, socket: Socket, passed: Passed): void {
  const { onIncoming } = parser;
  parser.onIncoming = (_req: IncomingMessage, keepAlive: unknown): number => {
    parser.onIncoming = onIncoming;
    if (keepAlive === true) passed.add('parser.onIncoming');
    socket.write(HEAD);
    parser.incoming = null;
    return 0;
  };
}

function tryError({ reason, rawPacket, bytesParsed }: Inside, passed: Passed): void {
  if (typeof reason === 'string' && /CR/.test(reason)) passed.add('error.reason');
  if (Buffer.isBuffer(rawPacket)) passed.add('error.rawPacket');
  if (Number.isInteger(bytesParsed)) passed.add('error.bytesParsed');
}

/** After two answers, which the system has taken. */
function tryHandle(socket: Socket, passed: Passed): void {
  const { _handle: handle } = socket as unknown as { readonly _handle?: Inside | null };
  if (handle?.bytesWritten === socket.bytesWritten) passed.add('handle.bytesWritten');
  if (handle?.writeQueueSize === 0) passed.add('handle.writeQueueSize');
}
