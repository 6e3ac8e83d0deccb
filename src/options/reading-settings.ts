/** The settings of how records are read: identifiers, field map, dates, time zone, encoding, span of calendars. */
import { IDENTIFIER_MODES } from '../model/event.js';
import { DATE_ORDERS, type FieldMap, type ReadRules } from '../model/read-rules.js';
import { suggest } from '../model/suggest.js';
import { parseInstant } from '../model/time.js';
import { isZoneAbbreviation, Zone } from '../model/zone.js';
import { fieldMapFault } from '../source/field-map.js';
import type { PostgresOptions } from '../source/postgres/postgres-spec.js';
import type { Resolved, RuleOption } from './option-types.js';
import {
  either,
  inGroup,
  isObject,
  type Kind,
  oneOf,
  PATH,
  SERVE_AND_PUBLISH,
  type Setting,
  text,
} from './setting.js';

/** Adds `field=column` to the earlier entries. A variable may have several entries, one on each line. */
const FIELD_MAP: Kind = {
  unit: 'field=column',
  range: 'field=column; in a program an object of them',
  parse(argument, previous) {
    // A fault in an earlier entry is reported.
    if (typeof previous === 'string') return previous;
    const map: Record<string, string> = { ...(previous as Record<string, string> | undefined) };
    for (const line of argument.split('\n').filter((each) => each.trim() !== '')) {
      const equals = line.indexOf('=');
      if (equals === -1) return argument;
      const field = line.slice(0, equals).trim();
      if (Object.hasOwn(map, field)) return line;
      map[field] = line.slice(equals + 1);
    }
    return map;
  },
  fault(value) {
    if (isObject(value)) return fieldMapFault(value as FieldMap);
    const isTwice = typeof value === 'string' && value.includes('=');
    return isTwice
      ? 'another entry has this field already; join columns with a template, such as time={date}T{start}'
      : 'it must be field=column, such as title=Subject or time={date}T{start}';
  },
};

/** Adds `Name: value` to the earlier fields, also with an origin in front. The source checks whether a field can be sent. */
const HEADER: Kind = {
  unit: 'name:value',
  range: '"Name: value" or "https://host Name: value"',
  parse: (argument, previous) => {
    const [, origin = '', rest = ''] = /^\s*(https?:\/\/\S+\s+)?(.*)$/is.exec(argument) ?? [];
    const colon = rest.indexOf(':');
    const name = rest.slice(0, Math.max(0, colon)).trim();
    const value = rest.slice(colon + 1).trim();
    // Without a colon, the secret itself would be taken for the name.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || value === '') return argument;
    const key = origin === '' ? name : `${origin.trim()} ${name}`;
    return { ...(previous as Record<string, string> | undefined), [key]: value };
  },
  fault: (value) => (isObject(value) ? null : `it must be ${HEADER.range}`),
};

const TIME_ZONE: Kind = {
  unit: 'zone',
  range: 'an IANA time zone, such as Europe/Berlin',
  fault(value) {
    if (typeof value !== 'string' || value === '') return `it must be ${TIME_ZONE.range}`;
    try {
      return new Zone(value) && null;
    } catch {
      if (isZoneAbbreviation(value))
        return `there is no such time zone, and an abbreviation may mean several; it must be ${TIME_ZONE.range}`;
      const near = nearestZone(value);
      return near === null
        ? `it must be ${TIME_ZONE.range}`
        : `there is no such time zone; did you mean ${near}?`;
    }
  },
};

/** The zone that was probably meant, also for the name of a city. */
function nearestZone(typed: string): string | null {
  const zones = Intl.supportedValuesOf('timeZone');
  const cityOf = (zone: string): string => zone.slice(zone.lastIndexOf('/') + 1);
  const nearCity = suggest(cityOf(typed), zones.map(cityOf));
  return suggest(typed, zones) ?? zones.find((zone) => cityOf(zone) === nearCity) ?? null;
}

const ENCODING: Kind = {
  unit: 'name',
  range: 'an encoding that TextDecoder knows, such as utf-8, utf-16le or windows-1252',
  fault(value) {
    try {
      return typeof value === 'string' && value !== '' && new TextDecoder(value)
        ? null
        : `it must be ${ENCODING.range}`;
    } catch {
      return `it must be ${ENCODING.range}`;
    }
  },
};

const DATE: Kind = {
  unit: 'date',
  range: 'a date, such as 2026-09-01',
  fault(value) {
    if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return `it must be ${DATE.range}`;
    const instant = parseInstant(`${value}T00:00:00Z`);
    return typeof instant === 'number' ? null : instant;
  },
};

