/** The start and the length of an event. */
import { ZONE_NAME_UNITS_MAX } from '../../base/limits.js';
import type { FieldName } from '../../base/model/fields.js';
import { DAY_MS, INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../base/model/time.js';
import { isZoneAbbreviation } from '../../base/model/zone.js';
import { type CalendarEvent, type EventFault, faultOf } from './calendar-event.js';
import {
  CalendarZone,
  type Observance,
  RuledZone,
  readZoneRules,
  type ZoneInstant,
  zoneOfName,
} from './calendar-zones.js';
import { type GivenTime, type Length, parseDuration, parseTime } from './content-line.js';
import { parseRule, type Steps } from './expand-rule.js';

/** Defaults for the events of one VCALENDAR. */
export class CalendarScope {
  name: string | null = null;
  /** METHOD:CANCEL: the events of the calendar are cancelled. */
  isCancelling = false;
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
