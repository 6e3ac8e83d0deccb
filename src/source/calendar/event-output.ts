import { derivedIdentifier } from '../../model/derived-identifier.js';
import { formatInstant, INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../model/time.js';
import type { RecordSink } from '../source.js';
import { type CalendarEvent, type EventFault, faultOf } from './calendar-event.js';
import { endOf, type Moment, type Timing } from './event-timing.js';

export interface EventTimes {
  readonly startMs: number;
  readonly endMs: number;
  readonly kind: Moment['kind'];
}

/** Gives events and faults to a sink. */
export class EventOutput {
  /** Local times that clocks skipped or showed twice. */
  gaps = 0;
  overlaps = 0;
  readonly #sink: RecordSink;

  constructor(sink: RecordSink) {
    this.#sink = sink;
  }

  /** @param namedMs the occurrence that the identifier is of */
  give(event: CalendarEvent, uid: string, namedMs: number, { start, length, end }: Timing): void {
    const endMs = end?.instantMs ?? endOf(start.localMs, start.instantMs, start.zone, length);
    if (end !== null) this.#count(end.kind);
    this.giveAt(event, uid, namedMs, { startMs: start.instantMs, endMs, kind: start.kind });
  }

  giveAt(event: CalendarEvent, uid: string, namedMs: number, { startMs, endMs, kind }: EventTimes): void {
    if (startMs < INSTANT_MS_MIN || endMs > INSTANT_MS_MAX) {
      const detail = 'the event does not lie within the years 0000 to 9999';
      this.reject(event, faultOf('malformed-time', 'endTime', detail));
      return;
    }
    this.#count(kind);
    const record = {
      ...event.columns,
      id: derivedIdentifier('id', `${uid} ${formatInstant(namedMs)}`),
      DTSTART: formatInstant(startMs),
      DTEND: formatInstant(endMs),
    };
    this.#sink.record(record, event.position);
  }

  reject({ position }: Pick<CalendarEvent, 'position'>, fault: EventFault): void {
    this.#sink.reject({ position, ...fault });
  }

  #count(kind: Moment['kind']): void {
    if (kind === 'gap') this.gaps++;
    else if (kind === 'overlap') this.overlaps++;
  }
}
