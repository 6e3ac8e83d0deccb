import type { ParameterFault, ParameterFaultCode } from '../base/errors.js';
import {
  CAPACITY_MAX,
  PAGE_LIMIT_MAX,
  PARAMETER_FAULTS_MAX,
  PARAMETER_VALUES_MAX,
  SEARCHED_UNITS_MAX,
  SUGGESTIONS_MAX,
  WEEKS_MAX,
} from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import { CONFLICT_DIMENSIONS, type ConflictBy, FIELDS, PARAMETER_FIELDS } from '../base/model/fields.js';
import type { Format, FormatName } from '../base/model/format.js';
import { describeIdentifier, parseIdentifier } from '../base/model/identifier.js';
import { suggest } from '../base/model/suggest.js';
import { compareCodePoints, normaliseText, searchForm, textFault } from '../base/model/text.js';
import { DAY_MS, formatInstant, INSTANT_MS_MAX, parseInstant } from '../base/model/time.js';
import type { ClusterKey } from '../snapshot/cluster-reader.js';
import type { EventKey } from '../snapshot/snapshot.js';
import { decodeConflictCursor, decodeDirectoryCursor, decodeEventCursor } from './cursor.js';
import type { DirectoryKey } from './directory.js';
import {
  ENDPOINT_FORMATS,
  ENDPOINT_PARAMETERS,
  type EndpointName,
  FEED_PARAMETERS,
  type Parameter,
  type ParameterKind,
  type ParameterTable,
} from './endpoint-parameters.js';
import { type Among, type FreeQuery, weeksOfDays, weeksOfWindow } from './free.js';
import {
  type DaysGiven,
  type GivenTexts,
  isWritable,
  quoteShortened,
  readCount,
  readDays,
  readLocalDays,
  shorten,
  type TellFault,
} from './local-days.js';
import type { FieldFilter, QueryFilter, Window } from './query.js';

/** Decoded names and values in the order of the request. Repeats are repeated pairs. */
export type ParameterPairs = readonly (readonly [name: string, value: string])[];

