/** JSON schemas of the answers that are not events, for the OpenAPI document. Tests compare what is sent with it. */
import { PARAMETER_FAULTS, PROBLEMS } from '../errors.js';
import type { JsonSchema } from '../model/schemas.js';

/** RFC 9457, with a stable `code` and the faults of the query parameters. */
export const PROBLEM_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    type: {
      type: 'string',
      format: 'uri',
      description: 'Identifies the kind of problem: urn:lectern:problem:{code}',
    },
    title: { type: 'string', description: 'The kind of problem in words; never changes with the occasion' },
    status: { type: 'integer', description: 'The HTTP status' },
    detail: { type: 'string', description: 'What was wrong this time, and what would be right' },
    instance: { type: 'string', format: 'uri-reference', description: 'The path that was asked for' },
    code: { type: 'string', enum: Object.keys(PROBLEMS), description: 'The kind of problem, for programs' },
    errors: {
      type: 'array',
      description: 'With parameters-invalid: every fault of the query parameters',
      items: {
        type: 'object',
        properties: {
          parameter: { type: 'string', description: 'The parameter at fault' },
          code: { type: 'string', enum: Object.keys(PARAMETER_FAULTS), description: 'The kind of fault' },
          detail: { type: 'string', description: 'What was wrong, and what would be right' },
        },
        required: ['parameter', 'code', 'detail'],
        additionalProperties: false,
      },
    },
  },
  required: ['type', 'title', 'status', 'detail', 'code'],
  additionalProperties: false,
};

/** GET /schedule/types. */
export const TYPES_SCHEMA: JsonSchema = {
  type: 'array',
  items: { type: 'string' },
  uniqueItems: true,
  description: 'The distinct event types, sorted by code point',
};

/** GET {base}/login. Names as in RFC 6749 section 5.1. */
export const LOGIN_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    access_token: { type: 'string', description: 'A signed JWT' },
    token_type: { type: 'string', enum: ['Bearer'] },
    expires_in: { type: 'integer', minimum: 1, description: 'Lifetime in seconds' },
  },
  required: ['access_token', 'token_type', 'expires_in'],
  additionalProperties: false,
};

/**
 * GET /schedule/changes.
 *
 * @param event the schema of an event: the Event record, or a reference to it
 */
export function changesSchema(event: JsonSchema): JsonSchema {
  const events = { type: 'array', items: event };
  return {
    type: 'object',
    properties: {
      from: { type: 'string', description: 'The id of the snapshot that was compared with' },
      to: { type: 'string', description: 'The id of the present snapshot' },
      added: events,
      changed: { ...events, description: 'As they are now' },
      removed: { type: 'array', items: { type: 'string' }, description: 'Identifiers' },
    },
    required: ['from', 'to', 'added', 'changed', 'removed'],
    additionalProperties: false,
  };
}

/** GET /health. */
export const HEALTH_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['ok', 'degraded', 'starting'] },
    version: { type: 'string', description: 'The version of the service' },
    snapshot: {
      type: ['object', 'null'],
      description: 'What is being served; null while nothing is',
      properties: {
        id: { type: 'string', description: 'Equal for equal data' },
        events: { type: 'integer', minimum: 0 },
        rejected: { type: 'integer', minimum: 0, description: 'Records that were left out' },
        builtAt: { type: 'string', format: 'date-time' },
        ageSeconds: { type: 'number', minimum: 0 },
        origin: {
          type: 'string',
          enum: ['source', 'disk', 'pin'],
          description: 'Loaded from the source, or read from a snapshot file',
        },
      },
      required: ['id', 'events', 'rejected', 'builtAt', 'ageSeconds', 'origin'],
      additionalProperties: false,
    },
    source: {
      type: 'object',
      properties: {
        state: { type: 'string', enum: ['loading', 'loaded', 'failed', 'refused'] },
        lastSuccess: { type: ['string', 'null'], format: 'date-time' },
        lastError: { type: ['string', 'null'] },
      },
      required: ['state', 'lastSuccess', 'lastError'],
      additionalProperties: false,
    },
  },
  required: ['status', 'version', 'snapshot', 'source'],
  additionalProperties: false,
};
