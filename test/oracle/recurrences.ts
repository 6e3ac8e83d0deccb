/**
 * The slow version of the expansion of recurrence rules. It visits every day from the start, and every second
 * of a day that the rule may name, and checks each against the rule. It shares no code with the reader.
 */
import { Temporal } from 'temporal-polyfill';

export interface OracleRule {
  readonly freq: 'YEARLY' | 'MONTHLY' | 'WEEKLY' | 'DAILY' | 'HOURLY';
  readonly interval?: number;
  readonly count?: number;
  /** UTC, inclusive. */
  readonly until?: Temporal.Instant;
  readonly byMonth?: readonly number[];
  readonly byWeekNo?: readonly number[];
  readonly byYearDay?: readonly number[];
  readonly byMonthDay?: readonly number[];
  /** `MO`, `-1FR` */
  readonly byDay?: readonly string[];
  readonly byHour?: readonly number[];
  readonly byMinute?: readonly number[];
  readonly bySetPos?: readonly number[];
  readonly wkst?: string;
}

const CODES = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

export function ruleText(rule: OracleRule): string {
  const parts = [`FREQ=${rule.freq}`];
  const add = (name: string, value: unknown): void => {
    if (value !== undefined) parts.push(`${name}=${String(value)}`);
  };
  add('INTERVAL', rule.interval);
  add('COUNT', rule.count);
  add('UNTIL', rule.until?.toString().replace(/[-:]/g, ''));
  add('BYMONTH', rule.byMonth);
  add('BYWEEKNO', rule.byWeekNo);
  add('BYYEARDAY', rule.byYearDay);
  add('BYMONTHDAY', rule.byMonthDay);
  add('BYDAY', rule.byDay);
  add('BYHOUR', rule.byHour);
  add('BYMINUTE', rule.byMinute);
  add('BYSETPOS', rule.bySetPos);
  add('WKST', rule.wkst);
  return parts.join(';');
}

/** Instants of all occurrences up to a day; the start comes first. */
export function occurrencesOf(
  rule: OracleRule,
  start: Temporal.PlainDateTime,
  zone: string,
  lastDay: Temporal.PlainDate,
): number[] {
  const periods = new Map<string, Temporal.PlainDateTime[]>();
  // The first period may begin before the start.
  let day = start.toPlainDate().subtract({ days: 400 });
  for (; Temporal.PlainDate.compare(day, lastDay) <= 0; day = day.add({ days: 1 })) {
    if (!hasDay(rule, start, day)) continue;
    for (const time of timesOf(rule, start)) {
      const at = day.toPlainDateTime(time);
      const period = periodOf(rule, start, at);
      if (period === null) continue;
      const others = periods.get(period);
      if (others === undefined) periods.set(period, [at]);
      else others.push(at);
    }
  }
  const instants: number[] = [];
  const add = (at: Temporal.PlainDateTime): boolean => {
    const instant = at.toZonedDateTime(zone, { disambiguation: 'compatible' }).toInstant();
    const isFirst = instants.length === 0;
    if (!isFirst && rule.until !== undefined && Temporal.Instant.compare(instant, rule.until) > 0)
      return false;
    if (rule.count !== undefined && instants.length >= rule.count) return false;
    instants.push(instant.epochMilliseconds);
    return true;
  };
  add(start);
  const all = [...periods.values()].flatMap((period) => selected(rule, period));
  all.sort(Temporal.PlainDateTime.compare);
  for (const at of all) {
    if (Temporal.PlainDateTime.compare(at, start) > 0 && !add(at)) break;
  }
  return [...new Set(instants)].sort((a, b) => a - b);
}

function selected(
  { bySetPos }: OracleRule,
  period: readonly Temporal.PlainDateTime[],
): Temporal.PlainDateTime[] {
  if (bySetPos === undefined) return [...period];
  return period.filter((_, n) => bySetPos.includes(n + 1) || bySetPos.includes(n - period.length));
}

