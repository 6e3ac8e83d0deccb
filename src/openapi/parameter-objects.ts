/** The query parameters of the OpenAPI document, made from the descriptor table. */

import { CURSOR_CHARACTERS_MAX, PAGE_LIMIT_MAX, PARAMETER_VALUES_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { CONFLICT_DIMENSIONS, FIELDS, type Field, PARAMETER_FIELDS } from '../model/fields.js';
import { FORMATS } from '../model/format.js';
import { IDENTIFIER_CHARACTERS_MAX } from '../model/identifier.js';
import type { JsonSchema } from '../model/schemas.js';

/** An OpenAPI parameter object, or a reference to one. */
export type ParameterObject = JsonSchema;

function valueSchema(field: Field, identifiers: IdentifierMode): JsonSchema {
  if (field.kind !== 'identifier') return { type: 'string', minLength: 1 };
  return identifiers === 'uuid'
    ? { type: 'string', format: 'uuid' }
    : { type: 'string', minLength: 1, maxLength: IDENTIFIER_CHARACTERS_MAX };
}

/** A parameter whose values are alternatives. */
function repeatable(name: string, description: string, items: JsonSchema): ParameterObject {
  return {
    name,
    in: 'query',
    required: false,
    description,
    style: 'form',
    explode: true,
    schema: { type: 'array', items, maxItems: PARAMETER_VALUES_MAX },
  };
}

/** @param example what the docs page fills in */
function single(name: string, description: string, schema: JsonSchema, example?: unknown): ParameterObject {
  return {
    name,
    in: 'query',
    required: false,
    description,
    schema,
    ...(example === undefined ? {} : { example }),
  };
}

const ALTERNATIVES = `Repeat it for any of several values (at most ${PARAMETER_VALUES_MAX}).`;

/** The filters of /schedule: one parameter for each filterable field, and the window. */
export function filterParameters(identifiers: IdentifierMode): Record<string, ParameterObject> {
  const parameters: Record<string, ParameterObject> = {};
  for (const field of PARAMETER_FIELDS) {
    const comparison =
      field.kind === 'identifier' && identifiers === 'uuid' ? 'in either case of letters' : 'case-sensitive';
    parameters[field.name] = repeatable(
      field.name,
      `${field.description}. Compared exactly, ${comparison}. ${ALTERNATIVES}`,
      valueSchema(field, identifiers),
    );
  }
  const instant = { type: 'string', format: 'date-time' };
  parameters.startTime = single(
    'startTime',
    'Start of the window: events that end after it (a zero-length event: that begins at or after it). RFC 3339 with an offset.',
    instant,
  );
  parameters.endTime = single(
    'endTime',
    'End of the window, exclusive: events that begin before it. Must be after startTime. RFC 3339 with an offset.',
    instant,
  );
  return parameters;
}

/** What every list takes. */
export const PAGE_PARAMETERS: Readonly<Record<string, ParameterObject>> = {
  limit: single(
    'limit',
    'At most so many entries; without it, all of them.',
    { type: 'integer', minimum: 1, maximum: PAGE_LIMIT_MAX },
    20,
  ),
  cursor: single('cursor', 'Continues a list: from the Link header, rel="next", of the page before.', {
    type: 'string',
    minLength: 1,
    maxLength: CURSOR_CHARACTERS_MAX,
  }),
};

export const FORMAT_PARAMETER: ParameterObject = single('format', 'The representation; overrides Accept.', {
  type: 'string',
  enum: FORMATS.map((format) => format.name),
});

/** What /schedule/conflicts adds. */
export const CONFLICT_PARAMETERS: Readonly<Record<string, ParameterObject>> = {
  by: {
    ...repeatable('by', 'What the lessons compete for; without it, all of them. Repeat it for several.', {
      type: 'string',
      enum: CONFLICT_DIMENSIONS.map((dimension) => dimension.by),
    }),
  },
  merge: single(
    'merge',
    'Whether rows equal in time, endTime, courseId, roomId and type are one lesson (true), or each row is one (false).',
    { type: 'boolean', default: true },
  ),
};

/** What /schedule/changes needs. */
export const SINCE_PARAMETER: ParameterObject = {
  name: 'since',
  in: 'query',
  required: true,
  description: 'The snapshot to compare with: its id, or the ETag of any answer that was made from it.',
  schema: { type: 'string', pattern: '^([\\w-]{22}|(W/)?"[\\w-]{22}-[^"]*")$' },
};

/** The parameters of /login: the subject, and the fields that claims select on. */
export function loginParameters(identifiers: IdentifierMode): ParameterObject[] {
  return [
    single('sub', 'The subject of the token.', { type: 'string', minLength: 1 }),
    ...FIELDS.filter((field) => field.claims.length > 0).map((field) =>
      repeatable(field.name, `${field.description}, as a claim.`, valueSchema(field, identifiers)),
    ),
  ];
}
