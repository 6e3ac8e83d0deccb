/**
 * Strict RFC 3339 date-times: the offset is required, the day must exist, hours end at 23. Epoch milliseconds cannot represent
 * leap seconds, so these are refused. Fractions below a millisecond are cut.
 */

/** `date-time` of RFC 3339 section 5.6, which also allows "t" and "z". */
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** 0000-01-01T00:00:00.000Z */
export const INSTANT_MS_MIN: number = -62_167_219_200_000;
/** 9999-12-31T23:59:59.999Z */
export const INSTANT_MS_MAX: number = 253_402_300_799_999;

export function daysInMonth(year: number, month: number): number {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeapYear ? 29 : (MONTH_DAYS[month - 1] as number);
}

/** Days from 1970-01-01. */
export function daysFromCivil(year: number, month: number, day: number): number {
  // Years begin in March, so that the leap day is the last day.
  const y = month > 2 ? year : year - 1;
  const m = month > 2 ? month - 3 : month + 9;
  const leapDays = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  return y * 365 + leapDays + Math.floor((153 * m + 2) / 5) + day - 1 - 719_468;
}

/** The number of two digits; NaN for other characters. */
export function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 0x30;
  const ones = text.charCodeAt(at + 1) - 0x30;
  return tens >>> 0 < 10 && ones >>> 0 < 10 ? tens * 10 + ones : Number.NaN;
}

const HYPHEN = 0x2d;
const COLON = 0x3a;
const DOT = 0x2e;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/**
 * Reads `YYYY-MM-DDTHH:mm:ssZ` and `YYYY-MM-DDTHH:mm:ss.sssZ` faster than a regular expression, because every
 * request and record has two of them. NaN for other forms and for wrong times.
 */
function parseUtc(text: string): number {
  const { length } = text;
  if (
    (length !== 20 && length !== 24) ||
    text.charCodeAt(4) !== HYPHEN ||
    text.charCodeAt(7) !== HYPHEN ||
    text.charCodeAt(10) !== LETTER_T ||
    text.charCodeAt(13) !== COLON ||
    text.charCodeAt(16) !== COLON ||
    text.charCodeAt(length - 1) !== LETTER_Z
  ) {
    return Number.NaN;
  }
  let milliseconds = 0;
  if (length === 24) {
    const hundreds = text.charCodeAt(20) - 0x30;
    if (text.charCodeAt(19) !== DOT || hundreds >>> 0 >= 10) return Number.NaN;
    milliseconds = hundreds * 100 + twoDigits(text, 21);
  }
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  // Written so that NaN fails the comparison.
  if (!(month >= 1 && month <= 12 && hour < 24 && minute < 60 && second < 60)) return Number.NaN;
  if (!(day >= 1 && day <= daysInMonth(year, month))) return Number.NaN;
  return (
    daysFromCivil(year, month, day) * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds
  );
}

/** Epoch milliseconds, or one sentence on the fault. */
export function parseInstant(text: string): number | string {
  const utc = parseUtc(text);
  return Number.isNaN(utc) ? parseAnyForm(text) : utc;
}

const DATE = /^\d{4}-\d\d-\d\d$/;

/** The midnight of a date (`YYYY-MM-DD`), treated as UTC, or one sentence on the fault. */
export function parseDate(text: string): number | string {
  return DATE.test(text) ? parseInstant(`${text}T00:00:00Z`) : 'it is not a date such as 2026-10-25';
}

function parseAnyForm(text: string): number | string {
  const match = DATE_TIME.exec(text);
  if (match === null) return describeMalformed(text);
  const [, date = '', time = '', fraction = '', sign, offsetHour = '00', offsetMinute = '00'] = match;
  const localMs = parseUtc(`${date}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`);
  if (Number.isNaN(localMs)) return describeImpossible(date, time);
  const [hours, minutes] = [Number(offsetHour), Number(offsetMinute)];
  if (hours > 23 || minutes > 59) return `offset ${sign}${offsetHour}:${offsetMinute} does not exist`;
  const offsetMs = (hours * 60 + minutes) * 60_000;
  const instantMs = sign === '-' ? localMs + offsetMs : localMs - offsetMs;
  const isShown = instantMs >= INSTANT_MS_MIN && instantMs <= INSTANT_MS_MAX;
  return isShown ? instantMs : 'in UTC it lies outside the years 0000 to 9999';
}

function describeImpossible(date: string, time: string): string {
  const [year, month, day] = date.split('-');
  const [hour, minute, second] = time.split(':');
  if (Number(month) < 1 || Number(month) > 12) return `month ${month} does not exist`;
  if (Number(day) < 1 || Number(day) > daysInMonth(Number(year), Number(month))) {
    return `${year}-${month} has no day ${day}`;
  }
  if (Number(hour) > 23) return `hour ${hour} does not exist`;
  if (Number(minute) > 59) return `minute ${minute} does not exist`;
  return `second ${second} cannot be represented`;
}

function describeMalformed(text: string): string {
  if (DATE.test(text)) {
    return 'it is a date: add a time of day and an offset, such as T08:00:00Z';
  }
  if (/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?$/.test(text)) {
    return 'it has no offset: end it with "Z" or "+hh:mm"';
  }
  return 'it is not an RFC 3339 date-time such as 2024-09-02T08:00:00Z';
}

/** `YYYY-MM-DDTHH:mm:ss.sssZ`, for instants from INSTANT_MS_MIN to INSTANT_MS_MAX. */
export function formatInstant(instantMs: number): string {
  return new Date(instantMs).toISOString();
}
