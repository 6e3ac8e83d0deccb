/** Expands recurrence rules in local time, with whole numbers only. */
import { DAY_MS, daysFromCivil, daysInMonth } from '../../model/time.js';
import { type CivilDate, civilOf } from './calendar-time.js';
import type { RecurrenceRule } from './recurrence-rule.js';

const DAY_SECONDS = 86_400;
/** 9999-12-31 */
const DAYS_LAST = 2_932_896;

/** Seconds in a period of each frequency below DAILY. */
const UNIT_SECONDS = { HOURLY: 3600, MINUTELY: 60, SECONDLY: 1 } as const;

/** Steps left: visited days, periods and occurrences. All rules of an event or a calendar share them. */
export interface Steps {
  left: number;
}

/** Local dates and times, treated as UTC. */
export interface ExpandWindow {
  /** Earlier occurrences may be left out, but the count stays right. */
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Calls `visit` with the occurrences of a rule in ascending order. The start is the first (RFC 5545);
 * occurrences of the rule follow. `visit` returns false to end.
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
  readonly #months: readonly boolean[];
  readonly #monthDays: readonly number[];
  readonly #weekdays: readonly boolean[];
  readonly #hours: readonly boolean[];
  readonly #minutes: readonly boolean[];
  readonly #seconds: readonly boolean[];
  /** Seconds from the beginning of a day, or of a period shorter than DAILY. */
  readonly #times: readonly number[];
  /** Days of the current period. */
  readonly #days: number[] = [];
  /** The rule restricts no part of a date or time. */
  readonly #isOpen: boolean;
  #countLeft: number;

