import type { FieldName } from '../model/fields.js';
import type { ColumnForm, LookedColumn } from './column-look.js';
import { type ColumnRole, scoreOf } from './column-names.js';

/** Proposes options for a source, and says what the source lacks. */
export interface MapProposal {
  /** A column or a template for each event field. */
  readonly map: Readonly<Record<string, string>>;
  readonly dateOrder: 'ymd' | 'dmy' | 'mdy' | null;
  readonly timeZone: string | null;
  readonly identifiers: 'derived' | null;
  /** Sentences on what is missing or uncertain. */
  readonly notes: readonly string[];
  /** Whether the map has a start and an end, which every event needs. */
  readonly isComplete: boolean;
}

const DATE_AND_TIME: readonly ColumnForm[] = ['instant', 'local'];
const TEXT_FIELDS = ['title', 'courseId', 'roomId', 'studyGroup', 'lecturer', 'type'] as const;
const IDENTIFIER_FIELDS: readonly FieldName[] = ['id', 'roomId', 'courseId', 'groupId', 'lecturerId'];
/** The zone of a proposal if the machine's zone is UTC. */
const ZONE_EXAMPLE = 'Europe/Berlin';

/** Infers the meaning of columns from their names and from their values. @param givenZone the zone of `--time-zone` */
export function proposeMap(columns: readonly LookedColumn[], givenZone?: string): MapProposal {
  // A map cannot name columns with these characters.
  const filled = columns.filter(({ name, records }) => records > 0 && !/[{}\n]/.test(name));
  const times = findTimes(filled);
  const map: Record<string, string> = {};
  const add = (field: FieldName, template: string): void => {
    if (template !== field) map[field] = template;
  };
  if (times.time !== null) add('time', times.time);
  if (times.endTime !== null) add('endTime', times.endTime);
  const used = new Set<LookedColumn>(times.columns);
  const identifiers: LookedColumn[] = [];
  const own = (field: FieldName): LookedColumn | undefined => filled.find(({ name }) => name === field);
  const id = own('id') ?? best(filled, 'id', ({ isUnique }) => isUnique, used);
  if (id !== undefined) {
    add('id', id.name);
    identifiers.push(id);
    used.add(id);
  }
  for (const field of TEXT_FIELDS) {
    // One column may be both title and course.
    const taken =
      field === 'courseId' ? new Set([...used].filter((column) => column.name !== map.title)) : used;
    const column = own(field) ?? best(filled, field, isNameColumn, taken);
    if (column === undefined) continue;
    add(field, column.name);
    used.add(column);
  }
  // Without an identifier, the lecturer's name serves as identifier, as the name of a room does.
  if (map.lecturerId === undefined && own('lecturerId') === undefined && map.lecturer !== undefined) {
    map.lecturerId = map.lecturer;
  }
  for (const field of IDENTIFIER_FIELDS) {
    const column = filled.find(({ name }) => name === (map[field] ?? field));
    if (column !== undefined) identifiers.push(column);
  }
  const isDerived = id === undefined || identifiers.some(({ form }) => form !== 'uuid');
  const needsZone = times.columns.length > 0 && times.columns.some(({ form }) => form !== 'instant');
  const order = orderOf(times.columns, filled);
  const zone = needsZone ? zoneOf(givenZone) : { timeZone: null, notes: [] };
  return {
    map,
    dateOrder: order.dateOrder,
    timeZone: zone.timeZone,
    identifiers: isDerived ? 'derived' : null,
    notes: [...times.notes, ...order.notes, ...zone.notes],
    isComplete: times.time !== null && times.endTime !== null && order.isKnown,
  };
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
  return { map, dateOrder: null, timeZone: null, identifiers: null, notes: [], isComplete: true };
}

interface Times {
  readonly time: string | null;
  readonly endTime: string | null;
  readonly columns: readonly LookedColumn[];
  readonly notes: readonly string[];
}

function findTimes(columns: readonly LookedColumn[]): Times {
  const isMoment = ({ form }: LookedColumn): boolean => DATE_AND_TIME.includes(form);
  const isDate = ({ form }: LookedColumn): boolean => form === 'date';
  const isClock = ({ form }: LookedColumn): boolean => form === 'clock';
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
  const weekday = best(columns, 'weekday', ({ form }) => form === 'weekdays');
  const from = best(clocks, 'start') ?? (clocks.length === 2 ? clocks[0] : undefined);
  const to =
    best(clocks, 'end', undefined, setOf(from)) ??
    (clocks.length === 2 ? clocks.find((clock) => clock !== from) : undefined);
  const notes: string[] = [];
  if (weekday !== undefined && (date === undefined || endDate !== undefined)) {
    const range =
      date === undefined
        ? ''
        : `, and ${date.name} and ${endDate?.name} look like the first and the last day`;
    notes.push(
      `the dates of lessons are missing: ${weekday.name} holds days of the week${range}. Lectern needs a row for each lesson, with its date`,
    );
    return { time: null, endTime: null, columns: [], notes };
  }
  if (date === undefined && start === undefined)
    notes.push('the dates of lessons are missing: no column holds dates');
  const range = columns.find(({ form }) => form === 'clocks');
  if (range !== undefined && from === undefined) {
    notes.push(`${range.name} holds start and end in one cell; expected two columns`);
  } else if (date !== undefined && from === undefined)
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
  const guess = first.mark === '.' || !all.some(({ hasAmPm }) => hasAmPm) ? 'dmy' : 'mdy';
  return known(guess, [
    `no date has a day above 12, so --date-order ${guess} is a guess: check it (dmy is day, month, year; mdy is month, day, year)`,
  ]);
}

/** Whether values can be names, unlike times, dates and bare numbers. */
function isNameColumn({ form }: LookedColumn): boolean {
  return form === 'text' || form === 'uuid' || form === 'number' || form === 'weekdays';
}

function best(
  columns: readonly LookedColumn[],
  role: ColumnRole,
  isFit: (column: LookedColumn) => boolean = () => true,
  taken: ReadonlySet<LookedColumn> = new Set(),
): LookedColumn | undefined {
  const scored = columns
    .filter((column) => !taken.has(column) && isFit(column))
    .map((column) => ({ column, score: scoreOf(column.name, role) }))
    .filter(({ score }) => score > 0);
  return scored.sort((a, b) => b.score - a.score)[0]?.column;
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
    ...Object.entries(map).map(([field, template]) => `--map ${field}=${shellQuoted(template)}`),
    ...(dateOrder === null ? [] : [`--date-order ${dateOrder}`]),
    ...(timeZone === null ? [] : [`--time-zone ${timeZone}`]),
    ...(identifiers === null ? [] : [`--identifiers ${identifiers}`]),
  ];
}

export function shellQuoted(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
