/**
 * Recurring events, their changed occurrences, and events whose time zone is not yet defined, kept as JSON
 * until the source ends; then the occurrences of each recurring event.
 */

import { tooLarge } from '../../base/errors.js';
import {
  CALENDAR_KEPT_BYTES_MAX,
  CALENDAR_STEPS_MAX,
  EVENT_STEPS_MAX,
  OCCURRENCES_MAX,
} from '../../base/limits.js';
import { DAY_MS } from '../../base/model/time.js';
import { firstWhere } from '../../base/structures/search.js';
import {
  type CalendarEvent,
  type EventFault,
  faultOf,
  isCancelled,
  isRecurring,
  isWithdrawal,
  sequenceOf,
} from './calendar-event.js';
import { type GivenTime, type Length, parseDuration, parseTime } from './content-line.js';
import type { EventOutput } from './event-output.js';
import {
  type CalendarScope,
  type CalendarZone,
  endOf,
  isFault,
  type Moment,
  momentOf,
  ruleFault,
  type Timing,
  timingOf,
  withOthers,
} from './event-timing.js';
import { expandRule, parseRule, type RecurrenceRule, type Steps } from './expand-rule.js';

/** Most bytes of events whose time zone may be defined later: 40,000 × 0.8 KB. Events beyond this are rejected. */
export const WAITING_BYTES_MAX: number = CALENDAR_KEPT_BYTES_MAX / 4;
/** Work between two pauses, in steps of rules. */
const WORK_PER_TURN = 2000;
const WORK_PER_GROUP = 20;
/** Memory of an entry besides its content: the buffer object, a place in a list, and a part of the index. */
const ENTRY_BYTES = 300;

interface KeptEvent {
  readonly scope: CalendarScope;
  readonly bytes: Buffer;
}

/** A kept event, parsed again. */
interface Recalled {
  readonly event: CalendarEvent;
  readonly scope: CalendarScope;
}

/** An event that replaces an occurrence. */
interface Override extends Recalled {
  readonly at: Moment;
  /** The start of the replaced occurrence, from which the identifier is made. */
  replacedMs: number;
}

export class KeptEvents {
  readonly #byUid = new Map<string, KeptEvent[]>();
  #bytes = 0;
  #waitingBytes = 0;

  get isEmpty(): boolean {
    return this.#byUid.size === 0;
  }

  /** @throws LecternError `source-too-large` */
  keep(uid: string, event: CalendarEvent, scope: CalendarScope, sourceName: string): void {
    this.#bytes += this.#add(uid, event, scope);
    if (this.#bytes > CALENDAR_KEPT_BYTES_MAX) {
      const problem = `its recurring events take more than ${CALENDAR_KEPT_BYTES_MAX} bytes, the limit`;
      throw tooLarge(sourceName, `${problem}; expected several smaller calendars`);
    }
  }

  /** Keeps an event whose time zone may be defined later. @returns false if too many events wait */
  keepWaiting(uid: string, event: CalendarEvent, scope: CalendarScope): boolean {
    if (this.#waitingBytes > WAITING_BYTES_MAX) return false;
    this.#waitingBytes += this.#add(uid, event, scope);
    return true;
  }

  /** @returns the bytes that the event takes */
  #add(uid: string, event: CalendarEvent, scope: CalendarScope): number {
    const bytes = Buffer.from(JSON.stringify(event));
    const group = this.#byUid.get(uid);
    if (group === undefined) this.#byUid.set(uid, [{ scope, bytes }]);
    else group.push({ scope, bytes });
    return bytes.length + ENTRY_BYTES;
  }

  /** Gives all kept events. Can be called once. Pauses regularly so that other work can run. */
  *giveAll(window: RecurrenceWindow, output: EventOutput, steps: Steps): Generator<void> {
    let workLeft = WORK_PER_TURN;
    for (const [uid, group] of this.#byUid) {
      this.#byUid.delete(uid);
      const before = steps.left;
      new EventGroup(uid, window, output, steps).give(group);
      workLeft -= before - steps.left + WORK_PER_GROUP;
      if (workLeft > 0) continue;
      workLeft = WORK_PER_TURN;
      yield;
    }
  }
}

