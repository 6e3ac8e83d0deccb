/**
 * Local days and times of a zone, by Intl. A date is a text, `2026-10-25`; an instant is a number of
 * milliseconds since 1970. Dates are calculated in UTC, where each day has 24 hours.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Zones change their offset only at whole quarters of an hour. */
const QUARTER_MS = 900_000;

const formats = new Map<string, Intl.DateTimeFormat>();
/** By zone and quarter. */
const offsets = new Map<string, Map<number, number>>();
const OFFSETS_MAX = 20_000;

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(zone, format);
  }
  return format;
}

/** The local time minus UTC at an instant, in milliseconds. */
export function offsetAt(instant: number, zone: string): number {
  if (zone === 'UTC') return 0;
  const quarter = Math.floor(instant / QUARTER_MS);
  let ofZone = offsets.get(zone);
  if (ofZone === undefined) {
    ofZone = new Map();
    offsets.set(zone, ofZone);
  }
  const known = ofZone.get(quarter);
  if (known !== undefined) return known;
  const from = quarter * QUARTER_MS;
  const part: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(from)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  const offset = Date.UTC(year, month - 1, day, hour, minute, second) - from;
  if (ofZone.size >= OFFSETS_MAX) ofZone.clear();
  ofZone.set(quarter, offset);
  return offset;
}

/** The date of an instant in a zone, and the minutes on the clock. */
export function wallTime(instant: number, zone: string): { readonly date: string; readonly minute: number } {
  const local = instant + offsetAt(instant, zone);
  const dayMs = Math.floor(local / DAY_MS) * DAY_MS;
  return { date: dateOf(dayMs), minute: (local - dayMs) / MINUTE_MS };
}

/** The first instant of a local day. If clocks skip midnight, the day begins at the skip. */
export function dayStart(date: string, zone: string): number {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  let best = Number.POSITIVE_INFINITY;
  for (const near of [midnight - DAY_MS, midnight, midnight + DAY_MS]) {
    const instant = midnight - offsetAt(near, zone);
    if (instant + offsetAt(instant, zone) === midnight) best = Math.min(best, instant);
  }
  if (best !== Number.POSITIVE_INFINITY) return best;
  // Local time grows from `low` to `high` but for changes of an hour or so, and there is one at midnight.
  let [low, high] = [midnight - 26 * HOUR_MS, midnight + 26 * HOUR_MS];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (middle + offsetAt(middle, zone) >= midnight) high = middle;
    else low = middle;
  }
  return high;
}

/** The instant of a time on the clock. A skipped time is moved forward, of a repeated one the first counts. */
export function instantOf(date: string, minute: number, zone: string): number {
  const wall = Date.parse(`${date}T00:00:00Z`) + minute * MINUTE_MS;
  const before = wall - offsetAt(wall - DAY_MS, zone);
  const after = wall - offsetAt(wall + DAY_MS, zone);
  for (const instant of [Math.min(before, after), Math.max(before, after)]) {
    if (instant + offsetAt(instant, zone) === wall) return instant;
  }
  return before;
}

function dateOf(utcMidnight: number): string {
  return new Date(utcMidnight).toISOString().slice(0, 10);
}

/** The milliseconds of a date at midnight in UTC, for Intl formats in UTC. */
export function utcOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`);
}

export function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(utcOf(text)) && dateOf(utcOf(text)) === text;
}

export function addDays(date: string, days: number): string {
  return dateOf(utcOf(date) + days * DAY_MS);
}

export function daysBetween(from: string, to: string): number {
  return Math.round((utcOf(to) - utcOf(from)) / DAY_MS);
}

/** 1 for Monday to 7 for Sunday. */
export function weekdayOf(date: string): number {
  return new Date(utcOf(date)).getUTCDay() || 7;
}

/** The first day of a week. @param firstDay 1 for Monday to 7 for Sunday */
export function weekStart(date: string, firstDay: number): string {
  return addDays(date, -((weekdayOf(date) - firstDay + 7) % 7));
}

export function monthStart(date: string): string {
  return `${date.slice(0, 7)}-01`;
}

export function addMonths(date: string, months: number): string {
  const [year = 0, month = 1] = date.split('-').map(Number);
  return dateOf(Date.UTC(year, month - 1 + months, 1));
}

/** ISO 8601: the week that has the Thursday. */
export function weekNumber(date: string): number {
  const thursday = addDays(date, 4 - weekdayOf(date));
  return Math.floor(daysBetween(`${thursday.slice(0, 4)}-01-01`, thursday) / 7) + 1;
}

export function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
