import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** In the order in which they are told. */
export const INNER_PARTS = [
  'parser.onIncoming',
  'parser.incoming',
  'parser.getCurrentBuffer',
  'response._header',
  'response.finished',
  'handle.bytesWritten',
  'handle.writeQueueSize',
  'listener.listen',
  'listener.fd',
  'server.httpAllowHalfOpen',
  'socket.destroySoon',
  'error.reason',
  'error.rawPacket',
  'error.bytesParsed',
] as const;
export type InnerPart = (typeof INNER_PARTS)[number];

/** Loopback may be missing: then parts count as missing, too. */
const HOSTS: readonly string[] = ['127.0.0.1', '::1'];
/** Turns of the event loop and not time: the process may be busy while it starts. */
const LOOKS_MAX = 20;
const LOOK_MS = 50;

const HEAD = 'HTTP/1.1 204 No Content\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
/** Its line does not end with CR LF. */
const MALFORMED = 'GET / HTTP/1.1\nHost: a\r\n\r\n';

type Inside = Readonly<Record<string, unknown>>;

/** A connection whose inside is tried. */
interface Probed {
  readonly server: Server;
  readonly socket: Socket;
  readonly passed: Set<InnerPart>;
}

/**
 * Makes a connection within the process and tries every part on it: one answer past the response, one past node:http, and one
 * request that cannot be read.
 *
 * @returns the parts that were not seen to work
 */
export async function probeInnerParts(): Promise<readonly InnerPart[]> {
  for (const host of HOSTS) {
    const passed = new Set<InnerPart>();
    if (await probe(host, passed)) return INNER_PARTS.filter((part) => !passed.has(part));
  }
  return INNER_PARTS;
}

/** @returns false where no connection could be made */
function probe(host: string, passed: Set<InnerPart>): Promise<boolean> {
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
      // The client asks anew with each answer.
      const requests = [GET, MALFORMED];
      client.on('data', () => client?.write(requests.shift() ?? ''));
    });
    server.once('connection', (socket) => {
      isConnected = true;
      trySteps({ server, socket, passed }, end);
    });
  });
}

function tryServer(server: Server, passed: Set<InnerPart>): void {
  const { _handle: listener, httpAllowHalfOpen } = server as unknown as {
    readonly _handle?: { readonly listen?: unknown; readonly fd?: unknown };
    readonly httpAllowHalfOpen?: unknown;
  };
  if (typeof listener?.listen === 'function') passed.add('listener.listen');
  if (Number.isInteger(listener?.fd)) passed.add('listener.fd');
  if (typeof httpAllowHalfOpen === 'boolean') passed.add('server.httpAllowHalfOpen');
}

function trySteps(probed: Probed, end: () => void): void {
  const { server, socket, passed } = probed;
  if (typeof socket.destroySoon === 'function') passed.add('socket.destroySoon');
  server.once('request', (req, res) => {
    const parser = tryParser(req, passed);
    // The next request comes all the same where node goes on after this answer.
    if (!tryResponse(socket, res, passed)) res.writeHead(204).end();
    if (parser === null) server.once('request', (_req, next) => next.writeHead(204).end());
    else takeNext(parser, probed);
  });
  server.once('clientError', (error: Error & Inside) => {
    tryError(error, passed);
    tryHandle(socket, passed);
    end();
  });
}

/** @returns whether an answer was sent */
function tryResponse(socket: Socket, res: ServerResponse, passed: Set<InnerPart>): boolean {
  const inside = res as unknown as { _header?: unknown; finished?: unknown };
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

/** @returns the parser where it can be used */
function tryParser(req: IncomingMessage, passed: Set<InnerPart>): Record<string, unknown> | null {
  const { parser } = req.socket as unknown as { readonly parser?: Record<string, unknown> | null };
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
function takeNext(parser: Record<string, unknown>, { socket, passed }: Probed): void {
  const { onIncoming } = parser;
  parser.onIncoming = (_req: IncomingMessage, keepAlive: unknown): number => {
    parser.onIncoming = onIncoming;
    if (keepAlive === true) passed.add('parser.onIncoming');
    socket.write(HEAD);
    parser.incoming = null;
    return 0;
  };
}

function tryError(error: Inside, passed: Set<InnerPart>): void {
  const { reason, rawPacket, bytesParsed } = error;
  if (typeof reason === 'string' && /CR/.test(reason)) passed.add('error.reason');
  if (Buffer.isBuffer(rawPacket)) passed.add('error.rawPacket');
  if (Number.isInteger(bytesParsed)) passed.add('error.bytesParsed');
}

/** After two answers, which the system has taken. */
function tryHandle(socket: Socket, passed: Set<InnerPart>): void {
  const { _handle: handle } = socket as unknown as { readonly _handle?: Inside | null };
  if (handle?.bytesWritten === socket.bytesWritten) passed.add('handle.bytesWritten');
  if (handle?.writeQueueSize === 0) passed.add('handle.writeQueueSize');
}
