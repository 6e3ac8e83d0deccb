/**
 * Folder openapi/. The OpenAPI 3.1 document, made from the tables, with JSON schemas and example answers. Tests compare
 * answers with the schemas. This folder answers no request.
 */
import { PARAMETER_FAULTS, PROBLEMS } from '../errors.js';
import { PAGE_LIMIT_MAX } from '../limits.js';
import type {
  ConflictEntry,
  DirectoryEntry,
  FreeEntry,
  IdentifierMode,
  TimetableEvent,
} from '../model/event.js';
import { DIRECTORIES, type DirectoryName } from '../model/fields.js';
import {
  conflictEntrySchema,
  directoryEntrySchema,
  eventSchema,
  freeEntrySchema,
  type JsonSchema,
  objectSchema,
  textSchema,
} from '../model/schemas.js';
import { ENDPOINT_PARAMETERS, type EndpointName, FEED_PARAMETERS } from '../query/endpoint-parameters.js';
import {
  HEADER_PARAMETERS,
  idParameter,
  listParameters,
  loginParameters,
  referenceTo,
} from './parameter-objects.js';
import {
  EVERYWHERE,
  entryResponse,
  FEED_NOT_MODIFIED,
  feedResponse,
  HEADERS,
  jsonResponse,
  listResponse,
  NOT_MODIFIED,
  type ProblemStatus,
  parameterFaultTable,
  problemReferences,
  problemResponses,
  problemTable,
} from './responses.js';

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
export const LOGIN_SCHEMA: JsonSchema = objectSchema({
  access_token: textSchema('A signed JWT'),
  token_type: { type: 'string', enum: ['Bearer'] },
  expires_in: { type: 'integer', minimum: 1, description: 'Lifetime in seconds' },
});

/** @param event the schema of an event, or a reference to it */
function changesSchema(event: JsonSchema): JsonSchema {
  const events = { type: 'array', items: event };
  return objectSchema({
    from: textSchema('The id of the snapshot to compare with'),
    to: textSchema('The id of the present snapshot'),
    added: events,
    changed: { ...events, description: 'The events as they are now' },
    removed: { type: 'array', items: { type: 'string' }, description: 'Identifiers' },
  });
}

/** GET {base}/schedule/feed. */
const FEED_SCHEMA: JsonSchema = objectSchema({
  url: { type: 'string', format: 'uri', description: 'The address of the feed: a credential' },
  webcal: { type: 'string', format: 'uri', description: 'The same address, to open in a calendar program' },
  page: { type: 'string', format: 'uri', description: 'The same timetable as a page for people' },
  expiresAt: { type: 'string', format: 'date-time' },
});

const TIME_OR_NULL: JsonSchema = { type: ['string', 'null'], format: 'date-time' };

export const HEALTH_SCHEMA: JsonSchema = objectSchema({
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
});

export interface OpenApiOptions {
  /** The base path without a trailing slash; empty for the root. */
  readonly basePath: string;
  readonly identifiers: IdentifierMode;
  readonly version: string;
  /** Whether the document is a file, which the service does not serve. Default false. */
  readonly isFile?: boolean;
}

/** Statuses of problems with requests for lists. */
const LISTS: readonly ProblemStatus[] = [400, 401, 404, 405, 406, 408, 412, 414, 417, 431, 500, 503];

