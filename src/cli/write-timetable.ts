/** Writes a proposal as a timetable file, with a comment at each guess. */
import { writeFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileFault, optionInvalid } from '../base/errors.js';
import { FIELDS } from '../base/model/fields.js';
import type { MapValue, ReadRules } from '../base/model/read-rules.js';
import { quoteEscaped } from '../base/model/text.js';
import { columnsWithoutMap } from '../source/field-map.js';
import type { LookedColumn } from './column-look.js';
import { type MapProposal, namesIn, sourceOfValue } from './propose-map.js';

/** What the file says of a source, besides the proposal. */
interface WrittenSource {
  /** Paths and addresses, as `from` of the file has them. */
  readonly from: readonly string[];
  readonly proposal: MapProposal;
  readonly columns: readonly LookedColumn[];
  /** Undefined if the source could not be read. */
  readonly format: string | undefined;
  /** Rules that reading needed: encoding, delimiter, header, records, and days of calendars. */
  readonly rules: Partial<ReadRules>;
  /** For a database: its table or query. */
  readonly database?: Readonly<Record<string, string>>;
}

/** Words by which notes are found that stand at their entries. */
const [ON_DATES, ON_TERMS, ON_ZONES] = [['--date-order'], ['first day of the term'], ['--time-zone']];
const ON_DAYS = ['--calendar-from'];
const ON_PATTERNS = ['dayOne', '`start`', '`weeks`'];
const COMMENT_UNITS_MAX = 80;
/** Columns by which calendars tell events and their versions apart. */
const OF_VERSIONS = ['UID', 'SEQUENCE', 'STATUS'];
const SCHEMA = fileURLToPath(new URL('../timetable.schema.json', import.meta.url));

/** Why entries are guessed by which the source is read. */
const READ_BY: Readonly<Record<string, string>> = {
  encoding: 'the bytes are not UTF-8, and their letters stand as in this encoding',
  delimiter: 'with it the lines have equal numbers of cells',
  records: 'the longest list of the document',
  identifiers: 'the texts that identify rooms and others are not all UUIDs',
  header: 'how the first lines differ from those below',
};

/** Why the steps of a value are a guess. */
function reasonOf(
  field: string,
  value: MapValue,
  columns: readonly LookedColumn[],
  map: MapProposal['map'],
): string | undefined {
  if (field === 'lecturerId' && value === map.lecturer) return 'no column identifies lecturers, so names do';
  if (typeof value === 'string') return undefined;
  const { split, values } = value;
  const [cell] =
    columns.find(({ name }) => name === value.from)?.values.filter((text) => split && text.includes(split)) ??
    [];
  const marks = Object.keys(values ?? {}).map((mark) => quoteEscaped(mark));
  const reasons = [
    ...(cell === undefined ? [] : [`${quoteEscaped(cell)} looks like several values`]),
    ...(marks.length === 0
      ? []
      : [`${marks.join(' and ')} ${marks.length === 1 ? 'looks' : 'look'} like no value`]),
  ];
  return reasons.length === 0 ? undefined : reasons.join(', and ');
}

function guess(reason: string | undefined): string[] {
  return reason === undefined ? [] : [`# a guess: ${reason}`];
}

/** The text of a timetable file. @param path of the file, to which paths of sources are relative */
export function timetableText(
  path: string,
  { from, proposal, columns, format, rules, database = {} }: WrittenSource,
): string {
  const { map, when, terms, dateOrder, timeZone, identifiers, notes } = proposal;
  const notesOn = (words: readonly string[]): string[] =>
    words.flatMap((word) => notes.filter((note) => note.includes(word)).map(sentence));
  const term = Object.entries(terms).map(
    ([name, { firstDay, weeks }]) =>
      `  ${scalar(name)}: { firstDay: ${firstDay}, weeks: ${weeks}, except: [] }`,
  );
  const own = [
    ...Object.entries({
      ...database,
      encoding: rules.encoding,
      delimiter: rules.delimiter,
      records: rules.records,
    })
      .filter(([, value]) => value !== undefined)
      .flatMap(([key, value]) => [...guess(READ_BY[key]), `${key}: ${scalar(String(value))}`]),
    ...(rules.header === undefined
      ? []
      : [...guess(READ_BY.header), `header: ${JSON.stringify(rules.header)}`]),
    ...(rules.from === undefined ? [] : [...comments(notesOn(ON_DAYS)), `calendarFrom: ${rules.from}`]),
    ...(rules.to === undefined ? [] : [`calendarTo: ${rules.to}`]),
    ...(identifiers === null ? [] : [...guess(READ_BY.identifiers), `identifiers: ${identifiers}`]),
    ...(dateOrder === null ? [] : [...comments(notesOn(ON_DATES)), `dateOrder: ${dateOrder}`]),
    ...(Object.keys(map).length === 0 ? [] : ['fields:']),
    ...Object.entries(map).flatMap(([field, value]) => [
      ...guess(reasonOf(field, value, columns, map)).map((line) => `  ${line}`),
      `  ${field}: ${valueText(value)}${samples(value, columns)}`,
    ]),
    ...unused(columns, format, [...Object.values(map), ...Object.values(when ?? {})].map(sourceOfValue)),
    ...(when === null ? [] : [...comments(notesOn(ON_PATTERNS)), 'when:']),
    ...Object.entries(when ?? {}).map(([part, value]: [string, MapValue | number]) => {
      const shown = typeof value !== 'number' && part !== 'dayOne' ? samples(value, columns) : '';
      return `  ${part}: ${typeof value === 'number' ? value : valueText(value)}${shown}`;
    }),
  ];
  const told = notesOn([...ON_DATES, ...ON_DAYS, ...ON_PATTERNS, ...ON_TERMS, ...ON_ZONES]);
  const others = notes.map(sentence).filter((note) => !told.includes(note));
  return [
    `# yaml-language-server: $schema=${schemaFrom(path)}`,
    '# Proposed by lectern inspect. Lines after a comment, and columns with samples, are to be checked.',
    ...comments(others),
    ...(timeZone === null ? [] : [...comments(notesOn(ON_ZONES)), `timeZone: ${timeZone}`]),
    ...(when === null ? [] : [...comments(notesOn(ON_TERMS)), 'terms:', ...term]),
    'sources:',
    ...from.flatMap((each) => [
      `  - from: ${scalar(relativeTo(path, each))}`,
      ...own.map((line) => `    ${line}`),
    ]),
    '',
  ].join('\n');
}

