import build, { type Schema } from 'fast-json-stringify';
import { LecternError } from '../base/errors.js';
import { EVENTS_MAX, READ_AHEAD_BYTES_MAX, ROW_BYTES_MAX } from '../base/limits.js';
import type { TimetableEvent } from '../base/model/event.js';
import { OUTPUT_FIELDS } from '../base/model/fields.js';
import { EVENT_SCHEMA } from '../base/model/schemas.js';
import { formatInstant } from '../base/model/time.js';
import { isSame, viewOf } from '../base/structures/byte-strings.js';
import type { RowsImage } from './image.js';

const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

export function jsonByteLength(value: string | null): number {
  if (value === null) return 4;
  return PLAIN.test(value) ? value.length + 2 : Buffer.byteLength(JSON.stringify(value), 'utf8');
}

export function packedByteLength(value: string | null): number {
  return value === null ? 1 : packedTextLength(Buffer.byteLength(value, 'utf8'));
}

/** The MessagePack length, with header, of a text of `byteLength` bytes of UTF-8. */
export function packedTextLength(byteLength: number): number {
  if (byteLength < 32) return 1 + byteLength;
  if (byteLength < 0x100) return 2 + byteLength;
  return (byteLength < 0x10000 ? 3 : 5) + byteLength;
}

export function packedArrayHeaderLength(count: number): number {
  if (count < 16) return 1;
  return count < 0x10000 ? 3 : 5;
}

/** @param value an integer from 0 to 2^32 - 1 */
export function packedIntegerLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x100) return 2;
  return value < 0x10000 ? 3 : 5;
}

/** @throws LecternError `source-too-large` if so many events, or so many bytes of rows, do not fit into one image */
export function checkSize(events: number, rowBytes = 0): void {
  if (events <= EVENTS_MAX && rowBytes <= ROW_BYTES_MAX) return;
  const found = events <= EVENTS_MAX ? `the ${events} events take ${rowBytes} bytes as JSON; ` : '';
  const most = events <= EVENTS_MAX ? ROW_BYTES_MAX : `${EVENTS_MAX} events`;
  throw new LecternError('source-too-large', `${found}one snapshot holds at most ${most}`);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export const serialiseEvent: (event: TimetableEvent) => string = build(EVENT_SCHEMA as unknown as Schema);

const emptyTexts = Object.fromEntries(OUTPUT_FIELDS.map((field) => [field.name, '']));
/** The text that the compiled serialiser writes before each value of a row and after the last value. */
export const ROW_FRAME: readonly string[] = serialiseEvent(emptyTexts as unknown as TimetableEvent).split(
  '""',
);

/** Bytes of a row and its comma, without the id and the values of columns. */
export const ROW_FRAME_BYTES: number =
  ROW_FRAME.join('').length + 2 * jsonByteLength(formatInstant(0)) + '"",'.length;

export const PACKED_ROW_FRAME_BYTES: number = OUTPUT_FIELDS.reduce(
  (sum, field) => sum + packedByteLength(field.name),
  1,
);

const ID_OFFSET: number = '{"id":"'.length;

/** Bytes of a line of the processor's caches, on x86 and most ARM processors. */
const CACHE_LINE_BYTES = 64;
/** Takes what is read ahead. Without a use, the compiler would leave the reads out. */
const READ_AHEAD = new Uint8Array(1);

export class Rows {
  readonly bytes: Buffer;
  /** The same bytes, for copyText: native copies from shared memory take a byte at a time. */
  readonly view: DataView;
  readonly start: Uint32Array;
  readonly packedStart: Uint32Array;

  constructor({ bytes, start, packedStart }: RowsImage) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = viewOf(bytes);
    this.start = start;
    this.packedStart = packedStart;
  }

  get count(): number {
    return this.start.length - 1;
  }

  /**
   * Brings scattered rows into the processor's caches. No read waits for another one, so the processor waits for many lines of
   * memory at once; a copy of row after row waits for each.
   */
  readAhead(ordinals: Uint32Array): void {
    const { bytes, start } = this;
    let sum = 0;
    let left = READ_AHEAD_BYTES_MAX;
    for (let i = 0; i < ordinals.length && left > 0; i++) {
      const from = start[ordinals[i]!]!;
      const end = start[ordinals[i]! + 1]!;
      for (let at = from; at < end; at += CACHE_LINE_BYTES) sum += bytes[at]!;
      left -= end - from;
    }
    READ_AHEAD[0] = sum;
  }

  rowOf(ordinal: number): Buffer {
    return this.bytes.subarray(this.start[ordinal]!, this.start[ordinal + 1]! - 1);
  }

  /** Whether two rows have equal bytes. This method makes no object. */
  isEqual(ordinal: number, other: Rows, otherOrdinal: number): boolean {
    const from = this.start[ordinal]!;
    const otherFrom = other.start[otherOrdinal]!;
    const length = this.start[ordinal + 1]! - 1 - from;
    if (other.start[otherOrdinal + 1]! - 1 - otherFrom !== length) return false;
    return this.bytes.compare(other.bytes, otherFrom, otherFrom + length, from, from + length) === 0;
  }

  /** Whether two rows have the same id. Also false for an id that ends with an escape. */
  hasSameId(ordinal: number, other: Rows, otherOrdinal: number): boolean {
    const from = other.start[otherOrdinal]! + ID_OFFSET;
    const end = other.bytes.indexOf(QUOTE, from);
    return other.bytes[end - 1] !== BACKSLASH && this.hasId(ordinal, other.view, from, end);
  }

  /** @param text the id as in JSON, without quotes */
  hasId(ordinal: number, text: DataView, textFrom: number, textEnd: number): boolean {
    const from = this.start[ordinal]! + ID_OFFSET;
    const length = textEnd - textFrom;
    if (from + length >= this.start[ordinal + 1]! || this.bytes[from + length] !== QUOTE) return false;
    return isSame(this.view, from, text, textFrom, length);
  }

  /** The first characters of an id. @param length at most the bytes of a row */
  idPrefixOf(ordinal: number, length: number): string {
    const from = this.start[ordinal]! + ID_OFFSET;
    return this.bytes.toString('latin1', from, from + length);
  }

  idOf(ordinal: number): string {
    const from = this.start[ordinal]! + ID_OFFSET;
    const end = this.start[ordinal + 1]!;
    let close = from;
    // Bounded, because rows of a file may be unchecked.
    while (close < end && this.bytes[close] !== QUOTE) close += this.bytes[close] === BACKSLASH ? 2 : 1;
    if (close >= end) throw new Error(`row ${ordinal} has no id`);
    const text = this.bytes.toString('utf8', from, close);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}
