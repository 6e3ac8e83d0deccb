import build, { type Schema } from 'fast-json-stringify';
import type { TimetableEvent } from '../model/event.js';
import { OUTPUT_FIELDS } from '../model/fields.js';
import { EVENT_SCHEMA } from '../model/schemas.js';
import { formatInstant } from '../model/time.js';
import { jsonByteLength, packedByteLength } from './byte-lengths.js';
import type { RowsImage } from './image.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export const serialiseEvent: (event: TimetableEvent) => string = build(EVENT_SCHEMA as unknown as Schema);

const emptyTexts = Object.fromEntries(OUTPUT_FIELDS.map((field) => [field.name, '']));
/** What the compiled serialiser puts before each value of a row, and behind the last. */
export const ROW_FRAME: readonly string[] = serialiseEvent(emptyTexts as unknown as TimetableEvent).split(
  '""',
);

/** Bytes of a row and its comma, without the id's text and the values of its columns. */
export const ROW_FRAME_BYTES: number =
  ROW_FRAME.join('').length + 2 * jsonByteLength(formatInstant(0)) + '"",'.length;

export const PACKED_ROW_FRAME_BYTES: number = OUTPUT_FIELDS.reduce(
  (sum, field) => sum + packedByteLength(field.name),
  1,
);

export const ID_OFFSET: number = '{"id":"'.length;

export class Rows {
  readonly bytes: Buffer;
  /** Row n begins at start[n]; start[count] is one byte past the closing bracket or comma of the last. */
  readonly start: Uint32Array;
  /** Rows [m, n) take packedStart[n] - packedStart[m] bytes in MessagePack. */
  readonly packedStart: Uint32Array;

  constructor({ bytes, start, packedStart }: RowsImage) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.start = start;
    this.packedStart = packedStart;
  }

  get count(): number {
    return this.start.length - 1;
  }

  rowOf(ordinal: number): Buffer {
    return this.bytes.subarray(this.start[ordinal]!, this.start[ordinal + 1]! - 1);
  }

  /** @param text UTF-8 of the id as JSON has it between quotes */
  hasId(ordinal: number, text: Uint8Array): boolean {
    const from = this.start[ordinal]! + ID_OFFSET;
    const end = from + text.length;
    if (end >= this.start[ordinal + 1]!) return false;
    return this.bytes[end] === QUOTE && this.bytes.compare(text, 0, text.length, from, end) === 0;
  }

  idOf(ordinal: number): string {
    const from = this.start[ordinal]! + ID_OFFSET;
    const end = this.start[ordinal + 1]!;
    let close = from;
    // Rows of a file may not have been checked yet.
    while (close < end && this.bytes[close] !== QUOTE) close += this.bytes[close] === BACKSLASH ? 2 : 1;
    if (close >= end) throw new Error(`row ${ordinal} has no id`);
    const text = this.bytes.toString('utf8', from, close);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}
