/** Proposes the pattern of records that have weekdays and no dates. What it guesses, a person checks. */
import { TERM_WEEKS_MAX } from '../base/limits.js';
import { readDate } from '../base/model/local-time.js';
import type { MapValue, Term, WeeklyPattern } from '../base/model/read-rules.js';
import { quoteEscaped } from '../base/model/text.js';
import { DAY_MS, formatInstant } from '../base/model/time.js';
import { parseWeeks } from '../source/pattern/term.js';
import { namesWeekday } from '../source/pattern/weekdays.js';
import { namesMinutes } from '../source/pattern/weekly-rows.js';
import {
  best,
  hasTimeBesideDay,
  isLength,
  isMark,
  isMoment,
  type LookedColumn,
  pairOf,
  present,
  without,
} from './column-look.js';
import { CERTAINTY_SURE, certaintyOf } from './column-names.js';

/** What is found of the times of lessons. */
export interface Times {
  /** A column or a template; null if a pattern has the times, or if nothing does. */
  readonly time: string | null;
  readonly endTime: string | null;
  readonly when: WeeklyPattern | null;
  /** The terms of `when`, guessed. */
  readonly terms: Readonly<Record<string, Term>>;
  /** The columns that it needs. */
  readonly columns: readonly LookedColumn[];
  readonly notes: readonly string[];
}

/** The name and the weeks of a term that is guessed. */
const TERM = 'term';
const TERM_WEEKS_GUESSED = 15;
/** NUSMods gives `{ "start": …, "end": …, "weekInterval": 2 }` as weeks of some lessons. */
const SPAN_END = '.weekInterval';
/** Numbers of weeks up to this one come round: no term has so few weeks. */
const CYCLE_MAX = 4;
/** Terms that count their own weeks have fewer before they end. */
const ISO_WEEKS_FROM = 20;
const ISO_WEEKS = 53;

/** Null for records that have dates, or no weekdays. */
export function findWeekly(columns: readonly LookedColumn[], lists: readonly LookedColumn[]): Times | null {
  if (columns.some(({ form }) => form === 'span')) return null;
  const day = best(columns.filter(isDay), 'weekday') ?? columns.find(({ form }) => form === 'weekdays');
  if (day === undefined) return null;
  const span = columns.find(({ name }) => name.endsWith(SPAN_END))?.name.slice(0, -SPAN_END.length);
  const inSpan = columns.filter(({ name }) => span !== undefined && name.startsWith(`${span}.`));
  const within = (part: string): LookedColumn | undefined => inSpan.find(({ name }) => name.endsWith(part));
  const ranges = without(columns, ...inSpan).filter(
    (column) => column.form === 'date' || (isMoment(column) && !isOneDay(column)),
  );
  const validUntil = best(ranges, 'endDate', 'end');
  const validFrom = best(without(ranges, validUntil), 'start', 'startDate');
  if (ranges.some(isMoment) || (ranges.length > 0 && validUntil === undefined)) return null;
  const { start, end, period, parts } = clockOf(columns, day);
  const weeks = weeksOf(without([...columns, ...lists], day, start, end, ...inSpan), span);
  const { first = null, last = null } = weeks ?? {};
  const isCycle = span === undefined && last !== null && last > 1 && last <= CYCLE_MAX;
  // Ranges such as `1-3` show that the term has few weeks.
  const hasNumbers = weeks?.column?.isList || weeks?.column?.form === 'number';
  const cycle = isCycle && hasNumbers ? last : undefined;
  const isOfCalendar = last !== null && last <= ISO_WEEKS && (first ?? 0) >= ISO_WEEKS_FROM;
  const [from, until] = [validFrom ?? within('.start'), validUntil ?? within('.end')];
  const term = isOfCalendar ? calendarTerm() : termOf(from, until, cycle === undefined ? last : null);
  const reason =
    `the first day is that of ${from === undefined ? 'this week, because no column has dates' : `the week of the first date in ${from.name}`}, and ` +
    (until !== undefined
      ? `the last week has the last date in ${until.name}`
      : cycle === undefined && last !== null
        ? `${weeks?.column?.name} has no week above ${last}`
        : 'no column tells the number of weeks');
  return {
    time: null,
    endTime: null,
    columns: present(day, start, end, period, ...inSpan, weeks?.column, validFrom, validUntil),
    notes:
      typeof parts === 'string'
        ? [parts]
        : notesOn(day, period, weeks, { cycle, isOfCalendar, term, reason }),
    when:
      typeof parts === 'string'
        ? null
        : withoutUndefined<WeeklyPattern>({
            day: day.name,
            dayOne: day.form === 'weekdays' ? undefined : 'monday',
            ...parts,
            weeks: weeks?.value,
            cycle,
            validFrom: validFrom?.name,
            validUntil: validUntil?.name,
          }),
    terms: { [TERM]: term },
  };
}

function withoutUndefined<Of extends object>(given: Of): Of {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Of;
}

