/** The occurrences of one recurring event. */

import { CALENDAR_STEPS_MAX, EVENT_STEPS_MAX, OCCURRENCES_MAX } from '../../base/limits.js';
import { DAY_MS } from '../../base/model/time.js';
import { type CalendarEvent, type EventFault, faultOf } from './calendar-event.js';
import { type GivenTime, type Length, parseDuration, parseTime } from './content-line.js';
import {
  type CalendarScope,
  isFault,
  type Moment,
  momentOf,
  ruleFault,
  type Timing,
} from './event-timing.js';
import { expandRule, parseRule, type RecurrenceRule, type Steps } from './expand-rule.js';

/** Keeping an occurrence takes as long as this many steps. */
const OCCURRENCE_STEPS = 10;

interface EventSteps extends Steps {
  /** A clause for messages about a rule when no steps are left. */
  readonly end: string;
}

/** Recurrences are expanded from `fromMs`, which is included, to `toMs`, which is not. */
export interface RecurrenceWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Occurrence {
  readonly instantMs: number;
  /** Local time in the event's zone, treated as UTC. */
  readonly localMs: number;
  readonly kind: Moment['kind'];
  /** Length of a PERIOD in RDATE; null for the length of the event. */
  readonly length: Length | null;
}

export interface RecurrenceSet {
  /** Occurrences within the window, in order. */
  readonly occurrences: readonly Occurrence[];
  /** Why the list is incomplete; null if it is complete. */
  readonly fault: EventFault | null;
  /** The first and last known occurrence, if none lies in the window. */
  readonly outside: RecurrenceWindow | null;
}

/** RRULE, RDATE, EXRULE and EXDATE (RFC 5545 section 3.8.5). A fault rejects the whole event. */
export function recurrenceSet(
  event: CalendarEvent,
  { start }: Timing,
  scope: CalendarScope,
  window: RecurrenceWindow,
  sourceSteps: Steps,
): RecurrenceSet | EventFault {
  const excluded = readExcluded(event, start, scope);
  if (isFault(excluded)) return excluded;
  const stepsMax = Math.min(EVENT_STEPS_MAX, sourceSteps.left);
  const end =
    stepsMax === EVENT_STEPS_MAX
      ? `was expanded for ${EVENT_STEPS_MAX} steps, the limit`
      : `was not expanded to its end, because all rules of the source have taken ${CALENDAR_STEPS_MAX} steps, the limit`;
  const steps = { left: stepsMax, end };
  const newSet = (): SetExpansion => new SetExpansion(start, scope, window, steps, excluded);
  const set = expandSet(event, start, newSet, excluded);
  sourceSteps.left -= stepsMax - steps.left;
  return set;
}

function expandSet(
  event: CalendarEvent,
  start: Moment,
  newSet: () => SetExpansion,
  excluded: Excluded,
): RecurrenceSet | EventFault {
  for (const text of event.excludedRules) {
    const exclusion = newSet();
    const result = exclusion.addRule(text, 'EXRULE');
    if (result !== null) return result;
    for (const instantMs of exclusion.found.keys()) excluded.instants.add(instantMs);
  }
  const expansion = newSet();
  let fault: EventFault | null = null;
  for (const text of event.rules) {
    const result = expansion.addRule(text, 'RRULE');
    if (result === null) continue;
    if (result.code === 'malformed-recurrence') return result;
    fault = result;
  }
  if (event.rules.length === 0) expansion.add(start.localMs, start.instantMs, start.kind, null);
  for (const given of event.dates) {
    const result = expansion.addDate(given);
    if (result !== null) return result;
  }
  const occurrences = [...expansion.found.values()].sort((a, b) => a.instantMs - b.instantMs);
  if (expansion.isCut || occurrences.length > OCCURRENCES_MAX) {
    occurrences.length = Math.min(occurrences.length, OCCURRENCES_MAX);
    fault = tooMany();
  }
  return { occurrences, fault, outside: expansion.isInside ? null : expansion.span };
}

