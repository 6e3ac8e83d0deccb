/** Proposes how a source is read, and says what is guessed and what the source lacks. */
import { TERM_WEEKS_MAX } from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import type { FieldName } from '../base/model/fields.js';
import { IDENTIFIER_CHARACTERS_MAX } from '../base/model/identifier.js';
import { readDate } from '../base/model/local-time.js';
import type { MapValue, ReadRules, Term, WeeklyPattern } from '../base/model/read-rules.js';
import { DAY_MS, formatInstant } from '../base/model/time.js';
import { columnsOf, entryOf } from '../source/map-value.js';
import { parseWeeks } from '../source/pattern/weeks.js';
import {
  type ColumnForm,
  hasTimeBesideDay,
  isMark,
  type LookedColumn,
  likenessOf,
  looksLike,
  separatorOf,
} from './column-look.js';
import { type ColumnRole, certaintyOf, likeliest } from './column-names.js';
import { alternation, arePeriods, periodTimes } from './guessed-values.js';
import { shellQuoted } from './printable.js';

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

const DATE_AND_TIME: readonly ColumnForm[] = ['instant', 'local'];
const TEXT_FIELDS = ['title', 'courseId', 'roomId', 'studyGroup', 'lecturer', 'type'] as const;
const IDENTIFIER_FIELDS: readonly FieldName[] = ['id', 'roomId', 'courseId', 'groupId', 'lecturerId'];
/** Fields that one cell often has several values of. */
const SPLIT_FIELDS: readonly string[] = ['roomId', 'studyGroup', 'lecturer'];
/** The zone of a proposal if the machine's zone is UTC. */
const ZONE_EXAMPLE = 'Europe/Berlin';
/** The name and the weeks of a term that is guessed. */
const TERM = 'term';
const TERM_WEEKS_GUESSED = 15;

/** Facts for a proposal, besides the values of the columns. */
export interface ProposalGround {
  /** The rules that the user gave. */
  readonly rules: ReadRules;
  /** The part of the user's field map that is kept. Its fields get no other column. */
  readonly given?: Readonly<Record<string, string>>;
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
  // The items of a list are no times of one lesson.
  const single = filled.filter(({ each, isList }) => each === null && !isList);
  const lists = filled.filter(({ each, isList }) => each === null && isList);
  const isGiven = given.time !== undefined || given.endTime !== undefined;
  const weekly = isGiven ? null : findWeekly(single, lists);
  const times = weekly ?? timesOf(single, given, named);
  const map: Record<string, MapValue> = {};
  const add = (field: FieldName, template: MapValue): void => {
    if (template !== field && given[field] === undefined) map[field] = template;
  };
  if (times.time !== null) add('time', times.time);
  if (times.endTime !== null) add('endTime', times.endTime);
  const used = new Set<LookedColumn>([...times.columns, ...Object.values(given).flatMap(named)]);
  const id = given.id ?? idOf(single, key, used, hasDuplicates);
  if (id !== undefined) {
    add('id', id);
    for (const column of named(id)) used.add(column);
  }
  const texts = textColumns(filled, used, given);
  for (const [field, column] of texts) add(field, fieldValue(column, field));
  const room = texts.get('roomId');
  const hasPairs =
    weekly !== null && room !== undefined && separatorOf(room) === null && arePaired(weekly, room);
  if (hasPairs) map.roomId = { from: room.name, split: ' ' };
  // Without an identifier, the lecturer's name serves as identifier, as the name of a room does.
  const own = filled.some(({ name }) => name === 'lecturerId');
  if (given.lecturerId === undefined && !own && map.lecturer !== undefined) map.lecturerId = map.lecturer;
  const identifiers = identifiersFor(rules.identifiers, id, { ...map, ...given }, named, key.length > 0);
  const needsZone = weekly !== null || times.columns.some(({ form }) => form !== 'instant');
  const order = orderOf(times.columns, filled, rules.dateOrder);
  const zone = needsZone ? zoneOf(rules.timeZone) : { timeZone: null, notes: [] };
  const hasTimes = weekly === null ? times.time !== null && times.endTime !== null : weekly.when !== null;
  return {
    map,
    when: weekly?.when ?? null,
    terms: weekly?.terms ?? {},
    dateOrder: order.dateOrder,
    timeZone: zone.timeZone,
    identifiers: identifiers.mode,
    // What is missing comes first, alone.
    notes: hasTimes
      ? [...times.notes, ...order.notes, ...zone.notes, ...identifiers.notes]
      : [...times.notes, ...order.notes],
    isComplete: hasTimes && order.isKnown,
  };
}

