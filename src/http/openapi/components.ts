/** Components of the document: schemas, header fields, problems and examples. */
import { PARAMETER_FAULTS, PROBLEMS, type ProblemCode } from '../../base/errors.js';
import { PAGE_LIMIT_MAX } from '../../base/limits.js';
import type {
  ConflictEntry,
  DirectoryEntry,
  FreeEntry,
  IdentifierMode,
  TimetableEvent,
} from '../../base/model/event.js';
import type { DirectoryName } from '../../base/model/fields.js';
import {
  conflictEntrySchema,
  directoryEntrySchema,
  eventSchema,
  freeEntrySchema,
  type JsonSchema,
  objectSchema,
  textSchema,
  withFurtherMembers,
} from '../../base/model/schemas.js';

export function schemas(identifiers: IdentifierMode): JsonSchema {
  return {
    Event: eventSchema(identifiers),
    ConflictEntry: conflictEntrySchema(EVENT),
    FreeEntry: withFurtherMembers(freeEntrySchema(identifiers), false),
    DirectoryEntry: withFurtherMembers(directoryEntrySchema(identifiers), true),
    Changes: CHANGES_SCHEMA,
    Types: TYPES_SCHEMA,
    Problem: PROBLEM_SCHEMA,
    Feed: FEED_SCHEMA,
    Login: LOGIN_SCHEMA,
    Health: HEALTH_SCHEMA,
  };
}

const EVENT: JsonSchema = { $ref: '#/components/schemas/Event' };
const COUNT = { type: 'integer', minimum: 0 };

/** RFC 9457, with a stable `code` and the faults of the query parameters. */
const PROBLEM_SCHEMA: JsonSchema = objectSchema(
  {
    type: {
      type: 'string',
      format: 'uri',
      description: 'Identifies the kind of problem: urn:lectern:problem:{code}',
    },
    title: textSchema('The kind of problem in words; the same for each code'),
    status: { type: 'integer', description: 'The HTTP status' },
    detail: textSchema('The fault, and the correct form'),
    instance: { type: 'string', format: 'uri-reference', description: 'The path of the request' },
    code: { type: 'string', enum: Object.keys(PROBLEMS), description: 'The kind of problem, for programs' },
    errors: {
      type: 'array',
      description: 'With parameters-invalid: every fault of the query parameters',
      items: objectSchema({
        parameter: textSchema('The parameter at fault'),
        code: { type: 'string', enum: Object.keys(PARAMETER_FAULTS), description: 'The kind of fault' },
        detail: textSchema('The fault, and the correct form'),
      }),
    },
  },
  { optional: ['instance', 'errors'] },
);

const TYPES_SCHEMA: JsonSchema = {
  type: 'array',
  items: { type: 'string' },
  uniqueItems: true,
  description: 'The distinct event types, sorted by code point',
};

/** GET {base}/login. Names as in RFC 6749 section 5.1. */
const LOGIN_SCHEMA: JsonSchema = objectSchema({
  access_token: textSchema('A signed JWT'),
  token_type: { type: 'string', enum: ['Bearer'] },
  expires_in: { type: 'integer', minimum: 1, description: 'Lifetime in seconds' },
});

const EVENTS = { type: 'array', items: EVENT };
const CHANGES_SCHEMA: JsonSchema = objectSchema(
  {
    from: textSchema('The id of the snapshot to compare with'),
    to: textSchema('The id of the present snapshot'),
    added: EVENTS,
    changed: { ...EVENTS, description: 'The events as they are now' },
    removed: { type: 'array', items: { type: 'string' }, description: 'Identifiers' },
    earlier: {
      ...EVENTS,
      description: 'With earlier=true: changed and removed events as they were, as far as they are known',
    },
  },
  { optional: ['earlier'] },
);

/** GET {base}/schedule/feed. */
const FEED_SCHEMA: JsonSchema = objectSchema({
  url: { type: 'string', format: 'uri', description: 'The address of the feed: a credential' },
  webcal: { type: 'string', format: 'uri', description: 'The same address, to open in a calendar program' },
  page: { type: 'string', format: 'uri', description: 'The same timetable as a page for people' },
  expiresAt: { type: 'string', format: 'date-time' },
});

const TIME_OR_NULL: JsonSchema = { type: ['string', 'null'], format: 'date-time' };

