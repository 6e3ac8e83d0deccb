/** The parameters of the document. Their names are those of the endpoints' tables; their texts and schemas are here. */

import {
  ENDPOINT_PARAMETERS,
  FEED_PARAMETERS,
  type ParameterTable,
} from '../../answer/endpoint-parameters.js';
import {
  CAPACITY_MAX,
  CURSOR_CHARACTERS_MAX,
  DAYS_MAX,
  PAGE_LIMIT_MAX,
  PARAMETER_VALUES_MAX,
  SEARCHED_UNITS_MAX,
  WEEKS_MAX,
  ZONE_CHARACTERS_MAX,
} from '../../base/limits.js';
import type { IdentifierMode } from '../../base/model/event.js';
import { CONFLICT_DIMENSIONS, FIELDS, type Field, PARAMETER_FIELDS } from '../../base/model/fields.js';
import { FORMATS } from '../../base/model/format.js';
import { IDENTIFIER_CHARACTERS_MAX } from '../../base/model/identifier.js';
import type { JsonSchema } from '../../base/model/schemas.js';

const TEXT: JsonSchema = { type: 'string', minLength: 1 };
const INSTANT_OR_NOW: JsonSchema = { anyOf: [{ type: 'string', format: 'date-time' }, { const: 'now' }] };
const DIMENSION: JsonSchema = { type: 'string', enum: CONFLICT_DIMENSIONS.map(({ by }) => by) };
const OF_EVENTS = FORMATS.filter(({ isOfEvents }) => isOfEvents).map(({ name }) => name);

interface ParameterText {
  readonly description: string;
  readonly schema: JsonSchema;
  /** Whether the parameter may be repeated; `schema` is that of one value. */
  readonly isRepeatable?: true;
  readonly required?: true;
  /** A value that the docs page fills in. */
  readonly example?: unknown;
}

/** By the name of the component: the parameter's name, except `freeBy`. Filters come from the table of fields. */
const TEXTS: Readonly<Record<string, ParameterText>> = {
  startTime: {
    description:
      'Start of the window: selects events that end after it. A zero-length event must begin at startTime or later. RFC 3339 with an offset, or now.',
    schema: INSTANT_OR_NOW,
  },
  endTime: {
    description:
      'End of the window, exclusive: selects events that begin before it. Must be after startTime. RFC 3339 with an offset, or now.',
    schema: INSTANT_OR_NOW,
  },
  date: {
    description:
      'Replaces startTime and endTime: the first local day of the window, or today. Days have 23 to 25 hours when clocks change.',
    schema: { anyOf: [{ type: 'string', format: 'date' }, { const: 'today' }] },
  },
  days: {
    description: 'Number of local days, counted from date; default 1.',
    schema: { type: 'integer', minimum: 1, maximum: DAYS_MAX },
  },
  timeZone: {
    description:
      'IANA name of the time zone of date, such as Europe/Berlin; without it, the zone of the service, or UTC.',
    schema: { ...TEXT, maxLength: ZONE_CHARACTERS_MAX },
  },
  weeks: {
    description:
      'Number of consecutive weeks in which the window must be free, at the same local time of timeZone.',
    schema: { type: 'integer', minimum: 1, maximum: WEEKS_MAX },
  },
  among: {
    description: 'Only these entries: identifiers, or names of lecturers and groups without an identifier.',
    schema: TEXT,
    isRepeatable: true,
  },
  building: {
    description: 'Only rooms whose building in the rooms file is one of these.',
    schema: TEXT,
    isRepeatable: true,
  },
  capacityMin: {
    description: 'Only rooms whose capacity in the rooms file is at least this.',
    schema: { type: 'integer', minimum: 1, maximum: CAPACITY_MAX },
  },
  limit: {
    description: 'The largest number of entries to return; without it, all entries.',
    schema: { type: 'integer', minimum: 1, maximum: PAGE_LIMIT_MAX },
    example: 20,
  },
  cursor: {
    description: 'Continues a list: the cursor from the Link header of the previous page, rel="next".',
    schema: { ...TEXT, maxLength: CURSOR_CHARACTERS_MAX },
  },
  q: {
    description: 'A part of the id or the name. Case and diacritics are ignored.',
    schema: { ...TEXT, maxLength: SEARCHED_UNITS_MAX },
  },
  format: {
    description: `The representation; overrides Accept. ${OF_EVENTS.join(', ')} are available only for lists of events.`,
    schema: { type: 'string', enum: FORMATS.map(({ name }) => name) },
  },
  clashes: {
    description:
      'With mark, conflicting events in iCalendar have the additional category CLASH. Other formats do not change.',
    schema: { type: 'string', enum: ['mark'] },
  },
  by: {
    description:
      'What the lessons share: a room, a lecturer or a group; without it, any of them. Repeat it for several.',
    schema: DIMENSION,
    isRepeatable: true,
  },
  freeBy: {
    description: 'Whether to list rooms, lecturers or groups.',
    schema: DIMENSION,
    required: true,
  },
  merge: {
    description:
      'Whether events with equal time, endTime, courseId, roomId and type are one lesson (true) or separate lessons (false).',
    schema: { type: 'boolean', default: true },
  },
  for: {
    description:
      'With personal, the feed shows the events of the user of the token. Without it, the filters select the events.',
    schema: { type: 'string', enum: ['personal'] },
  },
  since: {
    description:
      'The snapshot to compare with: its id, or the ETag or Lectern-Version of any answer from it. Or a time: the snapshot ' +
      'that was served then or, if this is not known, the oldest one that is.',
    schema: {
      anyOf: [
        { type: 'string', pattern: '^((\\d{1,16}\\.)?[\\w-]{22}|(W/)?"[\\w-]{22}-[^"]*")$' },
        { type: 'string', format: 'date-time' },
      ],
    },
    required: true,
  },
  earlier: {
    description:
      'Whether the answer also has the changed and removed events as they were, as far as they are known.',
    schema: { type: 'boolean', default: false },
  },
};

