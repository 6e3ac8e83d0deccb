/** Dates and times of day as people write them, without a time zone. Ambiguous texts are refused. */
import type { DateOrder } from './read-rules.js';
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

/** @returns the date that a text begins with, or a clause on the fault */
export function readDate(text: string, order: DateOrder | undefined): LocalDate | string {
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

/** @returns milliseconds from midnight, or a clause on the fault */
export function readTimeOfDay(text: string, isIso: boolean): number | string {
  const four = FOUR_DIGITS.exec(text);
  const [, hourText = '', , minute, second = '00', fraction = '', half] =
    four === null ? (TIME_OF_DAY.exec(text) ?? []) : [text, four[1], ':', four[2]];
  if (hourText === '' || (minute === undefined && half === undefined)) {
    return 'its time of day is not like 8:00, 08:00:00, 0800 or 4:00 PM';
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
