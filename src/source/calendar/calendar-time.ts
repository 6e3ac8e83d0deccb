/** Dates, times and durations in the forms of RFC 5545. */
import { DAY_MS, daysFromCivil, daysInMonth } from '../../base/model/time.js';

/** A value of DTSTART, DTEND, RECURRENCE-ID, RDATE or EXDATE, with its parameters. */
export interface GivenTime {
  readonly value: string;
  readonly tzid: string | null;
}

/** A parsed date or date-time whose time zone is not known yet. */
export interface WrittenTime {
  /** Date and time, treated as UTC. */
  readonly localMs: number;
  readonly isDate: boolean;
  readonly isUtc: boolean;
}

/** A length. Its days count in local time, its milliseconds in elapsed time (RFC 5545 section 3.3.6). */
export interface Length {
  readonly days: number;
  readonly ms: number;
}

const NO_TIME = 'it is not an iCalendar date or date-time such as 20260914 or 20260914T080000';
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
const LOWER_CASE = 0x20;

/** @returns a clause on the fault, such as "month 13 does not exist" */
export function parseTime(text: string): WrittenTime | string {
  const { length } = text;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 4);
  const day = twoDigits(text, 6);
  const isDate = length === 8;
  if (Number.isNaN(year + month + day) || (!isDate && length !== 15 && length !== 16)) return NO_TIME;
  if (month < 1 || month > 12) return `month ${text.slice(4, 6)} does not exist`;
  if (day < 1 || day > daysInMonth(year, month)) {
    return `${text.slice(0, 4)}-${text.slice(4, 6)} has no day ${text.slice(6, 8)}`;
  }
  const dateMs = daysFromCivil(year, month, day) * DAY_MS;
  if (isDate) return { localMs: dateMs, isDate: true, isUtc: false };
  const hour = twoDigits(text, 9);
  const minute = twoDigits(text, 11);
  const second = twoDigits(text, 13);
  const isUtc = length === 16;
  if (Number.isNaN(hour + minute + second) || !isLetter(text, 8, LETTER_T)) return NO_TIME;
  if (isUtc && !isLetter(text, 15, LETTER_Z)) return NO_TIME;
  if (hour > 23) return `hour ${hour} does not exist`;
  if (minute > 59) return `minute ${minute} does not exist`;
  if (second > 59) return `second ${second} cannot be represented`;
  return { localMs: dateMs + ((hour * 60 + minute) * 60 + second) * 1000, isDate: false, isUtc };
}

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 0x30;
  const ones = text.charCodeAt(at + 1) - 0x30;
  return tens >>> 0 < 10 && ones >>> 0 < 10 ? tens * 10 + ones : Number.NaN;
}

function isLetter(text: string, at: number, upperCase: number): boolean {
  return (text.charCodeAt(at) & ~LOWER_CASE) === upperCase;
}

const DURATION = /^([+-])?P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?)$/i;
/** The longest duration: a century. */
const DAYS_MAX = 36_525;

export function parseDuration(text: string): Length | string {
  const match = DURATION.exec(text);
  if (match === null || !/\d/.test(text)) return 'it is not an iCalendar duration such as PT1H30M';
  const [, sign, weeks = '0', days = '0', hours = '0', minutes = '0', seconds = '0'] = match;
  const direction = sign === '-' ? -1 : 1;
  const wholeDays = Number(weeks) * 7 + Number(days);
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  if (wholeDays + ms / DAY_MS > DAYS_MAX) return 'it is longer than a century';
  return { days: direction * wholeDays || 0, ms: direction * ms || 0 };
}

export interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** The date of a day number, counted from 1970-01-01. */
export function civilOf(days: number): CivilDate {
  // Years begin in March, so that the leap day is the last day; 146,097 days are 400 years.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const m = Math.floor((5 * dayOfYear + 2) / 153);
  const month = m < 10 ? m + 3 : m - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * m + 2) / 5) + 1,
  };
}