function tooMany(): EventFault {
  const detail = `the event has more than ${OCCURRENCES_MAX} occurrences within the window; the later ones are left out`;
  return faultOf('too-many-occurrences', null, detail);
}

class SetExpansion {
  readonly found = new Map<number, Occurrence>();
  isCut = false;
  /** Whether an occurrence lies in the window, even if it is excluded. */
  isInside = false;
  readonly #start: Moment;
  readonly #scope: CalendarScope;
  readonly #window: RecurrenceWindow;
  readonly #steps: EventSteps;
  readonly #excluded: Excluded;
  #firstMs: number;
  #lastMs: number;
  /** The last occurrence before the window, in local time. */
  #lastBeforeMs: number;

  constructor(
    start: Moment,
    scope: CalendarScope,
    window: RecurrenceWindow,
    steps: EventSteps,
    excluded: Excluded,
  ) {
    this.#start = start;
    this.#scope = scope;
    this.#window = window;
    this.#steps = steps;
    this.#excluded = excluded;
    this.#firstMs = start.instantMs;
    this.#lastMs = start.instantMs;
    this.#lastBeforeMs = start.localMs;
  }

  /** The first and last occurrence so far. */
  get span(): RecurrenceWindow {
    const { zone } = this.#start;
    const lastBeforeMs = zone === null ? this.#lastBeforeMs : zone.instantOf(this.#lastBeforeMs).instantMs;
    return { fromMs: this.#firstMs, toMs: Math.max(this.#lastMs, lastBeforeMs) };
  }

  add(localMs: number, instantMs: number, kind: Moment['kind'], length: Length | null): void {
    const { fromMs, toMs } = this.#window;
    this.#see(instantMs);
    if (instantMs < fromMs || instantMs >= toMs) return;
    this.isInside = true;
    const { instants, days } = this.#excluded;
    if (instants.has(instantMs) || days.has(Math.floor(localMs / DAY_MS)) || this.found.has(instantMs))
      return;
    this.#steps.left -= OCCURRENCE_STEPS;
    this.found.set(instantMs, { instantMs, localMs, kind, length });
  }

  #see(instantMs: number): void {
    if (instantMs < this.#firstMs) this.#firstMs = instantMs;
    if (instantMs > this.#lastMs) this.#lastMs = instantMs;
  }

  addRule(text: string, name: 'RRULE' | 'EXRULE'): EventFault | null {
    const rule = parseRule(text);
    if (typeof rule === 'string') return ruleFault(name, text, rule);
    const untilMs = this.#untilOf(rule);
    if (typeof untilMs === 'string') return ruleFault(name, text, untilMs);
    const { zone, localMs: startMs } = this.#start;
    const { fromMs, toMs } = this.#window;
    // Without COUNT, occurrences before the window are not visited. UNTIL stands for the last of them.
    if (untilMs < fromMs) this.#see(untilMs);
    // EXRULE may exclude more occurrences than may be served.
    const sizeMax = name === 'EXRULE' ? EVENT_STEPS_MAX : this.found.size + OCCURRENCES_MAX;
    // Local times and UTC differ by less than a day, before and after a clock change.
    const window = {
      fromMs: zone === null ? fromMs : zone.localOf(fromMs) - DAY_MS,
      toMs: Math.min(toMs, untilMs) + 2 * DAY_MS,
    };
    let lastBeforeMs = startMs;
    const isWhole = expandRule(rule, startMs, window, this.#steps, (localMs) => {
      if (localMs < window.fromMs) {
        lastBeforeMs = localMs;
        return true;
      }
      const { instantMs, kind } =
        zone === null ? ({ instantMs: localMs, kind: 'exact' } as const) : zone.instantOf(localMs);
      if (localMs > startMs && instantMs > untilMs) return false;
      this.add(localMs, instantMs, kind, null);
      if (this.found.size > sizeMax) this.isCut = true;
      return instantMs < toMs && !this.isCut;
    });
    this.#lastBeforeMs = Math.max(this.#lastBeforeMs, lastBeforeMs);
    if (isWhole) return null;
    const shown = JSON.stringify(text.slice(0, 80));
    const leftOut = name === 'EXRULE' ? 'the event is left out' : 'later occurrences are left out';
    const detail = `${name} ${shown} ${this.#steps.end}; ${leftOut}`;
    return faultOf('too-many-occurrences', null, detail);
  }

  /** An UNTIL that is a date means its whole day. */
  #untilOf({ until }: RecurrenceRule): number | string {
    if (until === null) return Number.POSITIVE_INFINITY;
    const written = parseTime(until);
    if (typeof written === 'string') return `UNTIL: ${written}`;
    const { zone } = this.#start;
    if (written.isUtc) return written.localMs;
    const localMs = written.isDate ? written.localMs + DAY_MS - 1 : written.localMs;
    return zone === null ? localMs : zone.instantOf(localMs).instantMs;
  }