/** Names the period of a time, or null if the interval leaves it out. */
function periodOf(
  { freq, interval = 1, wkst = 'MO', byWeekNo }: OracleRule,
  start: Temporal.PlainDateTime,
  at: Temporal.PlainDateTime,
): string | null {
  const distance = (): number => {
    switch (freq) {
      case 'YEARLY':
        return (byWeekNo === undefined ? at.year : weekOf(at.toPlainDate(), wkst).year) - start.year;
      case 'MONTHLY':
        return at.year * 12 + at.month - (start.year * 12 + start.month);
      case 'WEEKLY': {
        const first = weekStart(start.toPlainDate(), wkst);
        return first.until(weekStart(at.toPlainDate(), wkst), { largestUnit: 'day' }).days / 7;
      }
      case 'DAILY':
        return start.toPlainDate().until(at.toPlainDate(), { largestUnit: 'day' }).days;
      case 'HOURLY': {
        const hour = { minute: 0, second: 0 } as const;
        return start.with(hour).until(at.with(hour), { largestUnit: 'hour' }).hours;
      }
    }
  };
  const periods = distance();
  return periods >= 0 && periods % interval === 0 ? String(periods) : null;
}

function weekStart(day: Temporal.PlainDate, wkst: string): Temporal.PlainDate {
  let first = day;
  while (CODES[first.dayOfWeek - 1] !== wkst) first = first.subtract({ days: 1 });
  return first;
}

/** The week belongs to the year that has four of its days. */
function weekOf(day: Temporal.PlainDate, wkst: string): { readonly year: number; readonly week: number } {
  const fourth = weekStart(day, wkst).add({ days: 3 });
  return { year: fourth.year, week: Math.ceil(fourth.dayOfYear / 7) };
}

function weeksOf(year: number, wkst: string): number {
  return weekOf(Temporal.PlainDate.from({ year, month: 12, day: 28 }), wkst).week;
}

function isListed(values: readonly number[], fromStart: number, size: number): boolean {
  return values.some((value) => value === fromStart || value === fromStart - size - 1);
}

function hasDay(rule: OracleRule, start: Temporal.PlainDateTime, day: Temporal.PlainDate): boolean {
  const { freq, byMonth, byWeekNo, byYearDay, byMonthDay, byDay, wkst = 'MO' } = rule;
  const saysDay =
    byWeekNo !== undefined || byYearDay !== undefined || byMonthDay !== undefined || byDay !== undefined;
  if (byMonth !== undefined && !byMonth.includes(day.month)) return false;
  if (byMonth === undefined && freq === 'YEARLY' && !saysDay && day.month !== start.month) return false;
  if (!saysDay) {
    if ((freq === 'YEARLY' || freq === 'MONTHLY') && day.day !== start.day) return false;
    if (freq === 'WEEKLY' && day.dayOfWeek !== start.dayOfWeek) return false;
  }
  if (byWeekNo !== undefined) {
    const { year, week } = weekOf(day, wkst);
    if (!isListed(byWeekNo, week, weeksOf(year, wkst))) return false;
    const isOpen = byYearDay === undefined && byMonthDay === undefined && byDay === undefined;
    if (isOpen && day.dayOfWeek !== start.dayOfWeek) return false;
  }
  if (byYearDay !== undefined && !isListed(byYearDay, day.dayOfYear, day.daysInYear)) return false;
  if (byMonthDay !== undefined && !isListed(byMonthDay, day.day, day.daysInMonth)) return false;
  return byDay === undefined || byDay.some((code) => isWeekday(code, rule, day));
}

function isWeekday(code: string, { freq, byMonth }: OracleRule, day: Temporal.PlainDate): boolean {
  if (CODES[day.dayOfWeek - 1] !== code.slice(-2)) return false;
  if (code.length === 2) return true;
  const ordinal = Number(code.slice(0, -2));
  const isOfYear = freq === 'YEARLY' && byMonth === undefined;
  const isInside = (other: Temporal.PlainDate): boolean =>
    other.year === day.year && (isOfYear || other.month === day.month);
  // Counts the same weekdays up to this one, from the start or from the end.
  let place = 0;
  const step = { days: ordinal > 0 ? -7 : 7 };
  for (let other = day; isInside(other); other = other.add(step)) place++;
  return place === Math.abs(ordinal);
}

function timesOf(
  { freq, byHour, byMinute }: OracleRule,
  start: Temporal.PlainDateTime,
): Temporal.PlainTime[] {
  const times: Temporal.PlainTime[] = [];
  for (let hour = 0; hour < 24; hour++) {
    const isHour = byHour === undefined ? freq === 'HOURLY' || hour === start.hour : byHour.includes(hour);
    for (let minute = 0; isHour && minute < 60; minute++) {
      const isMinute = byMinute === undefined ? minute === start.minute : byMinute.includes(minute);
      if (isMinute) times.push(Temporal.PlainTime.from({ hour, minute, second: start.second }));
    }
  }
  return times;
}