const HEALTH_SCHEMA: JsonSchema = objectSchema({
  status: { type: 'string', enum: ['ok', 'degraded', 'starting'] },
  version: textSchema('The version of the service'),
  snapshot: objectSchema(
    {
      id: textSchema('Equal for equal data'),
      events: COUNT,
      rejected: { ...COUNT, description: 'Records that were left out' },
      builtAt: { type: 'string', format: 'date-time' },
      ageSeconds: { type: 'number', minimum: 0 },
      origin: {
        type: 'string',
        enum: ['source', 'disk', 'pin'],
        description: 'Loaded from the source, or read from a snapshot file',
      },
    },
    { type: ['object', 'null'], description: 'The served snapshot; null while there is none' },
  ),
  snapshotFileError: {
    type: ['string', 'null'],
    description: 'Why the snapshot file was not written; null if it was',
  },
  source: objectSchema({
    state: { type: 'string', enum: ['loading', 'loaded', 'failed', 'refused'] },
    lastSuccess: TIME_OR_NULL,
    lastError: { type: ['string', 'null'] },
    failingSince: TIME_OR_NULL,
    overdue: {
      ...COUNT,
      description: 'Sources that are missing, or have failed for longer than ten refresh intervals',
    },
    followed: objectSchema(
      {
        lastCommit: {
          ...TIME_OR_NULL,
          description: 'Time of the last commit that changed the table, by the clock of the database',
        },
        lagSeconds: { type: 'number', description: 'Age of the oldest commit that is not served yet' },
      },
      {
        type: ['object', 'null'],
        description: 'How far the changes of a followed table are served; null for other sources',
      },
    ),
    parts: objectSchema(
      {
        total: COUNT,
        stale: { ...COUNT, description: 'Sources whose last good events are served' },
        missing: { ...COUNT, description: 'Sources that have never been read' },
        skipped: {
          ...COUNT,
          description: 'Entries of folders that are not read, such as files with other endings',
        },
        listed: {
          type: 'array',
          items: objectSchema({
            name: textSchema('A path, or an address without secrets'),
            state: { type: 'string', enum: ['ok', 'stale', 'missing'] },
            records: COUNT,
            lastSuccess: TIME_OR_NULL,
            failingSince: TIME_OR_NULL,
            lastError: { type: ['string', 'null'] },
            overdue: {
              type: 'boolean',
              description: 'Missing, or failing for longer than ten refresh intervals',
            },
          }),
        },
      },
      {
        type: ['object', 'null'],
        description: 'The parts of the source, if it is several sources, a folder or a glob',
      },
    ),
  }),
  leftOut: {
    type: 'array',
    description: 'The records that the load left out, by reason',
    items: objectSchema({
      code: textSchema('The reason'),
      count: COUNT,
      samples: { type: 'array', items: { type: 'string' }, description: 'Position and fault of the first' },
    }),
  },
  unserved: {
    type: 'array',
    description: 'Names in records that are no field',
    items: objectSchema({
      name: textSchema('As the records spell it'),
      records: COUNT,
      suggestion: { type: ['string', 'null'], description: 'The field that was probably meant' },
    }),
  },
});

function header(description: string, ...examples: string[]): JsonSchema {
  return { description, schema: { type: 'string', ...(examples.length === 0 ? {} : { examples }) } };
}

