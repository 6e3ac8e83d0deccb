/**
 * Refuses requests for which there is no time, for as little as possible: one constant answer. A request that stands alone has it
 * as soon as the parser has read it: 12 µs where node's own smallest answer takes 29.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HEADER_FIELDS_MAX, OVERLOAD_RETRY_AFTER_SECONDS } from '../../limits.js';
import { type AnswerFields, type OriginFields, PLAIN_FIELDS } from '../answer/answer-fields.js';
import { PROBLEM_CONTENT_TYPE, problemBody } from '../answer/problem.js';
import type { FlatHeaders } from '../exchange.js';
import { directHead, httpDate } from '../node/direct.js';
import type { LoneRequest } from '../node/lone-request.js';

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
 * Sends the constant answer.
 *
 * @param origins null where none is allowed
 * @returns false where nothing was sent
 */
export function refuseDirectly(lone: LoneRequest, origins: OriginFields | null): boolean {
  const { req } = lone;
  // OPTIONS and what is not allowed are rare, and bodies have to be got rid of.
  if ((req.method !== 'GET' && req.method !== 'HEAD') || mayHaveContent(req.rawHeaders)) return false;
  const answerBytes = preparedFor(fieldsFor(req, origins));
  if (answerBytes === null) return false;
  lone.answer(req.method === 'HEAD' ? answerBytes.head : answerBytes.whole);
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

const CONTENT_FIELDS: ReadonlyMap<number, string> = new Map(
  ['content-length', 'transfer-encoding'].map((name) => [name.length, name]),
);

/** Node drops fields after some number of them: then one that is not seen may be among those. */
function mayHaveContent(rawHeaders: readonly string[]): boolean {
  if (rawHeaders.length / 2 > HEADER_FIELDS_MAX) return true;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    // Lengths first: they settle nearly all fields without comparing any text.
    const contentField = CONTENT_FIELDS.get(name.length);
    if (contentField !== undefined && name.toLowerCase() === contentField) return true;
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
