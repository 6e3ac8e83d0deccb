/**
 * Strict RFC 3339 date-times, and the one output form.
 *
 * Stricter than `Date.parse`: an offset is required, the day must exist, hours end at 23. Leap seconds (":60") are
 * refused because epoch milliseconds cannot represent them. Fractions beyond milliseconds are cut, not rounded, so
 * that a time never moves into the next millisecond.
 */

/** RFC 3339 section 5.6, `date-time`. Lower-case "t" and "z" are allowed by its note. */
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

const DAY_MS = 86_400_000;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** 0000-01-01T00:00:00.000Z: the first instant that the output form can show. */
export const INSTANT_MS_MIN: number = -62_167_219_200_000;
/** 9999-12-31T23:59:59.999Z: the last. */
export const INSTANT_MS_MAX: number = 253_402_300_799_999;

/** The result of {@link parseInstant}: epoch milliseconds, or one sentence on what is wrong. */
export type InstantResult = number | string;

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Days from 1970-01-01 to the given civil date, proleptic Gregorian, any year from 0. */
function daysFromCivil(year: number, month: number, day: number): number {
  // Years begin in March here, so that the leap day is the last of its year.
  const y = month > 2 ? year : year - 1;
  const m = month > 2 ? month - 3 : month + 9;
  const leapDays = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  return y * 365 + leapDays + Math.floor((153 * m + 2) / 5) + day - 1 - 719_468;
}

/**
 * Parses an RFC 3339 date-time with offset.
 *
 * @returns epoch milliseconds (an integer), or a sentence for people saying what is wrong; never throws.
 */
export function parseInstant(text: string): InstantResult {
  const match = DATE_TIME.exec(text);
  if (match === null) return describeMalformed(text);
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const hour = Number(match[4]);
  const minute = Number(match[5]);
  const second = Number(match[6]);
  if (month < 1 || month > 12) return `month ${match[2]} does not exist`;
  const daysInMonth = month === 2 && isLeapYear(year) ? 29 : (MONTH_DAYS[month - 1] as number);
  if (day < 1 || day > daysInMonth) return `${match[1]}-${match[2]} has no day ${match[3]}`;
  if (hour > 23) return `hour ${match[4]} does not exist`;
  if (minute > 59) return `minute ${match[5]} does not exist`;
  if (second > 59) return `second ${match[6]} cannot be represented`;
  const fraction = match[7];
  const millisecond = fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'));
  let offsetMinutes = 0;
  if (match[8] !== undefined) {
    const offsetHour = Number(match[9]);
    const offsetMinute = Number(match[10]);
    if (offsetHour > 23 || offsetMinute > 59)
      return `offset ${match[8]}${match[9]}:${match[10]} does not exist`;
    offsetMinutes = (offsetHour * 60 + offsetMinute) * (match[8] === '-' ? -1 : 1);
  }
  const instantMs =
    daysFromCivil(year, month, day) * DAY_MS +
    ((hour * 60 + minute - offsetMinutes) * 60 + second) * 1000 +
    millisecond;
  if (instantMs < INSTANT_MS_MIN || instantMs > INSTANT_MS_MAX) {
    return 'in UTC it lies outside the years 0000 to 9999';
  }
  return instantMs;
}

/** The commonest mistakes get a sentence of their own. */
function describeMalformed(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return 'it is a date without a time of day';
  if (/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?$/.test(text)) {
    return 'it has no offset: end it with "Z" or "+hh:mm"';
  }
  return 'it is not an RFC 3339 date-time such as 2024-09-02T08:00:00Z';
}

/** The output form, `YYYY-MM-DDTHH:mm:ss.sssZ`, of an integer within INSTANT_MS_MIN and INSTANT_MS_MAX. */
export function formatInstant(instantMs: number): string {
  return new Date(instantMs).toISOString();
}
