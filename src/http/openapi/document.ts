/**
 * Folder http/openapi/. The OpenAPI 3.1 document: operations as data, with the parameters, formats, problems and fields of the
 * tables. Tests compare it with real answers. This folder answers no request.
 */

import {
  ENDPOINT_FORMATS,
  ENDPOINT_PARAMETERS,
  type EndpointName,
  FEED_PARAMETERS,
} from '../../answer/endpoint-parameters.js';
import type { PROBLEMS, ProblemCode } from '../../base/errors.js';
import type { IdentifierMode } from '../../base/model/event.js';
import type { DirectoryName } from '../../base/model/fields.js';
import { FEED_FORMATS, type FeedFormat } from '../../base/model/format.js';
import type { JsonSchema } from '../../base/model/schemas.js';
import {
  describeService,
  EXAMPLE_CHANGES,
  EXAMPLE_CONFLICT,
  EXAMPLE_ENTRIES,
  EXAMPLE_EVENT,
  EXAMPLE_FREE,
  EXAMPLE_STREAM,
  EXAMPLE_TEXTS,
  HEADERS,
  headers,
  problemResponses,
  schemas,
} from './components.js';
import { idParameter, loginParameters, parameterComponents, parameterReferences } from './parameters.js';

export interface OpenApiOptions {
  /** The base path without a trailing slash; empty for the root. */
  readonly basePath: string;
  readonly identifiers: IdentifierMode;
  readonly version: string;
  /** Whether the document is a file, which the service does not serve. Default false. */
  readonly isFile?: boolean;
}

type ProblemStatus = (typeof PROBLEMS)[ProblemCode]['status'];
type Responses = Readonly<Record<string, JsonSchema>>;

const BEARER = [{ bearerAuth: [] }];

/** Servers are relative to {base}/docs/openapi.json, because proxies may change the prefix. In a file, servers are paths. */
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
    security: BEARER,
    paths: {
      ...Object.fromEntries(
        Object.entries(LISTS).map(([endpoint, list]) => [
          PATHS[endpoint as EndpointName] ?? `/schedule/${endpoint}`,
          listOperation(endpoint as EndpointName, list, identifiers),
        ]),
      ),
      ...FEED_PATHS,
      ...developmentPaths(basePath, identifiers, isFile),
    },
    components: {
      schemas: schemas(identifiers),
      parameters: parameterComponents(identifiers),
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

interface ListOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly answer: string;
  readonly schema: JsonSchema;
  readonly example: unknown;
  /** Statuses of problems that not all lists have. */
  readonly problems?: readonly ProblemStatus[];
}

