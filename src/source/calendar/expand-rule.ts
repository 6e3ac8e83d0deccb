/**
 * Recurrence rules (RFC 5545 section 3.3.10), and their expansion in local time, with whole numbers only. The days and
 * weeks of a rule are tables, so that long lists cost no more than short ones.
 */
import { DAY_MS, daysFromCivil, daysInMonth } from '../../base/model/time.js';
import { type CivilDate, civilOf } from './content-line.js';

const FREQUENCIES = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY'] as const;

type Frequency = (typeof FREQUENCIES)[number];

/** A weekday, Sunday being 0; `ordinal` 0 means every such weekday. */
interface RuleDay {
  readonly ordinal: number;
  readonly weekday: number;
}

/** A recurrence rule. Lists are in ascending order; a list is empty if the rule lacks the part. */
export interface RecurrenceRule {
  readonly frequency: Frequency;
  readonly interval: number;
  readonly count: number | null;
  /** UNTIL as written. */
  readonly until: string | null;
  readonly byMonth: readonly number[];
  readonly byWeekNo: readonly number[];
  readonly byYearDay: readonly number[];
  readonly byMonthDay: readonly number[];
  readonly byDay: readonly RuleDay[];
  readonly byHour: readonly number[];
  readonly byMinute: readonly number[];
  readonly bySecond: readonly number[];
  readonly bySetPos: readonly number[];
  readonly weekStart: number;
}

const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const MONDAY = 1;
const LEAP_YEAR = 2024;

interface Range {
  readonly min: number;
  readonly max: number;
  /** Whether values may also count from the end. */
  readonly isSigned: boolean;
}

const LISTS: Readonly<Record<string, Range>> = {
  BYMONTH: { min: 1, max: 12, isSigned: false },
  BYWEEKNO: { min: 1, max: 53, isSigned: true },
  BYYEARDAY: { min: 1, max: 366, isSigned: true },
  BYMONTHDAY: { min: 1, max: 31, isSigned: true },
  BYHOUR: { min: 0, max: 23, isSigned: false },
  BYMINUTE: { min: 0, max: 59, isSigned: false },
  BYSECOND: { min: 0, max: 60, isSigned: false },
  BYSETPOS: { min: 1, max: 366, isSigned: true },
};
const OTHERS = ['FREQ', 'INTERVAL', 'COUNT', 'UNTIL', 'BYDAY', 'WKST', 'RSCALE'];

/** @returns a clause on the fault, such as "it has no FREQ" */
export function parseRule(text: string): RecurrenceRule | string {
  const parts = new Map<string, string>();
  for (const part of text.trim().split(';')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = part.slice(0, equals).trim().toUpperCase();
    if (equals < 1 || (!OTHERS.includes(name) && !Object.hasOwn(LISTS, name))) {
      return `${JSON.stringify(part.slice(0, 20))} is not part of a rule`;
    }
    if (parts.has(name)) return `it has ${name} twice`;
    parts.set(name, part.slice(equals + 1).trim());
  }
  const rscale = parts.get('RSCALE');
  if (rscale !== undefined && rscale.toUpperCase() !== 'GREGORIAN') return 'its RSCALE is not GREGORIAN';
  const frequency = FREQUENCIES.find((each) => each === parts.get('FREQ')?.toUpperCase());
  if (frequency === undefined) return parts.has('FREQ') ? 'its FREQ is unknown' : 'it has no FREQ';
  const interval = wholeNumber(parts.get('INTERVAL') ?? '1');
  if (interval === null) return 'its INTERVAL is not a whole number above 0';
  const count = parts.has('COUNT') ? wholeNumber(parts.get('COUNT') ?? '') : null;
  if (count === null && parts.has('COUNT')) return 'its COUNT is not a whole number above 0';
  const lists = new Map<string, readonly number[]>();
  for (const [name, range] of Object.entries(LISTS)) {
    const list = parseList(parts.get(name), range);
    if (list === null) return `its ${name} is out of range`;
    lists.set(name, list);
  }
  const byDay = parseDays(parts.get('BYDAY'));
  if (byDay === null) return 'its BYDAY is not a list of weekdays such as MO or -1FR';
  const weekStart = parts.has('WKST') ? WEEKDAYS.indexOf(parts.get('WKST')?.toUpperCase() ?? '') : MONDAY;
  if (weekStart === -1) return 'its WKST is not a weekday such as MO';
  const listOf = (name: string): readonly number[] => lists.get(name) ?? [];
  const rule = {
    frequency,
    interval,
    count,
    until: parts.get('UNTIL') ?? null,
    byMonth: listOf('BYMONTH'),
    byWeekNo: listOf('BYWEEKNO'),
    byYearDay: listOf('BYYEARDAY'),
    byMonthDay: listOf('BYMONTHDAY'),
    byDay,
    byHour: listOf('BYHOUR'),
    byMinute: listOf('BYMINUTE'),
    bySecond: listOf('BYSECOND'),
    bySetPos: listOf('BYSETPOS'),
    weekStart,
  };
  return forbidden(rule) ?? rule;
}

