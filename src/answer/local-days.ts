/** Windows of local days, and the time zones of requests. */
import type { ParameterFaultCode } from '../base/errors.js';
import { DAYS_MAX, ZONE_CHARACTERS_MAX, ZONE_OFFSETS_KEPT_MAX, ZONES_KEPT_MAX } from '../base/limits.js';
import { suggest } from '../base/model/suggest.js';
import { DAY_MS, INSTANT_MS_MAX, INSTANT_MS_MIN, parseDate } from '../base/model/time.js';
import { isZoneAbbreviation, Zone } from '../base/model/zone.js';
import type { Window } from './query.js';

/** The values of one request by parameter name, for parameters that are checked together. */
export type GivenTexts = ReadonlyMap<string, readonly string[]>;

export type TellFault = (parameter: string, code: ParameterFaultCode, detail: string) => void;

/** Whole days in a zone. */
export interface DaysInZone {
  /** Midnight of the first day as if it were UTC. */
  readonly dateMs: number;
  readonly days: number;
  readonly zone: Zone;
}

/** Zones by name in lower case, least recently used first. Different spellings of one name share a zone. */
const zones = new Map<string, Zone>();

/** Null for an abbreviation, and for a name that Node does not know. */
function zoneNamed(name: string): Zone | null {
  const key = name.toLowerCase();
  let zone = zones.get(key);
  if (zone === undefined) {
    if (name.length > ZONE_CHARACTERS_MAX) return null;
    try {
      zone = new Zone(name, ZONE_OFFSETS_KEPT_MAX);
    } catch {
      return null;
    }
    const [oldest] = zones.keys();
    if (zones.size >= ZONES_KEPT_MAX && oldest !== undefined) zones.delete(oldest);
  } else zones.delete(key);
  zones.set(key, zone);
  return zone;
}

/**
 * The parts of local days that were given and are valid. Without a given zone, the zone of the service
 * applies.
 */
export interface LocalDays {
  readonly days: DaysInZone | null;
  readonly zone: Zone | null;
}

/** @param todayAtMs the present time if the date is `today`, else null */
export function readLocalDays(
  given: GivenTexts,
  zoneDefault: string,
  todayAtMs: number | null,
  tell: TellFault,
): LocalDays {
  const date = given.get('date')?.[0];
  const days = given.get('days')?.[0];
  let dateMs = date === undefined || todayAtMs !== null ? null : parseDate(date);
  if (typeof dateMs === 'string')
    tell('date', 'malformed-date', `${quoteShortened(date)} is not a date: ${dateMs}`);
  const count = days === undefined ? 1 : readCount('days', days, DAYS_MAX, tell);
  const zone = readZone(given.get('timeZone')?.[0] ?? null, zoneDefault, tell);
  if (todayAtMs !== null && zone !== null) {
    const localMs = todayAtMs + zone.offsetMsAt(todayAtMs);
    dateMs = Math.floor(localMs / DAY_MS) * DAY_MS;
  }
  if (typeof dateMs !== 'number' || count === null || zone === null) return { days: null, zone };
  const found = { dateMs, days: count, zone };
  if (isWritable(found)) return { days: found, zone };
  const detail = `from ${date} in ${zone.name} ${count === 1 ? 'is' : 'are'} not within the years 0000 to 9999 of UTC`;
  if (count === 1) tell('date', 'malformed-date', `the day ${detail}`);
  else tell('days', 'malformed-number', `${count} days ${detail}`);
  return { days: null, zone };
}

export interface DaysGiven {
  readonly given: GivenTexts;
  /** Whether the request has the parameter, with any value. */
  isGiven(name: string): boolean;
  readonly local: LocalDays;
}

/** The window given by local days, which replace startTime and endTime. Null if none are given, or after a fault. */
export function readDays({ given, isGiven, local }: DaysGiven, tell: TellFault): Window | null {
  if (isGiven('date')) {
    for (const name of ['startTime', 'endTime'].filter(isGiven)) {
      tell(name, 'wrong-combination', `${name} cannot be given with date, which sets the window`);
    }
  } else {
    for (const name of ['days', 'timeZone'].filter(isGiven)) {
      if (name === 'timeZone' && isGiven('weeks')) continue;
      tell(name, 'wrong-combination', `${name} has no effect without date, the first day of the window`);
    }
  }
  if (local.days === null) return null;
  const window = windowOfDays(local.days);
  if (window.startMs < window.endMs) return window;
  const { name } = local.days.zone;
  tell('date', 'empty-window', `${given.get('date')} did not exist in ${name}: clocks skipped it`);
  return null;
}

/** Whether RFC 3339 can write both ends of the window. */
export function isWritable(given: DaysInZone): boolean {
  const { startMs, endMs } = windowOfDays(given);
  return startMs >= INSTANT_MS_MIN && endMs <= INSTANT_MS_MAX;
}

/** Null after a reported fault. */
function readZone(timeZone: string | null, zoneDefault: string, tell: TellFault): Zone | null {
  // Only later versions of Node accept offsets such as +01:00.
  const isOffset = timeZone !== null && !/^[A-Za-z]/.test(timeZone);
  const zone = isOffset ? null : zoneNamed(timeZone ?? zoneDefault);
  if (zone === null) {
    tell('timeZone', 'unknown-time-zone', zoneProblem(timeZone ?? zoneDefault));
  }
  return zone;
}

function zoneProblem(name: string): string {
  const expected = 'expected a name such as Europe/Berlin';
  if (isZoneAbbreviation(name))
    return `${quoteShortened(name)} is an abbreviation that may mean several zones; ${expected}`;
  const near = suggestZone(name);
  return `there is no time zone ${quoteShortened(name)}: ${near === null ? expected : `did you mean ${near}?`}`;
}

/** A whole number from 1 to `max`. Null after a reported fault. */
export function readCount(name: string, value: string, max: number, tell: TellFault): number | null {
  const count = /^\d{1,6}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= max) return count;
  tell(name, 'malformed-number', `${quoteShortened(value)} is not a whole number from 1 to ${max}`);
  return null;
}

/** A day has 23 to 25 hours when clocks change, and none if they skip it. */
export function windowOfDays({ dateMs, days, zone }: DaysInZone): Window {
  return { startMs: zone.startOfDay(dateMs), endMs: zone.startOfDay(dateMs + days * DAY_MS) };
}

let knownZones: readonly string[] | null = null;

/** Suggests Europe/Berlin for `berlin`. Compares only places with the same first letter, at 3 µs each. */
function suggestZone(given: string): string | null {
  knownZones ??= Intl.supportedValuesOf('timeZone');
  const typed = given.slice(0, ZONE_CHARACTERS_MAX).toLowerCase();
  const placeOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  const place = placeOf(typed);
  const alike = knownZones.filter((name) => placeOf(name)[0] === place[0]);
  return alike.find((name) => placeOf(name) === place) ?? suggest(typed, alike);
}

const QUOTED_CHARACTERS_MAX = 64;

export function shorten(text: string): string {
  return text.length > QUOTED_CHARACTERS_MAX
    ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…`.toWellFormed()
    : text;
}

export function quoteShortened(text: string | null | undefined): string {
  return JSON.stringify(shorten(text ?? ''));
}
