/** Terms, whose dates the weekdays and weeks of a record choose. */
import { TERM_WEEKS_MAX } from '../../base/limits.js';
import type { Term } from '../../base/model/read-rules.js';
import { quoteEscaped } from '../../base/model/text.js';
import { DAY_MS, formatInstant, parseDate } from '../../base/model/time.js';
import type { Weeks } from './weeks.js';

const DAYS_PER_WEEK = 7;
/** Times of day of one weekday and its weeks. */
const JOINED_MAX = 256;
/** 1970-01-01 was a Thursday. */
const EPOCH_WEEKDAY = 3;

/** Days are counted from 1970-01-01. */
export interface TermDays {
  readonly firstDay: number;
  /** The number of each week; 0 for a week without lessons and number. */
  readonly weekNumbers: readonly number[];
  readonly weeks: number;
  readonly except: ReadonlySet<number>;
}

/** The dates of a pattern. */
export interface Dates {
  readonly days: readonly number[];
  /** `2026-09-28` for each day. */
  readonly texts: readonly string[];
  /** Number of dates left out because lessons are excepted. */
  readonly excepted: number;
  /** Texts by the time of day that follows each date, or by the number of the meeting: patterns share them. */
  readonly joined: Map<string, readonly string[]>;
}

/** A text for each date, made once. */
export function joinedTexts(
  { texts, joined }: Dates,
  key: string,
  make: (date: string) => string,
): readonly string[] {
  let list = joined.get(key);
  if (list === undefined) {
    list = texts.map(make);
    if (joined.size < JOINED_MAX) joined.set(key, list);
  }
  return list;
}

/** A fault of the rules, with the names that lead to it. */
export interface RuleFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The days of a term, or the faults of its days without lessons: the table of the timetable file checks the rest. */
export function termDays(name: string, { firstDay, weeks, except, breaks }: Term): TermDays | RuleFault[] {
  const faults: RuleFault[] = [];
  const daysOf = (key: 'except' | 'breaks', list: readonly string[] = []): Set<number> => {
    const days = new Set<number>();
    for (const [n, item] of list.entries()) {
      const fault = addDays(days, item);
      if (fault !== null)
        faults.push({
          path: ['terms', name, key, n],
          message: `${key} ${quoteEscaped(`${item}`)}: ${fault}`,
        });
    }
    return days;
  };
  const excepted = daysOf('except', except);
  const breakDays = daysOf('breaks', breaks);
  if (faults.length > 0) return faults;
  const first = Number(parseDate(firstDay)) / DAY_MS;
  const weekNumbers: number[] = [];
  for (let n = 0, number = 0; number < weeks; n++)
    weekNumbers.push(breakDays.has(first + DAYS_PER_WEEK * n) ? 0 : ++number);
  return { firstDay: first, weekNumbers, weeks, except: excepted };
}

/** Adds the days of a date or a range. @returns a clause on the fault */
function addDays(days: Set<number>, item: unknown): string | null {
  const expected = 'expected a date such as 2026-11-04, or a range such as 2026-10-26/2026-10-30';
  if (typeof item !== 'string') return expected;
  const [first, last, ...more] = item.split('/').map((date) => parseDate(date.trim()));
  const to = last === undefined ? first : last;
  if (typeof first !== 'number' || typeof to !== 'number' || more.length > 0) return expected;
  if (to < first) return 'it ends before it begins';
  if (to - first > DAYS_PER_WEEK * TERM_WEEKS_MAX * DAY_MS) return 'it is longer than any term';
  for (let day = first / DAY_MS; day <= to / DAY_MS; day++) days.add(day);
  return null;
}

/** The term of a record without one: from its first to its last day. */
export function termBetween(first: number, last: number): TermDays {
  const weeks = Math.floor((last - first) / DAYS_PER_WEEK) + 1;
  const weekNumbers = Array.from({ length: weeks }, (_, n) => n + 1);
  return { firstDay: first, weekNumbers, weeks, except: new Set() };
}

/**
 * The dates of one weekday.
 *
 * @param weekday Monday is 0
 * @param cycle after this number of weeks the numbers of weeks begin again at 1; 0 if they do not
 */
export function datesOf(
  term: TermDays,
  weekday: number,
  { numbers, parity, span }: Weeks,
  cycle: number,
  first: number,
  last: number,
): Dates {
  const { firstDay, weekNumbers, except } = term;
  const offset = (weekday - ((firstDay + EPOCH_WEEKDAY) % DAYS_PER_WEEK) + DAYS_PER_WEEK) % DAYS_PER_WEEK;
  const days: number[] = [];
  let excepted = 0;
  for (const [n, week] of weekNumbers.entries()) {
    const day = firstDay + DAYS_PER_WEEK * n + offset;
    if (week === 0 || day < first || day > last) continue;
    if (numbers?.has(cycle === 0 ? week : ((week - 1) % cycle) + 1) === false) continue;
    if (parity !== null && week % 2 !== parity) continue;
    if (span !== null) {
      const spanWeek = Math.floor((day - span.first) / DAYS_PER_WEEK);
      if (day < span.first || day > span.last || spanWeek % span.interval !== 0) continue;
      if (span.weeks?.has(spanWeek + 1) === false) continue;
    }
    if (except.has(day)) excepted++;
    else days.push(day);
  }
  return {
    days,
    texts: days.map((day) => formatInstant(day * DAY_MS).slice(0, 10)),
    excepted,
    joined: new Map(),
  };
}
