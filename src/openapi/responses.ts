import { PARAMETER_FAULTS, PROBLEMS, type ProblemCode } from '../errors.js';
import { FEED_FORMATS, FORMATS, type FormatName } from '../model/format.js';
import type { JsonSchema } from '../model/schemas.js';

export type ProblemStatus = (typeof PROBLEMS)[ProblemCode]['status'];

/** Statuses of problems with any request. */
export const EVERYWHERE: readonly ProblemStatus[] = [400, 404, 405, 408, 414, 417, 431, 500, 503];

function header(description: string, ...examples: string[]): JsonSchema {
  return { description, schema: { type: 'string', ...(examples.length === 0 ? {} : { examples }) } };
}

export const HEADERS: Readonly<Record<string, JsonSchema>> = {
  ETag: header(
    'Weak entity tag of the content, the query and the representation; send it as If-None-Match',
    'W/"2mVcLr0fQ1yAeGd3XoT4Zw"',
  ),
  'Cache-Control': header('private, no-cache; for feeds: private, max-age=300'),
  'Referrer-Policy': header('no-referrer'),
  'X-Robots-Tag': header('noindex'),
  Vary: header(
    'Accept, Accept-Encoding, Authorization; also Origin, if pages of other origins may read answers',
  ),
  'Lectern-Version': header(
    'The version of the answer: a growing number and the id of the snapshot. Send it as Lectern-Min-Version',
    '1795454909436.VOY9FktWTjc0x6DRAKfrHw',
  ),
  'X-Total-Count': {
    description: 'Number of entries on all pages',
    schema: { type: 'integer', minimum: 0 },
  },
  Link: header(
    'RFC 8288: the next page, rel="next", if there is one. A relative reference.',
    '</api/v1/schedule?limit=100&cursor=…>; rel="next"',
  ),
  'Content-Disposition': header(
    'RFC 6266: the file name for saving the answer, for NDJSON, CSV, iCalendar and feeds',
    'inline; filename="timetable.csv"',
  ),
  'X-Content-Type-Options': header('nosniff'),
  'Content-Security-Policy': header(
    'Scripts in an answer do not run, and no page can frame the answer. The page of a feed names its own script and style by their hashes.',
    "default-src 'none'; frame-ancestors 'none'",
  ),
  'WWW-Authenticate': header('RFC 6750 section 3: Bearer, with an error if credentials were sent'),
  'Retry-After': header('Seconds to wait before asking again'),
  Allow: header('The methods of the resource', 'GET, HEAD, OPTIONS'),
};

/** References to these header fields, and to the two that are in every answer. */
function headers(...names: string[]): JsonSchema {
  const all = [...names, 'X-Content-Type-Options', 'Content-Security-Policy'];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const HEADERS_BY_STATUS: { readonly [Status in ProblemStatus]?: string } = {
  400: 'WWW-Authenticate',
  401: 'WWW-Authenticate',
  405: 'Allow',
  503: 'Retry-After',
};

const ERRORS_EXAMPLE = [
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
];

function problemExample(code: ProblemCode): JsonSchema {
  const { status, title } = PROBLEMS[code];
  const errors = code === 'parameters-invalid' ? { errors: ERRORS_EXAMPLE } : {};
  return { type: `urn:lectern:problem:${code}`, title, status, detail: `${title}.`, code, ...errors };
}

/** One response for each status, by the name `Problem{status}`. */
export function problemResponses(): Record<string, JsonSchema> {
  const responses: Record<string, JsonSchema> = {};
  for (const { status } of Object.values(PROBLEMS)) {
    const codes = (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => PROBLEMS[code].status === status);
    const field = HEADERS_BY_STATUS[status];
    responses[`Problem${status}`] = {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('. '),
      headers: field === undefined ? headers() : headers(field),
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

export function problemReferences(statuses: readonly ProblemStatus[]): Record<string, JsonSchema> {
  return Object.fromEntries(
    statuses.map((status) => [String(status), { $ref: `#/components/responses/Problem${status}` }]),
  );
}

/**
 * A list in the representations that every list has.
 *
 * @param texts examples of further representations, by name
 */
export function listResponse(
  description: string,
  schema: JsonSchema,
  example: unknown,
  texts: Readonly<Record<string, string>> = {},
): JsonSchema {
  const content = (name: FormatName): JsonSchema => {
    if (name === 'msgpack') return { schema };
    if (name === 'json') return { schema, examples: { usual: { value: example } } };
    return { schema: { type: 'string' }, examples: { usual: { value: texts[name] } } };
  };
  const further = Object.keys(texts).length === 0 ? [] : ['Content-Disposition'];
  return {
    description,
    headers: headers('ETag', 'Cache-Control', 'Vary', 'Lectern-Version', 'X-Total-Count', 'Link', ...further),
    content: Object.fromEntries(
      FORMATS.filter(({ name, isOfEvents }) => !isOfEvents || name in texts).map(({ name, mediaType }) => [
        mediaType,
        content(name),
      ]),
    ),
  };
}

const FEED_HEADERS: readonly string[] = ['ETag', 'Cache-Control', 'Referrer-Policy', 'X-Robots-Tag'];

/** @param texts examples of representations other than JSON, by name */
export function feedResponse(
  schema: JsonSchema,
  example: unknown,
  texts: Readonly<Record<string, string>>,
): JsonSchema {
  const content = (name: string): JsonSchema =>
    name === 'json'
      ? { schema, examples: { usual: { value: example } } }
      : { schema: { type: 'string' }, examples: { usual: { value: texts[name] } } };
  return {
    description: 'The events, in order',
    headers: headers(...FEED_HEADERS, 'Content-Disposition'),
    content: Object.fromEntries(FEED_FORMATS.map(({ name, mediaType }) => [mediaType, content(name)])),
  };
}

export const FEED_NOT_MODIFIED: JsonSchema = {
  description: "If-None-Match names the present entity tag: the client's copy is current",
  headers: headers(...FEED_HEADERS),
};

/** A single entry: the header fields of a list, without those for paging. */
export function entryResponse(description: string, schema: JsonSchema, example: unknown): JsonSchema {
  return {
    ...listResponse(description, schema, example),
    headers: headers('ETag', 'Cache-Control', 'Vary', 'Lectern-Version'),
  };
}

export const NOT_MODIFIED: JsonSchema = {
  description: "If-None-Match names the present entity tag: the client's copy is current",
  headers: headers('ETag', 'Cache-Control', 'Vary', 'Lectern-Version'),
};

export function jsonResponse(description: string, schema: JsonSchema): JsonSchema {
  return { description, headers: headers(), content: { 'application/json': { schema } } };
}

/** A table in CommonMark. */
export function parameterFaultTable(): string {
  const rows = Object.entries(PARAMETER_FAULTS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return ['| `errors[].code` | meaning |', '|---|---|', ...rows].join('\n');
}

export function problemTable(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`,
  );
  return ['| `code` | status | meaning |', '|---|---|---|', ...rows].join('\n');
}
