/** Turns the columns of a source into the fields of events. */
import { VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX } from '../limits.js';
import { derivedIdentifier } from '../model/derived-identifier.js';
import { FIELDS, type FieldName, NAMED_FIELDS } from '../model/fields.js';
import { isUuid } from '../model/identifier.js';
import type { FieldMap, ReadRules } from '../model/read-rules.js';
import { suggest } from '../model/suggest.js';
import { quoteEscaped } from '../model/text.js';
import { TextMemo } from '../structures/text-memo.js';
import { CALENDAR_FIELD_MAP } from './calendar/calendar-field-map.js';
import { ColumnWatch, checkColumns } from './column-watch.js';
import { renamedColumns, spellingsOf } from './field-columns.js';
import { columnsOf, type MapTemplate, parseTemplate } from './map-template.js';
import type { RecordSink } from './source.js';

type ColumnRecord = Readonly<Record<string, unknown>>;
type ReadColumn = (record: ColumnRecord) => unknown;

export const MAPPED_FIELDS: readonly string[] = FIELDS.map(({ name }) => name);

/** The name of each format in field maps, with the names that readers use for it. */
const FORMATS_OF_MAPS: Readonly<Record<string, readonly string[]>> = {
  csv: ['csv'],
  icalendar: ['icalendar'],
  json: ['ndjson', 'json-array', 'memory', 'postgresql'],
  messagepack: ['messagepack'],
};

/** Records of these formats are texts by column, without nested values. */
const FLAT_FORMATS = ['csv', 'icalendar'];

/** In flat formats, an empty text in these fields means that the value is missing. */
const NEVER_EMPTY = FIELDS.filter(({ kind }) => kind !== 'text').map(({ name }) => name);

/** The map for fields that the user's map lacks. */
const DEFAULT_MAPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  icalendar: CALENDAR_FIELD_MAP,
};

/** The fault of a field map, or null. */
export function fieldMapFault(map: FieldMap): string | null {
  for (const [key, value] of Object.entries(map)) {
    const fault =
      typeof value === 'object' && value !== null ? formatFault(key, value) : entryFault(key, value);
    if (fault !== null) return fault;
  }
  return null;
}

function formatFault(format: string, map: Readonly<Record<string, unknown>>): string | null {
  if (!Object.hasOwn(FORMATS_OF_MAPS, format)) {
    const names = Object.keys(FORMATS_OF_MAPS).join(', ');
    return `there is no format ${JSON.stringify(format)}: the formats are ${names}`;
  }
  for (const [field, text] of Object.entries(map)) {
    const fault = entryFault(field, text);
    if (fault !== null) return `for ${format}, ${fault}`;
  }
  return null;
}

function entryFault(field: string, text: unknown): string | null {
  if (!MAPPED_FIELDS.includes(field)) {
    const near = suggest(field, MAPPED_FIELDS);
    const hint = near === null ? `the fields are ${MAPPED_FIELDS.join(', ')}` : `did you mean ${near}?`;
    return `there is no field ${quoteEscaped(field)}: ${hint}`;
  }
  if (typeof text !== 'string') return `the column of ${field} must be a text`;
  const template = parseTemplate(text);
  return typeof template === 'string' ? `${field} is ${JSON.stringify(text)}: ${template}` : null;
}

/**
 * A sink for the records of one format, which gives events to `sink`; `sink` itself if the rules change no
 * record.
 *
 * @param format of the reader
 */
export function mappedSink(
  sink: RecordSink,
  format: string,
  { fieldMap = {}, identifiers }: ReadRules,
  sourceName: string,
): RecordSink {
  const isFlat = FLAT_FORMATS.includes(format);
  const given = mapOf(fieldMap, format);
  const isDerived = identifiers === 'derived';
  const templates = new Map([...mapOf(DEFAULT_MAPS[format] ?? {}, format), ...given]);
  if (templates.size === 0 && !isDerived) return format === 'csv' ? withoutEmptyIdentifiers(sink) : sink;
  const toEvent = templates.size === 0 ? null : createMapper(templates, isFlat, format === 'icalendar');
  // Calendars have only names of rooms, so identifiers must be derived.
  const derive = format === 'icalendar' && identifiers === 'uuid' ? createDeriver() : null;
  const { undecoded } = sink;
  const columns = isDerived || derive !== null ? null : renamedColumns(templates, isFlat);
  const makeWatch = (): ColumnWatch =>
    new ColumnWatch(
      sourceName,
      [...given].flatMap(([field, template]) =>
        columnsOf(template).map((column) => ({
          field,
          column,
          isNeeded: FIELDS.some(({ name, required }) => name === field && required) && field !== 'id',
          read: columnReader(column, isFlat),
        })),
      ),
      isFlat,
    );
  // A CSV file names its columns in its first line. Records of other formats may omit columns.
  const isTold = format === 'csv';
  const watch = isTold || sink.notes === undefined ? makeWatch() : sink.notes.watchOf(format, makeWatch);
  return {
    record(value, position) {
      if (!isRecord(value)) {
        sink.record(value, position);
        return;
      }
      if (!watch.isDone) {
        watch.look(value);
        if (isTold) checkColumns(watch.report());
      }
      const event = toEvent === null ? (value as Record<string, unknown>) : toEvent(value);
      if (isFlat) dropEmptyIdentifiers(event);
      if (isDerived || derive !== null) keepNames(event);
      derive?.(event);
      sink.record(event, position);
    },
    reject: (rejection) => sink.reject(rejection),
    // Records are decoded until every column of the map has occurred.
    ...(columns !== null &&
      undecoded !== undefined && {
        undecoded: (bytes, view, spans, names) => watch.isDone && undecoded(bytes, view, spans, names),
        columns,
      }),
    // The calendar reader finds the fields of the default map itself.
    ...(format === 'icalendar' && given.size === 0 && { undecoded }),
    notes: sink.notes,
  };
}

