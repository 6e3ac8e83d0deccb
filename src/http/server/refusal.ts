/** Refuses requests during an overload at the lowest cost. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HEADER_FIELDS_MAX, OVERLOAD_RETRY_AFTER_SECONDS } from '../../limits.js';
import type { AnswerFields, OriginFields } from '../answer/answer-fields.js';
import { PROBLEM_CONTENT_TYPE, problemBody } from '../answer/problem.js';
import type { FlatHeaders } from '../exchange.js';
import { directHead, httpDate } from '../node/direct.js';
import type { FastPath } from '../node/fast-path.js';
import { endWithAnswer } from '../node/internals.js';
import { readHeaderFacts } from '../request/header-facts.js';

const BODY: Buffer = Buffer.from(
  problemBody({
    code: 'overloaded',
    detail: 'There are more requests than can be answered at the moment. Ask again a little later.',
  }),
);
const HEADERS: FlatHeaders = Object.entries({
  'Content-Type': PROBLEM_CONTENT_TYPE,
  'Cache-Control': 'no-store',
  'Retry-After': String(OVERLOAD_RETRY_AFTER_SECONDS),
  'Content-Length': String(BODY.length),
}).flat();

/**
 * The refusals with the Date of the present second. Each second gets new bytes, because some bytes of earlier
 * refusals may still wait to be sent.
 */
const preparedByFields = new WeakMap<AnswerFields, { date: string; whole: Buffer; head: Buffer }>();

/** Null if a long origin makes the head too long for sending directly. */
function preparedFor(fields: AnswerFields) {
  const date = httpDate();
  const known = preparedByFields.get(fields);
  if (known?.date === date) return known;
  const text = directHead(503, HEADERS, fields.text);
  if (text === null) return null;
  const head = Buffer.from(text, 'latin1');
  const prepared = { date, head, whole: Buffer.concat([head, BODY]) };
  preparedByFields.set(fields, prepared);
  return prepared;
}

/** If Node dropped header fields, one of them may have announced a body. */
function factsOf({ rawHeaders }: IncomingMessage, origins: OriginFields) {
  const { hasContent, origin } = readHeaderFacts(rawHeaders);
  return {
    mayHaveContent: hasContent || rawHeaders.length / 2 > HEADER_FIELDS_MAX,
    fields: origins.of(origin),
  };
}

/** Answers before Node makes a response. @returns false if nothing was sent */
export function refuseDirectly(fastPath: FastPath, origins: OriginFields): boolean {
  const { req } = fastPath;
  if (req.method !== 'GET' && req.method !== 'HEAD') return false;
  const { mayHaveContent, fields } = factsOf(req, origins);
  const prepared = mayHaveContent ? null : preparedFor(fields);
  if (prepared === null) return false;
  fastPath.answer(req.method === 'HEAD' ? prepared.head : prepared.whole);
  return true;
}

/**
 * Refuses a request through Node's response. Bodies are not read, so the connection ends if there may be a
 * body.
 */
export function refuse(req: IncomingMessage, res: ServerResponse, origins: OriginFields): void {
  const { mayHaveContent, fields } = factsOf(req, origins);
  if (mayHaveContent) endWithAnswer(res);
  sendRefusal(req, res, fields);
}

/** Refuses a request without a body. */
export function sendRefusal(req: IncomingMessage, res: ServerResponse, fields: AnswerFields): void {
  res.writeHead(503, HEADERS.concat(fields.flat));
  if (req.method === 'HEAD') res.end();
  else res.end(BODY);
}