function schemaOf(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

interface ListOperation {
  readonly endpoint: EndpointName;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly response: JsonSchema;
  /** Parameters in the path. */
  readonly pathParameters?: readonly JsonSchema[];
  /** Statuses of problems that not all lists have. */
  readonly problems?: readonly ProblemStatus[];
}

function listOperation(operation: ListOperation): JsonSchema {
  const { endpoint, response, problems = [], pathParameters = [], ...about } = operation;
  return {
    get: {
      ...about,
      tags: ['schedule'],
      security: [{ bearerAuth: [] }],
      parameters: [
        ...pathParameters,
        ...[...ENDPOINT_PARAMETERS[endpoint].keys()].map((name) => referenceTo(endpoint, name)),
        referenceTo(endpoint, 'Lectern-Min-Version'),
        ...(endpoint === 'changes' ? [referenceTo(endpoint, 'Last-Event-ID')] : []),
      ],
      responses: { '200': response, '304': NOT_MODIFIED, ...problemReferences([...LISTS, ...problems]) },
    },
  };
}

/**
 * Servers are relative to {base}/docs/openapi.json, because proxies may change the prefix. In a file, servers
 * are paths.
 */
export function createOpenApiDocument({
  basePath,
  identifiers,
  version,
  isFile = false,
}: OpenApiOptions): JsonSchema {
  const base = basePath === '' ? '/' : basePath;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lectern',
      version,
      summary: 'A read-only timetable',
      description: describeService(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [isFile ? { url: base } : { url: '..', description: `Relative to this document: ${base}` }],
    tags: [
      { name: 'schedule', description: 'The timetable' },
      { name: 'feeds', description: 'For calendar programs; 404 without a feed secret' },
      { name: 'development', description: 'In development mode only; elsewhere 404' },
    ],
    security: [{ bearerAuth: [] }],
    paths: {
      ...schedulePaths(identifiers),
      ...feedPaths({ items: schemaOf('Event'), example: EXAMPLE_EVENT, texts: EXAMPLE_TEXTS }),
      ...developmentPaths(basePath, identifiers, isFile),
    },
    components: {
      schemas: {
        Event: eventSchema(identifiers),
        ConflictEntry: conflictEntrySchema(schemaOf('Event')),
        FreeEntry: freeEntrySchema(identifiers),
        DirectoryEntry: directoryEntrySchema(identifiers),
        Changes: changesSchema(schemaOf('Event')),
        Types: TYPES_SCHEMA,
        Problem: PROBLEM_SCHEMA,
        Feed: FEED_SCHEMA,
        Login: LOGIN_SCHEMA,
        Health: HEALTH_SCHEMA,
      },
      parameters: { ...listParameters(identifiers), ...HEADER_PARAMETERS },
      headers: HEADERS,
      responses: problemResponses(),
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'A signed JWT with `sub` and `exp`. In development, GET /login gives one.',
        },
      },
    },
  };
}

function schedulePaths(identifiers: IdentifierMode): Record<string, JsonSchema> {
  const events = listResponse(
    'The events, in order',
    { type: 'array', items: schemaOf('Event') },
    [EXAMPLE_EVENT],
    EXAMPLE_TEXTS,
  );
  return {
    '/schedule': listOperation({
      endpoint: 'schedule',
      operationId: 'listEvents',
      summary: 'Events that match all filters',
      description:
        'Without parameters, every event. An event matches a window when it overlaps it. ' +
        'Order: time, endTime, id. An unknown parameter is an error: a mistyped filter must not return everything.',
      response: events,
    }),
    '/schedule/personal': listOperation({
      endpoint: 'personal',
      operationId: 'listPersonalEvents',
      summary: "The authenticated user's events",
      description:
        "The events selected by the token's claims or the service's enrolment map; filters narrow them further. " +
        'A user who is known but has no events gets an empty list.',
      response: events,
      problems: [403],
    }),
    '/schedule/all': listOperation({
      endpoint: 'all',
      operationId: 'listAllEvents',
      summary: 'Every event',
      description: 'The whole timetable, in order. If it is large, use limit and cursor, or MessagePack.',
      response: events,
    }),
    '/schedule/types': listOperation({
      endpoint: 'types',
      operationId: 'listTypes',
      summary: 'The event types',
      description: 'The distinct types of the events.',
      response: listResponse('The types, sorted', schemaOf('Types'), ['Lab', 'Lecture']),
    }),
    '/schedule/conflicts': listOperation({
      endpoint: 'conflicts',
      operationId: 'listConflicts',
      summary: 'Overlapping lessons with the same room, lecturer or group',
      description:
        'One entry for each cluster of lessons connected by overlaps. An entry is returned when at least one of its ' +
        'events matches the filters; the entry then lists its other events, too. An entry lists only events with its room, lecturer or group: ' +
        'for a lecture of three groups, it lists only the events of the group that has the conflict. Order: startTime, endTime, by, key.',
      response: listResponse('The clusters, in order', { type: 'array', items: schemaOf('ConflictEntry') }, [
        EXAMPLE_CONFLICT,
      ]),
    }),
    '/schedule/free': listOperation({
      endpoint: 'free',
      operationId: 'listFree',
      summary: 'Rooms, lecturers or groups with nothing scheduled in a window',
      description:
        'Covers the rooms, lecturers and groups that events name, and the rooms of the rooms file. The window is required: startTime and ' +
        'endTime, or date. With weeks, the same window must be free in that many weeks, in local time of timeZone; freeFrom and ' +
        'freeUntil are those of the first week. Zero-length events occupy nothing. Order: name, id; null last.',
      response: listResponse(
        'The free rooms, lecturers or groups, by name',
        { type: 'array', items: schemaOf('FreeEntry') },
        [EXAMPLE_FREE],
      ),
    }),
    '/schedule/changes': listOperation({
      endpoint: 'changes',
      operationId: 'listChanges',
      summary: 'What changed since a snapshot',
      description:
        'The difference between a snapshot that was served before and the present one. Read /schedule/all once and keep ' +
        'its ETag; then ask for changes since it, and continue with "to". A malformed "since" gives 400. On 410, read everything again. ' +
        'As text/event-stream the answer does not end: each publication is one message, whose id is the version and whose data is the ' +
        'difference from the publication before, or { from, to, readAnew: true, counts } if this difference is too large or unknown. For an event stream, since is optional.',
      response: withEventStream(listResponse('The difference', schemaOf('Changes'), EXAMPLE_CHANGES)),
      problems: [410],
    }),
    ...Object.fromEntries(DIRECTORIES.map(({ name }) => [`/schedule/${name}`, directoryOperation(name)])),
    '/schedule/events/{id}': listOperation({
      endpoint: 'events',
      operationId: 'getEvent',
      summary: 'One event',
      description: 'The event with this id. An unknown or malformed id gives 404 event-not-found.',
      pathParameters: [idParameter(identifiers)],
      response: entryResponse('The event', schemaOf('Event'), EXAMPLE_EVENT),
    }),
  };
}

