/** Proposes how a source is read, and says what is guessed and what the source lacks. */
import type { IdentifierMode } from '../base/model/event.js';
import type { FieldName } from '../base/model/fields.js';
import { IDENTIFIER_CHARACTERS_MAX } from '../base/model/identifier.js';
import { readDate } from '../base/model/local-time.js';
import type { FieldValue, MapValue, ReadRules, Term, WeeklyPattern } from '../base/model/read-rules.js';
import { quoteEscaped } from '../base/model/text.js';
import { columnsOf, entryOf } from '../source/map-value.js';
import { WeekdayReader } from '../source/pattern/weekdays.js';
import {
  best,
  isLength,
  isMark,
  isMoment,
  type LookedColumn,
  likenessOf,
  looksLike,
  pairOf,
  present,
  separatorOf,
  without,
} from './column-look.js';
import { CERTAINTY_SURE, type ColumnRole, certaintyOf, plainName } from './column-names.js';
import { shellQuoted } from './printable.js';
import { findWeekly, type Times } from './propose-weekly.js';

export interface MapProposal {
  /** For each event field a column, a template, or an object with steps. */
  readonly map: Readonly<Record<string, MapValue>>;
  /** For records that give a lesson by weekday and weeks; null for others. */
  readonly when: WeeklyPattern | null;
  /** The terms of `when`, guessed. */
  readonly terms: Readonly<Record<string, Term>>;
  readonly dateOrder: 'ymd' | 'dmy' | 'mdy' | null;
  readonly timeZone: string | null;
  readonly identifiers: 'any' | 'derived' | null;
  /** Sentences on what is missing or uncertain. */
  readonly notes: readonly string[];
  /** Whether the map has a start and an end, which every event needs. */
  readonly isComplete: boolean;
}

type Given = Readonly<Record<string, string>>;

