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
import { normaliseText } from '../../model/text.js';
import { viewOf } from '../../structures/byte-strings.js';
import type { NameSpans } from '../name-spans.js';
import type { RecordSink } from '../source.js';
import type { CalendarEvent } from './calendar-event.js';
import { CALENDAR_FIELD_MAP } from './calendar-field-map.js';
import { INSTANT_BYTES } from './flat-time.js';
import { foundText } from './line-values.js';

const SPACE = 0x20;
const USED: ReadonlySet<string> = new Set(Object.values(CALENDAR_FIELD_MAP));
const TEXT_FIELDS = Object.entries(CALENDAR_FIELD_MAP).filter(
  ([field]) => field !== 'id' && field !== 'time' && field !== 'endTime',
) as [FieldName, string][];

/**
 * The occurrences of one event as bytes, for the default field map. Occurrences differ only in times and
 * identifier. If the sink does not take the bytes, EventOutput gives records instead.
 */
export class OccurrenceBytes {
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