function schemaOf(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function listOf(name: string): JsonSchema {
  return { type: 'array', items: schemaOf(name) };
}

const EVENTS = { answer: 'The events, in order', schema: listOf('Event'), example: [EXAMPLE_EVENT] };

/** Paths that do not follow from the name of their endpoint. */
const PATHS: { readonly [Endpoint in EndpointName]?: string } = {
  schedule: '/schedule',
  events: '/schedule/events/{id}',
};

const LISTS: Readonly<Record<EndpointName, ListOperation>> = {
  schedule: {
    operationId: 'listEvents',
    summary: 'Events that match all filters',
    description:
      'Without parameters, every event. An event matches a window when it overlaps it. ' +
      'Order: time, endTime, id. An unknown parameter is an error: a mistyped filter must not return everything.',
    ...EVENTS,
  },
  personal: {
    operationId: 'listPersonalEvents',
    summary: "The authenticated user's events",
    description:
      "The events selected by the token's claims or the service's enrolment map; filters narrow them further. " +
      'A user who is known but has no events gets an empty list.',
    ...EVENTS,
    problems: [403],
  },
  all: {
    operationId: 'listAllEvents',
    summary: 'Every event',
    description: 'The whole timetable, in order. If it is large, use limit and cursor, or MessagePack.',
    ...EVENTS,
  },
  types: {
    operationId: 'listTypes',
    summary: 'The event types',
    description: 'The distinct types of the events.',
    answer: 'The types, sorted',
    schema: schemaOf('Types'),
    example: ['Lab', 'Lecture'],
  },
  conflicts: {
    operationId: 'listConflicts',
    summary: 'Overlapping lessons with the same room, lecturer or group',
    description:
      'One entry for each cluster of lessons connected by overlaps. An entry is returned when at least one of its ' +
      'events matches the filters; the entry then lists its other events, too. An entry lists only events with its room, lecturer or group: ' +
      'for a lecture of three groups, it lists only the events of the group that has the conflict. Order: startTime, endTime, by, key.',
    answer: 'The clusters, in order',
    schema: listOf('ConflictEntry'),
    example: [EXAMPLE_CONFLICT],
  },
  free: {
    operationId: 'listFree',
    summary: 'Rooms, lecturers or groups with nothing scheduled in a window',
    description:
      'Covers the rooms, lecturers and groups that events name, and the rooms of the rooms file. The window is required: startTime and ' +
      'endTime, or date. With weeks, the same window must be free in that many weeks, in local time of timeZone; freeFrom and ' +
      'freeUntil are those of the first week. Zero-length events occupy nothing. Order: name, id; null last.',
    answer: 'The free rooms, lecturers or groups, by name',
    schema: listOf('FreeEntry'),
    example: [EXAMPLE_FREE],
  },
  changes: {
    operationId: 'listChanges',
    summary: 'What changed since a snapshot',
    description:
      'The difference between a snapshot that was served before and the present one. Read /schedule/all once and keep ' +
      'its ETag; then ask for changes since it, and continue with "to". A malformed "since" gives 400. On 410, read everything again. ' +
      'As text/event-stream the answer does not end: each publication is one message, whose id is the version and whose data is the ' +
      'difference from the publication before, or { from, to, readAnew: true, counts } if this difference is too large or unknown. For an event stream, since is optional.',
    answer: 'The difference',
    schema: schemaOf('Changes'),
    example: EXAMPLE_CHANGES,
    problems: [410],
  },
  rooms: directory('rooms', 'The id is roomId, the name roomName.'),
  courses: directory('courses', 'The id is courseId, the name courseName.'),
  groups: directory(
    'groups',
    'The id is groupId; the name is groupName or, if no event of the group has one, studyGroup. ' +
      'Events without a groupId are counted in an entry for their studyGroup, with the id null.',
  ),
  lecturers: directory(
    'lecturers',
    'The id is lecturerId, the name lecturer. Events without a lecturerId are counted in an entry for their lecturer, with the id null.',
  ),
  events: {
    operationId: 'getEvent',
    summary: 'One event',
    description: 'The event with this id. An unknown or malformed id gives 404 event-not-found.',
    answer: 'The event',
    schema: schemaOf('Event'),
    example: EXAMPLE_EVENT,
  },
};

function directory(name: DirectoryName, text: string): ListOperation {
  return {
    operationId: `list${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    summary: `The ${name} of matching events`,
    description:
      `One entry for each of the ${name} that matching events name, with the number of those events. ${text} ` +
      'Order: name by code point, entries without a name last; then id.',
    answer: 'The entries, in order',
    schema: listOf('DirectoryEntry'),
    example: [EXAMPLE_ENTRIES[name]],
  };
}

const HEADERS_OF_READS: readonly string[] = ['ETag', 'Cache-Control', 'Vary', 'Lectern-Version'];
const HEADERS_OF_FEEDS: readonly string[] = ['ETag', 'Cache-Control', 'Referrer-Policy', 'X-Robots-Tag'];
/** Only answers with a body have it, because a 304 has the entity tag. */
const LAST_MODIFIED = 'Last-Modified';
/** Statuses of problems with any request. */
const EVERYWHERE: readonly ProblemStatus[] = [400, 404, 405, 408, 414, 417, 431, 500, 503];

function contentOf(formats: readonly FeedFormat[], schema: JsonSchema, example: unknown): JsonSchema {
  const examples = (value: unknown): JsonSchema => ({ examples: { usual: { value } } });
  return Object.fromEntries(
    formats.map(({ name, mediaType }) => {
      if (name === 'msgpack') return [mediaType, { schema }];
      if (name === 'json') return [mediaType, { schema, ...examples(example) }];
      return [mediaType, { schema: { type: 'string' }, ...examples(EXAMPLE_TEXTS[name]) }];
    }),
  );
}

function jsonResponse(description: string, schema: JsonSchema): JsonSchema {
  return { description, headers: headers(), content: { 'application/json': { schema } } };
}

function notModified(names: readonly string[]): JsonSchema {
  const description =
    "If-None-Match names the present entity tag, or nothing has changed since If-Modified-Since: the client's copy is current";
  return { description, headers: headers(...names) };
}

function problems(...statuses: readonly ProblemStatus[]): Responses {
  return Object.fromEntries(
    statuses.map((status) => [String(status), { $ref: `#/components/responses/Problem${status}` }]),
  );
}

function listOperation(
  endpoint: EndpointName,
  { answer, schema, example, problems: more = [], ...about }: ListOperation,
  identifiers: IdentifierMode,
): JsonSchema {
  const formats = ENDPOINT_FORMATS[endpoint];
  const isList = endpoint !== 'events';
  const isChanges = endpoint === 'changes';
  const isSaved = formats.some(({ isOfEvents }) => isOfEvents);
  const stream = { schema: { type: 'string' }, examples: { usual: { value: EXAMPLE_STREAM } } };
  const response = {
    description: answer,
    headers: headers(
      ...HEADERS_OF_READS,
      LAST_MODIFIED,
      ...(isList ? ['X-Total-Count', 'Link'] : []),
      ...(isSaved ? ['Content-Disposition'] : []),
    ),
    content: {
      ...contentOf(formats, schema, example),
      ...(isChanges ? { 'text/event-stream': stream } : {}),
    },
  };
  const others = ['Lectern-Min-Version', ...(isChanges ? ['Last-Event-ID'] : [])];
  return {
    get: {
      ...about,
      tags: ['schedule'],
      security: BEARER,
      parameters: [
        ...(isList ? [] : [idParameter(identifiers)]),
        ...parameterReferences(ENDPOINT_PARAMETERS[endpoint], ...others),
      ],
      responses: {
        '200': response,
        '304': notModified(HEADERS_OF_READS),
        ...problems(...EVERYWHERE, 401, 406, 412, ...more),
      },
    },
  };
}

const FEED_PATHS: Readonly<Record<string, JsonSchema>> = {
  '/schedule/feed': {
    get: {
      operationId: 'makeFeed',
      summary: 'The address of a feed',
      description:
        "An address that shows one timetable without a token: the user's own (for=personal), or the events that filters and window " +
        'select. The address alone is enough to read it, until it expires or is revoked.',
      tags: ['feeds'],
      security: BEARER,
      parameters: parameterReferences(FEED_PARAMETERS),
      responses: {
        '200': jsonResponse('The address', schemaOf('Feed')),
        ...problems(...EVERYWHERE, 401, 403, 421),
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
        '200': {
          description: EVENTS.answer,
          headers: headers(...HEADERS_OF_FEEDS, LAST_MODIFIED, 'Content-Disposition'),
          content: contentOf(FEED_FORMATS, EVENTS.schema, EVENTS.example),
        },
        '304': notModified(HEADERS_OF_FEEDS),
        ...problems(...EVERYWHERE, 412),
      },
    },
  },
};

function developmentPaths(basePath: string, identifiers: IdentifierMode, isFile: boolean): Responses {
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
        responses: { '200': jsonResponse('The token', schemaOf('Login')), ...problems(...EVERYWHERE) },
      },
    },
    '/docs': {
      get: {
        ...common,
        operationId: 'showDocs',
        summary: 'This page',
        responses: {
          '200': { description: 'Swagger UI', content: { 'text/html': { schema: { type: 'string' } } } },
          ...problems(...EVERYWHERE),
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
          ...problems(...EVERYWHERE),
          '503': {
            ...jsonResponse('There is no snapshot yet', schemaOf('Health')),
            headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } },
          },
        },
      },
    },
  };
}
