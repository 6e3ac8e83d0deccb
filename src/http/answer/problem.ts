/**
 * Errors as application/problem+json (RFC 9457). `type` is `urn:lectern:problem:{code}`, which does not depend on the
 * mount path. `instance` is only the path, because a query may hold secrets. Errors are `no-store`, as they depend on
 * the token or the moment, and a cache could keep a 404 (RFC 9110 section 15.1).
 */
import { type ParameterFault, PROBLEMS, type ProblemCode } from '../../base/errors.js';
import { PARAMETER_FAULTS_MAX } from '../../base/limits.js';
import type { Exchange } from '../exchange.js';
import { mountPathOf } from '../request/target.js';
import { sendText } from './respond.js';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

export interface Problem {
  readonly code: ProblemCode;
  readonly detail: string;
  /** For `parameters-invalid`; only the first PARAMETER_FAULTS_MAX are sent. */
  readonly errors?: readonly ParameterFault[];
  /** Header fields: names and values in turn. */
  readonly headers?: readonly string[];
}

export const INTERNAL_ERROR: Problem = {
  code: 'internal-error',
  detail: 'The service failed; the log has the details.',
};

const INSTANCE_CHARACTERS_MAX = 256;

/** The body of a problem. @param path of the request, if it could be read */
export function problemBody({ code, detail, errors }: Problem, path?: string): string {
  const { status, title } = PROBLEMS[code];
  return JSON.stringify({
    type: `urn:lectern:problem:${code}`,
    title,
    status,
    detail,
    code,
    instance: path === undefined ? undefined : toUriReference(path),
    errors: errors?.slice(0, PARAMETER_FAULTS_MAX),
  });
}

export function sendProblem(exchange: Exchange, problem: Problem): void {
  const { code, headers = [] } = problem;
  // The address of a feed is a secret, and all bad addresses must get the same answer.
  const isSecret = exchange.label === '/feeds';
  const body = problemBody(problem, isSecret ? undefined : mountPathOf(exchange.req) + exchange.path);
  sendText(
    exchange,
    PROBLEMS[code].status,
    ['Content-Type', PROBLEM_CONTENT_TYPE, 'Cache-Control', 'no-store', ...headers],
    body,
  );
}

/** Encodes characters that RFC 3986 does not allow in a path, and percent signs that encode nothing. */
function toUriReference(path: string): string {
  return path
    .slice(0, INSTANCE_CHARACTERS_MAX)
    .replace(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/g, (character) => {
      const code = character.charCodeAt(0);
      // node:http gives bytes; other characters come from a caller in the same process.
      return code > 0xff ? '%EF%BF%BD' : `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
    });
}

/**
 * The value of WWW-Authenticate (RFC 6750 section 3). The challenge names no error if the request had no
 * credentials.
 */
export function bearerChallenge(
  realm: string,
  error?: 'invalid_token' | 'invalid_request',
  description?: string,
): string {
  let challenge = `Bearer realm="${realm}"`;
  if (error !== undefined) challenge += `, error="${error}"`;
  // RFC 6750 allows neither quotes nor backslashes in a description, not even escaped.
  if (description !== undefined) challenge += `, error_description="${description.replace(/["\\]/g, "'")}"`;
  return challenge;
}
