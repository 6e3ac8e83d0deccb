import { derivedIdentifier } from '../../model/derived-identifier.js';
import type { IdentifierMode } from '../../model/event.js';
import { InstantTexts } from '../../model/instant-texts.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../model/time.js';
import type { RecordSink } from '../source.js';
import { type CalendarEvent, type EventFault, faultOf } from './calendar-event.js';
import { endOf, type Moment, type Timing } from './event-timing.js';
import { OccurrenceBytes } from './occurrence-bytes.js';

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

/** Gives events and faults to a sink. */
export class EventOutput {
  /** Occurrences of recurring events so far. */
  occurrences = 0;
  outside: OutsideSpan = {
    events: 0,
    firstMs: Number.POSITIVE_INFINITY,
    lastMs: Number.NEGATIVE_INFINITY,
  };
  readonly #sink: RecordSink;
  readonly #identifiers: IdentifierMode;
  readonly #texts: InstantTexts = new InstantTexts();
  /** The bytes of the event whose occurrences are being given. */
  #bytes: { readonly event: CalendarEvent; readonly uid: string; readonly of: OccurrenceBytes } | null = null;

  constructor(sink: RecordSink, identifiers: IdentifierMode) {
    this.#sink = sink;
    this.#identifiers = identifiers;
  }

  /** @param namedMs the start from which the identifier is made */
  give(event: CalendarEvent, uid: string, namedMs: number, { start, length, end }: Timing): void {
    const endMs = end?.instantMs ?? endOf(start.localMs, start.instantMs, start.zone, length);
    if (end !== null) this.#count(end.kind);
    this.#giveColumns(event, event.columns, uid, namedMs, {
      startMs: start.instantMs,
      endMs,
      kind: start.kind,
    });
  }

  /** Gives one of several occurrences. */
  giveAt(event: CalendarEvent, uid: string, namedMs: number, times: EventTimes): void {
    this.occurrences++;
    if (this.#giveBytes(event, uid, namedMs, times)) return;
    this.#giveColumns(event, { ...event.columns }, uid, namedMs, times);
  }

  #giveBytes(event: CalendarEvent, uid: string, namedMs: number, times: EventTimes): boolean {
    const { startMs, endMs, kind } = times;
    if (this.#sink.undecoded === undefined || startMs < INSTANT_MS_MIN || endMs > INSTANT_MS_MAX)
      return false;
    if (this.#bytes?.event !== event || this.#bytes.uid !== uid) {
      this.#bytes = { event, uid, of: new OccurrenceBytes(event, uid, this.#identifiers) };
    }
    if (!this.#bytes.of.give(this.#sink, this.#texts.of(namedMs), startMs, endMs)) return false;
    this.#count(kind);
    return true;
  }

  #giveColumns(
    event: CalendarEvent,
    columns: Record<string, string>,
    uid: string,
    namedMs: number,
    { startMs, endMs, kind }: EventTimes,
  ): void {
    if (startMs < INSTANT_MS_MIN || endMs > INSTANT_MS_MAX) {
      const detail = 'the event lies outside the years 0000 to 9999';
      this.reject(event, faultOf('malformed-time', 'endTime', detail));
      return;
    }
    this.#count(kind);
    const start = this.#texts.of(startMs);
    columns.id = derivedIdentifier('id', `${uid} ${namedMs === startMs ? start : this.#texts.of(namedMs)}`);
    columns.DTSTART = start;
    columns.DTEND = this.#texts.of(endMs);
    this.#sink.record(columns, event.position);
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
    this.#sink.reject({ position, ...fault });
  }

  #count(kind: Moment['kind']): void {
    const ambiguous = this.#sink.notes?.ambiguousTimes;
    if (kind === 'exact' || ambiguous === undefined) return;
    if (kind === 'gap') ambiguous.gaps++;
    else ambiguous.overlaps++;
  }
}