interface FoundClock {
  readonly start: LookedColumn | undefined;
  readonly end: LookedColumn | undefined;
  /** The column of the numbers of lessons, if there are no times. */
  readonly period: LookedColumn | undefined;
  /** A sentence if something is missing. */
  readonly parts: Pick<WeeklyPattern, 'start' | 'end' | 'minutes'> | string;
}

/** The times of day of a weekly pattern. */
function clockOf(columns: readonly LookedColumn[], day: LookedColumn): FoundClock {
  const range = columns.find(({ form }) => form === 'clocks');
  const clocks = without(columns, day).filter(isClockColumn);
  // A cell may have the days and their times.
  const times = day.values.filter((value) => !isMark(value));
  const hasTimes = times.length > 0 && times.every(hasTimeBesideDay);
  const [first, end] = pairOf(clocks, range);
  const start = first ?? (hasTimes ? day : undefined);
  const period = start === undefined ? best(columns.filter(arePeriods), 'period') : undefined;
  const value = period === undefined ? start?.name : periodTimes(period);
  const minutes = best(
    columns.filter(({ form }) => form === 'number'),
    'duration',
  );
  const partsOf = (): FoundClock['parts'] => {
    if (value === undefined)
      return `the start of lessons is missing: ${day.name} holds days of the week, but no column holds times of day`;
    if (period !== undefined || start === day || start?.form === 'clocks') return { start: value };
    if (end !== undefined) return { start: value, end: end.name };
    if (minutes !== undefined) return { start: value, minutes: minutes.name };
    return 'the end of lessons is missing: no column holds times of day or minutes for it';
  };
  return { start, end, period, parts: partsOf() };
}

function notesOn(
  day: LookedColumn,
  period: LookedColumn | undefined,
  weeks: FoundWeeks | undefined,
  guess: {
    readonly cycle: number | undefined;
    readonly isOfCalendar: boolean;
    readonly term: Term;
    readonly reason: string;
  },
): readonly string[] {
  const { cycle, isOfCalendar, term, reason } = guess;
  const name = weeks?.column?.name ?? '';
  const counted = isOfCalendar
    ? `${name} looks like weeks of the calendar (ISO 8601), so the first day of the term (${term.firstDay}) is that of week 1`
    : `the first day of the term (${term.firstDay}) and its ${term.weeks} weeks are guesses (${reason})`;
  const notes = [
    `${day.name} holds days of the week instead of dates: ${counted}; days without lessons go into except`,
  ];
  if (cycle !== undefined)
    notes.unshift(
      `${name} has no week above ${cycle}, so cycle: ${cycle} is a guess: the numbers come round`,
    );
  if (period !== undefined)
    notes.push(
      `${period.name} holds numbers of lessons in the day, and the times of day in \`start\` are guesses`,
    );
  if (typeof weeks?.value === 'object')
    notes.push(`in \`weeks\`, which values of ${name} are the odd weeks of the term is a guess`);
  if (weeks !== undefined && weeks.value === undefined)
    notes.push(
      `${name} may hold weeks, but ${quoteEscaped(weeks.column?.values[0] ?? '')} names none, so each lesson is in all weeks: say what the values mean with \`weeks\`: { from: ${name}, values: { … } }`,
    );
  if (day.form !== 'weekdays')
    notes.push(`${day.name} holds numbers of weekdays, and dayOne: monday is a guess`);
  const unknown = day.values.filter((value) => !isMark(value) && !namesWeekday(value)).map(quoteEscaped);
  if (day.form === 'weekdays' && unknown.length > 0)
    notes.push(
      `${unknown.join(' and ')} in ${day.name} is no day of the week in any known language, and its lessons are left out: say which day it is with \`day\`: { from: ${day.name}, values: { ${unknown[0]}: … } }`,
    );
  return notes;
}

/** Some systems write a time of day as a time of one day that means nothing. */
function isOneDay(column: LookedColumn): boolean {
  const { values, records } = column;
  return isMoment(column) && records > 1 && new Set(values.map((value) => value.slice(0, 10))).size === 1;
}

function isClockColumn(column: LookedColumn): boolean {
  if (isLength(column)) return false;
  if (column.form === 'clock' || column.form === 'clocks' || isOneDay(column)) return true;
  const isNamed = certaintyOf(column.name, 'start') > 0 || certaintyOf(column.name, 'end') > 0;
  const clock = namesMinutes(column.name) ? /^\d{1,4}$/ : /^(?:[01]?\d|2[0-4])[0-5]\d$/;
  return isNamed && column.values.every((value) => clock.test(value));
}

/** Days by name, or by number in a column with such a name. */
function isDay({ name, form, values }: LookedColumn): boolean {
  if (form === 'weekdays') return true;
  const areNumbers = form === 'number' && values.every((value) => /^[0-7]$/.test(value));
  return areNumbers && certaintyOf(name, 'weekday') > 0;
}

interface FoundWeeks {
  /** Undefined if the values of the column have an unknown meaning. */
  readonly value: MapValue | undefined;
  readonly column?: LookedColumn;
  /** The smallest and the largest number; null if the weeks are told otherwise. */
  readonly first?: number | null;
  readonly last: number | null;
}