/** How the parameters of a request are read. */
export interface ParseOptions {
  /** `reject` (default): an unknown parameter is a fault. `ignore`: it is skipped. */
  readonly unknownParameters: 'reject' | 'ignore';
  /** IANA name of the zone of local days. Default UTC. */
  readonly timeZone?: string | undefined;
  /** The clock of `now` and `today`, in epoch milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** Every unknown parameter is a fault. */
export const STRICT: ParseOptions = { unknownParameters: 'reject' };

const FIELD_BY_PARAMETER = new Map<string, (typeof PARAMETER_FIELDS)[number]>(
  PARAMETER_FIELDS.flatMap((field) => [
    [field.name, field],
    [`${field.name}!`, field],
  ]),
);
const ALL_DIMENSIONS: readonly ConflictBy[] = CONFLICT_DIMENSIONS.map((dimension) => dimension.by);

/** Parsed parameters. Parameters that the endpoint does not have get defaults. */
export interface Parameters {
  readonly filters: readonly QueryFilter[];
  readonly startMs: number;
  readonly endMs: number;
  readonly limit: number;
  readonly eventCursor: EventKey | null;
  readonly conflictCursor: ClusterKey | null;
  readonly directoryCursor: DirectoryKey | null;
  /** The searched text, in its search form. */
  readonly q: string | null;
  readonly format: FormatName | null;
  /** In sort order and distinct; at least one value. */
  readonly by: readonly ConflictBy[];
  readonly merge: boolean;
  /** The id of a snapshot. */
  readonly since: string | null;
  /** An instant given instead. */
  readonly sinceMs: number | null;
  /** Whether changes have the rows as they were. */
  readonly earlier: boolean;
  /** Null for endpoints other than /schedule/free. */
  readonly free: FreeQuery | null;
  readonly isPersonal: boolean;
  /** Whether the window depends on the clock, so that the same request can mean another window later. */
  readonly isRelative: boolean;
  /** Whether iCalendar marks events in a conflict. */
  readonly clashes: boolean;
}

export interface ReadFaults {
  readonly faults: readonly ParameterFault[];
}

export type ParametersResult = { readonly parameters: Parameters } | ReadFaults;

export interface DataSetFacts {
  readonly identifiers: IdentifierMode;
  /** Whether any event has exactly this value. If so, the value is canonical. */
  hasValue(name: FieldFilter['field'], value: string): boolean;
}

export function parseParameters(
  endpoint: EndpointName | 'feed',
  pairs: ParameterPairs,
  options: ParseOptions,
  facts: DataSetFacts,
): ParametersResult {
  const parser = new ParameterParser(endpoint, options, facts);
  for (const [name, value] of pairs) parser.take(name, value);
  return parser.finish();
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Given {
  readonly parameter: Parameter;
  readonly values: string[];
}

class ParameterParser {
  readonly #endpoint: EndpointName | 'feed';
  readonly #table: ParameterTable;
  readonly #formats: readonly Format[];
  readonly #options: ParseOptions;
  readonly #facts: DataSetFacts;
  readonly #given: Given[] = [];
  readonly #faults: ParameterFault[] = [];
  readonly #filters: QueryFilter[] = [];
  readonly #result: Mutable<Parameters> = {
    filters: this.#filters,
    startMs: Number.NEGATIVE_INFINITY,
    endMs: Number.POSITIVE_INFINITY,
    limit: Number.POSITIVE_INFINITY,
    eventCursor: null,
    conflictCursor: null,
    directoryCursor: null,
    q: null,
    format: null,
    by: ALL_DIMENSIONS,
    merge: true,
    since: null,
    sinceMs: null,
    earlier: false,
    free: null,
    isPersonal: false,
    isRelative: false,
    clashes: false,
  };
  /** Values that are checked together, by name. */
  #together: Map<string, readonly string[]> | null = null;
  #suggestions = 0;

  constructor(endpoint: EndpointName | 'feed', options: ParseOptions, facts: DataSetFacts) {
    this.#endpoint = endpoint;
    this.#table = endpoint === 'feed' ? FEED_PARAMETERS : ENDPOINT_PARAMETERS[endpoint];
    this.#formats = endpoint === 'feed' ? [] : ENDPOINT_FORMATS[endpoint];
    this.#options = options;
    this.#facts = facts;
  }

  take(name: string, value: string): void {
    const parameter = this.#table.get(name);
    if (parameter === undefined) {
      if (this.#options.unknownParameters === 'reject') this.#unknown(name);
      return;
    }
    // A search is faster than building a map, because requests have few parameters.
    for (const given of this.#given) {
      if (given.parameter !== parameter) continue;
      given.values.push(value);
      return;
    }
    this.#given.push({ parameter, values: [value] });
    // In the order of their ranks, whatever the order of the request.
    const given = this.#given;
    for (let at = given.length - 1; at > 0; at--) {
      const [before, after] = [given[at - 1]!, given[at]!];
      if (before.parameter.rank <= after.parameter.rank) break;
      given[at - 1] = after;
      given[at] = before;
    }
  }

  finish(): ParametersResult {
    if (this.#endpoint === 'changes' && !this.#given.some(({ parameter }) => parameter.kind === 'since')) {
      this.#fault('since', 'missing-parameter', 'since must be given');
    }
    const isFeed = this.#endpoint === 'feed';
    if (isFeed && !this.#given.some(({ parameter: { kind } }) => kind === 'for' || kind === 'filter')) {
      this.#fault('for', 'missing-parameter', 'give for=personal or at least one filter');
    }
    for (const { parameter, values } of this.#given) {
      const { name, kind } = parameter;
      if (values.includes('')) {
        this.#fault(name, 'empty-value', `${name} has no value; give one, or leave the parameter out`);
      } else if (kind === 'filter') this.#filter(name, values, false);
      else if (kind === 'exclusion') this.#filter(name, values, true);
      else if (kind === 'by') {
        for (const value of values) this.#oneOf(name, value, ALL_DIMENSIONS);
        this.#result.by = ALL_DIMENSIONS.filter((by) => values.includes(by));
      } else if (kind === 'texts') this.#keep(name, values);
      else if (values.length > 1) {
        this.#fault(name, 'repeated-parameter', `${name} may be given once, not ${values.length} times`);
      } else this.#single(name, kind, values[0]!);
    }
    if (this.#together !== null || this.#endpoint === 'free')
      this.#judgeTogether(this.#together ?? new Map());
    const { startMs, endMs } = this.#result;
    if (endMs <= startMs) {
      const detail = `endTime (${formatInstant(endMs)}) must be after startTime (${formatInstant(startMs)})`;
      this.#fault('endTime', 'empty-window', detail);
    }
    return this.#faults.length > 0 ? { faults: this.#faults } : { parameters: this.#result };
  }

  #keep(name: string, values: readonly string[]): void {
    this.#together ??= new Map();
    this.#together.set(name, values);
  }

  #judgeTogether(given: ReadonlyMap<string, readonly string[]>): void {
    const tell = this.#fault.bind(this);
    const isGiven = (name: string): boolean => this.#given.some(({ parameter }) => parameter.name === name);
    const todayAt = given.get('date')?.[0] === 'today' ? this.#nowMs('date', 'today') : null;
    const local = readLocalDays(given, this.#options.timeZone ?? 'UTC', todayAt, tell);
    Object.assign(this.#result, readDays({ given, isGiven, local }, tell));
    if (this.#endpoint !== 'free') return;
    const { startMs, endMs } = this.#result;
    const { identifiers } = this.#facts;
    const request = { given, isGiven, local, window: { startMs, endMs }, identifiers };
    this.#result.free = readFreeQuery(request, tell);
  }

  /** The present time. A feed is made for good: its window cannot depend on the time of making. */
  #nowMs(name: string, value: string): number {
    this.#result.isRelative = true;
    if (this.#endpoint === 'feed') {
      const detail = `${name} of a feed cannot be ${value}, because a feed keeps its window; leave ${name} out, or give a fixed one`;
      this.#fault(name, name === 'date' ? 'malformed-date' : 'malformed-time', detail);
    }
    return (this.#options.now ?? Date.now)();
  }

  #fault(parameter: string, code: ParameterFaultCode, detail: string): void {
    if (this.#faults.length < PARAMETER_FAULTS_MAX) this.#faults.push({ parameter, code, detail });
  }

  #unknown(name: string): void {
    // Suggestions cost microseconds, so only listed faults get one.
    if (this.#faults.length >= PARAMETER_FAULTS_MAX) return;
    // An event field that is not a filter is not a typo, and a suggestion would mislead.
    const isField = FIELDS.some((field) => field.name === name);
    const known = [...this.#table.values()]
      .filter(({ kind }) => kind !== 'exclusion')
      .map((each) => each.name);
    const near = isField || this.#suggestions++ >= SUGGESTIONS_MAX ? null : suggest(name, known);
    const hint = near === null ? `its parameters are ${known.join(', ')}` : `did you mean ${near}?`;
    this.#fault(
      shorten(name),
      'unknown-parameter',
      `there is no parameter ${quoteShortened(name)} here: ${hint}`,
    );
  }

  #filter(name: string, values: readonly string[], isExcluding: boolean): void {
    const { name: field, kind } = FIELD_BY_PARAMETER.get(name)!;
    if (values.length === 1 && this.#facts.hasValue(field, values[0]!)) {
      this.#filters.push({ field, values, isExcluding });
      return;
    }
    if (values.length > PARAMETER_VALUES_MAX) {
      const detail = `${name} has ${values.length} values; at most ${PARAMETER_VALUES_MAX} are allowed`;
      this.#fault(name, 'too-many-values', detail);
      return;
    }
    const { identifiers } = this.#facts;
    const canonical = new Set<string>();
    for (const value of values) {
      const parsed =
        kind === 'identifier' ? parseIdentifier(value, identifiers, field) : normaliseText(value);
      if (parsed !== null) canonical.add(parsed);
      else if (kind === 'identifier') {
        const detail = `${quoteShortened(value)} is not ${describeIdentifier(identifiers)}`;
        this.#fault(name, 'malformed-identifier', detail);
      } else this.#fault(name, 'malformed-text', `${quoteShortened(value)} ${textFault(value)}`);
    }
    this.#filters.push({ field, values: [...canonical].sort(compareCodePoints), isExcluding });
  }

  #single(
    name: string,
    kind: Exclude<ParameterKind, 'filter' | 'exclusion' | 'by' | 'texts'>,
    value: string,
  ): void {
    const result = this.#result;
    switch (kind) {
      case 'instant': {
        // An unencoded "+" arrives as a space, and times have no other spaces.
        const instant =
          value === 'now'
            ? Math.floor(this.#nowMs(name, value) / 1000) * 1000
            : parseInstant(value.includes(' ') ? value.replace(/ (?=\d\d:\d\d$)/, '+') : value);
        if (typeof instant === 'string') {
          this.#fault(name, 'malformed-time', `${quoteShortened(value)} is not a time: ${instant}`);
        } else if (name === 'startTime') result.startMs = instant;
        else result.endMs = instant;
        break;
      }
      case 'date':
      case 'time-zone':
      case 'count':
      case 'dimension':
        this.#keep(name, [value]);
        break;
      case 'limit': {
        result.limit = /^\d{1,6}$/.test(value) ? Number(value) : 0;
        if (result.limit >= 1 && result.limit <= PAGE_LIMIT_MAX) break;
        const detail = `${quoteShortened(value)} is not a whole number from 1 to ${PAGE_LIMIT_MAX}`;
        this.#fault(name, 'malformed-limit', detail);
        break;
      }
      case 'event-cursor':
        result.eventCursor = this.#cursor(name, decodeEventCursor(value));
        break;
      case 'conflict-cursor':
        result.conflictCursor = this.#cursor(name, decodeConflictCursor(value));
        break;
      case 'directory-cursor':
        result.directoryCursor = this.#cursor(name, decodeDirectoryCursor(this.#endpoint, value));
        break;
      case 'q':
        result.q = this.#searched(name, value);
        break;
      case 'format':
        result.format = this.#oneOf(
          name,
          value,
          this.#formats.map((format) => format.name),
        );
        break;
      case 'for':
        result.isPersonal = this.#oneOf(name, value, ['personal']) !== null;
        break;
      case 'merge':
        result.merge = this.#oneOf(name, value, ['true', 'false']) === 'true';
        break;
      case 'earlier':
        result.earlier = this.#oneOf(name, value, ['true', 'false']) === 'true';
        break;
      case 'clashes':
        result.clashes = this.#oneOf(name, value, ['mark']) !== null;
        break;
      case 'since': {
        result.since = snapshotIdOf(value);
        if (result.since !== null) break;
        const instant = parseInstant(value);
        if (typeof instant === 'number') {
          result.sinceMs = instant;
          break;
        }
        const expected =
          'the id of a snapshot, which has 22 characters, nor the ETag or Lectern-Version of an answer, nor a time';
        this.#fault(name, 'malformed-snapshot', `${quoteShortened(value)} is neither ${expected}`);
      }
    }
  }

  /** The search form of a text. A text that is too long is refused before it is folded. */
  #searched(name: string, value: string): string {
    const isWellFormed = value.isWellFormed();
    const form = isWellFormed && value.length <= SEARCHED_UNITS_MAX ? searchForm(value) : value;
    if (!isWellFormed) {
      this.#fault(name, 'malformed-text', `${quoteShortened(value)} is not well-formed text`);
    } else if (form.length > SEARCHED_UNITS_MAX) {
      const detail = `${name} has ${form.length} characters, in lower case and with ss for ß; at most ${SEARCHED_UNITS_MAX} are searched`;
      this.#fault(name, 'value-too-long', detail);
    } else if (form === '') {
      this.#fault(name, 'empty-value', `${quoteShortened(value)} has only marks, which a search ignores`);
    }
    return form;
  }

  #cursor<Cursor>(name: string, cursor: Cursor | null): Cursor | null {
    if (cursor === null) {
      this.#fault(name, 'malformed-cursor', 'the value did not come from a next link of this endpoint');
    }
    return cursor;
  }

