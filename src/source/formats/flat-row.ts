import { FIELDS, type FieldName } from '../../model/fields.js';
import { addByte, addWord, endHash, HASH_BEGIN } from '../../structures/quick-hash.js';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const FOUR_QUOTES = 0x22222222;
const NO_FIELD = -1;
/** By place: whether the field may be an empty text. Identifiers and times cannot be empty. */
const CAN_BE_EMPTY: Uint8Array = new Uint8Array(3 * FIELDS.length);
for (const [n, { kind }] of FIELDS.entries()) CAN_BE_EMPTY[3 * n] = kind === 'text' ? 1 : 0;

/**
 * Finds the values of an event in a row of CSV without decoding it, as FlatLines does for NDJSON. The cells
 * of the row must have no control characters and no doubled quotes. RowScanner reads all other rows.
 */
export class FlatRows {
  /** Values of the last row, unchecked: see `undecoded` of RecordSink. */
  readonly spans: Int32Array = new Int32Array(3 * FIELDS.length).fill(-1);
  /** For each column: the index of its value in the spans, or NO_FIELD. */
  readonly #places: Int32Array;
  readonly #delimiter: number;
  readonly #fourDelimiters: number;

  /** @param fields of the columns; null for a column without a field */
  constructor(fields: readonly (FieldName | null)[], delimiter: number) {
    this.#places = Int32Array.from(fields, (field) =>
      field === null ? NO_FIELD : 3 * FIELDS.findIndex(({ name }) => name === field),
    );
    this.#delimiter = delimiter;
    this.#fourDelimiters = Math.imul(delimiter, 0x01010101);
  }

  /**
   * @param bytes UTF-8, with a CR or LF at the end. @returns the place of the row's CR or LF; -1 if the row
   * must be decoded
   */
  read(bytes: Uint8Array, view: DataView, start: number): number {
    const places = this.#places;
    const delimiter = this.#delimiter;
    const last = places.length - 1;
    let at = start;
    for (let column = 0; ; column++) {
      const place = places[column] as number;
      if (bytes[at] === QUOTE) {
        at = this.#readQuoted(bytes, view, at + 1, place);
      } else {
        at = place === NO_FIELD ? this.#skipPlain(bytes, at) : this.#readPlain(bytes, view, at, place);
      }
      if (at === -1) return -1;
      const byte = bytes[at] as number;
      if (byte === delimiter) {
        if (column === last) return -1;
        at++;
      } else if (byte === LF || byte === CR) return column === last ? at : -1;
      else return -1;
    }
  }

  /**
   * Hashes up to the delimiter or the end of the row, four bytes at a time. XOR turns a delimiter into a zero byte, and
   * subtracting 1 then sets the highest bit of that byte. Subtracting 0x10 sets it for a byte below 0x10.
   */
  #readPlain(bytes: Uint8Array, view: DataView, from: number, place: number): number {
    const delimiter = this.#delimiter;
    const fourDelimiters = this.#fourDelimiters;
    const wordsEnd = bytes.length - 4;
    let hash = HASH_BEGIN;
    let at = from;
    for (; at <= wordsEnd; at += 4) {
      const word = view.getInt32(at, true);
      const zeroed = word ^ fourDelimiters;
      const found = ((zeroed - 0x01010101) & ~zeroed) | ((word - 0x10101010) & ~word);
      if ((found & 0x80808080) !== 0) break;
      hash = addWord(hash, word);
    }
    for (; ; at++) {
      const byte = bytes[at] as number;
      if (byte === delimiter || byte === LF || byte === CR) break;
      if (byte < 0x10 && byte !== TAB) return -1;
      hash = addByte(hash, byte);
    }
    this.#found(place, from, at, hash, false);
    return at;
  }

  #skipPlain(bytes: Uint8Array, from: number): number {
    const delimiter = this.#delimiter;
    for (let at = from; ; at++) {
      const byte = bytes[at] as number;
      if (byte === delimiter || byte === LF || byte === CR) return at;
      if (byte < 0x10 && byte !== TAB) return -1;
    }
  }

  #readQuoted(bytes: Uint8Array, view: DataView, from: number, place: number): number {
    const wordsEnd = bytes.length - 4;
    let hash = HASH_BEGIN;
    let at = from;
    for (; at <= wordsEnd; at += 4) {
      const word = view.getInt32(at, true);
      const zeroed = word ^ FOUR_QUOTES;
      const found = ((zeroed - 0x01010101) & ~zeroed) | ((word - 0x10101010) & ~word);
      if ((found & 0x80808080) !== 0) break;
      hash = addWord(hash, word);
    }
    for (; ; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) break;
      // The loop ends: the last byte of `bytes` is a line break, which is below 0x10.
      if (byte < 0x10) return -1;
      hash = addByte(hash, byte);
    }
    if (place !== NO_FIELD) this.#found(place, from, at, hash, CAN_BE_EMPTY[place] === 1);
    return at + 1;
  }

  /** An empty cell has no value, but a pair of quotes is an empty text. */
  #found(place: number, from: number, to: number, hash: number, canBeEmpty: boolean): void {
    const { spans } = this;
    spans[place] = from === to && !canBeEmpty ? -1 : from;
    spans[place + 1] = to;
    spans[place + 2] = endHash(hash);
  }
}