  constructor(rule: RecurrenceRule, startMs: number, steps: Steps, visit: (localMs: number) => boolean) {
    this.#rule = rule;
    this.#startMs = startMs;
    this.#startDay = Math.floor(startMs / DAY_MS);
    this.#start = civilOf(this.#startDay);
    this.#steps = steps;
    this.#visit = visit;
    this.#countLeft = rule.count === null ? Number.POSITIVE_INFINITY : rule.count - 1;
    const { byMonth, byWeekNo, byYearDay, byMonthDay, byDay, frequency } = rule;
    // Missing parts of a rule are taken from DTSTART.
    const isOpen = byWeekNo.length + byYearDay.length + byMonthDay.length + byDay.length === 0;
    const isYearly = frequency === 'YEARLY';
    this.#monthDays = isOpen && (isYearly || frequency === 'MONTHLY') ? [this.#start.day] : byMonthDay;
    const months = isOpen && isYearly && byMonth.length === 0 ? [this.#start.month] : byMonth;
    const ofStart = weekdayOf(this.#startDay);
    const isWeekly = frequency === 'WEEKLY' && byDay.length === 0;
    const isOfWeek = byWeekNo.length > 0 && byYearDay.length + byMonthDay.length + byDay.length === 0;
    const plainDays = byDay.filter(({ ordinal }) => ordinal === 0).map(({ weekday }) => weekday);
    this.#months = tableOf(months, 13);
    this.#weekdays = tableOf(isWeekly || isOfWeek ? [ofStart] : plainDays, 7, byDay.length === 0);
    this.#hours = tableOf(rule.byHour, 24);
    this.#minutes = tableOf(rule.byMinute, 60);
    this.#seconds = tableOf(rule.bySecond, 60);
    this.#times = this.#timesOfPeriod();
    const { byHour, byMinute, bySecond, bySetPos } = rule;
    this.#isOpen =
      [byMonth, byHour, byMinute, bySecond, bySetPos].every(({ length }) => length === 0) && isOpen;
  }

  run({ fromMs, toMs }: ExpandWindow): boolean {
    const { frequency, bySecond } = this.#rule;
    // These times have no second 60.
    if (bySecond.length > 0 && bySecond.every((second) => second === 60)) return true;
    const lastDay = Math.min(DAYS_LAST, Math.floor(toMs / DAY_MS));
    const fromDay = this.#rule.count === null ? Math.floor(fromMs / DAY_MS) : this.#startDay;
    switch (frequency) {
      case 'YEARLY':
        return this.#byYears(fromDay, lastDay);
      case 'MONTHLY':
        return this.#byMonths(fromDay, lastDay);
      case 'WEEKLY':
        return this.#byWeeks(fromDay, lastDay);
      case 'DAILY':
        return this.#byDays(fromDay, lastDay);
      default:
        return this.#byUnits(UNIT_SECONDS[frequency], fromMs, fromDay, lastDay);
    }
  }

  #byYears(fromDay: number, lastDay: number): boolean {
    const first = this.#start.year;
    // Weeks extend into the previous and next year.
    const from = civilOf(fromDay).year - 1;
    const last = civilOf(lastDay).year + 1;
    for (let year = this.#advance(first, from); year <= last; year += this.#rule.interval) {
      if (!this.#take()) return false;
      this.#days.length = 0;
      if (this.#rule.byWeekNo.length > 0) this.#addWeeks(year);
      else for (let month = 1; month <= 12; month++) this.#addMonth(year, month);
      if (!this.#giveDays(lastDay)) return this.#steps.left > 0;
    }
    return true;
  }

  #byMonths(fromDay: number, lastDay: number): boolean {
    const first = this.#start.year * 12 + this.#start.month - 1;
    const { year: fromYear, month: fromMonth } = civilOf(fromDay);
    const { year: lastYear, month: lastMonth } = civilOf(lastDay);
    const last = lastYear * 12 + lastMonth - 1;
    let at = this.#advance(first, fromYear * 12 + fromMonth - 1);
    for (; at <= last; at += this.#rule.interval) {
      if (!this.#take()) return false;
      this.#days.length = 0;
      this.#addMonth(Math.floor(at / 12), (at % 12) + 1);
      if (!this.#giveDays(lastDay)) return this.#steps.left > 0;
    }
    return true;
  }

  #byWeeks(fromDay: number, lastDay: number): boolean {
    const { weekStart, interval } = this.#rule;
    const first = this.#startDay - ((weekdayOf(this.#startDay) - weekStart + 7) % 7);
    const weeks = this.#advance(0, Math.floor((fromDay - first) / 7));
    for (let day = first + weeks * 7; day <= lastDay; day += 7 * interval) {
      if (!this.#take()) return false;
      this.#days.length = 0;
      for (let n = 0; n < 7; n++) this.#addDay(day + n);
      if (!this.#giveDays(lastDay)) return this.#steps.left > 0;
    }
    return true;
  }

  #byDays(fromDay: number, lastDay: number): boolean {
    for (let day = this.#advance(this.#startDay, fromDay); day <= lastDay; day += this.#rule.interval) {
      if (!this.#take()) return false;
      this.#days.length = 0;
      this.#addDay(day);
      if (!this.#giveDays(lastDay)) return this.#steps.left > 0;
    }
    return true;
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
        isDay = this.#isDay(day, civilOf(day));
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
   * Counts the periods before the window in one step, but takes the steps of visiting them: two for each.
   * Each period must have one occurrence.
   *
   * @returns the first period to visit
   */
  #passOver(first: number, unitSeconds: number, last: number): number {
    const { interval } = this.#rule;
    const offsetMs = (this.#times[0] as number) * 1000;
    const msOf = (at: number): number => at * unitSeconds * 1000 + offsetMs;
    const begin = msOf(first) <= this.#startMs ? first + interval : first;
    const toFirst = begin === first ? 0 : 1;
    const count = Math.min(
      Math.floor((last - begin) / interval) + 1,
      this.#countLeft,
      Math.floor((this.#steps.left - toFirst - 1) / 2),
    );
    if (count <= 0) return first;
    this.#steps.left -= toFirst + 2 * count;
    this.#countLeft -= count;
    this.#visit(msOf(begin + (count - 1) * interval));
    return begin + count * interval;
  }

  /** The first period from `first`, in whole intervals, that is not before `wanted`. */
  #advance(first: number, wanted: number): number {
    const { interval } = this.#rule;
    return wanted <= first ? first : first + Math.ceil((wanted - first) / interval) * interval;
  }

  #take(): boolean {
    return --this.#steps.left > 0;
  }

  #addMonth(year: number, month: number): void {
    if (this.#months[month] === false || year > 9999) return;
    const first = daysFromCivil(year, month, 1);
    const length = daysInMonth(year, month);
    for (let day = 1; day <= length; day++) {
      if (this.#isDay(first + day - 1, { year, month, day })) this.#days.push(first + day - 1);
    }
    this.#steps.left -= length;
  }

  /** Days of the year's weeks, some of which lie in the previous or next year. */
  #addWeeks(year: number): void {
    const first = this.#firstWeek(year);
    const count = (this.#firstWeek(year + 1) - first) / 7;
    const weeks = this.#rule.byWeekNo.map((week) => (week > 0 ? week : count + week + 1));
    for (const week of [...new Set(weeks)].sort((a, b) => a - b)) {
      if (week < 1 || week > count) continue;
      for (let n = 0; n < 7; n++) this.#addDay(first + (week - 1) * 7 + n);
    }
  }

  /** Week 1 is the first week with four days in the year. */
  #firstWeek(year: number): number {
    const fourth = daysFromCivil(year, 1, 4);
    return fourth - ((weekdayOf(fourth) - this.#rule.weekStart + 7) % 7);
  }

  #addDay(day: number): void {
    this.#steps.left--;
    if (this.#isDay(day, civilOf(day))) this.#days.push(day);
  }

  #isDay(day: number, { year, month, day: dayOfMonth }: CivilDate): boolean {
    if (this.#months[month] === false) return false;
    const { byYearDay, byDay } = this.#rule;
    const length = daysInMonth(year, month);
    if (this.#monthDays.length > 0) {
      const isIn = this.#monthDays.includes(dayOfMonth) || this.#monthDays.includes(dayOfMonth - length - 1);
      if (!isIn) return false;
    }
    if (byYearDay.length > 0) {
      const dayOfYear = day - daysFromCivil(year, 1, 1) + 1;
      const yearLength = 337 + daysInMonth(year, 2);
      if (!byYearDay.includes(dayOfYear) && !byYearDay.includes(dayOfYear - yearLength - 1)) return false;
    }
    const weekday = weekdayOf(day);
    if (this.#weekdays[weekday] !== false) return true;
    return byDay.some(
      (each) =>
        each.weekday === weekday &&
        each.ordinal !== 0 &&
        this.#isNth(each.ordinal, day, year, month, dayOfMonth),
    );
  }

  /** Whether a day is the n-th of its weekday: within the month, or within the year for YEARLY without BYMONTH. */
  #isNth(ordinal: number, day: number, year: number, month: number, dayOfMonth: number): boolean {
    const isOfYear = this.#rule.frequency === 'YEARLY' && this.#rule.byMonth.length === 0;
    const place = isOfYear ? day - daysFromCivil(year, 1, 1) : dayOfMonth - 1;
    const length = isOfYear ? 337 + daysInMonth(year, 2) : daysInMonth(year, month);
    return ordinal > 0
      ? Math.floor(place / 7) + 1 === ordinal
      : Math.floor((length - 1 - place) / 7) + 1 === -ordinal;
  }

  #timesOfPeriod(): number[] {
    const { frequency, byHour, byMinute, bySecond } = this.#rule;
    const ofDay = Math.floor(this.#startMs / 1000) - this.#startDay * DAY_SECONDS;
    const isBelow = (name: string): boolean => name === frequency;
    const seconds = bySecond.length === 0 ? [ofDay % 60] : bySecond.filter((second) => second < 60);
    if (isBelow('SECONDLY')) return [0];
    if (isBelow('MINUTELY')) return seconds;
    const minutes = byMinute.length === 0 ? [Math.floor(ofDay / 60) % 60] : byMinute;
    const ofHour = minutes.flatMap((minute) => seconds.map((second) => minute * 60 + second));
    if (isBelow('HOURLY')) return ofHour;
    const hours = byHour.length === 0 ? [Math.floor(ofDay / 3600)] : byHour;
    return hours.flatMap((hour) => ofHour.map((second) => hour * 3600 + second));
  }

  #giveDays(lastDay: number): boolean {
    const days = this.#days;
    const isPast = days.length > 0 && (days[0] as number) > lastDay;
    return isPast ? true : this.#give(0);
  }

  /** Gives the days of the period at all their times, or those selected by BYSETPOS. */
  #give(baseMs: number): boolean {
    const days = this.#days;
    const times = this.#times;
    const size = days.length * times.length;
    const { bySetPos } = this.#rule;
    if (bySetPos.length === 0) {
      for (let n = 0; n < size; n++) if (!this.#emit(baseMs, n)) return false;
      return true;
    }
    const places = bySetPos.map((position) => (position > 0 ? position - 1 : size + position));
    for (const place of [...new Set(places)].sort((a, b) => a - b)) {
      if (place >= 0 && place < size && !this.#emit(baseMs, place)) return false;
    }
    return true;
  }

  #emit(baseMs: number, place: number): boolean {
    const { length } = this.#times;
    const day = this.#days[Math.floor(place / length)] as number;
    const localMs = baseMs + day * DAY_MS + (this.#times[place % length] as number) * 1000;
    if (localMs <= this.#startMs) return true;
    if (this.#countLeft-- <= 0) return false;
    return this.#take() && this.#visit(localMs);
  }
}

function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** The selected values: all if the list is empty, unless `isAll` is false. */
function tableOf(values: readonly number[], size: number, isAll: boolean = true): boolean[] {
  return Array.from({ length: size }, (_, value) => (values.length === 0 ? isAll : values.includes(value)));
}