/**
 * The day of a RECURRENCE-ID that is a date, in the zone of the changed occurrence. Null if RECURRENCE-ID is not
 * a date, or if the calendar or the settings give a zone for dates.
 */
function dayIn({ replaces, start }: CalendarEvent, scope: CalendarScope): Moment | null {
  const written = parseTime(replaces?.value ?? '');
  if (typeof written === 'string' || !written.isDate || scope.floatingZone !== null) return null;
  const moment = start && momentOf(start, 'DTSTART', 'time', scope);
  if (moment !== null && isFault(moment)) return null;
  const { localMs, isDate } = written;
  const zone = moment?.zone ?? null;
  const instantMs = zone === null ? localMs : zone.instantOf(localMs).instantMs;
  return { instantMs, localMs, isDate, zone, kind: 'exact' };
}

function zoneOfStart({ event: { start }, scope }: Recalled): CalendarZone | null {
  const moment = start && momentOf(start, 'DTSTART', 'time', scope);
  return moment === null || isFault(moment) ? null : moment.zone;
}

/** Recurring events and changed occurrences with one UID. */
class EventGroup {
  readonly #uid: string;
  readonly #window: RecurrenceWindow;
  readonly #output: EventOutput;
  readonly #steps: Steps;
  /** Overrides by the instant of the replaced occurrence. */
  readonly #overrides = new Map<number, Override>();
  /** Overrides that name only a date, by local day. */
  readonly #ofDays = new Map<number, Override>();
  /** Overrides of an occurrence and all later ones, in order. */
  #following: Override[] = [];

  constructor(uid: string, window: RecurrenceWindow, output: EventOutput, steps: Steps) {
    this.#uid = uid;
    this.#window = window;
    this.#output = output;
    this.#steps = steps;
  }

