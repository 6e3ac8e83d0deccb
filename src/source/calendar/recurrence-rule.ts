/** Recurrence rules in the form of RFC 5545 section 3.3.10. */
import { daysInMonth } from '../../base/model/time.js';

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
