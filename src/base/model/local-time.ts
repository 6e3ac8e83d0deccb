/**
 * Dates, times of day and ranges as people write them, without a time zone: `31.08.2026 8:00`, `1200`, `8:10 - 8:55`.
 * Ambiguous texts are refused.
 */
import type { DateOrder } from './read-rules.js';
import { quoteEscaped } from './text.js';
import { DAY_MS, daysFromCivil, daysInMonth, MINUTE_MS } from './time.js';

/** A date and a time of day. Without an offset they need a time zone. */
interface LocalTime {
  /** Epoch milliseconds of the local time, treated as UTC. */
  readonly localMs: number;
  readonly offsetMs: number | null;
}

/** Two-digit years up to this year are of this century; later years are refused. */
const SHORT_YEAR_MAX = 69;

/** A narrow no-break space, which programs put between a time and PM. */
const NARROW_SPACE = /[\u00a0\u202f]/g;
const ISO_DATE = /^(\d{4})-(\d\d)-(\d\d)(?!\d)/;
const ORDERED_DATE = /^(\d{4}|\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{1,2})(?!\d)/;
/** The separator between date and time of day. */
const SEPARATOR = /^(?:[Tt]|,? +)/;
const OFFSET = / ?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)$/;
const TIME_OF_DAY = /^(\d{1,2})(?:([:.])(\d\d)(?:\2(\d\d)(?:[.,](\d{1,9}))?)?)?(?: ?([AaPp])[Mm])?$/;
/** After a time with seconds, `-09:30` is an offset. Without seconds it may be the end of a range. */
const HAS_SECONDS = /^\d{1,2}([:.])\d\d\1\d\d/;
/** `8h30`, `8 h`, `8.30 Uhr`. */
const HOUR_WORD = /^(\d{1,2})(?: ?[hH] ?(\d\d)?| [Uu]hr|[:.](\d\d) ?(?:[hH]|[Uu]hr))$/;
const FOUR_DIGITS = /^(\d\d)(\d\d)$/;

const ORDERS: Readonly<Record<DateOrder, string>> = {
  ymd: 'year, month, day',
  dmy: 'day, month, year',
  mdy: 'month, day, year',
};

/** @returns a clause on the fault, such as "month 31 does not exist" */
export function parseLocalTime(given: string, order: DateOrder | undefined): LocalTime | string {
  const text = given.replace(NARROW_SPACE, ' ').trim();
  const date = readDate(text, order);
  if (typeof date === 'string') return date;
  const after = text.slice(date.length);
  if (after === '') return 'it is a date: add a time of day, such as 08:00';
  const separator = SEPARATOR.exec(after)?.[0];
  if (separator === undefined) return NOT_UNDERSTOOD;
  const timeText = after.slice(separator.length);
  const [offset = '', utc, sign, hours, minutes = '00'] = OFFSET.exec(timeText) ?? [];
  const clock = timeText.slice(0, timeText.length - offset.length);
  if (sign === '-' && !HAS_SECONDS.test(clock)) {
    return 'its time of day looks like a range or has an offset: expected one time, with seconds if an offset follows';
  }
  const time = readTimeOfDay(clock, date.isIso);
  if (typeof time === 'string') return time;
  const localMs = date.days * DAY_MS + time;
  if (offset === '') return { localMs, offsetMs: null };
  if (utc !== undefined) return { localMs, offsetMs: 0 };
  if (Number(hours) > 23 || Number(minutes) > 59) return `offset ${offset.trim()} does not exist`;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  return { localMs, offsetMs: sign === '-' ? -offsetMs : offsetMs };
}

const NOT_UNDERSTOOD = 'it is not a date and a time of day, such as 2024-08-31 08:00';

interface LocalDate {
  /** Days since 1970-01-01. */
  readonly days: number;
  readonly length: number;
  readonly isIso: boolean;
}

/** The languages of timetables, for the names of days and months. */
export const COMMON_LANGUAGES: readonly string[] =
  'en de fr es pt it nl pl cs uk ru sv tr he zh zh-Hant ja'.split(' ');
/** `5-Oct-2026`, `5 de octubre de 2026`. */
const DAY_AND_NAME =
  /^(\d{1,2})(?:st|nd|rd|th|\.)?[ .\-/]{1,3}(?:(?:de|of) )?(\p{L}{3,12})[ .,\-/]{1,3}(?:de )?(\d{4}|\d{2})(?!\d)/u;
/** `October 5, 2026`. */
const NAME_AND_DAY = /^(\p{L}{3,12})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})(?!\d)/u;
/** `Mon` before a date. */
const WORD_BEFORE = /^(\p{L}{2,16})\.?,? +/u;

let namesKnown: { readonly days: ReadonlySet<string>; readonly months: ReadonlyMap<string, number> } | null =
  null;