  #oneOf<Value extends string>(name: string, value: string, known: readonly Value[]): Value | null {
    const found = known.find((each) => each === value) ?? null;
    if (found === null)
      this.#fault(name, 'unknown-value', `${quoteShortened(value)} is not one of ${known.join(', ')}`);
    return found;
  }
}

/** The id of a snapshot, an entity tag `W/"<snapshot id>-<digest>"`, or a version `<sequence>.<snapshot id>`. */
const SINCE = /^(?:\d{1,16}\.)?([\w-]{22})$|^(?:W\/)?"([\w-]{22})-[^"]*"$/;

/** Null for a text that names no snapshot. */
export function snapshotIdOf(text: string): string | null {
  const [, id, idOfTag] = SINCE.exec(text) ?? [];
  return id ?? idOfTag ?? null;
}

interface FreeGiven extends DaysGiven {
  readonly window: Window;
  readonly identifiers: IdentifierMode;
}

const KINDS: readonly ConflictBy[] = CONFLICT_DIMENSIONS.map(({ by }) => by);

/** Reads the parameters that only GET /schedule/free has. Null after a reported fault. */
function readFreeQuery(request: FreeGiven, tell: TellFault): FreeQuery | null {
  const { given, isGiven } = request;
  const by = readBy(request, tell);
  if (!isGiven('date')) {
    for (const name of ['startTime', 'endTime'].filter((each) => !isGiven(each))) {
      tell(name, 'missing-parameter', `${name} must be given, or date in place of startTime and endTime`);
    }
  }
  const windows = readWindows(request, tell);
  const among = by === null ? null : readAmong(by, request, tell);
  const buildings = readBuildings(given, tell);
  const text = given.get('capacityMin')?.[0];
  const capacityMin = text === undefined ? null : readCount('capacityMin', text, CAPACITY_MAX, tell);
  if (by !== null && by !== 'room') {
    for (const name of ['building', 'capacityMin'].filter(isGiven)) {
      tell(name, 'wrong-combination', `${name} can be given with by=room only`);
    }
  }
  return by === null || windows === null ? null : { by, windows, among, buildings, capacityMin };
}

