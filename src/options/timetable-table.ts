/**
 * The one table of the timetable file. Its check, the JSON Schema, the types of a program, and the list in
 * docs/timetable-file.md are made from this table; `npm run docs` writes the last two.
 */

import { HEADER_LINE_MAX, TERM_WEEKS_MAX } from '../base/limits.js';
import {
  FIRST_DAYS,
  type FieldValue,
  OTHERWISE,
  type Term,
  type WeeklyPattern,
} from '../base/model/read-rules.js';
import { MAPPED_FIELDS } from '../source/field-map.js';
import { ADDRESS, amount, count, DATE, ENCODING, type Kind, ON_OFF, oneOf, PATH, text } from './kinds.js';
import type { Setting } from './setting.js';
import { SETTINGS } from './table.js';

/** What an entry may hold: one value, a list, entries of its own, or a map with keys that the file chooses. */
export type Shape =
  | { readonly is: 'value'; readonly kind: Kind }
  | { readonly is: 'list'; readonly of: Shape; readonly range: string }
  | {
      readonly is: 'map';
      readonly of: Shape;
      readonly what: string;
      /** The only keys. Default: any. */
      readonly keys?: readonly string[];
      /** Keys whose values have another shape. */
      readonly others?: Readonly<Record<string, Shape>>;
    }
  | { readonly is: 'entries'; readonly type: string; readonly entries: readonly Entry[] }
  | { readonly is: 'either'; readonly shapes: readonly Shape[] };

export interface Entry {
  readonly name: string;
  readonly shape: Shape;
  readonly isRequired?: boolean;
  /** The kind of source that has the entry. Default: each. */
  readonly of?: 'http' | 'postgres';
  /** One sentence without a full stop. */
  readonly help: string;
  readonly default?: string;
}

type Given = Omit<Entry, 'name' | 'shape'>;

/** The entries of an object. `Of` is its type, if src/base/model/ has it. */
function entriesOf<Of = Record<string, unknown>>(
  given: Readonly<Record<keyof Of & string, readonly [Kind | Shape, Given]>>,
): readonly Entry[] {
  return Object.entries<readonly [Kind | Shape, Given]>(given).map(([name, [shape, entry]]) => ({
    name,
    shape: shapeOf(shape),
    ...entry,
  }));
}

function shapeOf(given: Kind | Shape): Shape {
  return 'is' in given ? given : { is: 'value', kind: given };
}

function eitherOf(...shapes: readonly (Kind | Shape)[]): Shape {
  return { is: 'either', shapes: shapes.map(shapeOf) };
}

/** An entry that is also a setting of the command line. */
function likeSetting(name: string, own: Partial<Given> = {}): readonly [Kind, Given] {
  const { kind, help } = SETTINGS.find((setting) => setting.name === name) as Setting;
  return [kind, { help, ...own }];
}

const TEXT: Kind = text('text');
const COLUMN: Kind = text('column', 'a column, a dotted path or a template');
const TEXTS: Shape = { is: 'list', of: shapeOf(TEXT), range: 'a list of texts' };