export const HEADERS: Readonly<Record<string, JsonSchema>> = {
  ETag: header(
    'Weak entity tag of the content, the query and the representation; send it as If-None-Match',
    'W/"2mVcLr0fQ1yAeGd3XoT4Zw"',
  ),
  'Last-Modified': header(
    'When this content was first published, if the content alone decides the answer; send it as If-Modified-Since',
    'Mon, 02 Sep 2024 08:00:00 GMT',
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
export function headers(...names: readonly string[]): JsonSchema {
  const all = [...names, 'X-Content-Type-Options', 'Content-Security-Policy'];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

type ProblemStatus = (typeof PROBLEMS)[ProblemCode]['status'];

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
      headers: headers(...(field === undefined ? [] : [field])),
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

/** Describes the service with folded tables, so that operations are near the top of the page. */
export function describeService(): string {
  return `A timetable for reading: filtered, personal, whole, and checked for conflicts.

**Filters**: an event must match every parameter; a repeated parameter matches any of its values. Values are not split at
commas.

**Times** are UTC with milliseconds in answers, and RFC 3339 with an offset in parameters. **Paging** is up to the
client: with \`limit\` (1 to ${PAGE_LIMIT_MAX}) a list comes in pages, linked by the \`Link\` header. **HEAD** answers as GET
without a body; **OPTIONS** gives \`Allow\`. **Caching**: every list has an \`ETag\`; \`If-None-Match\` gives 304, and without it
\`If-Modified-Since\` with the \`Last-Modified\` of the list.
**Preconditions**: \`If-Match: *\` always holds; \`If-Match\` with tags gives 412, because all tags are weak. \`If-Unmodified-Since\` gives 412 if the
timetable has changed since.

**Errors** are \`application/problem+json\` (RFC 9457) with a stable \`code\`. Checks run in this order: 414, 404, 405,
401, 403, 406, 400, 412.

<details><summary>All codes</summary>

${problemTable()}

With \`parameters-invalid\`, \`errors\` lists all faults at once:

${parameterFaultTable()}

</details>
`;
}

/** A table in CommonMark. */
function parameterFaultTable(): string {
  const rows = Object.entries(PARAMETER_FAULTS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return ['| `errors[].code` | meaning |', '|---|---|', ...rows].join('\n');
}

function problemTable(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`,
  );
  return ['| `code` | status | meaning |', '|---|---|---|', ...rows].join('\n');
}

export const EXAMPLE_EVENT: TimetableEvent = {
  id: '7f2c0a52-8f4b-4d53-9f0e-0d8f6f0b6c11',
  time: '2024-09-02T08:00:00.000Z',
  endTime: '2024-09-02T09:30:00.000Z',
  title: 'Linear Algebra',
  roomId: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  courseId: '51b5e7a5-0b9f-4b7c-8a5f-9f1f7a5b6d20',
  studyGroup: 'CS-1',
  lecturer: 'Ada Lovelace',
  type: 'Lecture',
  groupId: null,
};

const EXAMPLE_CALENDAR = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//Lectern//Lectern//EN',
  'BEGIN:VEVENT',
  `UID:${EXAMPLE_EVENT.id}`,
  'DTSTAMP:20240830T121500Z',
  'LAST-MODIFIED:20240830T121500Z',
  'DTSTART:20240902T080000Z',
  'DTEND:20240902T093000Z',
  `SUMMARY:${EXAMPLE_EVENT.title}`,
  `LOCATION:${EXAMPLE_EVENT.roomId}`,
  `DESCRIPTION:${EXAMPLE_EVENT.lecturer}\\n${EXAMPLE_EVENT.studyGroup}`,
  `CATEGORIES:${EXAMPLE_EVENT.type}`,
  'END:VEVENT',
  'END:VCALENDAR',
  '',
].join('\r\n');

/** Examples by the name of a format. The example of the page is cut short. */
export const EXAMPLE_TEXTS: Readonly<Record<string, string>> = {
  ndjson: `${JSON.stringify(EXAMPLE_EVENT)}\n`,
  csv: [Object.keys(EXAMPLE_EVENT), Object.values(EXAMPLE_EVENT)].map((row) => `${row.join()}\r\n`).join(''),
  ics: EXAMPLE_CALENDAR,
  html: '<!doctype html>\n<html lang="en">\n…\n</html>\n',
};

export const EXAMPLE_CONFLICT: ConflictEntry = {
  by: 'room',
  key: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  startTime: '2024-09-02T08:00:00.000Z',
  endTime: '2024-09-02T10:00:00.000Z',
  peak: 2,
  events: [
    EXAMPLE_EVENT,
    {
      ...EXAMPLE_EVENT,
      id: 'b0a3f7de-3c55-4c5e-9d0a-6d2f6a1b9c02',
      time: '2024-09-02T09:00:00.000Z',
      endTime: '2024-09-02T10:00:00.000Z',
      title: 'Databases',
      courseId: 'c7d9a7a0-1a8e-4d0e-8a55-3f0c7c1f2e33',
    },
  ],
};

export const EXAMPLE_FREE: FreeEntry = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  name: 'A 101',
  freeFrom: '2024-09-02T09:30:00.000Z',
  freeUntil: null,
};

export const EXAMPLE_CHANGES: Readonly<Record<string, unknown>> = {
  from: '5p2iTKJ9cLw0n7b1R3x8Zg',
  to: 'vWHhK2c8UBMg-U42p0PlWQ',
  added: [],
  changed: [EXAMPLE_EVENT],
  removed: ['b0a3f7de-3c55-4c5e-9d0a-6d2f6a1b9c02'],
};

export const EXAMPLE_ENTRIES: Readonly<Record<DirectoryName, DirectoryEntry>> = {
  rooms: { id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417', name: 'Main Hall', events: 412 },
  courses: { id: '51b5e7a5-0b9f-4b7c-8a5f-9f1f7a5b6d20', name: 'Linear Algebra', events: 96 },
  groups: { id: null, name: 'CS-1', events: 238 },
  lecturers: { id: 'b0a3f7de-3c55-4c5e-9d0a-6d2f6a1b9c02', name: 'Ada Lovelace', events: 51 },
};

/** The first lines of an event stream. */
export const EXAMPLE_STREAM: string = [
  'retry: 2041',
  `id: 1795454909436.${EXAMPLE_CHANGES.to}`,
  `data: ${JSON.stringify(EXAMPLE_CHANGES)}`,
  '',
  '',
].join('\n');
