/** Turns the columns of a source into the fields of events. */
import { LecternError } from '../base/errors.js';
import { VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX } from '../base/limits.js';
import { derivedIdentifier } from '../base/model/derived-identifier.js';
import type { Rejection } from '../base/model/event.js';
import { FIELDS, NAMED_FIELDS, slotOf } from '../base/model/fields.js';
import { isUuid } from '../base/model/identifier.js';
import type { FieldMap, MapValue, ReadRules } from '../base/model/read-rules.js';
import { suggest } from '../base/model/suggest.js';
import { normaliseText, quoteEscaped } from '../base/model/text.js';
import { viewOf } from '../base/structures/byte-strings.js';
import { MISSING, type Names, NULL, namesOf, Row, TEXT, WHOLE } from '../base/structures/row.js';
import { TextMemo } from '../base/structures/text-memo.js';
import { ColumnWatch, checkColumns, LoadNotes, type WatchedColumn } from './load-notes.js';
import { columnsOf, type Entry, entryOf, mapValueFault, ValueSteps } from './map-value.js';
import { PatternFault, PatternReader, patternEntries } from './pattern/weekly-rows.js';
import { RecordRows, recordIdOf } from './record-rows.js';
import type { LoadOptions, RowForm, RowSink } from './source.js';

type ColumnRecord = Readonly<Record<string, unknown>>;

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
const NEVER_EMPTY = [...FIELDS.keys()].filter((slot) => FIELDS[slot]?.kind !== 'text');

const NO_BYTES = Buffer.alloc(0);
const NO_VIEW = viewOf(NO_BYTES);

/** The map for fields that the user's map lacks. */
const DEFAULT_MAPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // Times and `id` already have the service's form.
  icalendar: {
    id: 'id',
    time: 'DTSTART',
    endTime: 'DTEND',
    title: 'SUMMARY',
    roomId: 'LOCATION',
    roomName: 'LOCATION',
    studyGroup: 'X-WR-CALNAME',
    // ORGANIZER, or the first ATTENDEE if there is no ORGANIZER.
    lecturer: 'PERSON',
    type: 'CATEGORIES',
    modified: 'LAST-MODIFIED',
  },
};

/** The columns that a format reads without a map. */
export function columnsWithoutMap(format: string): readonly string[] {
  return Object.values(DEFAULT_MAPS[format] ?? {});
}

/** The fault of a field map, or null. */
export function fieldMapFault(map: FieldMap): string | null {
  for (const [key, value] of Object.entries(map)) {
    const isObject = typeof value === 'object' && value !== null;
    const fault =
      isObject && !MAPPED_FIELDS.includes(key) ? formatFault(key, { ...value }) : entryFault(key, value);
    if (fault !== null) return fault;
  }
  return null;
}

/** The fault of an object under a name that is no field. */
function formatFault(format: string, map: Readonly<Record<string, unknown>>): string | null {
  if (!Object.hasOwn(FORMATS_OF_MAPS, format)) {
    if ('from' in map) return entryFault(format, map);
    const names = Object.keys(FORMATS_OF_MAPS).join(', ');
    return `there is no format ${JSON.stringify(format)}: the formats are ${names}`;
  }
  for (const [field, text] of Object.entries(map)) {
    const fault = entryFault(field, text);
    if (fault !== null) return `for ${format}, ${fault}`;
  }
  return null;
}

function entryFault(field: string, value: unknown): string | null {
  if (!MAPPED_FIELDS.includes(field)) {
    const near = suggest(field, MAPPED_FIELDS);
    const hint = near === null ? `the fields are ${MAPPED_FIELDS.join(', ')}` : `did you mean ${near}?`;
    return `there is no field ${quoteEscaped(field)}: ${hint}`;
  }
  return mapValueFault(field, value);
}

const EVENTS: RowForm = { fields: MAPPED_FIELDS, record: 'an object with the fields of an event' };

/** The names of parts of weekly patterns begin with this. */
const WHEN = 'when.';

/** The column has no place in the row, and is not listed as not served either. */
export const LEFT_OUT = -1;

