/**
 * Refuses requests for which there is no time, for as little as possible: one constant answer. Where a connection has nothing
 * else under way, that is sent as soon as the parser has read the request, and node:http makes no response of it: 12 µs where
 * the handler's smallest answer takes 20, and node's own 29.
 *
 * What it touches of node:http is the function that its parser calls with each request. It has been the same from Node 20 to
 * 26; where it is not there, requests are refused as they are answered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { OVERLOAD_RETRY_AFTER_SECONDS } from '../limits.js';
import { type AnswerFields, type OriginFields, PLAIN_FIELDS } from './answer-fields.js';
import type { Connection } from './connections.js';
import { directHead, httpDate, IS_KNOWN_NODE } from './direct.js';
import type { FlatHeaders } from './exchange.js';
import { PROBLEM_CONTENT_TYPE, problemBody } from './problem.js';

/** Without `instance`: the path is not looked at. */
const BODY: Buffer = Buffer.from(
  problemBody(
    {
      code: 'overloaded',
      detail: 'There are more requests than can be answered at the moment. Ask again a little later.',
    },
    undefined,
  ),
);
const HEADERS: FlatHeaders = [
  'Content-Type',
  PROBLEM_CONTENT_TYPE,
  'Cache-Control',
  'no-store',
  'Retry-After',
  String(OVERLOAD_RETRY_AFTER_SECONDS),
  'Content-Length',
  String(BODY.length),
];
const PLAIN_HEADERS: FlatHeaders = HEADERS.concat(PLAIN_FIELDS.flat);

interface Parser {
  /** @returns 0: what follows is read on as the request says */
  onIncoming: (req: IncomingMessage, keepAlive: boolean) => number;
}

interface Prepared {
  readonly date: string;
  readonly whole: Buffer;
  readonly head: Buffer;
}

let prepared: Prepared | null = null;
/** The same for pages of elsewhere. */
const preparedByFields = new WeakMap<AnswerFields, Prepared>();

/** Never written into again: some of it may still wait to be sent. */
function prepare(date: string, headers: FlatHeaders): Prepared | null {
  const text = directHead(503, headers);
  if (text === null) return null;
  const head = Buffer.from(text, 'latin1');
  return { date, head, whole: Buffer.concat([head, BODY]) };
}

/** @returns null where an origin is so long that its head cannot be sent directly */
function preparedFor(fields: AnswerFields): Prepared | null {
  const date = httpDate();
  if (fields === PLAIN_FIELDS) {
    if (prepared?.date !== date) prepared = prepare(date, PLAIN_HEADERS);
    return prepared;
  }
  const known = preparedByFields.get(fields);
  if (known?.date === date) return known;
  const renewed = prepare(date, HEADERS.concat(fields.flat));
  if (renewed !== null) preparedByFields.set(fields, renewed);
  return renewed;
}

/**
 * Has each request of a connection shown to `refuses` before node:http makes a response for it.
 *
 * @param refuses whether it is to be refused; then it is, or handed on where that takes more than the constant answer
 */
export function refuseBeforehand(
  connection: Connection,
  refuses: (connection: Connection, req: IncomingMessage, keepAlive: boolean) => boolean,
): void {
  const { parser } = connection.socket as Socket & { readonly parser?: Partial<Parser> | null };
  if (!IS_KNOWN_NODE || typeof parser?.onIncoming !== 'function') return;
  const handOn = parser.onIncoming.bind(parser);
  parser.onIncoming = (req, keepAlive) => (refuses(connection, req, keepAlive) ? 0 : handOn(req, keepAlive));
}

/**
 * Sends the constant answer where the request stands alone: it keeps the connection open, has no body, and all answers before
 * it have gone.
 *
 * @param origins null where none is allowed
 * @returns false where nothing was sent
 */
export function refuseDirectly(
  connection: Connection,
  req: IncomingMessage,
  keepAlive: boolean,
  origins: OriginFields | null,
): boolean {
  const { socket, answer, isEnding } = connection;
  if (!keepAlive || isEnding || req.httpVersionMinor !== 1 || socket.writableLength > 0 || !socket.writable)
    return false;
  if (answer !== null && !answer.writableFinished) return false;
  // OPTIONS and what is not allowed are rare, and bodies have to be got rid of.
  if ((req.method !== 'GET' && req.method !== 'HEAD') || mayHaveContent(req.rawHeaders)) return false;
  const answerBytes = preparedFor(fieldsFor(req, origins));
  if (answerBytes === null) return false;
  socket.write(req.method === 'HEAD' ? answerBytes.head : answerBytes.whole);
  return true;
}

function fieldsFor({ rawHeaders }: IncomingMessage, origins: OriginFields | null): AnswerFields {
  if (origins === null) return PLAIN_FIELDS;
  let origin: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 6 && name.toLowerCase() === 'origin') origin = rawHeaders[i + 1];
  }
  return origins.of(origin);
}

/** By the lengths of the names alone: Content-Length and Transfer-Encoding are 14 and 17 characters long, Upgrade 7. */
function mayHaveContent(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 14 || name.length === 17) return true;
    if (name.length === 7 && name.toLowerCase() === 'upgrade') return true;
  }
  return false;
}

/** The same answer for all other requests. Nothing of a body is read, so the connection ends where there may be one. */
export function refuse(req: IncomingMessage, res: ServerResponse, origins: OriginFields | null): void {
  if (mayHaveContent(req.rawHeaders)) res.shouldKeepAlive = false;
  sendRefusal(req, res, fieldsFor(req, origins));
}

/** The same for a request of which it is known that it has no body. */
export function sendRefusal(req: IncomingMessage, res: ServerResponse, fields: AnswerFields): void {
  res.writeHead(503, fields === PLAIN_FIELDS ? PLAIN_HEADERS : HEADERS.concat(fields.flat));
  if (req.method === 'HEAD') res.end();
  else res.end(BODY);
}
