import { isUtf8 } from 'node:buffer';
import { OUTPUT_FIELDS } from '../model/fields.js';
import { viewOf } from '../structures/byte-strings.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import { packedTextLength } from './byte-lengths.js';
import type { RowsImage } from './image.js';
import { PACKED_ROW_FRAME_BYTES, ROW_FRAME } from './rows.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NULL = Buffer.from('null');
const PACKED_NULL_BYTES = 1;

/**
 * Goes through all rows: each is where it should be, has all fields in their order, and the length in MessagePack that is told of it.
 *
 * @param count of events
 * @param hash of ids
 * @returns for each ordinal the hash of its id
 * @throws Error that says what is wrong
 */
export function checkRows(
  { bytes, start, packedStart }: RowsImage,
  count: number,
  hash: KeyedHash,
): Uint32Array {
  const hashes = new Uint32Array(count);
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (source[0] !== OPENING_BRACKET) throw new Error('rows begin wrongly');
  if (source[source.length - 1] !== CLOSING_BRACKET) throw new Error('rows end wrongly');
  if (!isUtf8(source)) throw new Error('rows are not UTF-8');
  const scan = new RowScan(source, hash);
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const end = start[ordinal + 1]! - 1;
    const packed = scan.row(start[ordinal]!, end);
    if (packed < 0) throw new Error(`row ${ordinal} is no row`);
    if (packedStart[ordinal + 1]! - packedStart[ordinal]! !== packed) {
      throw new Error(`row ${ordinal} has another length in MessagePack`);
    }
    if (ordinal + 1 < count && source[end] !== COMMA) throw new Error(`no comma follows row ${ordinal}`);
    hashes[ordinal] = scan.idHash;
  }
  return hashes;
}

class RowScan {
  readonly #source: Buffer;
  readonly #view: DataView;
  readonly #hash: KeyedHash;
  /** Of the row that was gone through last. */
  idHash = 0;

  constructor(source: Buffer, hash: KeyedHash) {
    this.#source = source;
    this.#view = viewOf(source);
    this.#hash = hash;
  }

  /** The length in MessagePack of the row [from, end); -1 where that is no row. */
  row(from: number, end: number): number {
    let at = from;
    let packed = PACKED_ROW_FRAME_BYTES;
    for (let field = 0; field < OUTPUT_FIELDS.length; field++) {
      at = this.#pass(ROW_FRAME[field]!, at, end);
      if (at < 0) return -1;
      if (field > 0 && this.#source[at] !== QUOTE) {
        at = this.#pass(NULL, at, end);
        if (at < 0) return -1;
        packed += PACKED_NULL_BYTES;
        continue;
      }
      const close = this.#closeOf(at, end);
      if (close < 0) return -1;
      packed += packedTextLength(this.#textLength(at, close, field === 0));
      at = close + 1;
    }
    return this.#pass(ROW_FRAME[OUTPUT_FIELDS.length]!, at, end) === end ? packed : -1;
  }

  #isEscaped = false;

  /** Where the string ends that begins at `open`, by its closing quote; -1 where it does not. */
  #closeOf(open: number, end: number): number {
    const source = this.#source;
    if (source[open] !== QUOTE) return -1;
    this.#isEscaped = false;
    let at = open + 1;
    for (let byte = source[at]!; at < end && byte !== QUOTE; byte = source[at]!) {
      // RFC 8259 section 7: control characters are escaped.
      if (byte < 0x20) return -1;
      if (byte === BACKSLASH) {
        this.#isEscaped = true;
        at++;
      }
      at++;
    }
    return at < end ? at : -1;
  }

  /** Of the string between these quotes, in bytes; throws where its escapes are none. */
  #textLength(open: number, close: number, isId: boolean): number {
    if (!this.#isEscaped) {
      if (isId) this.idHash = this.#hash.bytes(this.#view, open + 1, close);
      return close - open - 1;
    }
    const text = Buffer.from(JSON.parse(this.#source.toString('utf8', open, close + 1)) as string, 'utf8');
    if (isId) this.idHash = this.#hash.bytes(viewOf(text), 0, text.length);
    return text.length;
  }

  /** The offset behind these bytes; -1 where they are not there. */
  #pass(bytes: Buffer, from: number, end: number): number {
    if (from + bytes.length > end) return -1;
    for (let i = 0; i < bytes.length; i++) if (this.#source[from + i] !== bytes[i]) return -1;
    return from + bytes.length;
  }
}
