/**
 * Errors as application/problem+json (RFC 9457).
 *
 * `type` is `urn:lectern:problem:{code}`: stable, and true wherever the service is mounted; a link would have to point
 * at a page that production does not serve. `instance` is the path without the query, because a query may hold what
 * should not be repeated. Errors are `Cache-Control: no-store`: they depend on the token or on the moment, and a 404
 * could otherwise be kept by a cache (RFC 9110 section 15.1).
 */
import build, { type Schema } from 'fast-json-stringify';
import { type ParameterFault, PROBLEMS, type ProblemCode } from '../../errors.js';
import { PARAMETER_FAULTS_MAX } from '../../limits.js';
import { PROBLEM_SCHEMA } from '../../openapi/component-schemas.js';
import type { Exchange, FlatHeaders } from '../exchange.js';
import { mountPathOf } from '../request/target.js';
import { sendText } from './respond.js';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** A problem that is about to be sent. */
export interface Problem {
  readonly code: ProblemCode;
  /** One or two sentences for people. */
  readonly detail: string;
  /** For `parameters-invalid`. */
  readonly errors?: readonly ParameterFault[];
  /** Further header fields, names and values in turn: WWW-Authenticate, Retry-After, Allow. */
  readonly headers?: readonly string[];
}

/** The members of a problem as they are sent. */
interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance?: string;
  readonly code: ProblemCode;
  readonly errors?: readonly ParameterFault[];
}

const serialise: (problem: ProblemDocument) => string = build(PROBLEM_SCHEMA as unknown as Schema);

/** A longer path is cut: the client knows what it asked for. */
const INSTANCE_CHARACTERS_MAX = 256;

/**
 * The body of a problem.
 *
 * @param path of the request; undefined where none could be read
 */
export function problemBody(problem: Problem, path: string | undefined): string {
  const { status, title } = PROBLEMS[problem.code];
  return serialise({
    type: `urn:lectern:problem:${problem.code}`,
    title,
    status,
    detail: problem.detail,
    ...(path === undefined ? {} : { instance: toUriReference(path) }),
    code: problem.code,
    ...(problem.errors === undefined ? {} : { errors: problem.errors.slice(0, PARAMETER_FAULTS_MAX) }),
  });
}

/** Sends a problem. Only the first PARAMETER_FAULTS_MAX faults are listed. */
export function sendProblem(exchange: Exchange, problem: Problem): void {
  const headers: FlatHeaders = ['Content-Type', PROBLEM_CONTENT_TYPE, 'Cache-Control', 'no-store'];
  if (problem.headers !== undefined) headers.push(...problem.headers);
  sendText(
    exchange,
    PROBLEMS[problem.code].status,
    headers,
    problemBody(problem, mountPathOf(exchange.req) + exchange.path),
  );
}

/** What RFC 3986 does not allow in a path is encoded; a percent sign that encodes nothing, too. */
function toUriReference(path: string): string {
  return path
    .slice(0, INSTANCE_CHARACTERS_MAX)
    .replace(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/g, (character) => {
      const code = character.charCodeAt(0);
      // node:http gives bytes; anything above comes from a caller in the same process.
      return code > 0xff ? '%EF%BF%BD' : `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
    });
}

/**
 * The value of WWW-Authenticate (RFC 6750 section 3).
 *
 * @param error RFC 6750 section 3.1; none where the request had no credentials
 */
export function bearerChallenge(
  realm: string,
  error?: 'invalid_token' | 'invalid_request',
  description?: string,
): string {
  let challenge = `Bearer realm=${quote(realm)}`;
  if (error !== undefined) challenge += `, error="${error}"`;
  // RFC 6750 allows neither quotes nor backslashes in a description, not even escaped.
  if (description !== undefined) challenge += `, error_description="${description.replace(/["\\]/g, "'")}"`;
  return challenge;
}

/** RFC 9110 section 5.6.4, `quoted-string`. What must not be in a header at all was refused at start-up. */
function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
