/** Terms and the daily grid of lessons, all in UTC and so without daylight saving. */

const DAY_MS = 86_400_000;
export const MINUTE_MS = 60_000;

/** The first term begins in September of this year. */
const FIRST_YEAR = 2026;

export const TEACHING_WEEKS = 14;
export const EXAM_WEEKS = 2;
export const DAYS_PER_WEEK = 5;

/** A day has seven periods of 90 minutes from 08:00, with breaks of 15. Each has two halves; lessons take whole halves. */
export const HALVES_PER_DAY = 14;

/** Minutes after midnight at which a half begins. */
function halfStartMinute(half: number): number {
  return 480 + 105 * (half >> 1) + 45 * (half & 1);
}

/** A stretch of halves of one day, as minutes after midnight. */
export function halvesToMinutes(half: number, halves: number): { startMinute: number; endMinute: number } {
  return { startMinute: halfStartMinute(half), endMinute: halfStartMinute(half + halves - 1) + 45 };
}

/** 00:00 UTC of a weekday of a term, from 0 for Monday. Terms count from 0 and alternate autumn and spring. */
export function midnightMs(term: number, week: number, day: number): number {
  return mondayMs(term, week) + day * DAY_MS;
}

function mondayMs(term: number, week: number): number {
  const year = FIRST_YEAR + (term >> 1);
  if (term % 2 === 1) return firstMondayMs(year + 1, 1, 8) + week * 7 * DAY_MS;
  // Autumn's exams come after the new year, so that no lesson falls on the holidays.
  if (week >= TEACHING_WEEKS) return firstMondayMs(year + 1, 0, 4) + (week - TEACHING_WEEKS) * 7 * DAY_MS;
  return firstMondayMs(year, 8, 10) + week * 7 * DAY_MS;
}

/** The first Monday on or after a date; months count from 0. */
function firstMondayMs(year: number, month: number, day: number): number {
  const fromMs = Date.UTC(year, month, day);
  const weekday = new Date(fromMs).getUTCDay();
  return fromMs + ((8 - weekday) % 7) * DAY_MS;
}
