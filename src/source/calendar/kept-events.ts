/**
 * Recurring events, their changed occurrences, and events whose time zone is not yet defined, kept as JSON
 * until the source ends.
 */

import { tooLarge } from '../../base/errors.js';
import { CALENDAR_KEPT_BYTES_MAX } from '../../base/limits.js';
import { DAY_MS } from '../../base/model/time.js';
import { firstWhere } from '../../base/structures/search.js';
import {
  type CalendarEvent,
  faultOf,
  isCancelled,
  isRecurring,
  isWithdrawal,
  sequenceOf,
} from './calendar-event.js';
import type { CalendarZone } from './calendar-zones.js';
import { parseTime } from './content-line.js';
import type { EventOutput } from './event-output.js';
import {
  type CalendarScope,
  endOf,
  isFault,
  type Moment,
  momentOf,
  type Timing,
  timingOf,
  withOthers,
} from './event-timing.js';
import type { Steps } from './expand-rule.js';
import { type Occurrence, type RecurrenceWindow, recurrenceSet } from './recurrence-set.js';

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
