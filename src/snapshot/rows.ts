import build, { type Schema } from 'fast-json-stringify';
import { LecternError } from '../errors.js';
import { ROW_BYTES_MAX } from '../limits.js';
import type { TimetableEvent } from '../model/event.js';
import { OUTPUT_FIELDS } from '../model/fields.js';
import { EVENT_SCHEMA } from '../model/schemas.js';
import { sharedUint8, sharedUint32 } from '../structures/shared.js';
import { packedByteLength } from './byte-lengths.js';
import type { RowsImage } from './image.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Serialises one Event record; compiled from the schema that the OpenAPI document shows. */
const serialiseEvent: (event: TimetableEvent) => string = build(EVENT_SCHEMA as unknown as Schema);

/** The bytes before each value of a row, and those behind the last: what the compiled serialiser puts around empty texts. */
const FRAME: readonly Buffer[] = serialiseEvent(emptyEvent())
  .split('""')
  .map((piece) => Buffer.from(piece, 'utf8'));
const FRAME_END = FRAME[OUTPUT_FIELDS.length] as Buffer;

/** Bytes of a row without its values: braces, quoted names, colons, commas. */
export const ROW_FRAME_BYTES: number = FRAME.reduce((sum, piece) => sum + piece.length, 0);

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
const SPACE = 0x20;
const DELETE = 0x7f;

/**
 * Writes the rows of a snapshot into one shared array of exactly the right size. Values are written as bytes that were
 * made once for each distinct value; to serialise whole events would take ten times as long, most of it for joining and
 * encoding texts. Lengths are known beforehand, and they, the frame and every 1,024th whole row are checked against the
 * serialiser.
 */
export class RowWriter {
  readonly #bytes: Buffer;
  readonly #start: Uint32Array;
  readonly #packedStart: Uint32Array;
  #ordinal = 0;
  #offset = 1;
  /** Values of the present row so far. */
  #values = 0;

  /**
   * @param rowBytes for each ordinal the length of its row, without separators
   * @param packedBytes the same in MessagePack
   * @throws LecternError `source-too-large` where they do not fit into one arena
   */
  constructor(rowBytes: Uint32Array, packedBytes: Uint32Array) {
    let byteLength = 1 + Math.max(1, rowBytes.length);
    for (const length of rowBytes) byteLength += length;
    if (byteLength > ROW_BYTES_MAX) {
      throw new LecternError(
        'source-too-large',
        `the ${rowBytes.length} events take ${byteLength} bytes as JSON; one snapshot holds at most ${ROW_BYTES_MAX}`,
      );
    }
    const shared = sharedUint8(byteLength);
    this.#bytes = Buffer.from(shared.buffer);
    this.#bytes[0] = OPENING_BRACKET;
    this.#start = sharedUint32(rowBytes.length + 1);
    this.#start[0] = 1;
    for (let ordinal = 0; ordinal < rowBytes.length; ordinal++) {
      this.#start[ordinal + 1] = this.#start[ordinal]! + rowBytes[ordinal]! + 1;
    }
    this.#packedStart = sharedUint32(packedBytes.length + 1);
    for (let ordinal = 0; ordinal < packedBytes.length; ordinal++) {
      this.#packedStart[ordinal + 1] = this.#packedStart[ordinal]! + packedBytes[ordinal]!;
    }
  }

  /** Writes the next value of the row: its JSON is source[from, to). */
  value(source: Uint8Array, from: number, to: number): void {
    const frame = FRAME[this.#values++] as Buffer;
    this.#copy(frame, 0, frame.length);
    this.#copy(source, from, to);
  }

  /** The same for a text whose JSON was not made before. */
  text(value: string): void {
    const frame = FRAME[this.#values++] as Buffer;
    this.#copy(frame, 0, frame.length);
    const bytes = this.#bytes;
    const begin = this.#offset;
    let at = begin;
    bytes[at++] = QUOTE;
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit < SPACE || unit >= DELETE || unit === QUOTE || unit === BACKSLASH) {
        this.#offset = begin + bytes.write(JSON.stringify(value), begin, 'utf8');
        return;
      }
      bytes[at++] = unit;
    }
    bytes[at++] = QUOTE;
    this.#offset = at;
  }

  /**
   * Ends the row. Rows come in order of ordinals.
   *
   * @param event the one that the row is of; asked for now and then
   */
  end(event: () => TimetableEvent): void {
    this.#copy(FRAME_END, 0, FRAME_END.length);
    const ordinal = this.#ordinal++;
    if (this.#values !== OUTPUT_FIELDS.length || this.#offset !== this.#start[ordinal + 1]! - 1) {
      throw new Error(`row ${ordinal} ends at ${this.#offset}, which is not what was measured`);
    }
    if (ordinal % ROWS_PER_COMPARISON === 0) {
      const row = this.#bytes.toString('utf8', this.#start[ordinal]!, this.#offset);
      if (row !== serialiseEvent(event())) throw new Error(`row ${ordinal} is not what the serialiser makes`);
    }
    this.#bytes[this.#offset++] = COMMA;
    this.#values = 0;
  }

  /** In a loop: for a few dozen bytes a call into the engine costs more than they do. */
  #copy(source: Uint8Array, from: number, to: number): void {
    const target = this.#bytes;
    let at = this.#offset;
    for (let i = from; i < to; i++) target[at++] = source[i]!;
    this.#offset = at;
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

  /** The id of an event, read from its row: `id` is the first field. */
  idOf(ordinal: number): string {
    const open = this.start[ordinal]! + ID_OFFSET;
    let close = open + 1;
    let escaped = false;
    // Terminates: every row holds the closing quote of its id.
    while (this.bytes[close] !== QUOTE) {
      if (this.bytes[close] === BACKSLASH) {
        escaped = true;
        close++;
      }
      close++;
    }
    return escaped
      ? (JSON.parse(this.bytes.toString('utf8', open, close + 1)) as string)
      : this.bytes.toString('utf8', open + 1, close);
  }
}