/** A column that fills a slot of the row: a field, or a slot behind the fields that templates read. */
interface Column {
  readonly slot: number;
  readonly spellings: readonly string[];
  /** The spellings of each step into nested objects; null if the name is no path. */
  readonly path: readonly (readonly string[])[] | null;
  /** The spellings of each step within the elements of an array; null for the column itself. */
  readonly each: readonly (readonly string[])[] | null;
}

/** How the columns of one format become the fields of rows. */
interface ColumnPlan {
  /** The number of slots. */
  readonly slots: number;
  readonly columns: readonly Column[];
  /** The slot of each name, or LEFT_OUT. Other names are listed as not served. */
  readonly places: ReadonlyMap<string, number>;
  /** Fill the fields that are not a column of their own. */
  readonly steps: readonly ((row: Row) => void)[];
  /** The fields whose values go through steps of the map. */
  readonly stepped: readonly { readonly slot: number; readonly steps: ValueSteps }[];
}

/**
 * The table from the columns of one source to the fields of its rows. A reader sets the place of a record in `row`, and
 * then either gives the record to `object`, or fills the slots of `places` itself and calls `give`.
 */
export class FieldTable {
  readonly row: Row;
  readonly notes: LoadNotes;
  readonly places: ReadonlyMap<string, number>;
  readonly #sink: RowSink;
  readonly #form: RowForm;
  readonly #rules: ReadRules;
  readonly #columns: readonly Column[];
  readonly #paths: readonly Column[];
  readonly #steps: readonly ((row: Row) => void)[];
  readonly #stepped: ColumnPlan['stepped'];
  /** Null if records have times of their own. */
  readonly #patterns: PatternReader | null;
  readonly #rows: RecordRows;
  /** Slots whose lists and objects are kept as JSON. */
  readonly #jsonSlots: ReadonlySet<number>;
  readonly #watch: ColumnWatch;
  /** Whether the first record of a format names all columns, so that a missing column is reported at once. */
  readonly #isTold: boolean;
  #look: LoadOptions['onRecord'];
  #unserved: readonly string[] = [];
  #names: Names = namesOf([]);