  give(group: readonly KeptEvent[]): void {
    const all: Recalled[] = [];
    for (const { scope, bytes } of group) {
      const event = JSON.parse(bytes.toString()) as CalendarEvent;
      all.push({ event, scope });
    }
    // A cancellation without SEQUENCE, which RFC 5546 requires, is the last version.
    let withdrawn = -1;
    for (const { event } of all) {
      if (!isWithdrawal(event)) continue;
      const isLast = event.columns.SEQUENCE === undefined;
      withdrawn = Math.max(withdrawn, isLast ? Number.POSITIVE_INFINITY : sequenceOf(event));
    }
    const left = all.filter(({ event }) => !isWithdrawal(event) && sequenceOf(event) > withdrawn);
    const masters = left.filter(({ event }) => event.replaces === null);
    const zone = masters.map(zoneOfStart).find((each) => each !== null) ?? null;
    for (const each of left) if (each.event.replaces !== null) this.#addOverride(each, zone);
    this.#following = [...this.#overrides.values(), ...this.#ofDays.values()]
      .filter(({ event }) => event.isFuture)
      .sort((a, b) => a.at.instantMs - b.at.instantMs);
    for (const master of this.#newest(masters)) this.#giveMaster(master);
    for (const override of this.#overrides.values()) this.#giveOverride(override);
    for (const override of this.#ofDays.values()) this.#giveOverride(override);
  }

  /** @param zone of the series */
  #addOverride({ event, scope }: Recalled, zone: CalendarZone | null): void {
    if (event.replaces === null) return;
    const beside = zone ?? zoneOfStart({ event, scope });
    const at = dayIn(event, scope) ?? momentOf(event.replaces, 'RECURRENCE-ID', 'id', scope, beside);
    if (isFault(at)) {
      this.#output.reject(event, at);
      return;
    }
    const [index, key] = at.isDate
      ? [this.#ofDays, Math.floor(at.localMs / DAY_MS)]
      : [this.#overrides, at.instantMs];
    const before = index.get(key);
    const override = { event, scope, at, replacedMs: at.instantMs };
    const isNewer = before === undefined || sequenceOf(event) >= sequenceOf(before.event);
    if (before !== undefined)
      this.#rejectOlder(isNewer ? before.event : event, isNewer ? event : before.event);
    if (isNewer) index.set(key, override);
  }

  #rejectOlder(older: CalendarEvent, newer: CalendarEvent): void {
    const detail = `line ${newer.position.line} has a later version of this event (UID and SEQUENCE)`;
    this.#output.reject(older, faultOf('duplicate-id', 'id', detail));
  }

  /** Keeps of each event the version with the highest SEQUENCE. Versions with different starts are different events. */
  #newest(masters: readonly Recalled[]): Recalled[] {
    const byStart = new Map<string, Recalled>();
    for (const master of masters) {
      const key = JSON.stringify(master.event.start);
      const before = byStart.get(key);
      const isNewer = before === undefined || sequenceOf(master.event) >= sequenceOf(before.event);
      if (before !== undefined) {
        this.#rejectOlder(isNewer ? before.event : master.event, isNewer ? master.event : before.event);
      }
      if (isNewer) byStart.set(key, master);
    }
    return [...byStart.values()];
  }

  #giveMaster({ event, scope }: Recalled): void {
    const timing = this.#timing({ event, scope });
    if (timing === null || isCancelled(event)) return;
    if (!isRecurring(event)) {
      this.#output.giveSingle(event, this.#uid, timing);
      return;
    }
    const set = recurrenceSet(event, timing, scope, this.#window, this.#steps);
    if (isFault(set)) {
      this.#output.reject(event, withOthers(set, event, scope));
      return;
    }
    if (set.outside !== null) this.#output.passOver(set.outside.fromMs, set.outside.toMs);
    for (const occurrence of set.occurrences) this.#giveOccurrence(event, timing, occurrence);
    if (set.fault !== null) this.#output.reject(event, set.fault);
  }

  #giveOccurrence(event: CalendarEvent, timing: Timing, occurrence: Occurrence): void {
    const { instantMs, localMs, kind } = occurrence;
    const own = this.#overrides.get(instantMs) ?? this.#ofDays.get(Math.floor(localMs / DAY_MS));
    if (own !== undefined) {
      own.replacedMs = instantMs;
      return;
    }
    const { zone } = timing.start;
    const following = this.#followingAt(instantMs);
    if (following !== null) {
      this.#giveShifted(following, timing, occurrence);
      return;
    }
    const endMs = endOf(localMs, instantMs, zone, occurrence.length ?? timing.length);
    this.#output.giveAt(event, this.#uid, instantMs, { startMs: instantMs, endMs, kind });
  }

  /** The last override with THISANDFUTURE at or before an instant. */
  #followingAt(instantMs: number): Override | null {
    const following = this.#following;
    const after = firstWhere(0, following.length, (n) => (following[n] as Override).at.instantMs > instantMs);
    return following[after - 1] ?? null;
  }

  /** RFC 5545 section 3.2.13: later occurrences move by the same amount as the changed occurrence. */
  #giveShifted({ event, scope, at }: Override, { start }: Timing, { instantMs, localMs }: Occurrence): void {
    if (isCancelled(event)) return;
    const timing = timingOf(event, scope);
    // The fault is reported with the changed occurrence.
    if (isFault(timing)) return;
    const { zone } = start;
    const localOf = (moment: Moment): number =>
      zone === null ? moment.instantMs : zone.localOf(moment.instantMs);
    const movedMs = localMs + localOf(timing.start) - localOf(at);
    const moved = zone === null ? ({ instantMs: movedMs, kind: 'exact' } as const) : zone.instantOf(movedMs);
    const endMs = endOf(movedMs, moved.instantMs, zone, timing.length);
    this.#output.giveAt(event, this.#uid, instantMs, { startMs: moved.instantMs, endMs, kind: moved.kind });
  }

  #giveOverride({ event, scope, replacedMs }: Override): void {
    if (isCancelled(event)) return;
    const timing = this.#timing({ event, scope });
    if (timing !== null) this.#output.give(event, this.#uid, replacedMs, timing);
  }

  #timing({ event, scope }: Recalled): Timing | null {
    const timing = timingOf(event, scope);
    if (!isFault(timing)) return timing;
    // A cancelled occurrence needs no time.
    if (!isCancelled(event)) this.#output.reject(event, withOthers(timing, event, scope));
    return null;
  }
}

/** The occurrences of one recurring event. */

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