/** Combinations that section 3.3.10 forbids, and days that do not exist in any year. */
function forbidden(rule: RecurrenceRule): string | null {
  const { frequency, byWeekNo, byYearDay, byMonth, byMonthDay, byDay } = rule;
  if (byWeekNo.length > 0 && frequency !== 'YEARLY')
    return `BYWEEKNO cannot be combined with FREQ=${frequency}`;
  if (byYearDay.length > 0 && ['DAILY', 'WEEKLY', 'MONTHLY'].includes(frequency)) {
    return `BYYEARDAY cannot be combined with FREQ=${frequency}`;
  }
  if (byMonthDay.length > 0 && frequency === 'WEEKLY')
    return 'BYMONTHDAY cannot be combined with FREQ=WEEKLY';
  if (byMonth.length > 0 && byMonthDay.length > 0) {
    const longest = Math.max(...byMonth.map((month) => daysInMonth(LEAP_YEAR, month)));
    if (byMonthDay.every((day) => Math.abs(day) > longest))
      return 'no month of its BYMONTH has such a BYMONTHDAY';
  }
  if (!byDay.some(({ ordinal }) => ordinal !== 0)) return null;
  if (frequency !== 'MONTHLY' && frequency !== 'YEARLY') {
    return `a BYDAY with a number cannot be combined with FREQ=${frequency}`;
  }
  return byWeekNo.length > 0 ? 'a BYDAY with a number cannot be combined with BYWEEKNO' : null;
}

function wholeNumber(text: string): number | null {
  const number = Number(text);
  return /^\d{1,15}$/.test(text) && number >= 1 ? number : null;
}

