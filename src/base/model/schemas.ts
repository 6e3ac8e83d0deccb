/** JSON schemas (2020-12) of answers. The serialisers and the OpenAPI document use them. */
import type { IdentifierMode } from './event.js';
import { CONFLICT_DIMENSIONS, type Field, OUTPUT_FIELDS } from './fields.js';

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** An object with only these properties. `optional` names those that may be missing; `about` has further keywords. */
export function objectSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  { optional = [], ...about }: JsonSchema & { readonly optional?: readonly string[] } = {},
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', ...about, properties, required, additionalProperties: false };
}

export function textSchema(description: string): JsonSchema {
  return { type: 'string', description };
}

function fieldSchema({ kind, required, description }: Field, identifiers: IdentifierMode): JsonSchema {
  const isUuid = kind === 'identifier' && identifiers !== 'any';
  const format = kind === 'instant' ? 'date-time' : isUuid ? 'uuid' : null;
  return {
    type: required ? 'string' : ['string', 'null'],
    ...(format === null ? {} : { format }),
    description,
  };
}

export function eventSchema(identifiers: IdentifierMode): JsonSchema {
  return objectSchema(
    Object.fromEntries(OUTPUT_FIELDS.map((field) => [field.name, fieldSchema(field, identifiers)])),
  );
}

/** The serialiser is the same for all kinds of identifiers. */
export const EVENT_SCHEMA: JsonSchema = eventSchema('any');

/** @param event the schema of an event, or a reference to it */
export function conflictEntrySchema(event: JsonSchema): JsonSchema {
  return objectSchema({
    by: {
      type: 'string',
      enum: CONFLICT_DIMENSIONS.map((dimension) => dimension.by),
      description: 'Whether the lessons share a room, a lecturer or a group',
    },
    key: textSchema('The identifier of the room, lecturer or group; its name if it has no identifier'),
    startTime: { type: 'string', format: 'date-time', description: 'Start of the first lesson' },
    endTime: { type: 'string', format: 'date-time', description: 'End of the last lesson' },
    peak: { type: 'integer', minimum: 2, description: 'The largest number of lessons at one instant' },
    events: {
      type: 'array',
      items: event,
      minItems: 2,
      description: 'The events of these lessons that have the room, lecturer or group, in order',
    },
  });
}

function idSchema(identifiers: IdentifierMode): JsonSchema {
  return {
    type: ['string', 'null'],
    ...(identifiers === 'any' ? {} : { format: 'uuid' }),
    description: 'The identifier; null for a group or lecturer that has only a name',
  };
}

const NAME_SCHEMA: JsonSchema = {
  type: ['string', 'null'],
  description: 'The display name; null if no event has one',
};

export function directoryEntrySchema(identifiers: IdentifierMode): JsonSchema {
  return objectSchema({
    id: idSchema(identifiers),
    name: NAME_SCHEMA,
    events: { type: 'integer', minimum: 1, description: 'Number of matching events' },
  });
}

export const DIRECTORY_ENTRY_SCHEMA: JsonSchema = directoryEntrySchema('any');

/** Members that only services with a rooms file have. */
const ROOM_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  building: { type: ['string', 'null'], description: 'For rooms, with a rooms file: the building' },
  capacity: { type: ['integer', 'null'], description: 'For rooms, with a rooms file: the number of people' },
};
const STUDY_GROUP: JsonSchema = {
  type: ['string', 'null'],
  description: 'For groups, where some have a name of their own: the studyGroup to filter by',
};

/** The schema of an entry, with the members that it has only in some services. */
export function withFurtherMembers(schema: JsonSchema, hasGroups: boolean): JsonSchema {
  const further = hasGroups ? { ...ROOM_PROPERTIES, studyGroup: STUDY_GROUP } : ROOM_PROPERTIES;
  return { ...schema, properties: { ...(schema.properties as object), ...further } };
}

export function freeEntrySchema(identifiers: IdentifierMode): JsonSchema {
  const instant = { type: ['string', 'null'], format: 'date-time' };
  return objectSchema({
    id: idSchema(identifiers),
    name: NAME_SCHEMA,
    freeFrom: {
      ...instant,
      description: 'End of the last event before the window; null if there is none',
    },
    freeUntil: {
      ...instant,
      description: 'Start of the first event after the window; null if there is none',
    },
  });
}

export const FREE_ENTRY_SCHEMA: JsonSchema = freeEntrySchema('any');

export const CONFLICT_ENTRY_SCHEMA: JsonSchema = conflictEntrySchema(EVENT_SCHEMA);
