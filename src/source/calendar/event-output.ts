import { CALENDAR_UID_UNITS_MAX } from '../../base/limits.js';
import { derivedIdentifier } from '../../base/model/derived-identifier.js';
import type { RecordPosition } from '../../base/model/event.js';
import { InstantTexts } from '../../base/model/instant-texts.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../base/model/time.js';
import { ByteStrings, viewOf } from '../../base/structures/byte-strings.js';
import { Growable } from '../../base/structures/growable.js';
import { KeyedHash, randomHashSeed } from '../../base/structures/keyed-hash.js';
import { RowState } from '../../base/structures/row.js';
import { type FieldTable, LEFT_OUT } from '../field-map.js';
import { type CalendarEvent, type EventFault, faultOf, sequenceOf } from './calendar-event.js';
import { endOf, isFault, type Moment, type Timing } from './event-timing.js';

const BYTES_PER_UNIT = 3;

export interface EventTimes {
  readonly startMs: number;
  readonly endMs: number;
  readonly kind: Moment['kind'];
}

/** The dates of recurring events without an occurrence in the window. */
export interface OutsideSpan {
  readonly events: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The versions of one UID with the highest SEQUENCE so far. Those with a lower one are forgotten. */
interface Versions {
  readonly sequence: number;
  /** The positions of those that were given, by their start. */
  readonly given: Map<number, RecordPosition>;
  /** The starts of those that are cancelled, or all. */
  readonly cancelled: Set<number> | 'all';
}

/** The events that do not recur, without an object for each: most UIDs have one event. */
class SingleEvents {
  readonly #hash = new KeyedHash(randomHashSeed());
  readonly #bytes = Buffer.alloc(BYTES_PER_UNIT * CALENDAR_UID_UNITS_MAX);
  readonly #view = viewOf(this.#bytes);
  /** Each UID once, with its first event: */
  readonly #uids = new ByteStrings();
  readonly #sequence = new Growable(Float64Array);
  readonly #startMs = new Growable(Float64Array);
  readonly #record = new Growable(Uint32Array);
  readonly #line = new Growable(Uint32Array);
  /** By the number of the UID, once there is more to tell of it. */
  readonly #others = new Map<number, Versions>();

  of(uid: string): Versions | null {
    const [, , number] = this.#find(uid);
    return number === -1 ? null : this.#versionsAt(number);
  }

