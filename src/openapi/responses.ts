/** The responses of the OpenAPI document, made from the table of problems. */

import { PARAMETER_FAULTS, PROBLEMS, type ProblemCode } from '../errors.js';
import { FORMATS } from '../model/format.js';
import type { JsonSchema } from '../model/schemas.js';

const CHALLENGE = {
  description: 'RFC 6750 section 3: Bearer, with an error where credentials were sent',
  schema: { type: 'string' },
};
const RETRY_AFTER = { description: 'Seconds to wait before asking again', schema: { type: 'string' } };

/** Header fields, under components; each problem status names those it has. */
export const HEADERS: Readonly<Record<string, JsonSchema>> = {
  ETag: {
    description: 'Weak entity tag of the content, the query and the representation; send it as If-None-Match',
    schema: { type: 'string', examples: ['W/"2mVcLr0fQ1yAeGd3XoT4Zw"'] },
  },
  'Cache-Control': { description: 'private, no-cache', schema: { type: 'string' } },
  Vary: {
    description: 'Accept, Accept-Encoding, Authorization; also Origin, where pages of other origins may read',
    schema: { type: 'string' },
  },
  'X-Total-Count': {
    description: 'Number of entries on all pages together',
    schema: { type: 'integer', minimum: 0 },
  },
  Link: {
    description: 'RFC 8288: the next page, rel="next", where there is one. A relative reference.',
    schema: { type: 'string', examples: ['</api/v1/schedule?limit=100&cursor=…>; rel="next"'] },
  },
  'X-Content-Type-Options': { description: 'nosniff', schema: { type: 'string' } },
  'Content-Security-Policy': {
    description: 'Nothing in an answer runs, and no page frames it',
    schema: { type: 'string', examples: ["default-src 'none'; frame-ancestors 'none'"] },
  },
  'WWW-Authenticate': CHALLENGE,
  'Retry-After': RETRY_AFTER,
  Allow: {
    description: 'The methods of the resource',
    schema: { type: 'string', examples: ['GET, HEAD, OPTIONS'] },
  },
};

function headers(...names: string[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** What every answer has. */
const ALWAYS = ['X-Content-Type-Options', 'Content-Security-Policy'];

/** The header fields of a status beside those that every response has. */
const HEADERS_BY_STATUS: Readonly<Record<number, readonly string[]>> = {
  400: ['WWW-Authenticate'],
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  503: ['Retry-After'],
};

/** One response object for each status of the table, by the name `Problem{status}`. */
export function problemResponses(): Record<string, JsonSchema> {
  const responses: Record<string, JsonSchema> = {};
  for (const status of new Set(Object.values(PROBLEMS).map((problem) => problem.status))) {
    const codes = (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => PROBLEMS[code].status === status);
    responses[`Problem${status}`] = {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('. '),
      headers: headers(...(HEADERS_BY_STATUS[status] ?? []), ...ALWAYS),
      content: {
        'application/problem+json': {
          schema: { $ref: '#/components/schemas/Problem' },
          examples: Object.fromEntries(codes.map((code) => [code, { value: problemExample(code) }])),
        },
      },
    };
  }
  return responses;
}

function problemExample(code: ProblemCode): JsonSchema {
  const { status, title } = PROBLEMS[code];
  return {
    type: `urn:lectern:problem:${code}`,
    title,
    status,
    detail: `${title}.`,
    code,
    ...(code === 'parameters-invalid'
      ? {
          errors: [
            {
              parameter: 'startTime',
              code: 'malformed-time',
              detail: 'it is a date: add a time of day and an offset, such as T08:00:00Z',
            },
            {
              parameter: 'limit',
              code: 'malformed-limit',
              detail: 'The value is not a whole number from 1 to 10000.',
            },
          ],
        }
      : {}),
  };
}

/** References to the problem responses of the given codes. */
export function problemReferences(codes: readonly ProblemCode[]): Record<string, JsonSchema> {
  const statuses = [...new Set(codes.map((code) => PROBLEMS[code].status))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => [String(status), { $ref: `#/components/responses/Problem${status}` }]),
  );
}

/** The 200 of a list, in every representation. */
export function listResponse(description: string, schema: JsonSchema, example: unknown): JsonSchema {
  const content: Record<string, JsonSchema> = {};
  for (const format of FORMATS) {
    content[format.mediaType] =
      format.name === 'json' ? { schema, examples: { usual: { value: example } } } : { schema };
  }
  return {
    description,
    headers: headers('ETag', 'Cache-Control', 'Vary', 'X-Total-Count', 'Link', ...ALWAYS),
    content,
  };
}

export const NOT_MODIFIED: JsonSchema = {
  description: 'If-None-Match names the present entity tag: what the client has is still good',
  headers: headers('ETag', 'Cache-Control', 'Vary', ...ALWAYS),
};

/** A JSON response outside the lists. */
export function jsonResponse(description: string, schema: JsonSchema): JsonSchema {
  return { description, headers: headers(...ALWAYS), content: { 'application/json': { schema } } };
}

/** Every code of a fault and what it means, as a table in CommonMark. */
export function parameterFaultTable(): string {
  const rows = Object.entries(PARAMETER_FAULTS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return ['| `errors[].code` | meaning |', '|---|---|', ...rows].join('\n');
}

/** Every code of a problem, with status and meaning, as a table in CommonMark. */
export function problemTable(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`,
  );
  return ['| `code` | status | meaning |', '|---|---|---|', ...rows].join('\n');
}