/** @throws LecternError `option-invalid` if the file exists and is not to be replaced */
export async function writeTimetable(path: string, text: string, isForced: boolean): Promise<void> {
  try {
    await writeFile(path, text, { flag: isForced ? 'w' : 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reasons: Readonly<Record<string, string>> = {
      EEXIST: 'it exists; add --force to replace it',
      ENOENT: `there is no folder ${dirname(resolve(path))}`,
    };
    const reason = reasons[code ?? ''] ?? fileFault(error);
    throw optionInvalid(`cannot write ${path}: ${reason}`, error);
  }
}

function schemaFrom(path: string): string {
  const way = relative(dirname(resolve(path)), SCHEMA);
  return way.startsWith('..') ? SCHEMA : `./${way}`;
}

/** Addresses and standard input stay as they are. */
function relativeTo(path: string, from: string): string {
  if (from === '-' || /^[a-z][a-z+.-]*:\/\//i.test(from)) return from;
  return relative(dirname(resolve(path)), resolve(from)) || '.';
}

/** Notes name options of the command line; the file has entries of other names. */
function sentence(note: string): string {
  return note
    .replace(/--time-zone (\S+) is a guess/, 'timeZone is a guess')
    .replace(/--date-order (\S+) is a guess/, 'dateOrder $1 is a guess')
    .replace(/--calendar-from \S+ --calendar-to \S+ are/, 'calendarFrom and calendarTo are')
    .replace(/--identifiers any/, 'identifiers: any');
}

function comments(notes: readonly string[]): string[] {
  return notes.map((note) => `# ${note.replace(/\s+/g, ' ')}`);
}

/** A comment for each column that neither a template nor the format itself reads. */
function unused(
  columns: readonly LookedColumn[],
  format: string | undefined,
  templates: readonly unknown[],
): string[] {
  const used = [
    ...templates.flatMap((template) => namesIn(String(template))),
    ...(format === undefined ? [] : columnsWithoutMap(format)),
    ...(format === 'icalendar' ? OF_VERSIONS : []),
    ...FIELDS.map(({ name }) => name),
  ];
  return columns
    .filter(({ name }) => !used.includes(name))
    .map(({ name }) => `# not used: ${scalar(name)}${samples(scalar(name), columns)}`);
}

/** Some values of the columns, as a comment. */
function samples(value: MapValue, columns: readonly LookedColumn[]): string {
  const names = namesIn(sourceOfValue(value));
  const path = typeof value === 'object' ? (value.each ?? null) : null;
  const found = names.flatMap((own) => columns.find(({ name, each }) => name === own && each === path) ?? []);
  const texts =
    found.length === 1 ? (found[0]?.samples ?? []) : found.map((column) => column.samples[0] ?? '');
  const text = texts.join(found.length === 1 ? ', ' : ' ').replace(/[\p{Cc}\s]+/gu, ' ');
  if (text === '') return '';
  return ` # ${text.length > COMMENT_UNITS_MAX ? `${text.slice(0, COMMENT_UNITS_MAX)}\u2026` : text}`;
}

function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : scalar(String(value));
  const entries = Object.entries(value).map(([key, part]) => `${scalar(key)}: ${valueText(part)}`);
  return `{ ${entries.join(', ')} }`;
}

/** A text that YAML reads as itself, also within braces. */
function scalar(text: string): string {
  const isPlain =
    /^[\p{L}_./][\p{L}\p{N}\p{M}_ ./()ªº-]*$/u.test(text) &&
    !text.endsWith(' ') &&
    !/^(?:true|false|null|yes|no|on|off|\.)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}
