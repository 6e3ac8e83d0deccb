/** Refuses requests during an overload at the lowest cost. */
import type { ServerResponse } from 'node:http';
import { HEADER_FIELDS_MAX, OVERLOAD_RETRY_AFTER_SECONDS } from '../../base/limits.js';
import type { AnswerFields, OriginFields } from '../answer/answer-fields.js';
import { PROBLEM_CONTENT_TYPE, problemBody } from '../answer/problem.js';
import { headText } from '../answer/respond.js';
import type { FlatHeaders } from '../exchange.js';
import { endWithAnswer } from '../node/internals.js';
import type { Lane, RequestHead } from '../node/lane.js';
import { readHeaderFacts } from '../request/header-facts.js';

/** ASCII. */
const BODY: string = problemBody({
  code: 'overloaded',
  detail: 'There are more requests than can be answered at the moment. Ask again a little later.',
});
const HEADERS: FlatHeaders = Object.entries({
  'Content-Type': PROBLEM_CONTENT_TYPE,
  'Cache-Control': 'no-store',
  'Retry-After': String(OVERLOAD_RETRY_AFTER_SECONDS),
  'Content-Length': String(BODY.length),
}).flat();

/** If Node dropped header fields, one of them may have announced a body. */
function factsOf({ rawHeaders }: RequestHead, origins: OriginFields) {
  const { hasContent, origin } = readHeaderFacts(rawHeaders);
  return {
    mayHaveContent: hasContent || rawHeaders.length / 2 > HEADER_FIELDS_MAX,
    fields: origins.of(origin),
  };
}

/** Answers on the lane. @returns false if nothing was sent */
export function refuseDirectly(lane: Lane, origins: OriginFields): boolean {
  const { req } = lane;
  if (req.method !== 'GET' && req.method !== 'HEAD') return false;
  const { mayHaveContent, fields } = factsOf(req, origins);
  if (mayHaveContent) return false;
  const head = headText(503, HEADERS, fields);
  lane.answer(req.method === 'HEAD' ? head : head + BODY);
  return true;
}

/**
 * Refuses a request through Node's response. Bodies are not read, so the connection ends if there may be a
 * body.
 */
export function refuse(res: ServerResponse, origins: OriginFields): void {
  const { mayHaveContent, fields } = factsOf(res.req, origins);
  if (mayHaveContent) endWithAnswer(res);
  sendRefusal(res, fields);
}

/** Refuses a request without a body. */
export function sendRefusal(res: ServerResponse, fields: AnswerFields): void {
  res.writeHead(503, HEADERS.concat(fields.flat));
  if (res.req.method === 'HEAD') res.end();
  else res.end(BODY);
}
