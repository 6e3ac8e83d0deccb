import {
  CAPACITY_MAX,
  CURSOR_CHARACTERS_MAX,
  DAYS_MAX,
  PAGE_LIMIT_MAX,
  PARAMETER_VALUES_MAX,
  SEARCHED_UNITS_MAX,
  WEEKS_MAX,
  ZONE_CHARACTERS_MAX,
} from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { CONFLICT_DIMENSIONS, FIELDS, type Field, PARAMETER_FIELDS } from '../model/fields.js';
import { FORMATS } from '../model/format.js';
import { IDENTIFIER_CHARACTERS_MAX } from '../model/identifier.js';
import type { JsonSchema } from '../model/schemas.js';
import type { EndpointName } from '../query/endpoint-parameters.js';

interface ParameterObject extends JsonSchema {
  readonly name: string;
}

const TEXT = { type: 'string', minLength: 1 };
const INSTANT_OR_NOW = { anyOf: [{ type: 'string', format: 'date-time' }, { const: 'now' }] };

function valueSchema(field: Field, identifiers: IdentifierMode): JsonSchema {
  if (field.kind !== 'identifier') return TEXT;
  if (identifiers === 'uuid') return { type: 'string', format: 'uuid' };
  return identifiers === 'any' ? { ...TEXT, maxLength: IDENTIFIER_CHARACTERS_MAX } : TEXT;
}

/** A parameter with several alternative values. */
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

function single(name: string, description: string, schema: JsonSchema, more?: JsonSchema): ParameterObject {
  return { name, in: 'query', required: false, description, schema, ...more };
}

const COMPARISONS: Readonly<Record<IdentifierMode, string>> = {
  uuid: 'Compared exactly, ignoring case.',
  any: 'Compared exactly, case-sensitive.',
  derived:
    'The UUID in answers, or the text in the source from which it was derived. Both are compared exactly.',
};

function filter(field: Field, identifiers: IdentifierMode): ParameterObject {
  const mode = field.kind === 'identifier' ? identifiers : 'any';
  return repeatable(
    field.name,
    `${field.description}. ${COMPARISONS[mode]} ` +
      `Repeat it for any of several values (at most ${PARAMETER_VALUES_MAX}).`,
    valueSchema(field, identifiers),
  );
}

/** The parameter "by" of GET /schedule/free, which differs from "by" of GET /schedule/conflicts. */
const FREE_BY = 'freeBy';
const FREE_BY_PARAMETER: ParameterObject = single(
  'by',
  'Whether to list rooms, lecturers or groups.',
  { type: 'string', enum: CONFLICT_DIMENSIONS.map((dimension) => dimension.by) },
  { required: true },
);

export function referenceTo(endpoint: EndpointName, name: string): JsonSchema {
  const component = endpoint === 'free' && name === 'by' ? FREE_BY : componentOf(name);
  return { $ref: `#/components/parameters/${component}` };
}

/** Names of components have no "!". */
function componentOf(parameter: string): string {
  return parameter.replace('!', 'Not');
}

