/** JSON schemas of answers without events. Tests compare answers with them. */
import { PARAMETER_FAULTS, PROBLEMS } from '../errors.js';
import { type JsonSchema, objectSchema, textSchema } from '../model/schemas.js';

const COUNT = { type: 'integer', minimum: 0 };

/** RFC 9457, with a stable `code` and the faults of the query parameters. */
export const PROBLEM_SCHEMA: JsonSchema = objectSchema(
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

export const TYPES_SCHEMA: JsonSchema = {
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
export function changesSchema(event: JsonSchema): JsonSchema {
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
export const FEED_SCHEMA: JsonSchema = objectSchema({
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
          description: 'The last commit seen that changed the table, by the clock of the database',
        },
        lagSeconds: { type: 'number', description: 'How long the oldest commit waits that is not served' },
      },
      { type: ['object', 'null'], description: 'How far a followed table is; null for other sources' },
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
