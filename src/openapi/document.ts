/** Folder openapi/. The OpenAPI 3.1 document, made from the tables. This folder answers no request. */
import { PAGE_LIMIT_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { DIRECTORIES, type DirectoryName } from '../model/fields.js';
import {
  conflictEntrySchema,
  directoryEntrySchema,
  eventSchema,
  freeEntrySchema,
  type JsonSchema,
} from '../model/schemas.js';
import { ENDPOINT_PARAMETERS, type EndpointName } from '../query/endpoint-parameters.js';
import {
  changesSchema,
  FEED_SCHEMA,
  HEALTH_SCHEMA,
  LOGIN_SCHEMA,
  PROBLEM_SCHEMA,
  TYPES_SCHEMA,
} from './component-schemas.js';
import {
  EXAMPLE_CHANGES,
  EXAMPLE_CONFLICT,
  EXAMPLE_ENTRIES,
  EXAMPLE_EVENT,
  EXAMPLE_FREE,
  EXAMPLE_STREAM,
  EXAMPLE_TEXTS,
} from './examples.js';
import { feedPaths } from './feed-paths.js';
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