const TEXT_FIELDS = ['title', 'courseId', 'roomId', 'studyGroup', 'lecturer', 'type'] as const;
const IDENTIFIER_FIELDS: readonly FieldName[] = ['id', 'roomId', 'courseId', 'groupId', 'lecturerId'];
/** Fields that one cell often has several values of. */
const SPLIT_FIELDS: readonly string[] = ['roomId', 'studyGroup', 'lecturer'];
/** Fields that a pair of columns such as `teacher_id` and `teacher_name` has, by what is named. */
const PAIRS = [
  { role: 'courseId', id: 'courseId', name: 'courseName' },
  { role: 'roomId', id: 'roomId', name: 'roomName' },
  { role: 'studyGroup', id: 'groupId', name: 'studyGroup' },
  { role: 'lecturer', id: 'lecturerId', name: 'lecturer' },
] as const;
/** How PostgreSQL writes an array in CSV: `{31,32}`. Values in quotes may have commas, which no split can tell. */
const ARRAY = /^\{[^{}"]*\}$/;
/** The zone of a proposal if the machine's zone is UTC. */
const ZONE_EXAMPLE = 'Europe/Berlin';

/** Facts for a proposal, besides the values of the columns. */
export interface ProposalGround {
  /** The rules that the user gave. */
  readonly rules: ReadRules;
  /** The part of the user's field map that is kept. Its fields get no other column. */
  readonly given?: Given;
  /** The columns of the primary key of a database. */
  readonly key?: readonly string[];
  /** Whether records were rejected because an earlier record had the same id. */
  readonly hasDuplicates?: boolean;
}

/** Infers the meaning of columns from their names, from their values, and from the key of a database. */
export function proposeMap(
  columns: readonly LookedColumn[],
  { rules, given = {}, key = [], hasDuplicates = false }: ProposalGround = {
    rules: { identifiers: 'uuid' },
  },
): MapProposal {
  // A map cannot name columns with these characters.
  const filled = columns.filter(({ name, records }) => records > 0 && !/[{}\n]/.test(name));
  const named = (template: string): LookedColumn[] => {
    const names = namesIn(template);
    return filled.filter(({ name }) => names.includes(name));
  };
  const flat = filled.filter(({ each }) => each === null);
  // The items of a list are no times of one lesson.
  const single = flat.filter(({ isList }) => !isList);
  const lists = flat.filter(({ isList }) => isList);
  const isGiven = given.time !== undefined || given.endTime !== undefined;
  const times = isGiven
    ? completedTimes(single, given, named)
    : (findWeekly(single, lists) ?? findTimes(single));
  const map: Record<string, MapValue> = {};
  const add = (field: FieldName, template: MapValue | null): void => {
    if (template !== null && template !== field && given[field] === undefined) map[field] = template;
  };
  add('time', times.time);
  add('endTime', times.endTime);
  const used = [...times.columns, ...Object.values(given).flatMap(named)];
  const id = given.id ?? idOf(without(single, ...used), single, key, hasDuplicates);
  if (id !== undefined) add('id', id);
  const free = without(filled, ...used, ...named(id ?? ''));
  const paired = pairedColumns(free, given);
  // The name of a course may be the title, too.
  const taken = [...paired].flatMap(([field, column]) => (field === 'courseName' ? [] : [column]));
  const isOpen = (field: FieldName): boolean => given[field] === undefined && !paired.has(field);
  const texts = textColumns(without(free, ...taken), isOpen);
  for (const [field, column] of [...texts, ...paired]) add(field, fieldValue(column, field));
  const room = texts.get('roomId');
  if (room !== undefined && separatorOf(room) === null && arePaired(times, room))
    map.roomId = { from: room.name, split: ' ' };
  const building = best(without(free, ...taken, room), 'building');
  const inBuildings = map.roomId === room?.name ? knownByBoth(room, building, 'room') : null;
  if (inBuildings?.template) map.roomId = inBuildings.template;
  const section = texts.get('studyGroup');
  const course = paired.get('courseId') ?? texts.get('courseId') ?? texts.get('title');
  const isPlain = map.studyGroup === section?.name;
  const ofCourses = isPlain && hasSections(section) ? knownByBoth(section, course, 'group') : null;
  if (ofCourses?.template) map.studyGroup = ofCourses.template;
  // Without an identifier, the lecturer's name serves as identifier, as the name of a room does.
  const own = filled.some(({ name }) => name === 'lecturerId');
  if (!own && !paired.has('lecturerId')) add('lecturerId', map.lecturer ?? null);
  const identifiers = identifiersFor(rules.identifiers, id, { ...map, ...given }, named, key.length > 0);
  const order = orderOf(times.columns, filled, rules.dateOrder);
  const needsZone = times.columns.some(({ form }) => form !== 'instant');
  const zone = needsZone ? zoneOf(rules.timeZone) : { timeZone: null, notes: [] };
  const hasTimes = times.when !== null || (times.time !== null && times.endTime !== null);
  return {
    map,
    when: times.when,
    terms: times.terms,
    dateOrder: order.dateOrder,
    timeZone: zone.timeZone,
    identifiers: identifiers.mode,
    // What is missing comes first, alone.
    notes: [
      ...times.notes,
      ...order.notes,
      ...(inBuildings?.notes ?? []),
      ...(ofCourses?.notes ?? []),
      ...(hasTimes ? [...zone.notes, ...identifiers.notes] : []),
    ],
    isComplete: hasTimes && !order.isMixed,
  };
}

/** The columns of ids that have a column of names beside them, and those names. */
function pairedColumns(free: readonly LookedColumn[], given: Given): Map<FieldName, LookedColumn> {
  const single = free.filter((column) => column.each === null && separatorOf(column) === null);
  const found = new Map<FieldName, LookedColumn>();
  for (const { role, id, name } of PAIRS) {
    if (given[id] !== undefined || given[name] !== undefined) continue;
    for (const column of single) {
      const [, of] = /^(.+) id$/.exec(plainName(column.name)) ?? [];
      if (of === undefined || certaintyOf(of, role) < CERTAINTY_SURE) continue;
      if (found.has(id) || !column.isIdentifier || !isFitFor(id, column)) continue;
      const names = single.find((each) => plainName(each.name) === `${of} name` && isFitFor(name, each));
      // The name of a class is that of a course.
      const isTitle = role !== 'courseId' && certaintyOf(`${of} name`, 'title') >= CERTAINTY_SURE;
      if (names !== undefined && !isTitle) found.set(id, column).set(name, names);
    }
  }
  return found;
}

/**
 * The columns of the text fields. The column of a field's own name comes first, then the most certain pair of field and
 * column, and so on.
 */
function textColumns(
  free: readonly LookedColumn[],
  isOpen: (field: FieldName) => boolean,
): Map<FieldName, LookedColumn> {
  const open = TEXT_FIELDS.filter(isOpen);
  const pairs = open
    .flatMap((field) =>
      free
        .filter((column) => isFitFor(field, column))
        .map((column) => ({ field, column, score: scoreOf(column, field) })),
    )
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const found = new Map<FieldName, LookedColumn>();
  for (const { field, column } of pairs)
    if (!found.has(field) && ![...found.values()].includes(column)) found.set(field, column);
  // One column may be both title and course.
  for (const [field, other] of [
    ['title', 'courseId'],
    ['courseId', 'title'],
  ] as const) {
    const column = found.get(other);
    const isBoth = column !== undefined && certaintyOf(column.name, field) > 0 && isFitFor(field, column);
    if (open.includes(field) && !found.has(field) && isBoth) found.set(field, column);
  }
  return new Map(
    TEXT_FIELDS.flatMap((field) => (found.has(field) ? [[field, found.get(field) as LookedColumn]] : [])),
  );
}

/** Whether values can be those of a field, unlike times, dates and, for texts, bare numbers. */
function isFitFor(field: FieldName, { form, isText }: LookedColumn): boolean {
  const isName = !['instant', 'local', 'date', 'span', 'clock', 'clocks'].includes(form);
  return isName && (isText || IDENTIFIER_FIELDS.includes(field));
}

/** The value of a field: the column, or the steps that give its values one by one. */
function fieldValue(column: LookedColumn, field: FieldName): MapValue {
  const { name, each, values } = column;
  if (each !== null) return { from: name, each };
  // Texts that stand for no value, beside other texts.
  const marks = values.filter(isMark);
  const texts = values.filter((value) => !isMark(value));
  const nothing = (some: readonly string[]): Pick<FieldValue, 'values'> =>
    some.length === 0 || texts.length === 0
      ? {}
      : { values: Object.fromEntries(some.map((mark) => [mark, null])) };
  const split = SPLIT_FIELDS.includes(field) ? separatorOf(column, field === 'lecturer') : null;
  const isArray = texts.length > 0 && texts.every((text) => ARRAY.test(text));
  if (isArray && SPLIT_FIELDS.includes(field))
    return { from: name, split: ',', match: '[^{}]+', ...nothing(marks) };
  // A split leaves out - and -- by itself.
  if (split !== null)
    return {
      from: name,
      split: split.trim() === '' ? split : split.trim(),
      ...nothing(marks.filter((mark) => !/^--?$/.test(mark))),
    };
  const steps = nothing(marks);
  return steps.values === undefined ? name : { from: name, ...steps };
}

/** Whether cells have a room for each of several days: `Mon Wed` and `A201 B101`. */
function arePaired({ columns, when }: Times, room: LookedColumn): boolean {
  const wordsOf = (text: string): readonly string[] => text.split(/\s+/);
  const days = columns.find(({ name }) => name === when?.day)?.values ?? [];
  const several = room.values.filter((value) => wordsOf(value).length > 1);
  return (
    several.length > 0 &&
    several.every((value) => days.some((day) => wordsOf(day).length === wordsOf(value).length)) &&
    several.every((value) => wordsOf(value).every((word) => looksLike('room', word)))
  );
}

/** Whether nearly all values are numbers or letters, as the sections of a course have. */
function hasSections(column: LookedColumn | undefined): column is LookedColumn {
  return column !== undefined && likenessOf(column, 'section') >= SECTIONS_MIN;
}

/** The template of a name that is known only together with another value; null if no name occurs beside two of them. */
function knownByBoth(
  own: LookedColumn | undefined,
  other: LookedColumn | undefined,
  what: 'room' | 'group',
): { readonly template: string | null; readonly notes: readonly string[] } | null {
  if (own === undefined || other === undefined) return null;
  const seen = new Map<string, string>();
  const several = [...own.rows].find(([record, name]) => {
    const beside = other.rows.get(record);
    if (beside === undefined || isMark(name)) return false;
    if (!seen.has(name)) seen.set(name, beside);
    return seen.get(name) !== beside;
  });
  if (several === undefined) return null;
  const [record, name] = several;
  const found = `${quoteEscaped(name)} in ${own.name} is a ${what} of ${quoteEscaped(seen.get(name) ?? '')} and of ${quoteEscaped(other.rows.get(record) ?? '')}`;
  const field = what === 'room' ? 'roomId' : 'studyGroup';
  // A template without one of its values gives none.
  if ([...own.rows.keys()].some((each) => !other.rows.has(each)))
    return {
      template: null,
      notes: [`${found}, but some records have no ${other.name}: fill it, and map ${field} to both`],
    };
  return {
    template: `{${other.name}} {${own.name}}`,
    notes: [`${found}, so it is a guess that a ${what} is known by both`],
  };
}

/** The column or template of a value. */
export function sourceOfValue(value: MapValue): string {
  return typeof value === 'string' ? value : value.from;
}

/** The columns of a template; none if the template is wrong. */
export function namesIn(template: string): string[] {
  return columnsOf(entryOf(template) ?? undefined);
}

/** The id of the events: a column `id`, the primary key, or a column with a usual name. */
function idOf(
  free: readonly LookedColumn[],
  all: readonly LookedColumn[],
  key: readonly string[],
  hasDuplicates: boolean,
): string | undefined {
  const own = all.find(({ name }) => name === 'id');
  if (own?.isUnique && !hasDuplicates) return 'id';
  if (key.length > 0) return key.length === 1 ? key[0] : key.map((name) => `{${name}}`).join('/');
  return (
    own ??
    best(
      free.filter(({ isUnique }) => isUnique),
      'id',
    )
  )?.name;
}

/** The setting `identifiers` that the columns need. The user's setting is kept, unless a value does not fit. */
function identifiersFor(
  given: IdentifierMode,
  id: string | undefined,
  map: Readonly<Record<string, MapValue>>,
  named: (template: string) => readonly LookedColumn[],
  hasKey: boolean,
): { readonly mode: MapProposal['identifiers']; readonly notes: readonly string[] } {
  if (given === 'derived') return { mode: given, notes: [] };
  const all = IDENTIFIER_FIELDS.flatMap((field) => {
    const template = field === 'id' ? id : (map[field] ?? field);
    return template === undefined ? [] : [named(sourceOfValue(template))];
  });
  const long = all.find((columns) => !areIdentifiers(columns));
  if (given === 'any') {
    if (id !== undefined && long === undefined) return { mode: given, notes: [] };
    const reason =
      long === undefined
        ? 'no column identifies the records'
        : `${long.map(({ name }) => name).join(' and ')} has values that are neither whole numbers nor texts of at most ${IDENTIFIER_CHARACTERS_MAX} characters`;
    return { mode: 'derived', notes: [`--identifiers any cannot be used: ${reason}`] };
  }
  const isUuid = all.every((columns) => columns.length < 2 && columns.every(({ form }) => form === 'uuid'));
  if (id !== undefined && isUuid) return { mode: null, notes: [] };
  // Whole numbers that identify the rows of a database are kept unchanged.
  const areNumbers = all.flat().every(({ form }) => form === 'number' || form === 'uuid');
  const isKept = hasKey && id !== undefined && long === undefined && areNumbers;
  return { mode: isKept ? 'any' : 'derived', notes: [] };
}

/** Whether `--identifiers any` accepts the values of these columns, joined by a character. */
function areIdentifiers(columns: readonly LookedColumn[]): boolean {
  const units = columns.reduce((sum, { unitsMax }) => sum + unitsMax, columns.length - 1);
  if (columns.length > 1) return units <= IDENTIFIER_CHARACTERS_MAX;
  return columns.every(({ isIdentifier }) => isIdentifier);
}

/**
 * For calendars: maps non-standard properties to fields without a value. Other fields have a property by default.
 *
 * @param needsZone whether times have no zone and none was given
 */
export function proposeCalendarMap(
  columns: readonly LookedColumn[],
  isEmpty: (field: FieldName) => boolean,
  needsZone: boolean,
): MapProposal {
  let own: readonly LookedColumn[] = columns.filter(
    ({ name, records }) => records > 0 && /^X-\p{L}+$/u.test(name),
  );
  const map: Record<string, string> = {};
  for (const field of TEXT_FIELDS.filter(isEmpty)) {
    const column = best(
      own.filter((each) => isFitFor('id', each)),
      field,
    );
    if (column === undefined) continue;
    map[field] = column.name;
    own = without(own, column);
  }
  const nothing = { when: null, terms: {}, dateOrder: null, identifiers: null };
  const zone = needsZone ? zoneOf(undefined) : { timeZone: null, notes: [] };
  return { ...nothing, ...zone, map, isComplete: true };
}

/** The times of the user's map, completed by those that are found. */
function completedTimes(
  columns: readonly LookedColumn[],
  { time, endTime }: Given,
  named: (template: string) => readonly LookedColumn[],
): Times {
  const found = findTimes(columns);
  return {
    ...found,
    time: time ?? found.time,
    endTime: endTime ?? found.endTime,
    columns: present(time, endTime).flatMap(named),
    notes: time !== undefined && endTime !== undefined ? [] : found.notes,
  };
}

/** Times that are whole in one column, or in one of dates and one of times of day. */
function findTimes(columns: readonly LookedColumn[]): Times {
  const moments = columns.filter(isMoment);
  const named = (name: string): LookedColumn | undefined => moments.find((column) => column.name === name);
  const start = named('time') ?? best(moments, 'start', 'startDate') ?? moments[0];
  const end = named('endTime') ?? best(without(moments, start), 'end', 'endDate');
  const dates = columns.filter(({ form }) => form === 'date');
  const date = best(dates, 'startDate') ?? (dates.length === 1 ? dates[0] : undefined);
  const endDate = best(without(dates, date), 'endDate');
  const [from, to] = pairOf(columns.filter((column) => column.form === 'clock' && !isLength(column)));
  const range = columns.find(({ form }) => form === 'clocks');
  if (start !== undefined && end !== undefined)
    return { ...NO_PATTERN, time: start.name, endTime: end.name, columns: [start, end], notes: [] };
  const span = columns.find(({ form }) => form === 'span');
  if (span !== undefined)
    return { ...NO_PATTERN, time: span.name, endTime: span.name, columns: [span], notes: [] };
  const notes: string[] = [];
  if ((date ?? start) === undefined) notes.push('the dates of lessons are missing: no column holds dates');
  if (range !== undefined && (from ?? start) === undefined) {
    const both = joined(date, range);
    return { ...NO_PATTERN, time: both, endTime: both, columns: present(date, range), notes };
  }
  if (date !== undefined && from === undefined)
    notes.push('the start of lessons is missing: no column holds times of day');
  if ((start ?? from) !== undefined && (end ?? to) === undefined) notes.push(endNote(columns));
  return {
    ...NO_PATTERN,
    time: start?.name ?? joined(date, from),
    endTime: end?.name ?? joined(endDate ?? date, to),
    columns: present(start ?? date, start === undefined ? from : undefined, endDate, to, end),
    notes,
  };
}

const NO_PATTERN = { when: null, terms: {} };

function endNote(columns: readonly LookedColumn[]): string {
  const duration = best(columns, 'duration');
  const instead =
    duration === undefined ? '' : `; ${duration.name} looks like a duration, which a field map cannot add`;
  return `the end of lessons is missing${instead}`;
}

function joined(date: LookedColumn | undefined, clock: LookedColumn | undefined): string | null {
  return date === undefined || clock === undefined ? null : `{${date.name}} {${clock.name}}`;
}

/** Day and month are ambiguous if both are at most 12. */
function orderOf(
  used: readonly LookedColumn[],
  all: readonly LookedColumn[],
  given: ReadRules['dateOrder'],
): Pick<MapProposal, 'dateOrder' | 'notes'> & { readonly isMixed?: boolean } {
  const dates = used.flatMap((column) => column.dates ?? []);
  const [first] = dates;
  if (first === undefined || dates.every(({ yearFirst, mark }) => yearFirst && mark === '-'))
    return { dateOrder: null, notes: [] };
  const isDayFirst = dates.some(({ firstMax }) => firstMax > 12);
  const isMonthFirst = dates.some(({ secondMax }) => secondMax > 12);
  if (!first.yearFirst && isDayFirst && isMonthFirst) {
    const notes = ['some dates begin with the day, others with the month'];
    return { dateOrder: null, notes, isMixed: true };
  }
  const known = first.yearFirst ? 'ymd' : isDayFirst ? 'dmy' : isMonthFirst ? 'mdy' : given;
  const order = known ?? orderByWeekdays(used, all);
  if (order !== undefined) return { dateOrder: order, notes: [] };
  const guess = first.mark === '.' || !all.some(({ hasAmPm }) => hasAmPm) ? 'dmy' : 'mdy';
  const note = `no date has a day above 12, so --date-order ${guess} is a guess: check it (dmy is day, month, year; mdy is month, day, year)`;
  return { dateOrder: guess, notes: [note] };
}

/** The order in which all dates fall on weekdays that are named; undefined if both orders do, or none. */
function orderByWeekdays(
  used: readonly LookedColumn[],
  all: readonly LookedColumn[],
): 'dmy' | 'mdy' | undefined {
  const dates = used.find((column) => column.dates !== null)?.values.filter((value) => !isMark(value)) ?? [];
  const inCells = dates.flatMap((date) => /^\p{L}+/u.exec(date) ?? []);
  const beside = all.find(({ form }) => form === 'weekdays')?.values ?? [];
  const names = (inCells.length > 0 ? inCells : beside).filter((name) => !isMark(name));
  const reader = new WeekdayReader(undefined, []);
  for (const name of names) reader.read(name);
  reader.end();
  const days = names.map((name) => reader.read(name));
  const named = new Set(days.flatMap((each) => (typeof each === 'object' ? (each ?? []) : [])));
  const fitting = (['dmy', 'mdy'] as const).filter((order) =>
    dates.every((text) => {
      const date = readDate(text, order);
      // 1970-01-01 was a Thursday.
      return typeof date !== 'string' && named.has((((date.days + 3) % 7) + 7) % 7);
    }),
  );
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** Times without an offset do not name their zone. Unless a zone is given, it is guessed. */
export function zoneOf(given: string | undefined): {
  readonly timeZone: string;
  readonly notes: readonly string[];
} {
  if (given !== undefined) return { timeZone: given, notes: [] };
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isUtc = own === 'UTC' || own === 'Etc/UTC';
  const timeZone = isUtc ? ZONE_EXAMPLE : own;
  const origin = isUtc ? 'an example, because this machine uses UTC' : 'the zone of this machine';
  return {
    timeZone,
    notes: [
      `the times have no offset, and --time-zone ${timeZone} is a guess (${origin}): check it, because a wrong zone shifts every time`,
    ],
  };
}

/** The options of a command line, quoted for a shell. */
export function proposedOptions({ map, dateOrder, timeZone, identifiers }: MapProposal): string[] {
  return [
    ...Object.entries(map).map(([field, value]) => `--map ${field}=${shellQuoted(sourceOfValue(value))}`),
    ...(dateOrder === null ? [] : [`--date-order ${dateOrder}`]),
    ...(timeZone === null ? [] : [`--time-zone ${timeZone}`]),
    ...(identifiers === null ? [] : [`--identifiers ${identifiers}`]),
  ];
}

/** How much a good look of the values multiplies the certainty of a name, and a bad one. */
const GOOD_LOOK = 1.5;
const BAD_LOOK = 0.4;
/** What is left of the certainty of a name that says something else, such as the room that was requested. */
const OTHER_SHARE = 0.2;
/** The share of values that must look alike, and the distinct values that tell it. */
const LOOK_MIN = 0.5;
const CLEAR_LOOK_MIN = 0.7;
const CLEAR_VALUES_MIN = 3;
/** Columns of many records with few values are no rooms and no titles. */
const MANY_RECORDS = 100;
const FEW_VALUES = 15;
/** The share of different values among the records of a column that numbers each lesson. */
const NUMBERING_MIN = 0.8;
/** The share of values that must look like sections: some have a letter in front. */
const SECTIONS_MIN = 0.8;

/** How a field's values look, and how certain the look alone is. */
const LOOKS: Partial<
  Record<ColumnRole, { readonly as: 'room' | 'code' | 'person' | 'title'; readonly alone: number }>
> = {
  roomId: { as: 'room', alone: 150 },
  courseId: { as: 'code', alone: 160 },
  lecturer: { as: 'person', alone: 140 },
  title: { as: 'title', alone: 120 },
};

/** How certain it is that a column holds a field. What the values look like counts as much as the name. */
function scoreOf(column: LookedColumn, field: (typeof TEXT_FIELDS)[number]): number {
  if (column.name === field) return Number.POSITIVE_INFINITY;
  const { records, values, name } = column;
  const certainty = certaintyOf(name, field);
  const other = certaintyOf(name, 'other');
  const by = other > 0 && other >= certainty - 50 ? OTHER_SHARE : 1;
  const look = LOOKS[field];
  const isFew = records >= MANY_RECORDS && values.length <= FEW_VALUES;
  if (look === undefined) {
    const isMany = field === 'type' && records >= MANY_RECORDS && values.length > records / 4;
    return by * certainty * (isMany ? BAD_LOOK : 1);
  }
  const like = likenessOf(column, look.as);
  if (certainty > 0) {
    // `course remained` is a part of a course, and a number of each lesson is none.
    const isNumbering = records >= MANY_RECORDS && values.length > NUMBERING_MIN * records;
    const isDoubtful = field === 'courseId' && (isNumbering || certainty < CERTAINTY_SURE);
    const isBad = isDoubtful || (isFew && like < 1 - CLEAR_LOOK_MIN);
    const factor = like >= LOOK_MIN ? GOOD_LOOK : isBad ? BAD_LOOK : 1;
    // Of the objects of a list, the name is read, and of a person's names the last.
    const named =
      column.each === null
        ? 1
        : /^(?:id|.*(?:first|given|seats|capacity|mail|url).*)$/i.test(column.each)
          ? 0.5
          : 1;
    return by * certainty * factor * named;
  }
  // A look alone tells a field only if the values can be nothing else.
  const isElse = look.as === 'room' && likenessOf(column, 'code') >= LOOK_MIN;
  const isPerson = look.as === 'title' && likenessOf(column, 'person') >= LOOK_MIN;
  // Codes of courses are called names, too.
  const isKnown = ROLES_NAMED.some(
    (role) => certaintyOf(name, role) > 0 && (field !== 'courseId' || role !== 'title'),
  );
  if (isElse || isPerson || isKnown || like < CLEAR_LOOK_MIN || values.length < CLEAR_VALUES_MIN) return 0;
  if (column.form === 'number') return 0;
  const units = values.reduce((sum, value) => sum + value.length, 0) / values.length;
  // Names of people are short, and titles are long.
  const length = field === 'lecturer' ? -units : field === 'title' ? units : 0;
  return look.alone * Math.min(2, 1 + values.length / MANY_RECORDS) + Math.max(-20, Math.min(20, length / 3));
}

/** A column with the name of one of these is not another one because of its look. */
const ROLES_NAMED: readonly ColumnRole[] = [
  'id',
  'title',
  'courseId',
  'studyGroup',
  'lecturer',
  'type',
  'weeks',
  'weekday',
  'other',
];
