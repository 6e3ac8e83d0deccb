import type { ParameterFault, ParameterFaultCode } from '../errors.js';
import { PAGE_LIMIT_MAX, PARAMETER_FAULTS_MAX, PARAMETER_VALUES_MAX, SUGGESTIONS_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { CONFLICT_DIMENSIONS, type ConflictBy, FIELDS, PARAMETER_FIELDS } from '../model/fields.js';
import { FORMATS, type FormatName } from '../model/format.js';
import { describeIdentifier, parseIdentifier } from '../model/identifier.js';
import { compareCodePoints, normaliseText } from '../model/text.js';
import { formatInstant, parseInstant } from '../model/time.js';
import { suggest } from '../structures/suggest.js';
import { decodeConflictCursor, decodeEventCursor } from './cursor.js';
import type { ConflictCursor, EventCursor, FieldFilter } from './query.js';

/** Name and value pairs as they were given, decoded; in the order of the request. Repeats are repeated pairs. */
export type ParameterPairs = readonly (readonly [name: string, value: string])[];

/** How the parameters of a request are read. */
export interface ParseOptions {
  /** `reject` (default): an unknown parameter is a fault. `ignore`: it is skipped. */
  readonly unknownParameters: 'reject' | 'ignore';
}

/** What a parameter's value may be; each kind has one parser below. */
export type ParameterKind =
  | 'filter'
  | 'instant'
  | 'limit'
  | 'event-cursor'
  | 'conflict-cursor'
  | 'format'
  | 'by'
  | 'merge'
  | 'since';

const FILTERS: readonly (readonly [string, ParameterKind])[] = [
  ...PARAMETER_FIELDS.map((field) => [field.name, 'filter'] as const),
  ['startTime', 'instant'],
  ['endTime', 'instant'],
];
const EVENT_PAGE: readonly (readonly [string, ParameterKind])[] = [
  ['limit', 'limit'],
  ['cursor', 'event-cursor'],
];
const FORMAT: readonly (readonly [string, ParameterKind])[] = [['format', 'format']];

/** The endpoints that return lists. */
export type EndpointName = 'schedule' | 'personal' | 'all' | 'types' | 'conflicts' | 'changes';

/** Which parameters each endpoint has: the descriptor table of the query string. */
export const ENDPOINT_PARAMETERS: Readonly<Record<EndpointName, ReadonlyMap<string, ParameterKind>>> = {
  schedule: new Map([...FILTERS, ...EVENT_PAGE, ...FORMAT]),
  personal: new Map([...FILTERS, ...EVENT_PAGE, ...FORMAT]),
  all: new Map([...EVENT_PAGE, ...FORMAT]),
  types: new Map(FORMAT),
  conflicts: new Map<string, ParameterKind>([
    ...FILTERS,
    ['by', 'by'],
    ['merge', 'merge'],
    ['limit', 'limit'],
    ['cursor', 'conflict-cursor'],
    ...FORMAT,
  ]),
  changes: new Map<string, ParameterKind>([['since', 'since'], ...FORMAT]),
};

/** Parameters without which an endpoint cannot answer. */
const REQUIRED: readonly string[] = ['since'];

/** One row of the table, as parsing wants it. */
interface Parameter {
  readonly name: string;
  readonly kind: ParameterKind;
  /** Its place in the table: faults and filters are told in this order. */
  readonly rank: number;
}

interface ParameterTable {
  readonly byName: ReadonlyMap<string, Parameter>;
  readonly required: readonly string[];
}

const TABLES = Object.fromEntries(
  Object.entries(ENDPOINT_PARAMETERS).map(([endpoint, kinds]) => {
    const rows = [...kinds].map(([name, kind], rank): Parameter => ({ name, kind, rank }));
    return [
      endpoint,
      {
        byName: new Map(rows.map((row) => [row.name, row])),
        required: REQUIRED.filter((name) => kinds.has(name)),
      },
    ];
  }),
) as unknown as Readonly<Record<EndpointName, ParameterTable>>;

const FIELD_BY_PARAMETER: ReadonlyMap<string, (typeof PARAMETER_FIELDS)[number]> = new Map(
  PARAMETER_FIELDS.map((field) => [field.name, field]),
);
const ALL_DIMENSIONS: readonly ConflictBy[] = CONFLICT_DIMENSIONS.map((dimension) => dimension.by);

/** The parameters of one request, parsed. Fields that the endpoint does not have keep their defaults. */
export interface Parameters {
  readonly filters: readonly FieldFilter[];
  readonly startMs: number;
  readonly endMs: number;
  readonly limit: number;
  readonly eventCursor: EventCursor | null;
  readonly conflictCursor: ConflictCursor | null;
  readonly format: FormatName | null;
  readonly by: readonly ConflictBy[];
  readonly merge: boolean;
  /** The snapshot to compare with. */
  readonly since: string | null;
}

export type ParametersResult =
  | { readonly parameters: Parameters }
  | { readonly faults: readonly ParameterFault[] };

/** What parsing needs to know of the data set. */
export interface DataSetFacts {
  readonly identifiers: IdentifierMode;
  /** Whether any event has exactly this value in the field: then it is canonical. */
  hasValue(name: FieldFilter['field'], value: string): boolean;
}

/** Parses the parameters of one endpoint; finds every fault, not only the first. */
export function parseParameters(
  endpoint: EndpointName,
  pairs: ParameterPairs,
  options: ParseOptions,
  facts: DataSetFacts,
): ParametersResult {
  const parser = new Parser(TABLES[endpoint], options, facts);
  for (const [name, value] of pairs) parser.take(name, value);
  return parser.finish();
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A parameter of the request, with all of its values. */
interface Given {
  readonly parameter: Parameter;
  readonly values: string[];
}

class Parser {
  readonly #table: ParameterTable;
  readonly #options: ParseOptions;
  readonly #facts: DataSetFacts;
  readonly #given: Given[] = [];
  readonly #faults: ParameterFault[] = [];
  readonly #filters: FieldFilter[] = [];
  readonly #result: Mutable<Parameters>;

  constructor(table: ParameterTable, options: ParseOptions, facts: DataSetFacts) {
    this.#table = table;
    this.#options = options;
    this.#facts = facts;
    this.#result = {
      filters: this.#filters,
      startMs: Number.NEGATIVE_INFINITY,
      endMs: Number.POSITIVE_INFINITY,
      limit: Number.POSITIVE_INFINITY,
      eventCursor: null,
      conflictCursor: null,
      format: null,
      by: ALL_DIMENSIONS,
      merge: true,
      since: null,
    };
  }

  take(name: string, value: string): void {
    const parameter = this.#table.byName.get(name);
    if (parameter === undefined) {
      if (this.#options.unknownParameters === 'reject') this.#unknown(name);
      return;
    }
    // There are at most as many as the table has rows: quicker to look through than a map is to build.
    for (const given of this.#given) {
      if (given.parameter !== parameter) continue;
      given.values.push(value);
      return;
    }
    this.#given.push({ parameter, values: [value] });
  }

  finish(): ParametersResult {
    for (const name of this.#table.required) {
      if (!this.#given.some(({ parameter }) => parameter.name === name)) {
        this.#fault(name, 'missing-parameter', `${name} must be given`);
      }
    }
    if (this.#given.length > 1) this.#given.sort((a, b) => a.parameter.rank - b.parameter.rank);
    for (const { parameter, values } of this.#given) {
      const { name, kind } = parameter;
      if (values.includes('')) {
        this.#fault(name, 'empty-value', `${name} has no value; give one, or leave the parameter out`);
        continue;
      }
      if (kind === 'filter') this.#filter(name, values);
      else if (kind === 'by') this.#by(name, values);
      else if (values.length > 1) {
        this.#fault(name, 'repeated-parameter', `${name} may be given once, not ${values.length} times`);
      } else this.#single(name, kind, values[0] as string);
    }
    const { startMs, endMs } = this.#result;
    if (endMs <= startMs) {
      this.#fault(
        'endTime',
        'empty-window',
        `endTime (${formatInstant(endMs)}) must be after startTime (${formatInstant(startMs)})`,
      );
    }
    return this.#faults.length > 0 ? { faults: this.#faults } : { parameters: this.#result };
  }

  #fault(parameter: string, code: ParameterFaultCode, detail: string): void {
    if (this.#faults.length < PARAMETER_FAULTS_MAX) this.#faults.push({ parameter, code, detail });
  }

  #suggestions = 0;

  #unknown(name: string): void {
    // A name that is like others costs microseconds to tell: only where the fault is listed.
    if (this.#faults.length >= PARAMETER_FAULTS_MAX) return;
    // A field of events that is no filter is not misspelt; another name would be misleading.
    const isField = FIELDS.some((field) => field.name === name);
    const known = [...this.#table.byName.keys()];
    const near = isField || this.#suggestions++ >= SUGGESTIONS_MAX ? null : suggest(name, known);
    const hint = near === null ? `its parameters are ${known.join(', ')}` : `did you mean ${near}?`;
    this.#fault(shorten(name), 'unknown-parameter', `there is no parameter ${quote(name)} here: ${hint}`);
  }

  #filter(name: string, values: readonly string[]): void {
    const field = FIELD_BY_PARAMETER.get(name);
    if (field === undefined) throw new Error(`${name} is not a filter`);
    const only = values.length === 1 ? values[0] : undefined;
    if (only !== undefined && this.#facts.hasValue(field.name, only)) {
      this.#filters.push({ field: field.name, values });
      return;
    }
    if (values.length > PARAMETER_VALUES_MAX) {
      this.#fault(
        name,
        'too-many-values',
        `${name} has ${values.length} values; at most ${PARAMETER_VALUES_MAX} are allowed`,
      );
      return;
    }
    const canonical = new Set<string>();
    for (const value of values) {
      const parsed =
        field.kind === 'identifier' ? parseIdentifier(value, this.#facts.identifiers) : normaliseText(value);
      if (parsed !== null) canonical.add(parsed);
      else if (field.kind === 'identifier') {
        const expected = describeIdentifier(this.#facts.identifiers);
        this.#fault(name, 'malformed-identifier', `${quote(value)} is not ${expected}`);
      } else this.#fault(name, 'malformed-text', `${quote(value)} is not well-formed text`);
    }
    this.#filters.push({ field: field.name, values: [...canonical].sort(compareCodePoints) });
  }

  #by(name: string, values: readonly string[]): void {
    const known = CONFLICT_DIMENSIONS.map((dimension) => dimension.by);
    for (const value of values) {
      if (!known.some((by) => by === value)) this.#unknownValue(name, value, known);
    }
    this.#result.by = known.filter((by) => values.includes(by));
  }

  #single(name: string, kind: Exclude<ParameterKind, 'filter' | 'by'>, value: string): void {
    switch (kind) {
      case 'instant':
        this.#instant(name, value);
        break;
      case 'limit':
        this.#limit(name, value);
        break;
      case 'event-cursor':
        this.#result.eventCursor = this.#cursor(name, decodeEventCursor(value));
        break;
      case 'conflict-cursor':
        this.#result.conflictCursor = this.#cursor(name, decodeConflictCursor(value));
        break;
      case 'format': {
        const format = FORMATS.find((candidate) => candidate.name === value);
        if (format !== undefined) this.#result.format = format.name;
        else
          this.#unknownValue(
            name,
            value,
            FORMATS.map((candidate) => candidate.name),
          );
        break;
      }
      case 'since':
        this.#since(name, value);
        break;
      case 'merge':
        if (value === 'true' || value === 'false') this.#result.merge = value === 'true';
        else this.#unknownValue(name, value, ['true', 'false']);
        break;
    }
  }

  #instant(name: string, value: string): void {
    // A "+" that was not percent-encoded arrives as a space; nothing else in a date-time can be one.
    const instant = parseInstant(value.includes(' ') ? value.replace(/ (?=\d\d:\d\d$)/, '+') : value);
    if (typeof instant === 'string') {
      this.#fault(name, 'malformed-time', `${quote(value)} is not a time: ${instant}`);
    } else if (name === 'startTime') this.#result.startMs = instant;
    else this.#result.endMs = instant;
  }

  #limit(name: string, value: string): void {
    const limit = /^\d{1,6}$/.test(value) ? Number(value) : 0;
    if (limit >= 1 && limit <= PAGE_LIMIT_MAX) this.#result.limit = limit;
    else {
      this.#fault(
        name,
        'malformed-limit',
        `${quote(value)} is not a whole number from 1 to ${PAGE_LIMIT_MAX}`,
      );
    }
  }

  #since(name: string, value: string): void {
    const [, id, idOfTag] = SINCE.exec(value) ?? [];
    this.#result.since = id ?? idOfTag ?? null;
    if (this.#result.since === null) {
      this.#fault(
        name,
        'malformed-snapshot',
        `${quote(value)} is neither the id of a snapshot, which has 22 characters, nor the ETag of an answer`,
      );
    }
  }

  #cursor<Cursor>(name: string, cursor: Cursor | null): Cursor | null {
    if (cursor === null) {
      this.#fault(name, 'malformed-cursor', 'the value did not come from a next link of this endpoint');
    }
    return cursor;
  }

  #unknownValue(name: string, value: string, known: readonly string[]): void {
    this.#fault(name, 'unknown-value', `${quote(value)} is not one of ${known.join(', ')}`);
  }
}

/** The id of a snapshot, 22 characters of base64url; or the entity tag of an answer, `W/"<snapshot id>-<digest>"`. */
const SINCE = /^([\w-]{22})$|^(?:W\/)?"([\w-]{22})-[^"]*"$/;

const QUOTED_CHARACTERS_MAX = 64;

function shorten(text: string): string {
  return text.length > QUOTED_CHARACTERS_MAX
    ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…`.toWellFormed()
    : text;
}

function quote(text: string): string {
  return JSON.stringify(shorten(text));
}
