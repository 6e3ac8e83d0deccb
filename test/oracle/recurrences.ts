/**
 * The slow version of the expansion of recurrence rules. For MINUTELY and SECONDLY rules it visits every minute or
 * second, in steps of the interval; for all other rules, every day. It checks each against the rule, and shares no
 * code with the reader.
 */
import { Temporal } from 'temporal-polyfill';

export interface OracleRule {
  readonly freq: 'YEARLY' | 'MONTHLY' | 'WEEKLY' | 'DAILY' | 'HOURLY' | 'MINUTELY' | 'SECONDLY';
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
  /** Only of MINUTELY and SECONDLY. */
  readonly bySecond?: readonly number[];
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
  add('BYSECOND', rule.bySecond);
  add('BYSETPOS', rule.bySetPos);
  add('WKST', rule.wkst);
  return parts.join(';');
}

/** One occurrence, and whether clocks skipped its local time or showed it twice. */
export interface OracleOccurrence {
  readonly instant: number;
  readonly local: Temporal.PlainDateTime;
  readonly kind: 'exact' | 'gap' | 'overlap';
}

export function occurrenceAt(local: Temporal.PlainDateTime, zone: string): OracleOccurrence {
  const zoned = local.toZonedDateTime(zone, { disambiguation: 'compatible' });
  const later = local.toZonedDateTime(zone, { disambiguation: 'later' });
  const isShown = zoned.toPlainDateTime().equals(local);
  const kind = !isShown ? 'gap' : zoned.equals(later) ? 'exact' : 'overlap';
  return { instant: zoned.epochMilliseconds, local, kind };
}

/** All occurrences up to a day; the start comes first. */
export function occurrencesOf(
  rule: OracleRule,
  start: Temporal.PlainDateTime,
  zone: string,
  lastDay: Temporal.PlainDate,
): OracleOccurrence[] {
  const isShort = rule.freq === 'MINUTELY' || rule.freq === 'SECONDLY';
  const all = isShort ? shortPeriods(rule, start, lastDay) : dayByDay(rule, start, lastDay);
  const found = new Map<number, OracleOccurrence>();
  let count = 0;
  for (const local of [start, ...all.filter((at) => Temporal.PlainDateTime.compare(at, start) > 0)]) {
    const occurrence = occurrenceAt(local, zone);
    const isLate = rule.until !== undefined && occurrence.instant > rule.until.epochMilliseconds;
    if (count > 0 && (isLate || count === rule.count)) break;
    count++;
    if (!found.has(occurrence.instant)) found.set(occurrence.instant, occurrence);
  }
  return [...found.values()].sort((a, b) => a.instant - b.instant);
}

/** The occurrences of a MINUTELY or SECONDLY rule, found minute by minute or second by second. */
function shortPeriods(
  rule: OracleRule,
  start: Temporal.PlainDateTime,
  lastDay: Temporal.PlainDate,
): Temporal.PlainDateTime[] {
  const { freq, interval = 1, byHour, byMinute, bySecond } = rule;
  const firstDay = start.toPlainDate();
  const length = freq === 'MINUTELY' ? 60 : 1;
  const ofDay = start.hour * 3600 + start.minute * 60 + start.second;
  const days = firstDay.until(lastDay, { largestUnit: 'day' }).days + 1;
  const isDay: boolean[] = [];
  for (let day = 0; day < days; day++) isDay.push(hasDay(rule, start, firstDay.add({ days: day })));
  const isIn = (list: readonly number[] | undefined, value: number): boolean =>
    list === undefined || list.includes(value);
  const found: Temporal.PlainDateTime[] = [];
  for (let begin = ofDay - (ofDay % length); begin < days * 86_400; begin += interval * length) {
    const day = Math.floor(begin / 86_400);
    const hour = Math.floor(begin / 3600) % 24;
    const minute = Math.floor(begin / 60) % 60;
    if (isDay[day] !== true || !isIn(byHour, hour) || !isIn(byMinute, minute)) continue;
    const period: Temporal.PlainDateTime[] = [];
    for (let second = begin % 60; second < (begin % 60) + length; second++) {
      const isOfStart = length === 1 || second === start.second;
      const isSecond = bySecond === undefined ? isOfStart : bySecond.includes(second);
      if (!isSecond) continue;
      period.push(firstDay.add({ days: day }).toPlainDateTime({ hour, minute, second }));
    }
    found.push(...selected(rule, period));
  }
  return found;
}

function dayByDay(
  rule: OracleRule,
  start: Temporal.PlainDateTime,
  lastDay: Temporal.PlainDate,
): Temporal.PlainDateTime[] {
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
  const all = [...periods.values()].flatMap((period) => selected(rule, period));
  return all.sort(Temporal.PlainDateTime.compare);
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
      default:
        throw new Error(`${freq} has shorter periods than an hour`);
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
