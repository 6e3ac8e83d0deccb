/**
 * JSON schemas (2020-12) of what is served, made from the descriptor table: the one source of both the response
 * serialisers and the OpenAPI document.
 */
import type { IdentifierMode } from './event.js';
import { CONFLICT_DIMENSIONS, type Field, OUTPUT_FIELDS } from './fields.js';

/** A JSON schema: keywords and their values. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The schema of one field; `null` is one of its types where the field may be unknown. */
function fieldSchema(field: Field, format: string | null): JsonSchema {
  return {
    type: field.required ? 'string' : ['string', 'null'],
    ...(format === null ? {} : { format }),
    description: field.description,
  };
}

/**
 * The Event record: ten properties in the specification's order, all of them always present.
 *
 * @param identifiers whether identifiers are UUIDs and may say so. The serialiser needs no such promise.
 */
export function eventSchema(identifiers: IdentifierMode): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  for (const field of OUTPUT_FIELDS) {
    const uuid = field.kind === 'identifier' && identifiers === 'uuid';
    properties[field.name] = fieldSchema(
      field,
      field.kind === 'instant' ? 'date-time' : uuid ? 'uuid' : null,
    );
  }
  return {
    type: 'object',
    properties,
    required: OUTPUT_FIELDS.map((field) => field.name),
    additionalProperties: false,
  };
}

/** The Event record for serialisers: nothing assumed about identifiers. */
export const EVENT_SCHEMA: JsonSchema = eventSchema('any');

/**
 * One entry of GET /schedule/conflicts.
 *
 * @param events the schema of its events: the Event record, or a reference to it
 */
export function conflictEntrySchema(events: JsonSchema): JsonSchema {
  return {
    type: 'object',
    properties: {
      by: {
        type: 'string',
        enum: CONFLICT_DIMENSIONS.map((dimension) => dimension.by),
        description: 'What the lessons compete for',
      },
      key: {
        type: 'string',
        description: 'The room, the lecturer or the group, by identifier or else by name',
      },
      startTime: { type: 'string', format: 'date-time', description: 'Start of the first lesson' },
      endTime: { type: 'string', format: 'date-time', description: 'End of the last lesson' },
      peak: { type: 'integer', minimum: 2, description: 'The largest number of lessons at one instant' },
      events: {
        type: 'array',
        items: events,
        minItems: 2,
        description: 'Of every lesson the events with this key, in order',
      },
    },
    required: ['by', 'key', 'startTime', 'endTime', 'peak', 'events'],
    additionalProperties: false,
  };
}

/** A conflict entry with its events, for serialisers. */
export const CONFLICT_ENTRY_SCHEMA: JsonSchema = conflictEntrySchema(EVENT_SCHEMA);