  /** @param format of the reader, in the names of SourceFormat */
  constructor(
    sink: RowSink,
    format: string,
    rules: ReadRules = { identifiers: 'uuid' },
    sourceName = '',
    { onRecord, form = EVENTS, notes }: Pick<LoadOptions, 'onRecord' | 'form' | 'notes'> = {},
  ) {
    const isFlat = FLAT_FORMATS.includes(format);
    this.#sink = sink;
    this.notes = notes ?? new LoadNotes();
    this.#form = form;
    const { fields } = this.#form;
    const given = entriesOf(rules, format, this.#form);
    const defaults = entriesOf({ identifiers: 'uuid', fieldMap: DEFAULT_MAPS[format] }, format);
    // The names of several rooms are not the name of each.
    if (given.get('roomId')?.steps !== undefined) defaults.delete('roomName');
    const entries = new Map([...defaults, ...given]);
    const parts = [...given.keys()].filter((name) => name.startsWith(WHEN));
    const plan = planColumns([...fields, ...parts], entries, isFlat);
    // The last slot is for the id of a record that becomes several rows.
    const row = new Row(plan.slots + 1);
    this.#rules = rules;
    this.row = row;
    this.places = plan.places;
    this.#columns = plan.columns;
    this.#paths = plan.columns.filter(({ path }) => path !== null);
    this.#steps = plan.steps;
    this.#stepped = plan.stepped;
    this.#rows = new RecordRows({
      row,
      recordField: plan.slots,
      give: () => sink.row(row, rules),
      identifiers: rules.identifiers,
      steps: fields === MAPPED_FIELDS ? eventSteps(format, rules, entries) : [],
      refuse: (field, detail) => this.#refuse({ code: 'malformed-record', field, detail }),
    });
    this.#jsonSlots = new Set(
      parts.flatMap((part) => columnsOf(given.get(part))).flatMap((name) => plan.places.get(name) ?? []),
    );
    this.#patterns =
      rules.when === undefined || parts.length === 0
        ? null
        : new PatternReader(rules.when, rules, {
            row,
            slots: new Map(parts.map((part, n) => [part.slice(WHEN.length), fields.length + n])),
            give: () => this.#giveRows(),
            notes: this.notes.patterns,
          });
    // The columns of a database are checked before its rows are read.
    const watched =
      format === 'postgresql' ? [] : watchedColumns(given, isFlat, (field) => placeOf(rules, format, field));
    const makeWatch = (): ColumnWatch => new ColumnWatch(sourceName, watched, isFlat);
    // A CSV file names its columns in its first line. Records of other formats may omit columns.
    this.#isTold = format === 'csv';
    this.#watch = this.#isTold ? makeWatch() : this.notes.watchOf(format, makeWatch);
    this.#look = onRecord;
  }

  /** Whether records must be given to `object`, because they are looked at before they become rows. */
  get needsObjects(): boolean {
    return this.#look !== undefined || !this.#watch.isDone;
  }

  /** Names of columns whose values lead to dotted paths. */
  get pathRoots(): string[] {
    return this.#paths.flatMap(({ path }) => path?.[0] ?? []);
  }

  /** Gives the row to the sink. */
  give(): void {
    const { row } = this;
    for (const step of this.#steps) step(row);
    for (const { slot, steps } of this.#stepped) {
      const fault = steps.apply(row, slot);
      if (fault === undefined) continue;
      this.#refuse(fault);
      return;
    }
    // Other records, such as rooms, have one value in each field.
    if (row.hasLists && this.#form !== EVENTS) row.refuseLists(this.#form.fields.keys());
    this.#giveRows();
  }

  #giveRows(): void {
    const meetings = this.#patterns === null ? null : this.#patterns.read();
    if (meetings instanceof PatternFault) {
      const { code, message } = meetings;
      const place = this.#rules.places?.when;
      this.#refuse({
        code,
        field: null,
        detail: place === undefined ? message : `${message}; see when at ${place}`,
      });
    } else if (meetings !== null || this.#patterns === null) this.#rows.give(meetings);
  }

  #refuse(fault: Omit<Rejection, 'position'>): void {
    const { row } = this;
    const id = recordIdOf(row, this.#rules.identifiers);
    this.fault({ position: row.position, ...(id === null ? {} : { id }), ...fault });
  }

  /** The source has ended. */
  finish(): void {
    this.#patterns?.finish();
  }

  fault(rejection: Rejection): void {
    this.#sink.fault(rejection);
  }

  /** Rejects the record whose place is in the row. */
  reject(detail: string, code: Rejection['code'] = 'malformed-record'): void {
    this.fault({ position: this.row.position, code, field: null, detail });
  }

  /** Takes back the row of an earlier record with these values. */
  retract(record: ColumnRecord): void {
    const { row } = this;
    this.fill(record);
    for (const step of this.#steps) step(row);
    for (const { slot, steps } of this.#stepped) steps.apply(row, slot);
    this.#sink.retract?.(row.textOf(slotOf('id')), this.#rules);
  }

  /** Gives a decoded record to the sink. */
  object(value: unknown): void {
    if (this.#look?.(value) === false) this.#look = undefined;
    let problem: string | null = null;
    try {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        problem = `the record is ${describeValue(value)}; expected ${this.#form.record}`;
      else this.fill(ArrayBuffer.isView(value) ? {} : (value as ColumnRecord));
    } catch (error) {
      if (error instanceof LecternError) throw error;
      // Decoded data cannot throw, but an accessor or proxy of an in-process source can.
      const reason = error instanceof Error ? quoteEscaped(error.message) : 'an unknown error';
      problem = `the record could not be read: ${reason}`;
    }
    if (problem === null) this.give();
    else this.reject(problem);
  }

  /** Notes the columns of a record, for messages on columns that do not exist. */
  #note(record: ColumnRecord): void {
    if (this.#watch.isDone) return;
    this.#watch.look(record);
    if (this.#isTold) checkColumns(this.#watch.report());
  }

  /** The slot of each column of a header. */
  placesOf(header: readonly string[]): (number | undefined)[] {
    return header.map((name) => {
      const slot = this.places.get(name);
      if (slot === undefined || slot === LEFT_OUT) return slot;
      const spellings = this.#columns.find((column) => column.slot === slot)?.spellings;
      return spellings?.find((each) => header.includes(each)) === name ? slot : LEFT_OUT;
    });
  }

  /** Sets all values of the row. */
  fill(record: ColumnRecord): void {
    const { row, places } = this;
    this.#note(record);
    row.begin(NO_BYTES, NO_VIEW);
    let unserved: string[] | null = null;
    for (const name of Object.keys(record)) {
      const slot = places.get(name);
      if (slot === undefined) {
        unserved ??= [];
        unserved.push(name);
      } else if (slot !== LEFT_OUT) {
        // Two spellings of one name: the spelling of the map counts.
        if (row.kindOf(slot) === MISSING) this.#put(slot, record[name]);
        else this.#put(slot, ownValueOf(record, this.#columnOf(slot).spellings));
      }
    }
    this.fillPaths(record);
    if (unserved === null) return;
    if (!isSameList(unserved, this.#unserved)) {
      this.#unserved = unserved;
      this.#names = namesOf(unserved);
    }
    row.names = this.#names;
  }

  /** Sets the values of dotted paths that are no name of a column. */
  fillPaths(record: ColumnRecord): void {
    const { row } = this;
    for (const { slot, path, each } of this.#paths) {
      if (row.kindOf(slot) !== MISSING) continue;
      const value = valueAt(record, path ?? []);
      this.#put(slot, each === null ? value : valuesIn(value, each));
    }
  }

  #put(slot: number, value: unknown): void {
    const isJson = typeof value === 'object' && value !== null && this.#jsonSlots.has(slot);
    this.row.put(slot, isJson ? JSON.stringify(value) : value);
  }

  #columnOf(slot: number): Column {
    return this.#columns.find((column) => column.slot === slot) as Column;
  }
}

/**
 * Places the columns. A column that fills exactly one field has the slot of that field. The others have slots behind
 * the fields, from which steps fill the fields.
 */
function planColumns(
  fields: readonly string[],
  entries: ReadonlyMap<string, Entry>,
  isFlat: boolean,
): ColumnPlan {
  const columns: Column[] = [];
  const nested: Column[] = [];
  const steps: ((row: Row) => void)[] = [];
  let slots = fields.length;
  const add = (name: string, slot: number, isMapped: boolean): number => {
    const parts = isMapped && !isFlat ? name.split('.') : [name];
    const path = parts.length === 1 ? null : parts.map(spellingsOf);
    columns.push({ slot, spellings: isMapped ? spellingsOf(name) : [name], path, each: null });
    return slot;
  };
  const own = fields.filter((field) => !entries.has(field));
  for (const field of own) add(field, fields.indexOf(field), false);
  const uses = [...entries.values()].flatMap(columnsOf);
  const slotOfColumn = (name: string): number => {
    const known = columns.find(({ spellings, each }) => spellings[0] === name && each === null);
    return known?.slot ?? add(name, slots++, true);
  };
  const stepped: { slot: number; steps: ValueSteps }[] = [];
  for (const [field, { template, steps: given }] of entries) {
    const target = fields.indexOf(field);
    if (given !== undefined)
      stepped.push({ slot: target, steps: new ValueSteps(field.replace(WHEN, ''), given) });
    const [only, ...others] = template;
    const each = isFlat ? undefined : given?.each;
    if (each !== undefined && typeof only === 'object') {
      const [path, within] = [only.column, each].map((text) => text.split('.').map(spellingsOf));
      nested.push({ slot: target, spellings: [], path: path ?? [], each: within ?? [] });
    } else if (typeof only !== 'object' || others.length > 0) {
      const parts = template.map((part) =>
        typeof part === 'string' ? Buffer.from(part) : slotOfColumn(part.column),
      );
      steps.push((row) => row.join(target, parts));
    } else if (own.includes(only.column) || uses.filter((name) => name === only.column).length > 1) {
      const from = slotOfColumn(only.column);
      steps.push((row) => row.copy(from, target));
    } else add(only.column, target, true);
  }
  const places = new Map<string, number>();
  for (const { spellings, slot } of columns) places.set(spellings[0] as string, slot);
  columns.push(...nested);
  const leaveOut = (name: string): void => {
    if (!places.has(name)) places.set(name, LEFT_OUT);
  };
  for (const { spellings, slot } of columns)
    for (const name of spellings) if (!places.has(name)) places.set(name, slot);
  if (entries.size > 0) for (const name of ['__proto__', ...entries.keys()]) leaveOut(name);
  for (const { path } of columns) for (const name of path?.[0] ?? []) leaveOut(name);
  return { slots, columns, places, steps, stepped };
}

/** The steps after the map, for the fields of events. */
function eventSteps(
  format: string,
  { identifiers, prefix, lecturerIds }: ReadRules,
  entries: ReadonlyMap<string, Entry>,
): ((row: Row) => void)[] {
  const steps: ((row: Row) => void)[] = [tidyLesson];
  if (format === 'csv') {
    // Many programs write a pair of quotes for every missing value.
    steps.push((row) => {
      for (const slot of NEVER_EMPTY) if (row.isEmptyText(slot)) row.clear(slot, NULL);
    });
  }
  if (format === 'icalendar') {
    const mapped = new Set([...entries.keys()].map((field) => MAPPED_FIELDS.indexOf(field)));
    steps.push((row) => {
      for (let slot = 0; slot < MAPPED_FIELDS.length; slot++) {
        if (row.isEmptyText(slot) || (row.kindOf(slot) === MISSING && mapped.has(slot)))
          row.clear(slot, NULL);
      }
    });
  }
  // Calendars have only names of rooms, so identifiers must be derived.
  const isNamed = format === 'icalendar' && identifiers === 'uuid';
  if (identifiers === 'derived' || isNamed) steps.push(keepNames);
  if (isNamed) steps.push(deriving());
  if (lecturerIds !== undefined) steps.push(fillingLecturers(lecturerIds));
  if (prefix !== undefined) {
    const [before, title] = [Buffer.from(prefix), slotOf('title')];
    steps.push((row) => {
      if (row.isText(title)) row.join(title, [before, title]);
    });
  }
  return steps;
}

function fillingLecturers(lecturerIds: NonNullable<ReadRules['lecturerIds']>): (row: Row) => void {
  const ids = new Map(Object.entries(lecturerIds).map(([name, id]) => [normaliseText(name) ?? name, id]));
  const [nameSlot, slot] = [slotOf('lecturer'), slotOf('lecturerId')];
  return (row) => {
    if (!row.isText(nameSlot) || row.kindOf(slot) > NULL) return;
    const name = row.textOf(nameSlot);
    const id = ids.get(name) ?? ids.get(normaliseText(name) ?? name);
    if (id !== undefined) row.put(slot, id);
  };
}

/** A value in words, with its article. */
function describeValue(value: unknown): string {
  const row = new Row(1);
  row.put(0, value);
  return row.describe(0, quoteEscaped);
}

/** Where the timetable file says how a field, or a part of a weekly pattern, is found. */
export function placeOf({ places = {} }: ReadRules, format: string, field: string): string | undefined {
  if (field.startsWith('when.')) return places[field];
  const names = Object.keys(FORMATS_OF_MAPS).filter((name) => FORMATS_OF_MAPS[name]?.includes(format));
  return names.map((name) => places[`fields.${name}.${field}`]).find(Boolean) ?? places[`fields.${field}`];
}

function watchedColumns(
  given: ReadonlyMap<string, Entry>,
  isFlat: boolean,
  placeOfField: (field: string) => string | undefined,
): WatchedColumn[] {
  return [...given].flatMap(([field, entry]) =>
    columnsOf(entry).map((column) => ({
      field,
      column,
      place: placeOfField(field),
      isNeeded:
        field === 'when.day' ||
        field === 'when.start' ||
        (FIELDS.some(({ name, required }) => name === field && required) && field !== 'id'),
      read: columnReader(column, isFlat),
    })),
  );
}

/**
 * All that is read from records of one format: the fields by name, and the parts of weekly patterns. Entries under the
 * format's name override entries for all formats.
 */
export function entriesOf(
  rules: ReadRules,
  format: string,
  { fields }: RowForm = EVENTS,
): Map<string, Entry> {
  const all = Object.entries(rules.fieldMap ?? {});
  const own = all.flatMap(([name, inner]) =>
    Object.hasOwn(FORMATS_OF_MAPS, name) && FORMATS_OF_MAPS[name]?.includes(format)
      ? Object.entries(inner as Record<string, MapValue>)
      : [],
  );
  const entries = new Map<string, Entry>();
  for (const [field, value] of [...all, ...own]) {
    const entry = fields.includes(field) ? entryOf(value as MapValue) : null;
    if (entry !== null) entries.set(field, entry);
  }
  // Calendars have recurrences of their own, and rooms no times.
  if (fields !== MAPPED_FIELDS || format === 'icalendar') return entries;
  return new Map([...entries, ...patternEntries(rules)]);
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let n = 0; n < a.length; n++) if (a[n] !== b[n]) return false;
  return true;
}

/**
 * Reads a column, or gives undefined if the record lacks it. A name with dots is a path, unless the record has
 * exactly this name.
 */
function columnReader(column: string, isFlat: boolean): (record: ColumnRecord) => unknown {
  const whole = spellingsOf(column);
  const path = column.split('.').map(spellingsOf);
  if (isFlat || path.length === 1) return (record) => ownValueOf(record, whole);
  return (record) => {
    const value = ownValueOf(record, whole);
    return value === undefined ? valueAt(record, path) : value;
  };
}

function valueAt(record: ColumnRecord, path: readonly (readonly string[])[]): unknown {
  let value: unknown = record;
  for (const spellings of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = ownValueOf(value as ColumnRecord, spellings);
  }
  return value;
}

/** The values at a path within the elements of an array, or within an object. */
function valuesIn(value: unknown, path: readonly (readonly string[])[]): unknown {
  if (Array.isArray(value)) return value.flatMap((element) => valueAt(element as ColumnRecord, path) ?? null);
  return valueAt(value as ColumnRecord, path);
}

/** The value of a record's own property, under any of the spellings. */
function ownValueOf(record: ColumnRecord, spellings: readonly string[]): unknown {
  for (const name of spellings) if (Object.hasOwn(record, name)) return record[name];
  return undefined;
}

/** The spellings of a name that look the same: some systems write accents as separate characters. */
export function spellingsOf(name: string): string[] {
  return [...new Set([name, name.normalize('NFC'), name.normalize('NFD')])];
}

const NAMED_SLOTS = NAMED_FIELDS.flatMap(({ name, namedBy: [nameField] }) =>
  nameField === undefined ? [] : [[slotOf(name), slotOf(nameField)] as const],
);

/** The text of an identifier becomes the name, if the record has no name. */
function keepNames(row: Row): void {
  for (const [slot, nameSlot] of NAMED_SLOTS) {
    if (!row.isText(slot) || row.isEmptyText(slot)) continue;
    const isNamed = row.kindOf(nameSlot) > NULL && !row.isEmptyText(nameSlot);
    if (!isNamed && !isUuid(row.textOf(slot))) row.copy(slot, nameSlot);
  }
}

const LESSON = slotOf('lessonId');

/** An empty text is no lesson, and the number of a lesson is a text. */
function tidyLesson(row: Row): void {
  if (row.isEmptyText(LESSON)) row.clear(LESSON, NULL);
  else if (row.kindOf(LESSON) === WHOLE) row.putAs(TEXT, LESSON, row.textOf(LESSON));
}

/** Derives identifiers, so that rows have UUIDs. */
function deriving(): (row: Row) => void {
  const fields = FIELDS.filter(({ name, kind }) => kind === 'identifier' && name !== 'id').map(
    ({ name }) => ({
      name,
      slot: slotOf(name),
      memo: new TextMemo<string>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX),
    }),
  );
  return (row) => {
    for (const { name, slot, memo } of fields) {
      if (!row.isText(slot)) continue;
      const text = row.textOf(slot);
      if (isUuid(text)) continue;
      let identifier = memo.get(text);
      if (identifier === undefined) {
        identifier = derivedIdentifier(name, text);
        memo.set(text, identifier);
      }
      row.put(slot, identifier);
    }
  };
}