function readBy({ given, isGiven }: FreeGiven, tell: TellFault): ConflictBy | null {
  const value = given.get('by')?.[0];
  const by = KINDS.find((each) => each === value) ?? null;
  const expected = `one of ${KINDS.join(', ')}`;
  if (!isGiven('by')) tell('by', 'missing-parameter', `by must be given: ${expected}`);
  else if (by === null && value !== undefined)
    tell('by', 'unknown-value', `${quoteShortened(value)} is not ${expected}`);
  return by;
}

/** Null after a fault, or if the window lacks a side or is empty. */
function readWindows({ given, window, local }: FreeGiven, tell: TellFault): readonly Window[] | null {
  const text = given.get('weeks')?.[0];
  const weeks = text === undefined ? 1 : readCount('weeks', text, WEEKS_MAX, tell);
  const { startMs, endMs } = window;
  const isWhole = Number.isFinite(startMs) && Number.isFinite(endMs) && startMs < endMs;
  const { days, zone } = local;
  if (weeks === null || zone === null || !isWhole) return null;
  const laterMs = (weeks - 1) * 7 * DAY_MS;
  const isAfter9999 =
    days === null
      ? endMs + laterMs > INSTANT_MS_MAX
      : !isWritable({ ...days, dateMs: days.dateMs + laterMs });
  if (isAfter9999) {
    tell('weeks', 'malformed-number', `${weeks} weeks of this window end after the year 9999`);
    return null;
  }
  return days === null ? weeksOfWindow(window, weeks, zone) : weeksOfDays(days, weeks);
}

