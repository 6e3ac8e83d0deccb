/** The days and weeks of a recurrence rule, in tables, so that long lists cost no more than short ones. */
import { daysFromCivil, daysInMonth } from '../../model/time.js';
import type { CivilDate } from './calendar-time.js';
import type { RecurrenceRule } from './recurrence-rule.js';

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

export class RuleDays {
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

function dayOfYear(day: number, year: number): number {
  return day - daysFromCivil(year, 1, 1) + 1;
}

function yearLength(year: number): number {
  return 337 + daysInMonth(year, 2);
}

export function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** The selected values. An empty list selects all values, unless `isAll` is false. */
export function tableOf(values: readonly number[], size: number, isAll: boolean = true): boolean[] {
  const table = new Array<boolean>(size).fill(isAll && values.length === 0);
  for (const value of values) if (value >= 0 && value < size) table[value] = true;
  return table;
}