/** A control character other than the tab is a mistake. A quote or a line end cannot part cells. */
const DELIMITER: Kind = text('character', 'one character, such as "|" or "\\t", but no quote', (value) =>
  /^(?:\t|[^\p{Cc}"])$/u.test(value),
);

const NULL: Kind = { unit: '', range: 'null', type: 'null', fault: () => null };

const SECONDS_PER_YEAR = 31_536_000;

/** How one value is made from a column. */
const VALUE: Shape = {
  is: 'entries',
  type: 'FieldValue',
  entries: entriesOf<FieldValue>({
    from: [COLUMN, { isRequired: true, help: 'column, dotted path or template that gives the text' }],
    split: [TEXT, { help: 'text between several values in one cell; empty values, - and -- are dropped' }],
    each: [TEXT, { help: 'dotted path within each element of an array' }],
    match: [
      TEXT,
      { help: 'pattern whose group `value`, or whose whole match, is the value; it runs in linear time' },
    ],
    values: [
      { is: 'map', of: eitherOf(TEXT, NULL), what: 'texts by the texts of the source, or null' },
      { help: 'the value for each text of the source' },
    ],
    otherwise: [
      oneOf('how', OTHERWISE),
      { help: 'what becomes of a text that is not in `values`', default: 'keep' },
    ],
  }),
};

const MAPPED = eitherOf(COLUMN, VALUE);

const OF_ONE_FORMAT = {
  is: 'map',
  of: MAPPED,
  keys: MAPPED_FIELDS,
  what: 'columns by field',
} satisfies Shape;

/** Maps for one format only, besides the fields. */
const FORMATS_OF_MAPS = ['csv', 'icalendar', 'json', 'messagepack'];

const FIELDS: Shape = {
  ...OF_ONE_FORMAT,
  others: Object.fromEntries(FORMATS_OF_MAPS.map((format) => [format, OF_ONE_FORMAT])),
};

const ROOM_FIELDS: readonly string[] = ['id', 'name', 'building', 'capacity'];

/** The parts of {@link WeeklyPattern}, whose content source/pattern/ checks. */
const WHEN: Shape = {
  is: 'entries',
  type: 'WeeklyPattern',
  entries: entriesOf<WeeklyPattern>({
    day: [MAPPED, { isRequired: true, help: 'weekdays: names or abbreviations in any language, or numbers' }],
    start: [MAPPED, { isRequired: true, help: 'times of day, or ranges such as 8:10 - 8:55' }],
    end: [MAPPED, { help: 'times of day', default: 'the end of the ranges in `start`' }],
    minutes: [
      eitherOf(count('minutes', 1, 10_080), COLUMN),
      { help: 'length of a lesson in place of `end`' },
    ],
    weeks: [MAPPED, { help: 'weeks: 1-6, 8-12, a list, odd or even', default: 'all weeks' }],
    term: [MAPPED, { help: 'name of a term, or a column with such names', default: 'the only term' }],
    cycle: [count('weeks', 2, 8), { help: 'number of weeks after which their numbers come round' }],
    validFrom: [COLUMN, { help: 'first day of the lessons: a date, or a column with dates' }],
    validUntil: [COLUMN, { help: 'last day of the lessons' }],
    dayOne: [oneOf('day', FIRST_DAYS), { help: 'first day of weekdays; weekdays that are numbers need it' }],
  }),
};

const DATES: Shape = { is: 'list', of: shapeOf(TEXT), range: 'a list of dates and ranges' };

const TERM: Shape = {
  is: 'entries',
  type: 'Term',
  entries: entriesOf<Term>({
    firstDay: [DATE, { isRequired: true, help: 'first day of week 1' }],
    weeks: [count('weeks', 1, TERM_WEEKS_MAX), { isRequired: true, help: 'number of weeks' }],
    except: [DATES, { help: 'days without lessons: dates, and ranges such as 2026-10-26/2026-10-30' }],
    breaks: [
      DATES,
      { help: 'days as in `except`; a week whose first day is among them has no lessons and no number' },
    ],
  }),
};

const AUTH: Shape = {
  is: 'entries',
  type: 'SourceAuth',
  entries: entriesOf({
    tokenUrl: [ADDRESS, { isRequired: true, help: 'token endpoint of the OAuth issuer, https://…' }],
    clientId: [TEXT, { isRequired: true, help: 'id of the client at the issuer' }],
    clientSecret: [
      TEXT,
      {
        isRequired: true,
        help: 'secret of the client: file:PATH, which is read again when it changes, or env:NAME',
      },
    ],
    scope: [TEXT, { help: 'scope of the tokens', default: "the issuer's" }],
  }),
};

/** How the text of CSV is cut into records. */
const CSV: Readonly<Record<string, readonly [Kind | Shape, Given]>> = {
  encoding: [
    ENCODING,
    { help: 'encoding of text formats', default: 'UTF-8, or UTF-16 with a byte order mark' },
  ],
  delimiter: [DELIMITER, { help: 'character between the cells of CSV', default: 'guessed' }],
  header: [
    eitherOf(count('line', 1, HEADER_LINE_MAX), TEXTS, ON_OFF),
    {
      help: 'line of the header of CSV if lines stand above it; or the names of the columns if there is no header; false for the names `column 1`, `column 2`, …',
      default: 'guessed',
    },
  ],
};

const SOURCE: Shape = {
  is: 'entries',
  type: 'SourceDescription',
  entries: entriesOf({
    from: [
      TEXT,
      {
        isRequired: true,
        help: 'path, folder, glob, address (http, https, webcal, postgres), or - for standard input; paths are relative to the file',
      },
    ],
    name: [TEXT, { help: 'name of the source in /health, logs and metrics', default: 'the path or address' }],
    refreshSeconds: [
      amount('seconds', 1, SECONDS_PER_YEAR),
      { help: 'time between two reads of the source', default: '--refresh-seconds' },
    ],
    fields: [FIELDS, { help: 'column that gives each field', default: 'columns named as the fields' }],
    identifiers: likeSetting('identifiers', { default: "the file's" }),
    dateOrder: likeSetting('dateOrder', { default: "the file's" }),
    timeZone: likeSetting('timeZone', {
      help: 'time zone of times without an offset',
      default: "the file's",
    }),
    ...CSV,
    records: [
      TEXT,
      { help: 'JSONata expression that gives the records of a nested JSON document of at most 64 MiB' },
    ],
    calendarFrom: likeSetting('calendarFrom'),
    calendarTo: likeSetting('calendarTo'),
    when: [WHEN, { help: 'weekday and weeks of lessons that have no dates; see `terms`' }],
    prefix: [TEXT, { help: 'text before each title' }],
    lecturerIds: [
      eitherOf(PATH, { is: 'map', of: shapeOf(TEXT), what: 'identifiers by name' }),
      { help: 'identifiers of lecturers by name, or the path of a JSON file of them' },
    ],
    headers: [
      { is: 'map', of: shapeOf(TEXT), what: 'values by header field' },
      {
        of: 'http',
        help: 'header fields of requests; `Bearer file:PATH` and `env:NAME` keep secrets out of the file',
      },
    ],
    auth: [AUTH, { of: 'http', help: 'tokens of an OAuth issuer by client credentials' }],
    table: likeSetting('table', { of: 'postgres', help: 'table or view; each row is an event' }),
    query: likeSetting('query', { of: 'postgres' }),
    versionQuery: [
      TEXT,
      { of: 'postgres', help: 'cheap SELECT; while its result is the same, the source is not read again' },
    ],
    follow: likeSetting('follow', {
      of: 'postgres',
      help: 'follow the table, or the tables of the query, by logical replication; the source must be the only one',
      default: 'false',
    }),
    followTables: [
      TEXTS,
      {
        of: 'postgres',
        help: 'tables that functions of a followed query read; a change of one causes a read of all rows',
      },
    ],
  }),
};

const ROOMS: Shape = {
  is: 'entries',
  type: 'RoomsDescription',
  entries: entriesOf({
    from: [
      PATH,
      {
        isRequired: true,
        help: 'path of a file of rooms, in any format of a source, or the address of a PostgreSQL database',
      },
    ],
    table: [TEXT, { help: 'of a database: table or view; each row is a room' }],
    query: [TEXT, { help: 'of a database: SELECT in place of a table' }],
    fields: [
      { is: 'map', of: shapeOf(COLUMN), keys: ROOM_FIELDS, what: 'columns by field' },
      { help: 'column that gives each field', default: 'columns named as the fields' },
    ],
    ...CSV,
  }),
};

/** The entries of the whole file. */
export const TIMETABLE: Extract<Shape, { readonly is: 'entries' }> = {
  is: 'entries',
  type: 'TimetableDescription',
  entries: entriesOf({
    $schema: [TEXT, { help: 'address of the JSON Schema, for editors' }],
    timeZone: likeSetting('timeZone'),
    identifiers: likeSetting('identifiers', { default: 'uuid' }),
    dateOrder: likeSetting('dateOrder'),
    terms: [
      { is: 'map', of: TERM, what: 'terms by name' },
      { help: 'terms, which give the weeks of `when` their dates' },
    ],
    rooms: [
      eitherOf(ROOMS, PATH),
      {
        help: 'rooms for free-time queries, with name, building and capacity; adds rooms that no event uses',
      },
    ],
    sources: [
      { is: 'list', of: SOURCE, range: 'a list of sources' },
      {
        isRequired: true,
        help: 'where events come from; if two sources have an event with the same id, the later source wins',
      },
    ],
  }),
};
