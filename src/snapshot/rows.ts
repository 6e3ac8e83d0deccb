import build, { type Schema } from 'fast-json-stringify';
import { LecternError } from '../errors.js';
import { ROW_BYTES_MAX } from '../limits.js';
import type { TimetableEvent } from '../model/event.js';
import { OUTPUT_FIELDS } from '../model/fields.js';
import { EVENT_SCHEMA } from '../model/schemas.js';
import { formatInstant } from '../model/time.js';
import { copyText, viewOf } from '../structures/byte-strings.js';
import { shared } from '../structures/slabs.js';
import { jsonByteLength, packedByteLength } from './byte-lengths.js';
import type { RowsImage } from './image.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Serialises one Event record; compiled from the schema that the OpenAPI document shows. */
const serialiseEvent: (event: TimetableEvent) => string = build(EVENT_SCHEMA as unknown as Schema);

/** The bytes before each value of a row, and those behind the last: what the compiled serialiser puts around empty texts. */
export const ROW_FRAME: readonly Buffer[] = serialiseEvent(emptyEvent())
  .split('""')
  .map((piece) => Buffer.from(piece, 'utf8'));
export const ROW_FRAME_END: string = String(ROW_FRAME[OUTPUT_FIELDS.length]);

/** Bytes of a row without its id and the values of its columns: names, both times, the quotes of the id, and a comma. */
export const ROW_FRAME_BYTES: number =
  ROW_FRAME.reduce((sum, piece) => sum + piece.length, 0) + 2 * jsonByteLength(formatInstant(0)) + 3;

/** Bytes of a row in MessagePack without its values: the map's header and the names. */
export const PACKED_ROW_FRAME_BYTES: number = OUTPUT_FIELDS.reduce(
  (sum, field) => sum + packedByteLength(field.name),
  1,
);

function emptyEvent(): TimetableEvent {
  return Object.fromEntries(OUTPUT_FIELDS.map((field) => [field.name, ''])) as unknown as TimetableEvent;
}

/** Of so many rows one is compared with what the compiled serialiser makes of its event. */
const ROWS_PER_COMPARISON = 1024;

/**
 * Puts the rows of a snapshot together in one shared array of exactly the right size, from pieces that were made once for
 * each distinct value. To serialise whole events would take ten times as long, most of it for joining and encoding texts.
 * Lengths are known beforehand, and they and every 1,024th whole row are checked against the serialiser.
 */
export class RowWriter {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #start: Uint32Array;
  readonly #packedStart: Uint32Array;
  #ordinal = 0;
  #offset = 0;

  /**
   * What is written are rows with a bracket before the first and a comma before each other one.
   *
   * @param rowBytes for each ordinal the length of its row, without separators
   * @param packedBytes the same in MessagePack
   * @throws LecternError `source-too-large` where they do not fit into one arena
   */
  constructor(rowBytes: Uint32Array, packedBytes: Uint32Array) {
    let byteLength = 1 + Math.max(1, rowBytes.length);
    for (let ordinal = 0; ordinal < rowBytes.length; ordinal++) byteLength += rowBytes[ordinal]!;
    if (byteLength > ROW_BYTES_MAX) {
      throw new LecternError(
        'source-too-large',
        `the ${rowBytes.length} events take ${byteLength} bytes as JSON; one snapshot holds at most ${ROW_BYTES_MAX}`,
      );
    }
    const arena = shared.uint8(byteLength);
    this.#bytes = Buffer.from(arena.buffer, arena.byteOffset, arena.byteLength);
    this.#view = viewOf(arena);
    this.#bytes[0] = OPENING_BRACKET;
    this.#start = shared.uint32(rowBytes.length + 1);
    this.#start[0] = 1;
    for (let ordinal = 0; ordinal < rowBytes.length; ordinal++) {
      this.#start[ordinal + 1] = this.#start[ordinal]! + rowBytes[ordinal]! + 1;
    }
    this.#packedStart = shared.uint32(packedBytes.length + 1);
    for (let ordinal = 0; ordinal < packedBytes.length; ordinal++) {
      this.#packedStart[ordinal + 1] = this.#packedStart[ordinal]! + packedBytes[ordinal]!;
    }
  }

  /** Writes the next bytes of the row, source[from, to): part of its UTF-8. */
  write(source: DataView, from: number, to: number): void {
    copyText(source, from, to, this.#view, this.#offset);
    this.#offset += to - from;
  }

  /**
   * Ends the row. Rows come in order of ordinals.
   *
   * @param eventOf the event of an ordinal; asked for now and then
   */
  end(eventOf: (ordinal: number) => TimetableEvent): void {
    const ordinal = this.#ordinal++;
    if (this.#offset !== this.#start[ordinal + 1]! - 1) {
      throw new Error(`row ${ordinal} ends at ${this.#offset}, which is not what was measured`);
    }
    if (ordinal % ROWS_PER_COMPARISON === 0) {
      const row = this.#bytes.toString('utf8', this.#start[ordinal]!, this.#offset);
      if (row !== serialiseEvent(eventOf(ordinal)))
        throw new Error(`row ${ordinal} is not what the serialiser makes`);
    }
  }

  finish(): RowsImage {
    if (this.#ordinal !== this.#start.length - 1) throw new Error('rows are missing');
    this.#bytes[this.#bytes.length - 1] = CLOSING_BRACKET;
    return {
      bytes: new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length),
      start: this.#start,
      packedStart: this.#packedStart,
    };
  }
}

const ID_OFFSET = '{"id":'.length;

/** The rows of a snapshot, for reading. */
export class Rows {
  /** All rows as one JSON array. */
  readonly bytes: Buffer;
  /** Row n begins at start[n]; start[count] is one byte past the closing bracket or comma of the last. */
  readonly start: Uint32Array;
  /** Rows [m, n) take packedStart[n] - packedStart[m] bytes in MessagePack. */
  readonly packedStart: Uint32Array;

  constructor(image: RowsImage) {
    this.bytes = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength);
    this.start = image.start;
    this.packedStart = image.packedStart;
  }

  get count(): number {
    return this.start.length - 1;
  }

  /** The bytes of one row: a JSON object. A view of shared memory. */
  rowOf(ordinal: number): Buffer {
    return this.bytes.subarray(this.start[ordinal]!, this.start[ordinal + 1]! - 1);
  }

  /**
   * Whether an event has this id.
   *
   * @param text UTF-8 of the id as JSON has it between quotes
   */
  hasId(ordinal: number, text: Uint8Array): boolean {
    const from = this.start[ordinal]! + ID_OFFSET + 1;
    const end = from + text.length;
    if (end >= this.start[ordinal + 1]!) return false;
    return this.bytes[end] === QUOTE && this.bytes.compare(text, 0, text.length, from, end) === 0;
  }

  /** The id of an event, read from its row: `id` is the first field. */
  idOf(ordinal: number): string {
    const open = this.start[ordinal]! + ID_OFFSET;
    const end = this.start[ordinal + 1]!;
    let close = open + 1;
    let escaped = false;
    while (close < end && this.bytes[close] !== QUOTE) {
      if (this.bytes[close] === BACKSLASH) {
        escaped = true;
        close++;
      }
      close++;
    }
    if (close >= end) throw new Error(`row ${ordinal} has no id`);
    return escaped
      ? (JSON.parse(this.bytes.toString('utf8', open, close + 1)) as string)
      : this.bytes.toString('utf8', open + 1, close);
  }
}