export function listParameters(identifiers: IdentifierMode): Record<string, ParameterObject> {
  const ofEvents = FORMATS.filter(({ isOfEvents }) => isOfEvents).map(({ name }) => name);
  const parameters = [
    ...PARAMETER_FIELDS.map((field) => filter(field, identifiers)),
    ...PARAMETER_FIELDS.map((field) =>
      repeatable(
        `${field.name}!`,
        `Leaves out the events that ${field.name}=… selects. ` +
          `Repeat it to leave out several values (at most ${PARAMETER_VALUES_MAX}).`,
        valueSchema(field, identifiers),
      ),
    ),
    single(
      'startTime',
      'Start of the window: selects events that end after it. A zero-length event must begin at startTime or later. RFC 3339 with an offset, or now.',
      INSTANT_OR_NOW,
    ),
    single(
      'endTime',
      'End of the window, exclusive: selects events that begin before it. Must be after startTime. RFC 3339 with an offset, or now.',
      INSTANT_OR_NOW,
    ),
    single(
      'date',
      'Replaces startTime and endTime: the first local day of the window, or today. Days have 23 to 25 hours when clocks change.',
      { anyOf: [{ type: 'string', format: 'date' }, { const: 'today' }] },
    ),
    single('days', 'Number of local days, counted from date; default 1.', {
      type: 'integer',
      minimum: 1,
      maximum: DAYS_MAX,
    }),
    single(
      'timeZone',
      'IANA name of the time zone of date, such as Europe/Berlin; without it, the zone of the service, or UTC.',
      { ...TEXT, maxLength: ZONE_CHARACTERS_MAX },
    ),
    single(
      'weeks',
      'Number of consecutive weeks in which the window must be free, at the same local time of timeZone.',
      {
        type: 'integer',
        minimum: 1,
        maximum: WEEKS_MAX,
      },
    ),
    repeatable(
      'among',
      'Only these entries: identifiers, or names of lecturers and groups without an identifier.',
      TEXT,
    ),
    repeatable('building', 'Only rooms whose building in the rooms file is one of these.', TEXT),
    single('capacityMin', 'Only rooms whose capacity in the rooms file is at least this.', {
      type: 'integer',
      minimum: 1,
      maximum: CAPACITY_MAX,
    }),
    single(
      'limit',
      'The largest number of entries to return; without it, all entries.',
      { type: 'integer', minimum: 1, maximum: PAGE_LIMIT_MAX },
      // The docs page fills in this example.
      { example: 20 },
    ),
    single('cursor', 'Continues a list: the cursor from the Link header of the previous page, rel="next".', {
      ...TEXT,
      maxLength: CURSOR_CHARACTERS_MAX,
    }),
    single('q', 'A part of the id or the name. Case and diacritics are ignored.', {
      ...TEXT,
      maxLength: SEARCHED_UNITS_MAX,
    }),
    single(
      'format',
      `The representation; overrides Accept. ${ofEvents.join(', ')} are available only for lists of events.`,
      {
        type: 'string',
        enum: FORMATS.map((format) => format.name),
      },
    ),
    single(
      'clashes',
      'With mark, conflicting events in iCalendar have the additional category CLASH. Other formats do not change.',
      { type: 'string', enum: ['mark'] },
    ),
    repeatable(
      'by',
      'What the lessons share: a room, a lecturer or a group; without it, any of them. Repeat it for several.',
      {
        type: 'string',
        enum: CONFLICT_DIMENSIONS.map((dimension) => dimension.by),
      },
    ),
    single(
      'merge',
      'Whether events with equal time, endTime, courseId, roomId and type are one lesson (true) or separate lessons (false).',
      { type: 'boolean', default: true },
    ),
    single(
      'for',
      'With personal, the feed shows the events of the user of the token. Without it, the filters select the events.',
      {
        type: 'string',
        enum: ['personal'],
      },
    ),
    single(
      'since',
      'The snapshot to compare with: its id, or the ETag or Lectern-Version of any answer from it.',
      { type: 'string', pattern: '^((\\d{1,16}\\.)?[\\w-]{22}|(W/)?"[\\w-]{22}-[^"]*")$' },
      { required: true },
    ),
  ];
  const byName = Object.fromEntries(parameters.map((parameter) => [componentOf(parameter.name), parameter]));
  return { ...byName, [FREE_BY]: FREE_BY_PARAMETER };
}

/** Header fields of requests for lists. */
export const HEADER_PARAMETERS: Readonly<Record<string, ParameterObject>> = {
  'Lectern-Min-Version': {
    name: 'Lectern-Min-Version',
    in: 'header',
    required: false,
    description:
      'The Lectern-Version of an earlier answer, even of another replica. The answer has this version or a newer one; the request waits up to one second for it.',
    schema: { type: 'string', pattern: '^[1-9]\\d{0,15}\\.[\\w-]{22}$' },
  },
  'Last-Event-ID': {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'For an event stream: the id of the last message received.',
    schema: TEXT,
  },
};

/** The path parameter of GET /schedule/events/{id}. */
export function idParameter(identifiers: IdentifierMode): ParameterObject {
  const [field] = FIELDS;
  const schema = valueSchema(field as Field, identifiers);
  return { name: 'id', in: 'path', required: true, description: 'The id of the event.', schema };
}

export function loginParameters(identifiers: IdentifierMode): ParameterObject[] {
  return [
    single('sub', 'The subject of the token.', TEXT),
    ...FIELDS.filter((field) => field.claims.length > 0).map((field) =>
      repeatable(field.name, `${field.description}, as a claim.`, valueSchema(field, identifiers)),
    ),
  ];
}