/** How a source is read. */
export const READING_SETTINGS: readonly Setting[] = inGroup(
  'Reading',
  'openTimetable',
  {
    identifiers: {
      kind: oneOf('kind', IDENTIFIER_MODES),
      default: 'uuid',
      help: 'form of the identifiers in the data: uuid for UUIDs; any for text of 1 to 64 characters and whole numbers; derived for text to turn into UUIDs',
    },
    fieldMap: {
      flag: '--map',
      kind: FIELD_MAP,
      help: "column, path or template that gives a field, such as title=Subject, roomName=room.name or 'time={date}T{start}'; repeatable",
    },
    mapFile: {
      places: [],
      kind: PATH,
      help: 'JSON file with the entries of --map; entries under csv, icalendar, json or messagepack apply only to that format',
    },
    dateOrder: {
      kind: oneOf('order', DATE_ORDERS),
      help: 'order of day, month and year in dates such as 31.08.2024 or 8/31/2024; without it, such dates are rejected',
    },
    timeZone: {
      kind: TIME_ZONE,
      help: 'time zone of times without an offset, which are otherwise rejected, and of local days in queries',
    },
    encoding: {
      kind: ENCODING,
      help: 'encoding of text files, such as windows-1252; default: UTF-8, or UTF-16 with a byte order mark',
    },
    calendarFrom: {
      kind: DATE,
      help: 'first day of the expansion of recurring events in calendars; default: one year before the load',
    },
    calendarTo: {
      kind: DATE,
      help: 'first day after the expansion of recurring events in calendars; default: two years after the load',
    },
  },
  SERVE_AND_PUBLISH,
);

/** Header fields of requests to addresses. */
export const ADDRESS_SETTINGS: readonly Setting[] = inGroup(
  'Data',
  'openTimetable',
  {
    sourceHeaders: {
      places: [],
      flag: '--header',
      isSecret: true,
      kind: HEADER,
      help: "header field for http(s) sources, such as 'Authorization: Bearer file:PATH'; repeatable. file:PATH stands for the content of a file, read again when it changes; env:NAME for an environment variable. With several origins: 'https://host Authorization: …'",
    },
  },
  SERVE_AND_PUBLISH,
);

/** Settings that select the rows of a PostgreSQL database. In a program, they are part of the source. */
export const DATABASE_SETTINGS: readonly Setting[] = inGroup(
  'Databases',
  'openTimetable',
  {
    table: {
      places: [],
      kind: { ...text('name'), range: 'a table or view, such as events or school.events' },
      help: 'table or view of the PostgreSQL sources; every row is an event',
    },
    query: {
      places: [],
      kind: { ...text('select'), range: 'a SELECT' },
      help: 'SELECT to use instead of a table',
    },
    postgresPasswordFile: {
      places: [],
      kind: PATH,
      help: 'file with the password of the PostgreSQL sources, read at each connection; default: the password from the address, PGPASSWORD, PGPASSFILE or ~/.pgpass',
    },
  },
  SERVE_AND_PUBLISH,
);

/** The settings of every command that reads a source. */
export const COMMAND_READING_SETTINGS: readonly Setting[] = [
  ...READING_SETTINGS,
  ...ADDRESS_SETTINGS,
  ...DATABASE_SETTINGS,
];

/** When to read a PostgreSQL database again. */
export const DATABASE_REFRESHING_SETTINGS: readonly Setting[] = inGroup(
  'Databases',
  'openTimetable',
  {
    versionQuery: {
      places: [],
      kind: { ...text('select'), range: 'a SELECT' },
      help: 'cheap SELECT; while its result is the same, the PostgreSQL sources are not read again',
    },
    follow: {
      places: [],
      kind: either('how', 'on', 'off'),
      default: false,
      preset: 'on',
      help: 'follow the table by logical replication: a committed change is read at once',
    },
  },
  SERVE_AND_PUBLISH,
);

/** The options of reading, for `openTimetable`. */
export function ruleOptionsOf({
  identifiers,
  fieldMap,
  dateOrder,
  timeZone,
  encoding,
  calendarFrom,
  calendarTo,
}: Pick<Resolved<'openTimetable'>, RuleOption>): Pick<Resolved<'openTimetable'>, RuleOption> {
  return { identifiers, fieldMap, dateOrder, timeZone, encoding, calendarFrom, calendarTo };
}

export function readRulesOf(options: Pick<Resolved<'openTimetable'>, RuleOption>): ReadRules {
  const { calendarFrom: from, calendarTo: to, ...rules } = ruleOptionsOf(options);
  return { ...rules, from, to };
}

/** The database settings of sources. */
export function databaseOptionsOf({
  table,
  query,
  postgresPasswordFile,
  versionQuery,
  follow,
}: Partial<Omit<PostgresOptions, 'passwordFile'>> & {
  readonly postgresPasswordFile?: string | undefined;
}): PostgresOptions {
  return { table, query, passwordFile: postgresPasswordFile, versionQuery, follow };
}