/** Many programs write a pair of quotes for every missing value. */
function dropEmptyIdentifiers(event: Record<string, unknown>): void {
  for (const name of NEVER_EMPTY) if (event[name] === '') event[name] = null;
}

function withoutEmptyIdentifiers(sink: RecordSink): RecordSink {
  const { undecoded, columns, notes } = sink;
  return {
    record(value, position) {
      dropEmptyIdentifiers(value as Record<string, unknown>);
      sink.record(value, position);
    },
    reject: (rejection) => sink.reject(rejection),
    undecoded,
    columns,
    notes,
  };
}

function isRecord(value: unknown): value is ColumnRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

/** The valid entries for one format. Entries under the format's name override entries for all formats. */
export function mapOf(map: FieldMap, format: string): Map<string, MapTemplate> {
  const entries = new Map<string, MapTemplate>();
  const add = (field: string, text: string): void => {
    const template = parseTemplate(text);
    if (typeof template !== 'string') entries.set(field, template);
  };
  for (const [field, text] of Object.entries(map)) if (typeof text === 'string') add(field, text);
  for (const [name, own] of Object.entries(map)) {
    if (typeof own === 'string' || !FORMATS_OF_MAPS[name]?.includes(format)) continue;
    for (const [field, text] of Object.entries(own)) add(field, text);
  }
  return entries;
}

/**
 * Makes a record with the mapped fields, and with unused columns under their own names, so that the load can list them.
 *
 * @param isEmptyNull whether an empty text means a missing value
 */
function createMapper(
  templates: ReadonlyMap<string, MapTemplate>,
  isFlat: boolean,
  isEmptyNull: boolean,
): (record: ColumnRecord) => Record<string, unknown> {
  const entries = [...templates].map(([field, template]) => ({
    field,
    read: templateReader(template, isFlat, isEmptyNull),
  }));
  const columns = [...templates.values()].flatMap(columnsOf);
  const paths = isFlat ? [] : columns.map((column) => column.split('.')[0] as string);
  const used = new Set([...columns, ...paths].flatMap(spellingsOf));
  const isKept = (name: string): boolean =>
    !templates.has(name) && name !== '__proto__' && (MAPPED_FIELDS.includes(name) || !used.has(name));
  let shape: readonly string[] = [];
  let kept: readonly string[] = [];
  return (record) => {
    const names = Object.keys(record);
    if (!isSameList(names, shape)) {
      shape = names;
      kept = names.filter(isKept);
    }
    const event: Record<string, unknown> = {};
    for (const { field, read } of entries) event[field] = read(record);
    for (const name of kept) event[name] = isEmptyNull && record[name] === '' ? null : record[name];
    return event;
  };
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let n = 0; n < a.length; n++) if (a[n] !== b[n]) return false;
  return true;
}

function templateReader(template: MapTemplate, isFlat: boolean, isEmptyNull: boolean): ReadColumn {
  const [only, ...others] = template;
  if (typeof only === 'object' && others.length === 0) {
    const read = columnReader(only.column, isFlat);
    return isEmptyNull ? (record) => read(record) || null : read;
  }
  const parts = template.map((part) => (typeof part === 'string' ? part : columnReader(part.column, isFlat)));
  return (record) => {
    let text = '';
    for (const part of parts) {
      if (typeof part === 'string') {
        text += part;
        continue;
      }
      const value = part(record);
      if (value === undefined || value === null || value === '') return null;
      // The normaliser rejects an object.
      if (typeof value === 'object') return value;
      text += String(value);
    }
    return text;
  };
}

/**
 * Reads a column, or gives undefined if the record lacks it. A name with dots is a path, unless the record has
 * exactly this name.
 */
function columnReader(column: string, isFlat: boolean): ReadColumn {
  const whole = spellingsOf(column);
  const path = column.split('.').map(spellingsOf);
  if (isFlat || path.length === 1) return (record) => ownValueOf(record, whole);
  return (record) => {
    let value = ownValueOf(record, whole);
    if (value !== undefined) return value;
    value = record;
    for (const spellings of path) {
      if (typeof value !== 'object' || value === null) return undefined;
      value = ownValueOf(value as ColumnRecord, spellings);
    }
    return value;
  };
}

/** The value of a record's own property, under any of the spellings. */
function ownValueOf(record: ColumnRecord, spellings: readonly string[]): unknown {
  for (const name of spellings) if (Object.hasOwn(record, name)) return record[name];
  return undefined;
}

/** The text of an identifier becomes the name, if the record has no name. */
function keepNames(event: Record<string, unknown>): void {
  for (const { name: field, namedBy } of NAMED_FIELDS) {
    const text = event[field];
    const [nameField] = namedBy;
    if (nameField === undefined || typeof text !== 'string' || text === '' || isUuid(text)) continue;
    const name = event[nameField];
    if (name === undefined || name === null || name === '') event[nameField] = text;
  }
}

function createDeriver(): (event: Record<string, unknown>) => void {
  const fields = FIELDS.filter(({ name, kind }) => kind === 'identifier' && name !== 'id').map(
    ({ name }) => ({
      name,
      memo: new TextMemo<string>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX),
    }),
  );
  return (event) => {
    for (const { name, memo } of fields) {
      const text = event[name];
      if (typeof text === 'string' && !isUuid(text)) event[name] = deriveOnce(name, text, memo);
    }
  };
}

function deriveOnce(field: FieldName, text: string, memo: TextMemo<string>): string {
  let identifier = memo.get(text);
  if (identifier === undefined) {
    identifier = derivedIdentifier(field, text);
    memo.set(text, identifier);
  }
  return identifier;
}
