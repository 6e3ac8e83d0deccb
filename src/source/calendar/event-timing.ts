/** The start and the length of an event, and the time zones of calendars. */
import { CALENDAR_STEPS_MAX, ZONE_CHANGES_MAX, ZONE_NAME_UNITS_MAX } from '../../base/limits.js';
import type { FieldName } from '../../base/model/fields.js';
import { DAY_MS, INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../base/model/time.js';
import { isZoneAbbreviation, Zone, ZoneClock } from '../../base/model/zone.js';
import { firstWhere } from '../../base/structures/search.js';
import { type CalendarEvent, type EventFault, faultOf } from './calendar-event.js';
import { type GivenTime, type Length, parseDuration, parseTime } from './content-line.js';
import { expandRule, parseRule, type Steps } from './expand-rule.js';
import { WINDOWS_ZONES } from './windows-zones.js';

/** Defaults for the events of one VCALENDAR. */
export class CalendarScope {
  name: string | null = null;
  /** METHOD:CANCEL: the events of the calendar are cancelled. */
  isCancelling = false;
  /** Whether Lectern wrote the calendar. */
  isOwn = false;
  /** X-WR-TIMEZONE. */
  ownZone: CalendarZone | null = null;
  readonly #given: CalendarZone | null;
  /** Zones of VTIMEZONEs by name, or why a VTIMEZONE cannot be used. */
  readonly #defined = new Map<string, CalendarZone | string>();

  /** @param given the setting `timeZone` */
  constructor(given: CalendarZone | null) {
    this.#given = given;
  }

  get floatingZone(): CalendarZone | null {
    return this.#given ?? this.ownZone;
  }

  define(tzid: string, observances: readonly Observance[], steps: Steps): void {
    // No event can have a longer TZID.
    if (tzid.length > ZONE_NAME_UNITS_MAX || zoneOfName(tzid) !== null) return;
    const rules = readZoneRules(observances, steps);
    this.#defined.set(tzid, typeof rules === 'string' ? rules : new CalendarZone(new RuledZone(rules)));
  }

  /**
   * The zone of this name, or a clause on the fault of its VTIMEZONE. Undefined if no VTIMEZONE has defined
   * it so far.
   */
  zoneOf(tzid: string): CalendarZone | string | undefined {
    return zoneOfName(tzid) ?? this.#defined.get(tzid);
  }
}

export interface Moment {
  readonly instantMs: number;
  readonly localMs: number;
  readonly isDate: boolean;
  /** Null for UTC. */
  readonly zone: CalendarZone | null;
  readonly kind: ZoneInstant['kind'];
}

/** The fault of a time whose zone may be defined later in the source. */
export class UnknownZone implements EventFault {
  readonly code = 'malformed-time';
  readonly field: FieldName;
  readonly detail: string;

  constructor(field: FieldName, detail: string) {
    this.field = field;
    this.detail = detail;
  }
}

export interface Timing {
  readonly start: Moment;
  readonly length: Length;
  /** The value of DTEND; null if there is none. */
  readonly end: Moment | null;
}

const ZONE_HINT = 'set timeZone (on the command line --time-zone Europe/Berlin)';

/**
 * @param name of the property, for messages
 * @param beside the zone of the DTSTART that the value belongs to, which is also that of a value without a zone
 * @returns an UnknownZone if no VTIMEZONE has defined the zone so far
 */
export function momentOf(
  given: GivenTime,
  name: string,
  field: FieldName,
  scope: CalendarScope,
  beside: CalendarZone | null = null,
): Moment | EventFault {
  const written = parseTime(given.value);
  const shown = JSON.stringify(given.value.slice(0, 40));
  if (typeof written === 'string') {
    return faultOf('malformed-time', field, `${name} ${shown} cannot be read: ${written}`);
  }
  const { localMs, isDate, isUtc } = written;
  if (isUtc) return { instantMs: localMs, localMs, isDate, zone: null, kind: 'exact' };
  let zone: CalendarZone | null;
  // A date has no zone of its own (RFC 5545 section 3.2.19).
  if (given.tzid === null || isDate) {
    zone = beside ?? scope.floatingZone;
    if (zone === null) {
      const problem = isDate ? 'it is a date, which has no time zone' : 'it has no time zone';
      return faultOf('malformed-time', field, `${name} ${shown} cannot be read: ${problem}; ${ZONE_HINT}`);
    }
  } else {
    const known = scope.zoneOf(given.tzid);
    if (typeof known === 'object') zone = known;
    else {
      const kind = isZoneAbbreviation(given.tzid)
        ? 'is an abbreviation that may mean several zones'
        : 'is not a known zone';
      const why = known === undefined ? 'no VTIMEZONE defines it' : `its VTIMEZONE cannot be used: ${known}`;
      const tzid = JSON.stringify(given.tzid.slice(0, 60));
      const detail = `${name} ${shown} cannot be read: its TZID ${tzid} ${kind}, and ${why}`;
      return known === undefined ? new UnknownZone(field, detail) : faultOf('malformed-time', field, detail);
    }
  }
  const { instantMs, kind } = zone.instantOf(localMs);
  if (instantMs < INSTANT_MS_MIN || instantMs > INSTANT_MS_MAX) {
    const detail = `${name} ${shown} cannot be read: in UTC it lies outside the years 0000 to 9999`;
    return faultOf('malformed-time', field, detail);
  }
  return { instantMs, localMs, isDate, zone, kind };
}

function durationFault(duration: string, problem: string): EventFault {
  const shown = JSON.stringify(duration.slice(0, 40));
  return faultOf('malformed-time', 'endTime', `DURATION ${shown} cannot be read: ${problem}`);
}

export function isFault(value: object): value is EventFault {
  return 'code' in value;
}

/**
 * DTSTART with DTEND or DURATION. Without either, a date lasts a whole day and a time has length zero (RFC
 * 5545 section 3.6.1).
 */
export function timingOf(event: CalendarEvent, scope: CalendarScope): Timing | EventFault {
  if (event.start === null)
    return faultOf('missing-field', 'time', 'DTSTART is missing; expected a date or time');
  const start = momentOf(event.start, 'DTSTART', 'time', scope);
  if (isFault(start)) return start;
  if (event.end === null) {
    if (event.duration === null) return { start, length: { days: start.isDate ? 1 : 0, ms: 0 }, end: null };
    const length = parseDuration(event.duration.trim());
    if (typeof length === 'object') {
      if (length.days * DAY_MS + length.ms >= 0) return { start, length, end: null };
      return faultOf(
        'end-before-start',
        'endTime',
        'DURATION is negative; expected an end that is not before DTSTART',
      );
    }
    return durationFault(event.duration, length);
  }
  const end = momentOf(event.end, 'DTEND', 'endTime', scope, start.zone);
  if (isFault(end)) return end;
  if (end.isDate !== start.isDate) {
    const detail = `DTEND ${JSON.stringify(event.end.value.slice(0, 40))} and DTSTART are not both dates or both times`;
    return faultOf('malformed-time', 'endTime', detail);
  }
  if (end.instantMs < start.instantMs) {
    return faultOf(
      'end-before-start',
      'endTime',
      'DTEND is before DTSTART; expected it to be equal or later',
    );
  }
  if (!start.isDate) return { start, length: { days: 0, ms: end.instantMs - start.instantMs }, end };
  // Some exporters write the same date as start and end of a one-day event.
  const days = Math.max(1, (end.localMs - start.localMs) / DAY_MS);
  return { start, length: { days, ms: 0 }, end: null };
}

export function endOf(localMs: number, instantMs: number, zone: CalendarZone | null, length: Length): number {
  if (length.days === 0) return instantMs + length.ms;
  const endLocalMs = localMs + length.days * DAY_MS;
  return (zone === null ? endLocalMs : zone.instantOf(endLocalMs).instantMs) + length.ms;
}

const RULE_UNITS_SHOWN = 80;
/** A record has at most as many faults as fields. */
const FAULTS_MAX = 8;

/** The fault of a rule. @param problem a clause, such as "it has no FREQ" */
export function ruleFault(name: 'RRULE' | 'EXRULE', text: string, problem: string): EventFault {
  const shown = JSON.stringify(text.slice(0, RULE_UNITS_SHOWN));
  return faultOf('malformed-recurrence', null, `${name} ${shown} cannot be followed: ${problem}`);
}

/** Adds the other faults of the event's times and rules to a fault. */
export function withOthers(fault: EventFault, event: CalendarEvent, scope: CalendarScope): EventFault {
  const others = [...timeFaults(event, scope), ...ruleFaults(event)].filter(
    ({ detail }) => detail !== fault.detail,
  );
  return others.length === 0 ? fault : { ...fault, more: others.slice(0, FAULTS_MAX) };
}

function timeFaults({ start, end, duration }: CalendarEvent, scope: CalendarScope): EventFault[] {
  const faults: EventFault[] = [];
  let zone: Moment['zone'] = null;
  for (const [name, field, given] of [
    ['DTSTART', 'time', start],
    ['DTEND', 'endTime', end],
  ] as const) {
    if (given === null) continue;
    const moment = momentOf(given, name, field, scope, zone);
    if (isFault(moment)) faults.push(moment);
    else zone = moment.zone;
  }
  if (end !== null || duration === null) return faults;
  const length = parseDuration(duration.trim());
  return typeof length === 'string' ? [...faults, durationFault(duration, length)] : faults;
}

function ruleFaults({ rules, excludedRules }: CalendarEvent): EventFault[] {
  const all = [
    ...rules.map((text) => ['RRULE', text] as const),
    ...excludedRules.map((text) => ['EXRULE', text] as const),
  ];
  return all.flatMap(([name, text]) => {
    const rule = parseRule(text);
    return typeof rule === 'string' ? [ruleFault(name, text, rule)] : [];
  });
}

/** Time zones by their names in calendars, or by the rules of a VTIMEZONE (RFC 5545 section 3.6.5) if the name is unknown. */

/** The instant of a local time, and whether clocks skipped it or showed it twice. */
export type ZoneInstant = ReturnType<ZoneClock['instantOf']>;

const DAYS_KEPT_MAX = 16_384;

/** A zone that remembers days without a clock change, so that most events cost one look-up. */
export class CalendarZone {
  readonly #zone: ZoneClock;
  /** For each local day, the offset of its zone; NaN if the offset changes on that day. */
  readonly #days = new Map<number, number>();

  constructor(zone: ZoneClock) {
    this.#zone = zone;
  }

  instantOf(localMs: number): ZoneInstant {
    const day = Math.floor(localMs / DAY_MS);
    let offsetMs = this.#days.get(day);
    if (offsetMs === undefined) {
      // Offsets are below a day, so the instants of a local day lie in the three UTC days around it.
      const before = this.#zone.offsetMsAt((day - 1) * DAY_MS);
      offsetMs = before === this.#zone.offsetMsAt((day + 2) * DAY_MS) ? before : Number.NaN;
      if (this.#days.size >= DAYS_KEPT_MAX) this.#days.clear();
      this.#days.set(day, offsetMs);
    }
    if (Number.isNaN(offsetMs)) return this.#zone.instantOf(localMs);
    return { instantMs: localMs - offsetMs, kind: 'exact' };
  }

  localOf(instantMs: number): number {
    return instantMs + this.#zone.offsetMsAt(instantMs);
  }
}

const windowsZones = new Map(Object.entries(WINDOWS_ZONES));
const UTC_NAMES = /^(?:utc|gmt|z|etc\/utc|etc\/gmt)$/i;

const known = new Map<string, CalendarZone | null>();
/** Zones that are remembered: enough for 600 zone names and as many wrong names. */
const NAMES_KEPT_MAX = 1200;

/** Finds a zone by its IANA or Windows name, but not by an abbreviation. The name may have a prefix such as `/mozilla.org/20050126_1/`. */
export function zoneOfName(name: string): CalendarZone | null {
  const trimmed = name.trim();
  if (trimmed.length > ZONE_NAME_UNITS_MAX) return null;
  const before = known.get(trimmed);
  if (before !== undefined) return before;
  const zone = findZone(trimmed);
  if (known.size >= NAMES_KEPT_MAX) known.clear();
  known.set(trimmed, zone);
  return zone;
}

function findZone(name: string): CalendarZone | null {
  if (UTC_NAMES.test(name)) return ianaZone('UTC');
  const windows = windowsZones.get(name.toLowerCase());
  if (windows !== undefined) return ianaZone(windows);
  const direct = ianaZone(name);
  if (direct !== null || !name.startsWith('/')) return direct;
  const parts = name.split('/').filter((part) => part !== '');
  // America/Argentina/Salta has three parts.
  for (let count = Math.min(3, parts.length); count > 0; count--) {
    const zone = ianaZone(parts.slice(-count).join('/'));
    if (zone !== null) return zone;
  }
  return null;
}

function ianaZone(name: string): CalendarZone | null {
  // Only newer versions of Node accept offsets such as +01:00 as names.
  if (!/^[A-Za-z]/.test(name)) return null;
  try {
    return new CalendarZone(new Zone(name));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** A zone defined by the rules of a VTIMEZONE. */
export class RuledZone extends ZoneClock {
  readonly #rules: ZoneRules;

  constructor(rules: ZoneRules) {
    super();
    this.#rules = rules;
  }

  override offsetMsAt(instantMs: number): number {
    const { instants, offsets, firstOffsetMs } = this.#rules;
    const after = firstWhere(0, instants.length, (n) => (instants[n] as number) > instantMs);
    return offsets[after - 1] ?? firstOffsetMs;
  }
}

/** The unparsed lines of a STANDARD or DAYLIGHT component. */
export interface Observance {
  readonly start: string;
  readonly offsetFrom: string;
  readonly offsetTo: string;
  readonly rules: readonly string[];
  readonly dates: readonly string[];
}

export interface ZoneRules {
  /** The instants of the clock changes in ascending order. `offsets` has the offset after each change. */
  readonly instants: Float64Array;
  readonly offsets: Float64Array;
  /** The offset before the first change. */
  readonly firstOffsetMs: number;
}

/** Rules without an end are expanded up to this time: 2100-01-01. */
const LAST_MS = 4_102_444_800_000;
/** Two rules for each year since 1600 take 470,000 steps. */
const ZONE_STEPS_MAX = 500_000;
/** A kept clock change counts as this many steps, so that all zones of a source take at most 80 MB. */
const CHANGE_STEPS = 100;

/** @returns a clause on the fault, such as "it has no STANDARD or DAYLIGHT" */
export function readZoneRules(observances: readonly Observance[], sourceSteps: Steps): ZoneRules | string {
  const stepsMax = Math.min(ZONE_STEPS_MAX, sourceSteps.left);
  const steps = { left: stepsMax };
  const rules = changesOf(observances, steps);
  sourceSteps.left -= stepsMax - steps.left;
  if (steps.left > 0) return rules;
  return stepsMax === ZONE_STEPS_MAX
    ? `its rules take more than ${ZONE_STEPS_MAX} steps, the limit`
    : `all rules of the source have taken ${CALENDAR_STEPS_MAX} steps, the limit`;
}

function changesOf(observances: readonly Observance[], steps: Steps): ZoneRules | string {
  const changes: { instantMs: number; offsetMs: number; fromMs: number }[] = [];
  for (const observance of observances) {
    const fromMs = parseOffset(observance.offsetFrom);
    const offsetMs = parseOffset(observance.offsetTo);
    if (fromMs === null || offsetMs === null)
      return 'its TZOFFSETFROM and TZOFFSETTO are not offsets such as +0100';
    const onsets = onsetsOf(observance, fromMs, steps);
    if (typeof onsets === 'string') return onsets;
    if (changes.length + onsets.length > ZONE_CHANGES_MAX)
      return `it has more than ${ZONE_CHANGES_MAX} clock changes, the limit`;
    for (const localMs of onsets) changes.push({ instantMs: localMs - fromMs, offsetMs, fromMs });
  }
  changes.sort((a, b) => a.instantMs - b.instantMs);
  const first = changes[0];
  if (first === undefined) return 'it has no STANDARD or DAYLIGHT';
  return {
    instants: Float64Array.from(changes, ({ instantMs }) => instantMs),
    offsets: Float64Array.from(changes, ({ offsetMs }) => offsetMs),
    firstOffsetMs: first.fromMs,
  };
}

/** The local times at which an observance begins, by the clock before each change; or a clause on the fault. */
function onsetsOf({ start, rules, dates }: Observance, fromMs: number, steps: Steps): number[] | string {
  const begin = parseTime(start);
  if (typeof begin === 'string') return `its DTSTART: ${begin}`;
  if (begin.isUtc) return 'a DTSTART in it is not a local time';
  const onsets = new Set([begin.localMs]);
  for (const text of dates) {
    const date = parseTime(text.split('/')[0] ?? '');
    if (typeof date === 'string') return `its RDATE: ${date}`;
    onsets.add(date.isUtc ? date.localMs + fromMs : date.localMs);
  }
  for (const text of rules) {
    const rule = parseRule(text);
    if (typeof rule === 'string') return `its RRULE: ${rule}`;
    const until = rule.until === null ? null : parseTime(rule.until);
    if (typeof until === 'string') return `its UNTIL: ${until}`;
    const untilMs = until === null ? LAST_MS : until.localMs + (until.isUtc ? fromMs : 0);
    const window = { fromMs: begin.localMs, toMs: Math.min(untilMs, LAST_MS) };
    expandRule(rule, begin.localMs, window, steps, (localMs) => {
      if (localMs > window.toMs || onsets.size > ZONE_CHANGES_MAX) return false;
      onsets.add(localMs);
      return true;
    });
  }
  steps.left -= CHANGE_STEPS * onsets.size;
  return [...onsets];
}

/** `+0100`, `-053000` (RFC 5545 section 3.3.14). */
function parseOffset(text: string): number | null {
  const match = /^([+-])(\d\d):?([0-5]\d)([0-5]\d)?$/.exec(text.trim());
  if (match === null || Number(match[2]) > 23) return null;
  const seconds = (Number(match[2]) * 60 + Number(match[3])) * 60 + Number(match[4] ?? 0);
  return (match[1] === '-' ? -seconds : seconds) * 1000;
}