function withEventStream(response: JsonSchema): JsonSchema {
  const stream = { schema: { type: 'string' }, examples: { usual: { value: EXAMPLE_STREAM } } };
  return { ...response, content: { ...(response.content as object), 'text/event-stream': stream } };
}

const DIRECTORY_TEXTS: Readonly<Record<DirectoryName, string>> = {
  rooms: 'The id is roomId, the name roomName.',
  courses: 'The id is courseId, the name courseName.',
  groups:
    'The id is groupId; the name is groupName or, if no event of the group has one, studyGroup. ' +
    'Events without a groupId are counted in an entry for their studyGroup, with the id null.',
  lecturers:
    'The id is lecturerId, the name lecturer. Events without a lecturerId are counted in an entry for their lecturer, with the id null.',
};

function directoryOperation(name: DirectoryName): JsonSchema {
  return listOperation({
    endpoint: name,
    operationId: `list${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    summary: `The ${name} of matching events`,
    description:
      `One entry for each of the ${name} that matching events name, with the number of those events. ${DIRECTORY_TEXTS[name]} ` +
      'Order: name by code point, entries without a name last; then id.',
    response: listResponse('The entries, in order', { type: 'array', items: schemaOf('DirectoryEntry') }, [
      EXAMPLE_ENTRIES[name],
    ]),
  });
}

function developmentPaths(
  basePath: string,
  identifiers: IdentifierMode,
  isFile: boolean,
): Record<string, JsonSchema> {
  // Goes up one step from {base}/docs/openapi.json for each segment of the base path, and one for docs.
  const root = Array(basePath.split('/').length).fill('..').join('/');
  const common = { tags: ['development'], security: [] };
  return {
    '/login': {
      get: {
        ...common,
        operationId: 'issueTestToken',
        summary: 'A test token',
        description:
          'Without parameters, a token for a study group of the data set, if the data set has study groups.',
        parameters: loginParameters(identifiers),
        responses: {
          '200': jsonResponse('The token', schemaOf('Login')),
          ...problemReferences(EVERYWHERE),
        },
      },
    },
    '/docs': {
      get: {
        ...common,
        operationId: 'showDocs',
        summary: 'This page',
        responses: {
          '200': { description: 'Swagger UI', content: { 'text/html': { schema: { type: 'string' } } } },
          ...problemReferences(EVERYWHERE),
        },
      },
    },
    '/health': {
      // The one path outside the base path.
      servers: [isFile ? { url: '/' } : { url: root, description: 'Relative to this document: /' }],
      get: {
        ...common,
        operationId: 'checkHealth',
        summary: 'The state of the service',
        responses: {
          '200': jsonResponse('There is a snapshot to serve', schemaOf('Health')),
          ...problemReferences(EVERYWHERE),
          '503': {
            ...jsonResponse('There is no snapshot yet', schemaOf('Health')),
            headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } },
          },
        },
      },
    },
  };
}

/** Describes the service with folded tables, so that operations are near the top of the page. */
function describeService(): string {
  return `A timetable for reading: filtered, personal, whole, and checked for conflicts.

**Filters**: an event must match every parameter; a repeated parameter matches any of its values. Values are not split at
commas.

**Times** are UTC with milliseconds in answers, and RFC 3339 with an offset in parameters. **Paging** is up to the
client: with \`limit\` (1 to ${PAGE_LIMIT_MAX}) a list comes in pages, linked by the \`Link\` header. **HEAD** answers as GET
without a body; **OPTIONS** gives \`Allow\`. **Caching**: every list has an \`ETag\`; \`If-None-Match\` gives 304.
**Preconditions**: \`If-Match: *\` always holds; \`If-Match\` with tags gives 412, because all tags are weak. \`If-Unmodified-Since\` gives 412 if the
timetable was built after that time.

**Errors** are \`application/problem+json\` (RFC 9457) with a stable \`code\`. Checks run in this order: 414, 404, 405,
401, 403, 406, 400, 412.

<details><summary>All codes</summary>

${problemTable()}

With \`parameters-invalid\`, \`errors\` lists all faults at once:

${parameterFaultTable()}

</details>
`;
}

/** @param events the list of a feed, with examples of its formats */
function feedPaths(events: {
  readonly items: JsonSchema;
  readonly example: object;
  readonly texts: Readonly<Record<string, string>>;
}): Record<string, JsonSchema> {
  return {
    '/schedule/feed': {
      get: {
        operationId: 'makeFeed',
        summary: 'The address of a feed',
        description:
          "An address that shows one timetable without a token: the user's own (for=personal), or the events that filters and window " +
          'select. The address alone is enough to read it, until it expires or is revoked.',
        tags: ['feeds'],
        security: [{ bearerAuth: [] }],
        parameters: [...FEED_PARAMETERS.keys()].map((name) => referenceTo('schedule', name)),
        responses: {
          '200': jsonResponse('The address', { $ref: '#/components/schemas/Feed' }),
          ...problemReferences([...EVERYWHERE, 401, 403, 421]),
        },
      },
    },
    '/feeds/{feed}': {
      get: {
        operationId: 'readFeed',
        summary: 'A feed',
        description:
          'The address of /schedule/feed. Its ending chooses the format: .ics, .json, .csv, or .html for the page. Wrong, expired and revoked addresses get the same 404.',
        tags: ['feeds'],
        security: [],
        parameters: [
          {
            name: 'feed',
            in: 'path',
            required: true,
            description: 'The last part of an address from /schedule/feed, with its ending',
            schema: { type: 'string' },
          },
        ],
        responses: {
          '200': feedResponse({ type: 'array', items: events.items }, [events.example], events.texts),
          '304': FEED_NOT_MODIFIED,
          ...problemReferences([...EVERYWHERE, 412]),
        },
      },
    },
  };
}

const EXAMPLE_EVENT: TimetableEvent = {
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
  'DTSTAMP:20240902T080000Z',
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
const EXAMPLE_TEXTS: Readonly<Record<string, string>> = {
  ndjson: `${JSON.stringify(EXAMPLE_EVENT)}\n`,
  csv: [Object.keys(EXAMPLE_EVENT), Object.values(EXAMPLE_EVENT)].map((row) => `${row.join()}\r\n`).join(''),
  ics: EXAMPLE_CALENDAR,
  html: '<!doctype html>\n<html lang="en">\n…\n</html>\n',
};

const EXAMPLE_CONFLICT: ConflictEntry = {
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

const EXAMPLE_FREE: FreeEntry = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  name: 'A 101',
  freeFrom: '2024-09-02T09:30:00.000Z',
  freeUntil: null,
};

const EXAMPLE_CHANGES: Readonly<Record<string, unknown>> = {
  from: '5p2iTKJ9cLw0n7b1R3x8Zg',
  to: 'vWHhK2c8UBMg-U42p0PlWQ',
  added: [],
  changed: [EXAMPLE_EVENT],
  removed: ['b0a3f7de-3c55-4c5e-9d0a-6d2f6a1b9c02'],
};

const EXAMPLE_ENTRIES: Readonly<Record<DirectoryName, DirectoryEntry>> = {
  rooms: { id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417', name: 'Main Hall', events: 412 },
  courses: { id: '51b5e7a5-0b9f-4b7c-8a5f-9f1f7a5b6d20', name: 'Linear Algebra', events: 96 },
  groups: { id: null, name: 'CS-1', events: 238 },
  lecturers: { id: 'b0a3f7de-3c55-4c5e-9d0a-6d2f6a1b9c02', name: 'Ada Lovelace', events: 51 },
};

/** The first lines of an event stream. */
const EXAMPLE_STREAM: string = [
  'retry: 2041',
  `id: 1795454909436.${EXAMPLE_CHANGES.to}`,
  `data: ${JSON.stringify(EXAMPLE_CHANGES)}`,
  '',
  '',
].join('\n');