/** The values of a repeatable parameter; null if it was not given, or after a fault. */
function readValues(name: string, given: GivenTexts, tell: TellFault): readonly string[] | null {
  const values = given.get(name) ?? null;
  if (values === null || values.length <= PARAMETER_VALUES_MAX) return values;
  const detail = `${name} has ${values.length} values; at most ${PARAMETER_VALUES_MAX} are allowed`;
  tell(name, 'too-many-values', detail);
  return null;
}

function readBuildings(given: GivenTexts, tell: TellFault): readonly string[] | null {
  const values = readValues('building', given, tell);
  for (const value of values ?? []) {
    if (normaliseText(value) === null) {
      tell('building', 'malformed-text', `${quoteShortened(value)} ${textFault(value)}`);
    }
  }
  return values === null ? null : canonical(values.map(normaliseText));
}

/** Rooms have only identifiers. Any text can name a lecturer or a group. */
function readAmong(by: ConflictBy, { given, identifiers }: FreeGiven, tell: TellFault): Among | null {
  const values = readValues('among', given, tell);
  if (values === null) return null;
  const [idKey, textKey] = CONFLICT_DIMENSIONS.find((each) => each.by === by)!.keys;
  const hasTexts = textKey !== undefined;
  const ids = values.map((value) => parseIdentifier(value, identifiers, idKey));
  const texts = values.map((value) => (hasTexts ? normaliseText(value) : null));
  values.forEach((value, n) => {
    if (ids[n] !== null || texts[n] !== null) return;
    if (hasTexts) tell('among', 'malformed-text', `${quoteShortened(value)} ${textFault(value)}`);
    else
      tell(
        'among',
        'malformed-identifier',
        `${quoteShortened(value)} is not ${describeIdentifier(identifiers)}`,
      );
  });
  return { ids: canonical(ids), texts: canonical(texts) };
}