/** Header fields of requests for lists. */
const HEADER_PARAMETERS: Readonly<Record<string, ParameterText>> = {
  'Lectern-Min-Version': {
    description:
      'The Lectern-Version of an earlier answer, even of another replica. The answer has this version or a newer one; the request waits up to one second for it.',
    schema: { type: 'string', pattern: '^[1-9]\\d{0,15}\\.[\\w-]{22}$' },
  },
  'Last-Event-ID': {
    description: 'For an event stream: the id of the last message received.',
    schema: TEXT,
  },
};

function parameter(name: string, text: ParameterText, place = 'query'): JsonSchema {
  const { schema, isRepeatable, required = false, ...about } = text;
  const repeated = {
    style: 'form',
    explode: true,
    schema: { type: 'array', items: schema, maxItems: PARAMETER_VALUES_MAX },
  };
  return { name, in: place, required, ...about, ...(isRepeatable ? repeated : { schema }) };
}

function valueSchema(field: Field, identifiers: IdentifierMode): JsonSchema {
  if (field.kind !== 'identifier') return TEXT;
  if (identifiers === 'uuid') return { type: 'string', format: 'uuid' };
  return identifiers === 'any' ? { ...TEXT, maxLength: IDENTIFIER_CHARACTERS_MAX } : TEXT;
}

const COMPARISONS: Readonly<Record<IdentifierMode, string>> = {
  uuid: 'Compared exactly, ignoring case.',
  any: 'Compared exactly, case-sensitive.',
  derived:
    'The UUID in answers, or the text in the source from which it was derived. Both are compared exactly.',
};

/** The texts of a filter, and of the parameter that leaves the same events out. */
function filterTexts(field: Field, identifiers: IdentifierMode): [string, ParameterText][] {
  const comparison = COMPARISONS[field.kind === 'identifier' ? identifiers : 'any'];
  const { name } = field;
  const filter = `${field.description}. ${comparison} Repeat it for any of several values`;
  const exclusion = `Leaves out the events that ${name}=… selects. Repeat it to leave out several values`;
  return [
    [name, filter],
    [`${name}!`, exclusion],
  ].map(([parameterName, text]) => [
    parameterName as string,
    {
      description: `${text} (at most ${PARAMETER_VALUES_MAX}).`,
      schema: valueSchema(field, identifiers),
      isRepeatable: true,
    },
  ]);
}

/** Names of components have no "!". "by" of GET /schedule/free differs from "by" of GET /schedule/conflicts. */
function componentOf({ name, kind }: { readonly name: string; readonly kind: string }): string {
  return kind === 'dimension' ? 'freeBy' : name.replace('!', 'Not');
}

/** The components of all parameters in the tables. */
export function parameterComponents(identifiers: IdentifierMode): Record<string, JsonSchema> {
  const filters = new Map(PARAMETER_FIELDS.flatMap((field) => filterTexts(field, identifiers)));
  const components: Record<string, JsonSchema> = {};
  for (const table of [...Object.values(ENDPOINT_PARAMETERS), FEED_PARAMETERS]) {
    for (const each of table.values()) {
      const component = componentOf(each);
      const text = filters.get(each.name) ?? TEXTS[component];
      if (text === undefined) throw new Error(`the parameter ${each.name} has no description`);
      components[component] = parameter(each.name, text);
    }
  }
  for (const [name, text] of Object.entries(HEADER_PARAMETERS))
    components[name] = parameter(name, text, 'header');
  return components;
}

/** References to the parameters of a table, and to others by their name. */
export function parameterReferences(table: ParameterTable, ...others: string[]): JsonSchema[] {
  return [...[...table.values()].map(componentOf), ...others].map((name) => ({
    $ref: `#/components/parameters/${name}`,
  }));
}

/** The path parameter of GET /schedule/events/{id}. */
export function idParameter(identifiers: IdentifierMode): JsonSchema {
  const [id] = FIELDS as readonly [Field, ...Field[]];
  const schema = valueSchema(id, identifiers);
  return parameter(id.name, { required: true, description: 'The id of the event.', schema }, 'path');
}

export function loginParameters(identifiers: IdentifierMode): JsonSchema[] {
  return [
    parameter('sub', { description: 'The subject of the token.', schema: TEXT }),
    ...FIELDS.filter(({ claims }) => claims.length > 0).map((field) =>
      parameter(field.name, {
        description: `${field.description}, as a claim.`,
        schema: valueSchema(field, identifiers),
        isRepeatable: true,
      }),
    ),
  ];
}