  #versionsAt(number: number): Versions {
    const others = this.#others.get(number);
    if (others !== undefined) return others;
    const position = { record: this.#record.at(number), line: this.#line.at(number) };
    const given = new Map([[this.#startMs.at(number), position]]);
    return { sequence: this.#sequence.at(number), given, cancelled: new Set() };
  }

  /** Notes a version that is given. Its SEQUENCE is not lower than that of known versions. */
  give(uid: string, sequence: number, startMs: number, position: RecordPosition): void {
    const [hash, length, known] = this.#find(uid);
    if (known === -1) this.#add(hash, length, { sequence, startMs, position });
    else {
      const { given } = this.#newest(known, sequence);
      if (!given.has(startMs)) given.set(startMs, position);
    }
  }

  /** Notes a version that is cancelled; all versions up to its SEQUENCE without a start. */
  cancel(uid: string, sequence: number, startMs: number | null): void {
    const [hash, length, known] = this.#find(uid);
    const position = { record: 0, line: 0 };
    const number = known === -1 ? this.#add(hash, length, { sequence, startMs: 0, position }) : known;
    if (known === -1 || startMs === null) {
      const cancelled = startMs === null ? 'all' : new Set([startMs]);
      this.#others.set(number, { sequence, given: new Map(), cancelled });
      return;
    }
    const { given, cancelled } = this.#newest(number, sequence);
    given.delete(startMs);
    if (cancelled !== 'all') cancelled.add(startMs);
  }

  #newest(number: number, sequence: number): Versions {
    let versions = this.#versionsAt(number);
    if (versions.sequence < sequence) versions = { sequence, given: new Map(), cancelled: new Set() };
    this.#others.set(number, versions);
    return versions;
  }

  #add(
    hash: number,
    length: number,
    { sequence, startMs, position }: { sequence: number; startMs: number; position: RecordPosition },
  ): number {
    this.#sequence.push(sequence);
    this.#startMs.push(startMs);
    this.#record.push(position.record);
    this.#line.push(position.line ?? 0);
    return this.#uids.add(hash, this.#view, 0, length);
  }

  #find(uid: string): [hash: number, length: number, number: number] {
    const length = this.#bytes.write(uid, 'utf8');
    const hash = this.#hash.bytes(this.#view, 0, length);
    return [hash, length, this.#uids.find(hash, this.#view, 0, length)];
  }
}

/** Gives events and faults to a table. */
export class EventOutput {
  /** Occurrences of recurring events so far. */
  occurrences = 0;
  outside: OutsideSpan = {
    events: 0,
    firstMs: Number.POSITIVE_INFINITY,
    lastMs: Number.NEGATIVE_INFINITY,
  };
  readonly #table: FieldTable;
  readonly #texts: InstantTexts = new InstantTexts();
  readonly #singles = new SingleEvents();
  /** The event whose values are in the row: its occurrences differ only in id and times. */
  #present: CalendarEvent | null = null;
  readonly #filled: RowState;

  constructor(table: FieldTable) {
    this.#table = table;
    this.#filled = new RowState(table.row);
  }

  /** Gives an event that does not recur. Of versions with one UID, the one with the highest SEQUENCE counts. */
  giveSingle(event: CalendarEvent, uid: string, timing: Timing, isId = false): void {
    const sequence = sequenceOf(event);
    const { instantMs } = timing.start;
    const known = this.#singles.of(uid);
    if (known !== null && sequence <= known.sequence) {
      const { given, cancelled } = known;
      if (cancelled === 'all' || (sequence === known.sequence && cancelled.has(instantMs))) return;
      if (sequence < known.sequence) {
        const detail = 'an earlier event is a later version of this event (UID and SEQUENCE)';
        if (given.size > 0) this.reject(event, faultOf('duplicate-id', 'id', detail));
        return;
      }
    } else if (known !== null) {
      const detail = `line ${event.position.line} has a later version of this event (UID and SEQUENCE)`;
      this.#retract(event, uid, known, detail);
    }
    this.#singles.give(uid, sequence, instantMs, event.position);
    this.give(event, uid, isId ? null : instantMs, timing);
  }

  /** Takes back the versions of an event that does not recur and is cancelled by STATUS. */
  cancel(event: CalendarEvent, uid: string, timing: Timing | EventFault): void {
    const sequence = sequenceOf(event);
    const known = this.#singles.of(uid);
    if (known !== null && sequence < known.sequence) return;
    if (known !== null && sequence > known.sequence) this.#retract(event, uid, known);
    if (isFault(timing)) return;
    const { instantMs } = timing.start;
    if (known?.sequence === sequence && known.given.has(instantMs)) this.#takeBack(event, uid, instantMs);
    this.#singles.cancel(uid, sequence, instantMs);
  }

  /** Takes back all events of a UID that do not recur. */
  withdraw(event: CalendarEvent, uid: string): void {
    const sequence = event.columns.SEQUENCE === undefined ? Number.POSITIVE_INFINITY : sequenceOf(event);
    const known = this.#singles.of(uid);
    if (known !== null && sequence < known.sequence) return;
    if (known !== null) this.#retract(event, uid, known);
    this.#singles.cancel(uid, sequence, null);
  }

  /** @param detail why they are left out; nothing for cancelled events */
  #retract(event: CalendarEvent, uid: string, { given }: Versions, detail: string | null = null): void {
    for (const [startMs, position] of given) {
      this.#takeBack(event, uid, startMs);
      if (detail !== null) this.reject({ position }, faultOf('duplicate-id', 'id', detail));
    }
  }

  #takeBack({ columns }: CalendarEvent, uid: string, startMs: number): void {
    const start = this.#texts.of(startMs);
    this.#present = null;
    this.#table.retract({
      ...columns,
      id: derivedIdentifier('id', `${uid} ${start}`),
      DTSTART: start,
      DTEND: start,
    });
  }

  /** @param namedMs the start from which the identifier is made; null if it is the UID */
  give(event: CalendarEvent, uid: string, namedMs: number | null, { start, length, end }: Timing): void {
    const endMs = end?.instantMs ?? endOf(start.localMs, start.instantMs, start.zone, length);
    if (end !== null) this.#count(end.kind);
    this.#give(event, uid, namedMs, { startMs: start.instantMs, endMs, kind: start.kind });
  }

  /** Gives one of several occurrences. */
  giveAt(event: CalendarEvent, uid: string, namedMs: number, times: EventTimes): void {
    this.occurrences++;
    this.#give(event, uid, namedMs, times);
  }

  #give(
    event: CalendarEvent,
    uid: string,
    namedMs: number | null,
    { startMs, endMs, kind }: EventTimes,
  ): void {
    if (startMs < INSTANT_MS_MIN || endMs > INSTANT_MS_MAX) {
      const detail = 'the event lies outside the years 0000 to 9999';
      this.reject(event, faultOf('malformed-time', 'endTime', detail));
      return;
    }
    this.#count(kind);
    const table = this.#table;
    const { row } = table;
    row.record = event.position.record;
    row.line = event.position.line ?? 0;
    const start = this.#texts.of(startMs);
    const named = namedMs === null || namedMs === startMs ? start : this.#texts.of(namedMs);
    const id = namedMs === null ? uid : derivedIdentifier('id', `${uid} ${named}`);
    const end = this.#texts.of(endMs);
    if (table.needsObjects) {
      this.#present = null;
      table.object({ ...event.columns, id, DTSTART: start, DTEND: end });
      return;
    }
    if (this.#present !== event) {
      // A copy would take longer than everything else here.
      table.fill(Object.assign(event.columns, { id, DTSTART: start, DTEND: end }));
      this.#present = event;
      row.keep(this.#filled);
    } else {
      row.back(this.#filled);
      this.#put('id', id);
      this.#put('DTSTART', start);
      this.#put('DTEND', end);
    }
    table.give();
  }

  #put(column: string, text: string): void {
    const place = this.#table.places.get(column) ?? LEFT_OUT;
    if (place !== LEFT_OUT) this.#table.row.put(place, text);
  }

  /** Notes that a recurring event has no occurrence in the window. */
  passOver(firstMs: number, lastMs: number): void {
    const { outside } = this;
    this.outside = {
      events: outside.events + 1,
      firstMs: Math.min(outside.firstMs, firstMs),
      lastMs: Math.max(outside.lastMs, lastMs),
    };
  }

  reject({ position }: Pick<CalendarEvent, 'position'>, fault: EventFault): void {
    this.#table.fault({ position, ...fault });
  }

  #count(kind: Moment['kind']): void {
    const { ambiguousTimes } = this.#table.notes;
    if (kind === 'gap') ambiguousTimes.gaps++;
    else if (kind === 'overlap') ambiguousTimes.overlaps++;
  }
}
