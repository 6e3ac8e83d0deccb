import {
  derivedIdentifier,
  NAMESPACE_BYTES,
  namespaceOf,
  UUID_BYTES,
  writeNameBased,
} from '../../model/derived-identifier.js';
import type { IdentifierMode } from '../../model/event.js';
import { FIELDS, type FieldName } from '../../model/fields.js';
import { isUuid } from '../../model/identifier.js';
import { InstantTexts } from '../../model/instant-texts.js';
import { normaliseText } from '../../model/text.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../model/time.js';
import { viewOf } from '../../structures/byte-strings.js';
import type { NameSpans } from '../name-spans.js';
import type { RecordSink } from '../source.js';
import { type CalendarEvent, type EventFault, faultOf } from './calendar-event.js';
import { CALENDAR_FIELD_MAP } from './calendar-field-map.js';
import { endOf, type Moment, type Timing } from './event-timing.js';
import { INSTANT_BYTES } from './flat-time.js';
import { foundText } from './line-values.js';

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

const SPACE = 0x20;
const USED: ReadonlySet<string> = new Set(Object.values(CALENDAR_FIELD_MAP));
const TEXT_FIELDS = Object.entries(CALENDAR_FIELD_MAP).filter(
  ([field]) => field !== 'id' && field !== 'time' && field !== 'endTime',
) as [FieldName, string][];

/**
 * The occurrences of one event as bytes, for the default field map. Occurrences differ only in times and
 * identifier. If the sink does not take the bytes, EventOutput gives records instead.
 */
class OccurrenceBytes {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  /** The bytes that the identifier is made from. */
  readonly #name: Buffer;
  readonly #spans: Int32Array = new Int32Array(3 * FIELDS.length).fill(-1);
  readonly #names: NameSpans;
  readonly #times: Float64Array = new Float64Array(2);
  readonly #startAt: number;
  readonly #idAt: number;

  constructor({ columns }: CalendarEvent, uid: string, identifiers: IdentifierMode) {
    const names = Object.keys(columns).filter((name) => !USED.has(name));
    const parts = [namespaceOf('id'), Buffer.from(normaliseText(uid) ?? uid)];
    this.#startAt = NAMESPACE_BYTES + (parts[1] as Buffer).length + 1;
    this.#idAt = this.#startAt + INSTANT_BYTES;
    let end = this.#idAt + UUID_BYTES;
    parts.push(Buffer.alloc(end - this.#startAt + 1));
    this.#span('id', this.#idAt, end, 0);
    for (const [field, column] of TEXT_FIELDS) {
      const text = textOf(field, columns[column] ?? '', identifiers);
      if (text === '') continue;
      const { view, length, hash } = foundText(text);
      parts.push(Buffer.from(view.buffer, view.byteOffset, length));
      this.#span(field, end, end + length, hash);
      end += length;
    }
    const places = new Int32Array(2 * names.length);
    for (const [n, name] of names.entries()) {
      const bytes = Buffer.from(name);
      parts.push(bytes);
      places.set([end, end + bytes.length], 2 * n);
      end += bytes.length;
    }
    this.#bytes = Buffer.concat(parts);
    this.#bytes[this.#startAt - 1] = SPACE;
    this.#view = viewOf(this.#bytes);
    this.#name = this.#bytes.subarray(0, this.#idAt);
    this.#names = { places, count: names.length };
  }

  /**
   * @param named the start from which the identifier is made, as answers show it
   * @returns false if the sink needs a record
   */
  give(sink: RecordSink, named: string, startMs: number, endMs: number): boolean {
    this.#bytes.write(named, this.#startAt, 'latin1');
    writeNameBased(this.#name, this.#bytes, this.#idAt);
    this.#times[0] = startMs;
    this.#times[1] = endMs;
    return sink.undecoded?.(this.#bytes, this.#view, this.#spans, this.#names, this.#times) === true;
  }

  #span(name: FieldName, from: number, to: number, hash: number): void {
    this.#spans.set([from, to, hash], 3 * FIELDS.findIndex((field) => field.name === name));
  }
}

/** Calendars have only names of rooms, so identifiers of rooms are derived. */
function textOf(field: FieldName, text: string, identifiers: IdentifierMode): string {
  const isDerived = field === 'roomId' && identifiers === 'uuid' && text !== '' && !isUuid(text);
  return isDerived ? derivedIdentifier(field, text) : text;
}