  addDate(given: GivenTime): EventFault | null {
    const [from = '', to] = given.value.split('/');
    const begin = momentOf({ ...given, value: from }, 'RDATE', 'time', this.#scope, this.#start.zone);
    if (isFault(begin)) return begin;
    let length: Length | null = null;
    if (to !== undefined) {
      const read = this.#lengthOf(begin, to, given);
      if (isFault(read)) return read;
      length = read;
    }
    const { zone, isDate } = this.#start;
    const local = isDate && !begin.isDate ? Math.floor(begin.localMs / DAY_MS) * DAY_MS : null;
    if (local !== null && zone !== null) {
      const { instantMs, kind } = zone.instantOf(local);
      this.add(local, instantMs, kind, length);
      return null;
    }
    const localMs = zone === null ? begin.instantMs : zone.localOf(begin.instantMs);
    this.add(localMs, begin.instantMs, begin.kind, length);
    return null;
  }

  #lengthOf(begin: Moment, to: string, given: GivenTime): Length | EventFault {
    const wrong = (problem: string): EventFault =>
      faultOf(
        'malformed-time',
        null,
        `RDATE ${JSON.stringify(given.value.slice(0, 40))} cannot be read: ${problem}`,
      );
    if (/^[+-]?P/i.test(to)) {
      const length = parseDuration(to);
      if (typeof length === 'string') return wrong(length);
      return length.days * DAY_MS + length.ms < 0 ? wrong('its duration is negative') : length;
    }
    const end = momentOf({ ...given, value: to }, 'RDATE', 'time', this.#scope, this.#start.zone);
    if (isFault(end)) return end;
    const ms = end.instantMs - begin.instantMs;
    return ms < 0 ? wrong('it ends before it begins') : { days: 0, ms };
  }
}

interface Excluded {
  readonly instants: Set<number>;
  /** Local days of excluded dates, each of which excludes all occurrences that begin on that day. */
  readonly days: Set<number>;
}

function readExcluded(event: CalendarEvent, start: Moment, scope: CalendarScope): Excluded | EventFault {
  const instants = new Set<number>();
  const days = new Set<number>();
  for (const given of event.excludedDates) {
    if (given.value === '') continue;
    // A date needs no zone: it is a day of the event.
    const written = parseTime(given.value);
    if (typeof written === 'object' && (written.isDate || start.isDate)) {
      const { zone } = start;
      const localMs = written.isUtc && zone !== null ? zone.localOf(written.localMs) : written.localMs;
      days.add(Math.floor(localMs / DAY_MS));
      continue;
    }
    const moment = momentOf(given, 'EXDATE', 'time', scope, start.zone);
    if (isFault(moment)) return moment;
    instants.add(moment.instantMs);
  }
  return { instants, days };
}