function weeksOf(free: readonly LookedColumn[], span: string | undefined): FoundWeeks | undefined {
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
  const column =
    best(free.filter(isFit), 'weeks') ?? free.find((each) => each.form === 'weeks' && !isElse(each));
  if (column === undefined) return span === undefined ? undefined : { value: span, last: null };
  const numbers = column.values.flatMap((value) => {
    const weeks = parseWeeks(value);
    return typeof weeks === 'string' ? [] : [...(weeks.numbers ?? [])];
  });
  const [first, last] = numbers.length === 0 ? [null, null] : [Math.min(...numbers), Math.max(...numbers)];
  return { value: column.name, column, first, last };
}

/** The Monday of a day's week, as days since 1970-01-01. */
function mondayOf(day: number): number {
  return day - ((((day + 3) % 7) + 7) % 7);
}

function dateOf(day: number): string {
  return formatInstant(day * DAY_MS).slice(0, 10);
}

/** The weeks of this year's calendar: week 1 has January 4. */
function calendarTerm(): Term {
  const day = Date.UTC(new Date().getUTCFullYear(), 0, 4) / DAY_MS;
  return { firstDay: dateOf(mondayOf(day)), weeks: ISO_WEEKS };
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
  const monday = mondayOf(Number.isFinite(first) ? first : Math.floor(Date.now() / DAY_MS));
  const span =
    Number.isFinite(last) && last >= monday ? Math.ceil((last - monday + 1) / 7) : TERM_WEEKS_GUESSED;
  const most = Math.max(1, lastWeek ?? 0, lastWeek !== null && !Number.isFinite(last) ? 1 : span);
  return { firstDay: dateOf(monday), weeks: Math.min(TERM_WEEKS_MAX, most) };
}

/** Names of weeks that alternate: the first of each pair are odd weeks. */
const ALTERNATING: readonly (readonly [odd: RegExp, even: RegExp])[] = [
  [/^a$/, /^b$/],
  [/^(?:чисельник|числитель|чис)$/, /^(?:знаменник|знаменатель|знам)$/],
  [/^(?:верхн\p{L}*)$/u, /^(?:нижн\p{L}*)$/u],
  [/^u$/, /^g$/],
];

/** What values such as `A`, `week B` and `A/B` mean; null if they are no weeks that alternate. */
function alternation(values: readonly string[]): Record<string, string | null> | null {
  const plain = (value: string): string => value.toLowerCase().replace(WEEK_WORD, ' ').trim();
  for (const [odd, even] of ALTERNATING) {
    const parityOf = (text: string): string | null | undefined => {
      if (odd.test(text)) return 'odd';
      if (even.test(text)) return 'even';
      const parts = text.split(/[\s/+&,;]+/);
      return parts.length === 2 && odd.test(parts[0] ?? '') && even.test(parts[1] ?? '') ? null : undefined;
    };
    const found = values
      .filter((value) => typeof parseWeeks(value) === 'string')
      .map((value) => [value, parityOf(plain(value))] as const);
    const has = (parity: string): boolean => found.some(([, each]) => each === parity);
    if (has('odd') && has('even') && found.every(([, each]) => each !== undefined))
      return Object.fromEntries(found) as Record<string, string | null>;
  }
  return null;
}

const WEEK_WORD =
  /(?<!\p{L})(?:weeks?|wk|wochen?|semaines?|semanas?|settimana|weken|tydzień|týden|тиждень|неделя|vecka|hafta)(?!\p{L})\.?/gu;

/** Cells such as `3` and `1-2`. */
const PERIODS = /^(\d{1,2})(?:\s?[-\u2013]\s?(\d{1,2}))?$/;

function arePeriods({ values }: LookedColumn): boolean {
  return (
    values.some((value) => PERIODS.test(value)) &&
    values.every((value) => isMark(value) || PERIODS.test(value))
  );
}

/** Lessons of 90 minutes if a day has few, or else of 45, with breaks of ten, from 8:00: to be corrected by a person. */
function periodTimes({ name, values }: LookedColumn): MapValue {
  const spans = values.flatMap((value) => {
    const [, first, last = first] = PERIODS.exec(value) ?? [];
    return first === undefined ? [] : [{ value, first: Number(first), last: Number(last) }];
  });
  const isLong = spans.every(({ first, last }) => first === last && last <= LONG_PERIODS_MAX);
  const [minutes, zeroth] = [isLong ? 90 : 45, Math.min(1, ...spans.map(({ first }) => first))];
  const clock = (number: number, more: number): string => {
    const at = 8 * 60 + (number - zeroth) * (minutes + 10) + more;
    return `${String(Math.floor(at / 60) % 24).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}`;
  };
  const entries = spans
    .sort((a, b) => a.first - b.first || a.last - b.last)
    .map(({ value, first, last }) => [value, `${clock(first, 0)}-${clock(last, minutes)}`]);
  return { from: name, values: Object.fromEntries(entries) as Record<string, string>, otherwise: 'reject' };
}

const LONG_PERIODS_MAX = 8;