function parseList(text: string | undefined, { min, max, isSigned }: Range): number[] | null {
  if (text === undefined) return [];
  const values = new Set<number>();
  for (const each of text.split(',')) {
    const value = Number(each);
    const size = isSigned ? Math.abs(value) : value;
    if (!/^[+-]?\d{1,3}$/.test(each.trim()) || size < min || size > max) return null;
    values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

function parseDays(text: string | undefined): RuleDay[] | null {
  if (text === undefined) return [];
  const days = new Map<string, RuleDay>();
  for (const each of text.split(',')) {
    const match = /^([+-]?\d{1,2})?(SU|MO|TU|WE|TH|FR|SA)$/.exec(each.trim().toUpperCase());
    if (match === null) return null;
    const ordinal = Number(match[1] ?? 0);
    if (Math.abs(ordinal) > 53 || (match[1] !== undefined && ordinal === 0)) return null;
    const day = { ordinal, weekday: WEEKDAYS.indexOf(match[2] ?? '') };
    days.set(JSON.stringify(day), day);
  }
  return [...days.values()];
}

const DAY_SECONDS = 86_400;
/** 9999-12-31 */
const DAYS_LAST = 2_932_896;

/** A number for each period, and the day on which a period begins. */
interface DayPeriod {
  numberOf(day: number, weekStart: number): number;
  firstDay(period: number, weekStart: number): number;
}

const DAY_PERIODS: Readonly<Record<'YEARLY' | 'MONTHLY' | 'WEEKLY' | 'DAILY', DayPeriod>> = {
  YEARLY: { numberOf: (day) => civilOf(day).year, firstDay: (year) => daysFromCivil(year, 1, 1) },
  MONTHLY: {
    numberOf(day) {
      const { year, month } = civilOf(day);
      return year * 12 + month - 1;
    },
    firstDay: (period) => daysFromCivil(Math.floor(period / 12), (period % 12) + 1, 1),
  },
  WEEKLY: {
    // 1970-01-04 was a Sunday.
    numberOf: (day, weekStart) => Math.floor((day - 3 - weekStart) / 7),
    firstDay: (week, weekStart) => week * 7 + 3 + weekStart,
  },
  DAILY: { numberOf: (day) => day, firstDay: (day) => day },
};

/** Seconds in a period of each frequency below DAILY. */
const UNIT_SECONDS = { HOURLY: 3600, MINUTELY: 60, SECONDLY: 1 } as const;

/**
 * Steps left. A step is a visited day, week, period or time of day. All rules of an event share one budget of
 * steps, and all rules of a source share another.
 */
export interface Steps {
  left: number;
}

/** Local dates and times, treated as UTC. */
export interface ExpandWindow {
  /** Occurrences before this may be left out, but COUNT still counts them. */
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Calls `visit` with the occurrences of a rule in ascending order. The first occurrence is the start (RFC
 * 5545); occurrences of the rule follow. `visit` returns false to end.
 *
 * @returns false if there were too few steps
 */
export function expandRule(
  rule: RecurrenceRule,
  startMs: number,
  window: ExpandWindow,
  steps: Steps,
  visit: (localMs: number) => boolean,
): boolean {
  if (!visit(startMs)) return true;
  return new Expansion(rule, startMs, steps, visit).run(window);
}

class Expansion {
  readonly #rule: RecurrenceRule;
  readonly #startMs: number;
  readonly #startDay: number;
  readonly #start: CivilDate;
  readonly #steps: Steps;
  readonly #visit: (localMs: number) => boolean;
  readonly #ruleDays: RuleDays;
  readonly #hours: readonly boolean[];
  readonly #minutes: readonly boolean[];
  readonly #seconds: readonly boolean[];
  /** Seconds from the beginning of a day, or of a period shorter than a day. */
  #times: readonly number[] = [];
  /** Days of the current period. */
  readonly #days: number[] = [];
  /** Whether the rule restricts no part of a date or time. */
  readonly #isOpen: boolean;
  /** How many places of BYSETPOS count from the end. They come first in the list. */
  readonly #fromEnd: number;
  #countLeft: number;

  constructor(rule: RecurrenceRule, startMs: number, steps: Steps, visit: (localMs: number) => boolean) {
    this.#rule = rule;
    this.#startMs = startMs;
    this.#startDay = Math.floor(startMs / DAY_MS);
    this.#start = civilOf(this.#startDay);
    this.#steps = steps;
    this.#visit = visit;
    this.#countLeft = rule.count === null ? Number.POSITIVE_INFINITY : rule.count - 1;
    this.#ruleDays = new RuleDays(rule, this.#startDay, this.#start);
    const { byMonth, byHour, byMinute, bySecond, bySetPos } = rule;
    this.#hours = tableOf(byHour, 24);
    this.#minutes = tableOf(byMinute, 60);
    this.#seconds = tableOf(bySecond, 60);
    this.#fromEnd = bySetPos.filter((position) => position < 0).length;
    this.#isOpen =
      this.#ruleDays.isOpen &&
      [byMonth, byHour, byMinute, bySecond, bySetPos].every(({ length }) => length === 0);
  }

  run({ fromMs, toMs }: ExpandWindow): boolean {
    const { frequency, bySecond } = this.#rule;
    // Expanded local times never have the second 60.
    if (bySecond.length > 0 && bySecond.every((second) => second === 60)) return true;
    this.#times = this.#timesOfPeriod();
    if (this.#steps.left <= 0) return false;
    const lastDay = Math.min(DAYS_LAST, Math.floor(toMs / DAY_MS));
    const fromDay = this.#rule.count === null ? Math.floor(fromMs / DAY_MS) : this.#startDay;
    if (frequency === 'HOURLY' || frequency === 'MINUTELY' || frequency === 'SECONDLY')
      return this.#byUnits(UNIT_SECONDS[frequency], fromMs, fromDay, lastDay);
    return this.#byDays(DAY_PERIODS[frequency], fromDay, lastDay);
  }

  /** Periods of days, weeks, months or years. */
  #byDays({ numberOf, firstDay }: DayPeriod, fromDay: number, lastDay: number): boolean {
    const { weekStart, interval, byWeekNo } = this.#rule;
    const isOfWeeks = byWeekNo.length > 0;
    const beginOf = (period: number): number =>
      isOfWeeks ? firstWeek(period, weekStart) : firstDay(period, weekStart);
    // The first and last week of a year may reach into the neighbouring years.
    const more = isOfWeeks ? 1 : 0;
    const last = numberOf(lastDay, weekStart) + more;
    let period = this.#advance(numberOf(this.#startDay, weekStart), numberOf(fromDay, weekStart) - more);
    for (; period <= last; period += interval) {
      if (!this.#take()) return false;
      const [first, end] = [beginOf(period), beginOf(period + 1)];
      this.#days.length = 0;
      for (let day = first; day < end && day <= DAYS_LAST; )
        day = this.#addDay(day, isOfWeeks ? first : null, end);
      const isPast = this.#days.length > 0 && (this.#days[0] as number) > lastDay;
      if (!isPast && !this.#give(0)) return this.#steps.left > 0;
    }
    return true;
  }

  /**
   * Adds a day if the rule has it.
   *
   * @param weeksBegin the first day of the numbered weeks; null without numbers of weeks
   * @returns the next day to try: after a week or month that the rule does not have, the first one behind it
   */
  #addDay(day: number, weeksBegin: number | null, end: number): number {
    if (weeksBegin !== null && (day - weeksBegin) % 7 === 0) {
      this.#steps.left--;
      if (!this.#ruleDays.hasWeek((day - weeksBegin) / 7 + 1, (end - weeksBegin) / 7)) return day + 7;
    }
    const date = civilOf(day);
    if (weeksBegin === null && !this.#ruleDays.hasMonth(date.month))
      return day + daysInMonth(date.year, date.month) - date.day + 1;
    this.#steps.left--;
    if (this.#ruleDays.has(day, date)) this.#days.push(day);
    return day + 1;
  }

  /** Periods of hours, minutes or seconds. Days, hours and minutes that cannot match are skipped in one step. */
  #byUnits(unitSeconds: number, fromMs: number, fromDay: number, lastDay: number): boolean {
    const { interval } = this.#rule;
    const perDay = DAY_SECONDS / unitSeconds;
    const first = Math.floor(this.#startMs / 1000 / unitSeconds);
    const last = (lastDay + 1) * perDay - 1;
    let at = this.#advance(first, fromDay * perDay);
    if (this.#isOpen)
      at = this.#passOver(at, unitSeconds, Math.min(last, Math.floor(fromMs / 1000 / unitSeconds) - 1));
    let day = Number.NaN;
    let isDay = false;
    while (at <= last) {
      if (!this.#take()) return false;
      if (Math.floor(at / perDay) !== day) {
        day = Math.floor(at / perDay);
        isDay = this.#ruleDays.has(day, civilOf(day));
      }
      const second = (at - day * perDay) * unitSeconds;
      const hour = Math.floor(second / 3600);
      const minute = Math.floor(second / 60);
      let next = at + interval;
      if (!isDay) next = this.#advance(at, (day + 1) * perDay);
      else if (this.#hours[hour] === false) {
        next = this.#advance(at, day * perDay + ((hour + 1) * 3600) / unitSeconds);
      } else if (unitSeconds < 3600 && this.#minutes[minute % 60] === false) {
        next = this.#advance(at, day * perDay + Math.ceil(((minute + 1) * 60) / unitSeconds));
      } else if (unitSeconds > 1 || this.#seconds[second % 60] !== false) {
        this.#days.length = 0;
        this.#days.push(0);
        if (!this.#give(at * unitSeconds * 1000)) return this.#steps.left > 0;
      }
      at = next > at ? next : at + interval;
    }
    return true;
  }

  /**
   * Counts the periods before the window in one step. Each period must have one occurrence.
   *
   * @returns the first period to visit
   */
  #passOver(first: number, unitSeconds: number, last: number): number {
    const { interval } = this.#rule;
    const offsetMs = (this.#times[0] as number) * 1000;
    const msOf = (at: number): number => at * unitSeconds * 1000 + offsetMs;
    const begin = msOf(first) <= this.#startMs ? first + interval : first;
    const count = Math.min(Math.floor((last - begin) / interval) + 1, this.#countLeft);
    if (count <= 0) return first;
    this.#countLeft -= count;
    this.#visit(msOf(begin + (count - 1) * interval));
    return begin + count * interval;
  }

  /** The first period, at or after `wanted`, that lies a whole number of intervals after `first`. */
  #advance(first: number, wanted: number): number {
    const { interval } = this.#rule;
    return wanted <= first ? first : first + Math.ceil((wanted - first) / interval) * interval;
  }

  #take(): boolean {
    return --this.#steps.left > 0;
  }

  #timesOfPeriod(): number[] {
    const { frequency, byHour, byMinute, bySecond } = this.#rule;
    const ofDay = Math.floor(this.#startMs / 1000) - this.#startDay * DAY_SECONDS;
    const isBelow = (name: string): boolean => name === frequency;
    const seconds = bySecond.length === 0 ? [ofDay % 60] : bySecond.filter((second) => second < 60);
    if (isBelow('SECONDLY')) return [0];
    if (isBelow('MINUTELY')) return seconds;
    const minutes = byMinute.length === 0 ? [Math.floor(ofDay / 60) % 60] : byMinute;
    const isHourly = isBelow('HOURLY');
    const hours = isHourly || byHour.length === 0 ? [Math.floor(ofDay / 3600)] : byHour;
    // Times count as steps, because a rule may name every second of a day.
    this.#steps.left -= hours.length * minutes.length * seconds.length;
    if (this.#steps.left <= 0) return [];
    const times: number[] = [];
    for (const hour of isHourly ? [0] : hours)
      for (const minute of minutes)
        for (const second of seconds) times.push(hour * 3600 + minute * 60 + second);
    return times;
  }

  /** Gives all days of the period at all times, or only the occurrences that BYSETPOS selects. */
  #give(baseMs: number): boolean {
    const days = this.#days;
    const times = this.#times;
    const size = days.length * times.length;
    const { bySetPos } = this.#rule;
    if (bySetPos.length === 0) {
      for (let n = 0; n < size; n++) if (!this.#emit(baseMs, n)) return false;
      return true;
    }
    // Merges the places from the end with the places from the start: both ascend. Skips places that do not exist.
    let end = this.#fromEnd;
    while (end > 0 && (bySetPos[end - 1] as number) >= -size) end--;
    let start = this.#fromEnd;
    for (;;) {
      const place = Math.min(
        end < this.#fromEnd ? size + (bySetPos[end] as number) : size,
        start < bySetPos.length ? (bySetPos[start] as number) - 1 : size,
      );
      if (place >= size) return true;
      if (place === size + (bySetPos[end] as number)) end++;
      if (place === (bySetPos[start] as number) - 1) start++;
      if (!this.#emit(baseMs, place)) return false;
    }
  }

  #emit(baseMs: number, place: number): boolean {
    const { length } = this.#times;
    const day = this.#days[Math.floor(place / length)] as number;
    const localMs = baseMs + day * DAY_MS + (this.#times[place % length] as number) * 1000;
    if (!this.#take()) return false;
    if (localMs <= this.#startMs) return true;
    return this.#countLeft-- > 0 && this.#visit(localMs);
  }
}

/** Numbers that count from the first or from the last of a series. */
class Places {
  readonly isEmpty: boolean;
  readonly #fromFirst: readonly boolean[];
  readonly #fromLast: readonly boolean[];

  constructor(numbers: readonly number[], max: number) {
    this.isEmpty = numbers.length === 0;
    this.#fromFirst = tableOf(numbers, max + 1, false);
    this.#fromLast = tableOf(
      numbers.map((number) => -number),
      max + 1,
      false,
    );
  }

  /** @param place counted from 1 */
  has(place: number, size: number): boolean {
    return this.#fromFirst[place] === true || this.#fromLast[size - place + 1] === true;
  }
}

class RuleDays {
  /** Whether the rule names no days and no weeks. */
  readonly isOpen: boolean;
  readonly #months: readonly boolean[];
  readonly #weeks: Places;
  readonly #yearDays: Places;
  readonly #monthDays: Places;
  readonly #weekdays: readonly boolean[];
  /** By weekday: the ordinals of BYDAY. For YEARLY without BYMONTH they count within the year, else within the month. */
  readonly #numbered: readonly Places[];
  readonly #isOfYear: boolean;

  /** Parts that the rule leaves out are taken from the start date. */
  constructor(rule: RecurrenceRule, startDay: number, start: CivilDate) {
    const { byMonth, byWeekNo, byYearDay, byMonthDay, byDay, frequency } = rule;
    this.isOpen = byWeekNo.length + byYearDay.length + byMonthDay.length + byDay.length === 0;
    const isYearly = frequency === 'YEARLY';
    const isWholeWeek = byWeekNo.length > 0 && byYearDay.length + byMonthDay.length + byDay.length === 0;
    const isOfStart = this.isOpen && (isYearly || frequency === 'MONTHLY');
    const ofWeekday = isWholeWeek || (frequency === 'WEEKLY' && byDay.length === 0);
    const plainDays = byDay.filter(({ ordinal }) => ordinal === 0).map(({ weekday }) => weekday);
    this.#months = tableOf(this.isOpen && isYearly && byMonth.length === 0 ? [start.month] : byMonth, 13);
    this.#weeks = new Places(byWeekNo, 53);
    this.#yearDays = new Places(byYearDay, 366);
    this.#monthDays = new Places(isOfStart ? [start.day] : byMonthDay, 31);
    this.#weekdays = tableOf(ofWeekday ? [weekdayOf(startDay)] : plainDays, 7, byDay.length === 0);
    this.#numbered = plainDays.length === byDay.length ? [] : numberedDays(rule);
    this.#isOfYear = isYearly && byMonth.length === 0;
  }

  hasMonth(month: number): boolean {
    return this.#months[month] !== false;
  }

  hasWeek(week: number, weeksOfYear: number): boolean {
    return this.#weeks.has(week, weeksOfYear);
  }

  has(day: number, { year, month, day: dayOfMonth }: CivilDate): boolean {
    if (this.#months[month] === false) return false;
    const monthLength = daysInMonth(year, month);
    if (!this.#monthDays.isEmpty && !this.#monthDays.has(dayOfMonth, monthLength)) return false;
    if (!this.#yearDays.isEmpty && !this.#yearDays.has(dayOfYear(day, year), yearLength(year))) return false;
    const weekday = weekdayOf(day);
    if (this.#weekdays[weekday] !== false) return true;
    const numbered = this.#numbered[weekday];
    if (numbered === undefined || numbered.isEmpty) return false;
    const place = this.#isOfYear ? dayOfYear(day, year) : dayOfMonth;
    const length = this.#isOfYear ? yearLength(year) : monthLength;
    const number = Math.ceil(place / 7);
    return numbered.has(number, number + Math.floor((length - place) / 7));
  }
}

function numberedDays({ byDay }: RecurrenceRule): Places[] {
  return Array.from({ length: 7 }, (_, weekday) => {
    const ofWeekday = byDay.filter((each) => each.weekday === weekday && each.ordinal !== 0);
    return new Places(
      ofWeekday.map(({ ordinal }) => ordinal),
      53,
    );
  });
}

/** Week 1 of a year is the first week with four days in the year. */
function firstWeek(year: number, weekStart: number): number {
  const fourth = daysFromCivil(year, 1, 4);
  return fourth - ((weekdayOf(fourth) - weekStart + 7) % 7);
}

function dayOfYear(day: number, year: number): number {
  return day - daysFromCivil(year, 1, 1) + 1;
}

function yearLength(year: number): number {
  return 337 + daysInMonth(year, 2);
}

function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** The selected values. An empty list selects all values, unless `isAll` is false. */
function tableOf(values: readonly number[], size: number, isAll: boolean = true): boolean[] {
  const table = new Array<boolean>(size).fill(isAll && values.length === 0);
  for (const value of values) if (value >= 0 && value < size) table[value] = true;
  return table;
}