/** The names and abbreviations of weekdays, and the months by name, in the common languages. */
function calendarNames(): NonNullable<typeof namesKnown> {
  if (namesKnown !== null) return namesKnown;
  const days = new Set<string>();
  const months = new Map<string, number>();
  for (const language of COMMON_LANGUAGES) {
    for (const style of ['long', 'short'] as const) {
      const format = (parts: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
        new Intl.DateTimeFormat(language, { ...parts, timeZone: 'UTC' });
      const weekday = format({ weekday: style });
      // Some languages have another form of the name beside a day.
      const names = [format({ month: style }), format({ day: 'numeric', month: style })];
      for (let day = 1; day <= 7; day++) days.add(plainName(weekday.format(Date.UTC(2024, 0, day))));
      for (let month = 1; month <= 12; month++) {
        for (const { type, value } of names.flatMap((each) =>
          each.formatToParts(Date.UTC(2024, month - 1, 1)),
        )) {
          const name = plainName(value);
          // A name of two months is of neither.
          if (type === 'month') months.set(name, (months.get(name) ?? month) === month ? month : 0);
        }
      }
    }
  }
  namesKnown = { days, months };
  return namesKnown;
}

function plainName(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(/\.$/, '');
}

/** A date whose month has a name; null if the text begins with none. */
function readNamedDate(text: string): LocalDate | string | null {
  const first = DAY_AND_NAME.exec(text);
  const [found, ...parts] = first ?? NAME_AND_DAY.exec(text) ?? [];
  if (found === undefined) return null;
  const [day = '', name = '', year = ''] = first === null ? [parts[1], parts[0], parts[2]] : parts;
  const month = calendarNames().months.get(plainName(name)) ?? 0;
  if (month === 0) return null;
  const full = readYear(year);
  if (typeof full !== 'number') return full;
  return checkedDate(full, String(month), day, { length: found.length, isIso: false, suffix: '' });
}

/** @returns the date that a text begins with, or a clause on the fault */
export function readDate(given: string, order: DateOrder | undefined): LocalDate | string {
  const date = readPlainDate(given, order);
  if (date !== NOT_UNDERSTOOD) return date;
  const word = WORD_BEFORE.exec(given);
  const before = word !== null && calendarNames().days.has(plainName(word[1] as string)) ? word[0].length : 0;
  const text = given.slice(before);
  const named = readNamedDate(text) ?? (before === 0 ? date : readPlainDate(text, order));
  return typeof named === 'string' ? named : { ...named, length: before + named.length };
}

function readPlainDate(text: string, order: DateOrder | undefined): LocalDate | string {
  const iso = ISO_DATE.exec(text);
  if (iso !== null) {
    const [{ length }, year = '', month = '', day = ''] = iso;
    return checkedDate(Number(year), month, day, { length, isIso: true, suffix: '' });
  }
  const match = ORDERED_DATE.exec(text);
  if (match === null) return NOT_UNDERSTOOD;
  const [found, first = '', , second = '', third = ''] = match;
  if (order === undefined) return NEEDS_DATE_ORDER;
  const [yearText, month, day] =
    order === 'ymd'
      ? [first, second, third]
      : order === 'dmy'
        ? [third, second, first]
        : [third, first, second];
  const year = readYear(yearText);
  if (typeof year === 'string') return year;
  if (year === null || day.length > 2 || month.length > 2)
    return `it does not have the order ${ORDERS[order]}`;
  const suffix = `, read as ${ORDERS[order]}`;
  return checkedDate(year, month, day, { length: found.length, isIso: false, suffix });
}

/** The fault of a date whose parts have an unknown order. */
export const NEEDS_DATE_ORDER: string =
  'the order of its day, month and year is unknown: set dateOrder to dmy, mdy or ymd (on the command line --date-order)';

/** Null if years cannot have this number of digits. */
function readYear(text: string): number | string | null {
  if (text.length === 4) return Number(text);
  if (text.length !== 2) return null;
  const year = Number(text);
  if (year <= SHORT_YEAR_MAX) return 2000 + year;
  return `the century of the year ${text} is not known: write four digits`;
}

function checkedDate(
  year: number,
  month: string,
  day: string,
  { length, isIso, suffix }: { length: number; isIso: boolean; suffix: string },
): LocalDate | string {
  if (Number(month) < 1 || Number(month) > 12) return `month ${month} does not exist${suffix}`;
  if (Number(day) < 1 || Number(day) > daysInMonth(year, Number(month))) {
    return `${String(year).padStart(4, '0')}-${month.padStart(2, '0')} has no day ${day}${suffix}`;
  }
  return { days: daysFromCivil(year, Number(month), Number(day)), length, isIso };
}

const NO_TIME_OF_DAY = 'its time of day is not like 8:00, 08:00:00, 0800 or 4:00 PM';

/** `08:30` for `0830`, `8h30` and `8.30 Uhr`; other texts as they are. */
function withColon(text: string): string {
  const [, hour, ...minutes] = FOUR_DIGITS.exec(text) ?? HOUR_WORD.exec(text) ?? [];
  return hour === undefined ? text : `${hour}:${minutes.find((each) => each !== undefined) ?? '00'}`;
}

/** @returns milliseconds from midnight, or a clause on the fault */
export function readTimeOfDay(text: string, isIso: boolean): number | string {
  const [, hourText = '', , minute, second = '00', fraction = '', half] =
    TIME_OF_DAY.exec(text) ?? TIME_OF_DAY.exec(withColon(text)) ?? [];
  if (hourText === '' || (minute === undefined && half === undefined)) {
    return NO_TIME_OF_DAY;
  }
  let hour = Number(hourText);
  if (half !== undefined) {
    if (hour < 1 || hour > 12) return `hour ${hourText} does not exist with AM or PM`;
    hour = (hour % 12) + (half === 'P' || half === 'p' ? 12 : 0);
  }
  // In ISO 8601, 24:00 is the end of a day.
  const isEndOfDay = isIso && /^24:00(?::00(?:[.,]0+)?)?$/.test(text);
  if (hour > 23 && !isEndOfDay) return `hour ${hourText} does not exist`;
  if (Number(minute ?? 0) > 59) return `minute ${minute} does not exist`;
  if (Number(second) > 59) return `second ${second} cannot be represented`;
  const ms = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return ((hour * 60 + Number(minute ?? 0)) * 60 + Number(second)) * 1000 + ms;
}

/** Milliseconds from midnight. */
export interface ClockTime {
  readonly start: number;
  /** Null if the text is no range. */
  readonly end: number | null;
}

/** Some systems give times of day as times of a day that means nothing: `2000-01-01T09:00:00`. */
const DATED = /^\d{4}-\d\d-\d\d[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$/;
/** Matches begin only where white space begins, so that searches take linear time. */
const BETWEEN = /(?<!\s)(?:\s*[\p{Pd}\u2212~/]\s*|\s+(?:to|bis|until|till|à|tot|do|до)\s+)/giu;
const APART = /(?<!\s)(?:\s*[,;\n|]\s*|\s+(?=\d))/;
const HALF = /\s?[ap]\.?m\.?$/i;
const END_OF_DAY = 24 * 60 * MINUTE_MS;

/** @returns the times of a cell, or a clause on the fault */
export function parseClockTimes(text: string): readonly ClockTime[] | string {
  const plain = text.replace(NARROW_SPACE, ' ').trim();
  if (/^-{0,2}$/.test(plain)) return NO_TIME_OF_DAY;
  const dated = DATED.exec(plain)?.[1];
  const cells = dated === undefined ? plain.replace(BETWEEN, '/').split(APART) : [dated];
  const times: ClockTime[] = [];
  for (const cell of cells) {
    const [first = '', last, ...more] = cell.split('/');
    if (more.length > 0) return `${quoteEscaped(cell)} has more than a start and an end`;
    const end = last === undefined ? null : readClock(last);
    if (typeof end === 'string') return end;
    // In `1:00 - 2:15 PM` both times are in the afternoon.
    const half = last !== undefined && !HALF.test(first) ? (HALF.exec(last)?.[0] ?? '') : '';
    const halved = half === '' ? null : readClock(first + half);
    const start = typeof halved === 'number' && halved <= (end ?? 0) ? halved : readClock(first);
    if (typeof start === 'string') return start;
    times.push({ start, end });
  }
  return times;
}

function readClock(text: string): number | string {
  const clock = text.replace(/^(\d)(\d\d)$/, '0$1$2').replace(/([ap])\.?m\.?$/i, '$1m');
  if (/^\d\d[6-9]\d$/.test(clock))
    return `minute ${clock.slice(2)} does not exist; minutes since midnight need a column whose name says so, such as start_minutes`;
  return clock === '24:00' || clock === '2400' ? END_OF_DAY : readTimeOfDay(clock, true);
}

/** The start or the end of `2026-10-05, 8:00-9:30`, as a date and a time of day; null if the text is no such range. */
export function partOfRange(
  given: string,
  order: DateOrder | undefined,
  part: keyof ClockTime,
): string | null {
  const text = given.replace(NARROW_SPACE, ' ').trim();
  const date = readDate(text, order);
  if (typeof date === 'string') return null;
  // After a T, `08:00-09:30` would be a time with an offset.
  const times = /^,? +(.*)$/s.exec(text.slice(date.length))?.[1];
  if (times === undefined) return null;
  const [time, ...more] = parseClockTimes(times);
  const ms = typeof time === 'object' && more.length === 0 && time.end !== null ? time[part] : null;
  if (ms === null) return null;
  return new Date(date.days * DAY_MS + ms).toISOString().slice(0, 19);
}