function canonical(values: readonly (string | null)[]): readonly string[] {
  return [...new Set(values.filter((value) => value !== null))].sort(compareCodePoints);
}

/** The filters and window of a feed in canonical form. */
export interface FeedQuery {
  /** Whether the feed shows only the events of its user. */
  readonly isPersonal: boolean;
  /** Filters, window and marks, as parameters of /schedule. */
  readonly pairs: ParameterPairs;
}

export function parseFeedQuery(
  pairs: ParameterPairs,
  options: ParseOptions,
  facts: DataSetFacts,
): FeedQuery | { readonly faults: readonly ParameterFault[] } {
  const parsed = parseParameters('feed', pairs, options, facts);
  if ('faults' in parsed) return parsed;
  const { isPersonal, filters, startMs, endMs, clashes } = parsed.parameters;
  const canonical: [string, string][] = filters.flatMap(({ field, values, isExcluding }) =>
    values.map((value): [string, string] => [isExcluding ? `${field}!` : field, value]),
  );
  if (startMs !== Number.NEGATIVE_INFINITY) canonical.push(['startTime', formatInstant(startMs)]);
  if (endMs !== Number.POSITIVE_INFINITY) canonical.push(['endTime', formatInstant(endMs)]);
  if (clashes) canonical.push(['clashes', 'mark']);
  return { isPersonal, pairs: canonical };
}
