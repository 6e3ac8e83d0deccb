import { derivedIdentifier } from '../../model/derived-identifier.js';
import { InstantTexts } from '../../model/instant-texts.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../model/time.js';
import { type FieldTable, LEFT_OUT } from '../field-map.js';
import { type CalendarEvent, type EventFault, faultOf } from './calendar-event.js';
import { endOf, type Moment, type Timing } from './event-timing.js';

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
  /** The event whose values are in the row, and where these end: its occurrences differ only in id and times. */
  #present: CalendarEvent | null = null;
  #mark = 0;

  constructor(table: FieldTable) {
    this.#table = table;
  }

  /** @param namedMs the start from which the identifier is made */
  give(event: CalendarEvent, uid: string, namedMs: number, { start, length, end }: Timing): void {
    const endMs = end?.instantMs ?? endOf(start.localMs, start.instantMs, start.zone, length);
    if (end !== null) this.#count(end.kind);
    this.#give(event, uid, namedMs, { startMs: start.instantMs, endMs, kind: start.kind });
  }

  /** Gives one of several occurrences. */
  giveAt(event: CalendarEvent, uid: string, namedMs: number, times: EventTimes): void {
    this.occurrences++;
    this.#give(event, uid, namedMs, times);
  }

  #give(event: CalendarEvent, uid: string, namedMs: number, { startMs, endMs, kind }: EventTimes): void {
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
    const id = derivedIdentifier('id', `${uid} ${namedMs === startMs ? start : this.#texts.of(namedMs)}`);
    const end = this.#texts.of(endMs);
    if (table.needsObjects) {
      this.#present = null;
      table.object({ ...event.columns, id, DTSTART: start, DTEND: end });
      return;
    }
    if (this.#present !== event) {
      // A copy would take longer than everything else here.
      table.fill(Object.assign(event.columns, { id, DTSTART: start, DTEND: end }));
      table.give();
      this.#present = event;
      this.#mark = row.mark;
      return;
    }
    row.rewind(this.#mark);
    this.#put('id', id);
    this.#put('DTSTART', start);
    this.#put('DTEND', end);
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
    const ambiguous = this.#table.sink.notes?.ambiguousTimes;
    if (kind === 'exact' || ambiguous === undefined) return;
    if (kind === 'gap') ambiguous.gaps++;
    else ambiguous.overlaps++;
  }
}