/**
 * The columns of the text fields. The column of a field's own name comes first, then the most certain pair of field and
 * column, and so on.
 */
function textColumns(
  filled: readonly LookedColumn[],
  taken: ReadonlySet<LookedColumn>,
  given: Readonly<Record<string, string>>,
): Map<FieldName, LookedColumn> {
  const open = TEXT_FIELDS.filter((field) => given[field] === undefined);
  const pairs = open
    .flatMap((field) =>
      filled
        .filter((column) => !taken.has(column) && isFitFor(field, column))
        .map((column) => ({ field, column, score: scoreOf(column, field) })),
    )
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const found = new Map<FieldName, LookedColumn>();
  const used = new Set<LookedColumn>();
  for (const { field, column } of pairs) {
    if (found.has(field) || used.has(column)) continue;
    found.set(field, column);
    used.add(column);
  }
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

function isFitFor(field: FieldName, column: LookedColumn): boolean {
  return IDENTIFIER_FIELDS.includes(field) ? isNameColumn(column) : isTextColumn(column);
}

/** The value of a field: the column, or the steps that give its values one by one. */
function fieldValue(column: LookedColumn, field: FieldName): MapValue {
  const { name, each } = column;
  if (each !== null) return { from: name, each };
  const split = SPLIT_FIELDS.includes(field) ? separatorOf(column, field === 'lecturer') : null;
  if (split !== null) return { from: name, split: split.trim() === '' ? split : split.trim() };
  const marks = emptyMarks(column);
  return marks.length === 0
    ? name
    : { from: name, values: Object.fromEntries(marks.map((mark) => [mark, null])) };
}

/** The texts of a column that stand for no value, such as `--` or `n/a`; none if it has no other texts. */
function emptyMarks({ values }: LookedColumn): readonly string[] {
  const marks = values.filter(isMark);
  return marks.length === values.length ? [] : marks;
}

/** Whether cells have a room for each of several days: `Mon Wed` and `A201 B101`. */
function arePaired({ columns, when }: Weekly, room: LookedColumn): boolean {
  const wordsOf = (text: string): readonly string[] => text.split(/\s+/);
  const days = columns.find(({ name }) => name === when?.day)?.values ?? [];
  const several = room.values.filter((value) => wordsOf(value).length > 1);
  return (
    several.length > 0 &&
    several.every((value) => days.some((day) => wordsOf(day).length === wordsOf(value).length)) &&
    several.every((value) => wordsOf(value).every((word) => looksLike('room', word)))
  );
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
  filled: readonly LookedColumn[],
  key: readonly string[],
  used: ReadonlySet<LookedColumn>,
  hasDuplicates: boolean,
): string | undefined {
  const own = filled.find(({ name }) => name === 'id');
  if (own?.isUnique && !hasDuplicates) return 'id';
  if (key.length > 0) return key.length === 1 ? key[0] : key.map((name) => `{${name}}`).join('/');
  return own?.name ?? best(filled, 'id', (column) => column.isUnique, used)?.name;
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

/** For calendars: maps non-standard properties to fields without a value. Other fields have a property by default. */
export function proposeCalendarMap(
  columns: readonly LookedColumn[],
  isEmpty: (field: FieldName) => boolean,
): MapProposal {
  const own = columns.filter(({ name, records }) => records > 0 && /^X-\p{L}+$/u.test(name));
  const used = new Set<LookedColumn>();
  const map: Record<string, string> = {};
  for (const field of TEXT_FIELDS.filter(isEmpty)) {
    const column = best(own, field, isNameColumn, used);
    if (column === undefined) continue;
    map[field] = column.name;
    used.add(column);
  }
  const nothing = { when: null, terms: {}, dateOrder: null, timeZone: null, identifiers: null, notes: [] };
  return { ...nothing, map, isComplete: true };
}

interface Times {
  readonly time: string | null;
  readonly endTime: string | null;
  readonly columns: readonly LookedColumn[];
  readonly notes: readonly string[];
}

/** The times of the user's map, completed by those that are found. */
function timesOf(
  filled: readonly LookedColumn[],
  given: Readonly<Record<string, string>>,
  named: (template: string) => readonly LookedColumn[],
): Times {
  const { time, endTime } = given;
  if (time === undefined && endTime === undefined) return findTimes(filled);
  const found = findTimes(filled);
  const isWhole = time !== undefined && endTime !== undefined;
  return {
    time: time ?? found.time,
    endTime: endTime ?? found.endTime,
    columns: [time, endTime].flatMap((template) => (template === undefined ? [] : named(template))),
    notes: isWhole ? [] : found.notes,
  };
}

function findTimes(columns: readonly LookedColumn[]): Times {
  const isMoment = ({ form }: LookedColumn): boolean => DATE_AND_TIME.includes(form);
  const isDate = ({ form }: LookedColumn): boolean => form === 'date';
  const isClock = (column: LookedColumn): boolean => column.form === 'clock' && !isLength(column);
  const named = (name: string): LookedColumn | undefined =>
    columns.find((column) => column.name === name && isMoment(column));
  const moments = columns.filter(isMoment);
  const start = named('time') ?? best(moments, 'start') ?? best(moments, 'startDate') ?? moments[0];
  const end =
    named('endTime') ??
    best(moments, 'end', undefined, setOf(start)) ??
    best(moments, 'endDate', undefined, setOf(start));
  if (start !== undefined && end !== undefined) {
    return { time: start.name, endTime: end.name, columns: [start, end], notes: [] };
  }
  const dates = columns.filter(isDate);
  const clocks = columns.filter(isClock);
  const date = best(dates, 'startDate') ?? (dates.length === 1 ? dates[0] : undefined);
  const endDate = best(dates, 'endDate', undefined, setOf(date));
  const from = best(clocks, 'start') ?? (clocks.length === 2 ? clocks[0] : undefined);
  const to =
    best(clocks, 'end', undefined, setOf(from)) ??
    (clocks.length === 2 ? clocks.find((clock) => clock !== from) : undefined);
  const notes: string[] = [];
  if (date === undefined && start === undefined)
    notes.push('the dates of lessons are missing: no column holds dates');
  const range = columns.find(({ form }) => form === 'clocks');
  if (range !== undefined && from === undefined && start === undefined) {
    const both = joined(date, range);
    return { time: both, endTime: both, columns: [date, range].filter((each) => each !== undefined), notes };
  }
  if (date !== undefined && from === undefined)
    notes.push('the start of lessons is missing: no column holds times of day');
  const lastNote = endNote(columns, start ?? from, end ?? to);
  if (lastNote !== null) notes.push(lastNote);
  const startTemplate = start !== undefined ? start.name : joined(date, from);
  const endTemplate = end !== undefined ? end.name : joined(endDate ?? date, to);
  const found = [start ?? date, start === undefined ? from : undefined, endDate, to, end];
  return {
    time: startTemplate,
    endTime: endTemplate,
    columns: found.filter((column) => column !== undefined),
    notes,
  };
}

function endNote(
  columns: readonly LookedColumn[],
  start: LookedColumn | undefined,
  end: LookedColumn | undefined,
): string | null {
  if (start === undefined || end !== undefined) return null;
  const duration = best(columns, 'duration');
  const instead =
    duration === undefined ? '' : `; ${duration.name} looks like a duration, which a field map cannot add`;
  return `the end of lessons is missing${instead}`;
}

/** Day and month are ambiguous if both are at most 12. */
function orderOf(
  used: readonly LookedColumn[],
  all: readonly LookedColumn[],
  given: ReadRules['dateOrder'],
): {
  readonly dateOrder: MapProposal['dateOrder'];
  readonly notes: readonly string[];
  readonly isKnown: boolean;
} {
  const dates = used.flatMap((column) => column.dates ?? []);
  const [first] = dates;
  if (first === undefined || dates.every(({ yearFirst, mark }) => yearFirst && mark === '-')) {
    return { dateOrder: null, notes: [], isKnown: true };
  }
  const known = (dateOrder: MapProposal['dateOrder'], notes: readonly string[] = []) => ({
    dateOrder,
    notes,
    isKnown: true,
  });
  if (first.yearFirst) return known('ymd');
  const isDayFirst = dates.some(({ firstMax }) => firstMax > 12);
  const isMonthFirst = dates.some(({ secondMax }) => secondMax > 12);
  if (isDayFirst && isMonthFirst) {
    return {
      dateOrder: null,
      notes: ['some dates begin with the day, others with the month'],
      isKnown: false,
    };
  }
  if (isDayFirst) return known('dmy');
  if (isMonthFirst) return known('mdy');
  if (given !== undefined) return known(given);
  const guess = first.mark === '.' || !all.some(({ hasAmPm }) => hasAmPm) ? 'dmy' : 'mdy';
  return known(guess, [
    `no date has a day above 12, so --date-order ${guess} is a guess: check it (dmy is day, month, year; mdy is month, day, year)`,
  ]);
}

/** Whether values can be names, unlike times, dates and bare numbers. */
function isNameColumn({ form }: LookedColumn): boolean {
  return !['instant', 'local', 'date', 'clock', 'clocks'].includes(form);
}

function isTextColumn(column: LookedColumn): boolean {
  return isNameColumn(column) && column.isText;
}

function best(
  columns: readonly LookedColumn[],
  role: ColumnRole,
  isFit: (column: LookedColumn) => boolean = () => true,
  taken: ReadonlySet<LookedColumn> = new Set(),
): LookedColumn | undefined {
  const free = columns.filter((column) => !taken.has(column) && isFit(column));
  return likeliest(free, ({ name }) => certaintyOf(name, role));
}

function setOf(column: LookedColumn | undefined): ReadonlySet<LookedColumn> {
  return new Set(column === undefined ? [] : [column]);
}

function joined(date: LookedColumn | undefined, clock: LookedColumn | undefined): string | null {
  if (date === undefined || clock === undefined) return null;
  return `${inTemplate(date)} ${inTemplate(clock)}`;
}

function inTemplate({ name }: LookedColumn): string {
  return `{${name}}`;
}

/** Times without an offset do not name their zone. Unless a zone is given, it is guessed. */
function zoneOf(given: string | undefined): Pick<MapProposal, 'timeZone' | 'notes'> {
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
    const factor = like >= LOOK_MIN ? GOOD_LOOK : isFew && like < 1 - CLEAR_LOOK_MIN ? BAD_LOOK : 1;
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
  const isKnown = ROLES_NAMED.some((role) => certaintyOf(name, role) > 0);
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

interface Weekly extends Times {
  readonly when: WeeklyPattern | null;
  readonly terms: Readonly<Record<string, Term>>;
}

/** The pattern of records that have weekdays and no dates; null for other records. */
function findWeekly(columns: readonly LookedColumn[], lists: readonly LookedColumn[]): Weekly | null {
  const isDay = (column: LookedColumn): boolean =>
    column.form === 'weekdays' || (certaintyOf(column.name, 'weekday') > 0 && areDayNumbers(column));
  const day = best(columns, 'weekday', isDay) ?? columns.find(({ form }) => form === 'weekdays');
  if (day === undefined) return null;
  const dates = columns.filter(({ form, values }) => form === 'date' || (isDated(form) && values.length > 0));
  // NUSMods gives `{ "start": …, "end": …, "weekInterval": 2 }` as weeks of some lessons.
  const span = columns.find(({ name }) => name.endsWith(SPAN_END))?.name.slice(0, -SPAN_END.length);
  const isOfSpan = ({ name }: LookedColumn): boolean => span !== undefined && name.startsWith(`${span}.`);
  const ranges = dates.filter((column) => !isOneDay(column) && !isOfSpan(column));
  const validUntil = best(ranges, 'endDate') ?? best(ranges, 'end');
  const free = setOf(validUntil);
  const validFrom = best(ranges, 'start', undefined, free) ?? best(ranges, 'startDate', undefined, free);
  const moments = ranges.filter(({ form }) => isDated(form));
  if (moments.length > 0 || (ranges.length > 0 && validUntil === undefined)) return null;
  const clock = clockOf(columns, day);
  const { start, end, period } = clock;
  const taken = new Set([day, ...setOf(start), ...setOf(end), ...columns.filter(isOfSpan)]);
  const weeks = weeksOf([...columns, ...lists], taken, span);
  const inSpan = columns.filter(isOfSpan);
  const used = [day, start, end, period, ...inSpan, weeks?.column, validFrom, validUntil];
  const last = weeks?.last ?? null;
  const isCycle = span === undefined && last !== null && last > 1 && last <= CYCLE_MAX;
  const cycle = isCycle && !hasFewWeeks(weeks?.column) ? last : null;
  const within = (name: string): LookedColumn | undefined =>
    columns.find((column) => isOfSpan(column) && column.name.endsWith(name));
  const [from, until] = [validFrom ?? within('.start'), validUntil ?? within('.end')];
  const isOfCalendar = last !== null && last <= ISO_WEEKS && (weeks?.first ?? 0) >= ISO_WEEKS_FROM;
  const term = isOfCalendar ? calendarTerm() : termOf(from, until, cycle === null ? last : null);
  const parts = {
    day: day.name,
    ...(day.form === 'weekdays' ? {} : { dayOne: 'monday' as const }),
    ...clock.parts,
    ...(weeks?.value === undefined ? {} : { weeks: weeks.value }),
    ...(cycle === null ? {} : { cycle }),
    ...(validFrom === undefined ? {} : { validFrom: validFrom.name }),
    ...(validUntil === undefined ? {} : { validUntil: validUntil.name }),
  };
  const { start: startValue } = parts;
  const when = clock.fault === null && startValue !== undefined ? { ...parts, start: startValue } : null;
  return {
    time: null,
    endTime: null,
    columns: used.filter((column) => column !== undefined),
    notes: when === null ? [clock.fault ?? ''] : weeklyNotes(day, period, weeks, cycle, isOfCalendar, term),
    when,
    terms: { [TERM]: term },
  };
}

interface FoundClock {
  readonly start: LookedColumn | undefined;
  readonly end: LookedColumn | undefined;
  /** The column of the numbers of lessons, if there are no times. */
  readonly period: LookedColumn | undefined;
  readonly parts: Pick<WeeklyPattern, 'end' | 'minutes'> & Partial<Pick<WeeklyPattern, 'start'>>;
  /** What is missing; null if nothing is. */
  readonly fault: string | null;
}

/** The times of day of a weekly pattern. */
function clockOf(columns: readonly LookedColumn[], day: LookedColumn): FoundClock {
  const range = columns.find(({ form }) => form === 'clocks');
  const clocks = columns.filter((column) => column !== day && isClockColumn(column));
  const two = clocks.length === 2 ? clocks : [];
  // A cell may have the days and their times.
  const times = day.values.filter((value) => !isMark(value));
  const hasTimes = times.length > 0 && times.every(hasTimeBesideDay);
  const start = best(clocks, 'start') ?? range ?? two[0] ?? (hasTimes ? day : undefined);
  const end = best(clocks, 'end', undefined, setOf(start)) ?? two.find((clock) => clock !== start);
  const period = start === undefined ? best(columns, 'period', arePeriods) : undefined;
  const value = period === undefined ? start?.name : periodTimes(period);
  const found = { start, end, period };
  if (value === undefined) {
    const fault = `the start of lessons is missing: ${day.name} holds days of the week, but no column holds times of day`;
    return { ...found, parts: {}, fault };
  }
  if (period !== undefined || start === day || start?.form === 'clocks')
    return { ...found, parts: { start: value }, fault: null };
  if (end !== undefined) return { ...found, parts: { start: value, end: end.name }, fault: null };
  const minutes = best(columns, 'duration', ({ form }) => form === 'number');
  if (minutes !== undefined) return { ...found, parts: { start: value, minutes: minutes.name }, fault: null };
  const fault = 'the end of lessons is missing: no column holds times of day or minutes for it';
  return { ...found, parts: {}, fault };
}

function weeklyNotes(
  day: LookedColumn,
  period: LookedColumn | undefined,
  weeks: FoundWeeks | undefined,
  cycle: number | null,
  isOfCalendar: boolean,
  term: Term,
): string[] {
  const notes: string[] = [];
  const name = weeks?.column?.name ?? '';
  if (cycle !== null)
    notes.push(`${name} has no week above ${cycle}, so cycle: ${cycle} is a guess: the numbers come round`);
  const counted = isOfCalendar
    ? `${name} looks like weeks of the calendar (ISO 8601), so the first day of the term (${term.firstDay}) is that of week 1`
    : `the first day of the term (${term.firstDay}) and its ${term.weeks} weeks are guesses`;
  notes.push(
    `${day.name} holds days of the week instead of dates: ${counted}; days without lessons go into except`,
  );
  if (period !== undefined)
    notes.push(
      `${period.name} holds numbers of lessons in the day, and the times of day in \`start\` are guesses`,
    );
  if (typeof weeks?.value === 'object')
    notes.push(`in \`weeks\`, which values of ${name} are the odd weeks of the term is a guess`);
  if (weeks !== undefined && weeks.value === undefined)
    notes.push(
      `${name} may hold weeks, but ${JSON.stringify(weeks.column?.values[0])} names none, so each lesson is in all weeks: say what the values mean with \`weeks\`: { from: ${name}, values: { … } }`,
    );
  if (day.form !== 'weekdays')
    notes.push(`${day.name} holds numbers of weekdays, and dayOne: monday is a guess`);
  return notes;
}

function isDated(form: ColumnForm): boolean {
  return DATE_AND_TIME.includes(form);
}

/** Some systems write a time of day as a time of one day that means nothing. */
function isOneDay({ form, values, records }: LookedColumn): boolean {
  return isDated(form) && records > 1 && new Set(values.map((value) => value.slice(0, 10))).size === 1;
}

/** A length such as `1h30` looks like a time of day. */
function isLength({ name }: LookedColumn): boolean {
  const certainty = certaintyOf(name, 'duration');
  return certainty > Math.max(certaintyOf(name, 'start'), certaintyOf(name, 'end'));
}

function isClockColumn(column: LookedColumn): boolean {
  if (isLength(column)) return false;
  if (column.form === 'clock' || column.form === 'clocks' || isOneDay(column)) return true;
  const isNamed = certaintyOf(column.name, 'start') > 0 || certaintyOf(column.name, 'end') > 0;
  return isNamed && column.values.every((value) => /^(?:[01]?\d|2[0-4])[0-5]\d$/.test(value));
}

function areDayNumbers({ form, values }: LookedColumn): boolean {
  return form === 'number' && values.every((value) => /^[0-7]$/.test(value));
}

interface FoundWeeks {
  /** Undefined if the values of the column have an unknown meaning. */
  readonly value: MapValue | undefined;
  readonly column?: LookedColumn;
  /** The smallest and the largest number; null if the weeks are told otherwise. */
  readonly first?: number | null;
  readonly last: number | null;
}

const SPAN_END = '.weekInterval';
/** Numbers of weeks up to this one come round: no term has so few weeks. */
const CYCLE_MAX = 4;

function weeksOf(
  columns: readonly LookedColumn[],
  taken: ReadonlySet<LookedColumn>,
  span: string | undefined,
): FoundWeeks | undefined {
  const free = columns.filter((column) => !taken.has(column));
  const isFit = ({ form, values }: LookedColumn): boolean =>
    form === 'weeks' || values.every((value) => typeof parseWeeks(value) !== 'string');
  const named = best(free, 'weeks');
  const isSure = named !== undefined && certaintyOf(named.name, 'weeks') >= CERTAINTY_SURE;
  if (isSure && !isFit(named)) {
    const values = alternation(named.values);
    const value = values === null ? undefined : { from: named.name, values };
    return { value, column: named, last: null };
  }
  const isElse = ({ name }: LookedColumn): boolean =>
    (['period', 'duration', 'other'] as const).some((role) => certaintyOf(name, role) > 0);
  const column = best(free, 'weeks', isFit) ?? free.find((each) => each.form === 'weeks' && !isElse(each));
  if (column === undefined) return span === undefined ? undefined : { value: span, last: null };
  const numbers = column.values.flatMap((value) => {
    const weeks = parseWeeks(value);
    return typeof weeks === 'string' ? [] : [...(weeks.numbers ?? [])];
  });
  const [first, last] = numbers.length === 0 ? [null, null] : [Math.min(...numbers), Math.max(...numbers)];
  return { value: column.name, column, first, last };
}

/** A name that says what a column is, alone. */
const CERTAINTY_SURE = 900;
/** Terms that count their own weeks have fewer before they end. */
const ISO_WEEKS_FROM = 20;
const ISO_WEEKS = 53;

/** The weeks of this year's calendar: week 1 has January 4. */
function calendarTerm(): Term {
  const day = Date.UTC(new Date().getUTCFullYear(), 0, 4) / DAY_MS;
  return { firstDay: formatInstant((day - ((day + 3) % 7)) * DAY_MS).slice(0, 10), weeks: ISO_WEEKS };
}

/** Whether ranges such as `1-3` show that the term has few weeks. */
function hasFewWeeks(column: LookedColumn | undefined): boolean {
  return column === undefined || (!column.isList && column.form !== 'number');
}

/** A term that has all dates and weeks of the records. Without dates it begins this week. */
function termOf(
  from: LookedColumn | undefined,
  until: LookedColumn | undefined,
  lastWeek: number | null,
): Term {
  const isMonthFirst = [from, until].some((column) => (column?.dates?.secondMax ?? 0) > 12);
  const daysOf = (column: LookedColumn | undefined): number[] =>
    (column?.values ?? []).flatMap((value) => {
      const date = readDate(value, column?.dates?.yearFirst ? 'ymd' : isMonthFirst ? 'mdy' : 'dmy');
      return typeof date === 'string' ? [] : [date.days];
    });
  const first = Math.min(...daysOf(from));
  const last = Math.max(...daysOf(until));
  const day = Number.isFinite(first) ? first : Math.floor(Date.now() / DAY_MS);
  const monday = day - ((((day + 3) % 7) + 7) % 7);
  const span =
    Number.isFinite(last) && last >= monday ? Math.ceil((last - monday + 1) / 7) : TERM_WEEKS_GUESSED;
  const most = Math.max(1, lastWeek ?? 0, lastWeek !== null && !Number.isFinite(last) ? 1 : span);
  const weeks = Math.min(TERM_WEEKS_MAX, most);
  return { firstDay: formatInstant(monday * DAY_MS).slice(0, 10), weeks };
}
