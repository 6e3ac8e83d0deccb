import { FIELDS } from '../../model/fields.js';
import { isPlainJsonText } from '../../model/text.js';
import { isSame, viewOf } from '../../structures/byte-strings.js';
import { addByte, addWord, endHash, HASH_BEGIN, quickHash } from '../../structures/quick-hash.js';
import type { FieldColumns } from '../field-columns.js';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LETTER_N = 0x6e;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
/** `null`, read as a little-endian number. */
const NULL_WORD = 0x6c6c756e;

const UNKNOWN = -1;
/** Marks a column to leave out. Lines with such a column must be decoded. */
const LEFT_OUT = -1;

const FOUR_QUOTES = 0x22222222;

/**
 * Finds the values of an event in a JSON line without decoding it. The line must be a flat object of texts and nulls,
 * without escaped or repeated names, with spaces only after colons and commas. JSON.parse reads all other lines. Names
 * usually have the order of the previous line, so the next name is guessed and compared.
 */
export class FlatLines {
  /** Values of the last line, unchecked: see `undecoded` of RecordSink. */
  readonly spans: Int32Array = new Int32Array(3 * FIELDS.length);
  /** Other names of the line: plain texts, perhaps repeated. */
  readonly names: { places: Int32Array; count: number } = { places: new Int32Array(32), count: 0 };
  /** `"name":` of each column, as JSON.stringify writes it. */
  readonly #columns: readonly Buffer[];
  readonly #columnViews: readonly DataView[];
  readonly #columnLengths: Int32Array;
  /** For each column, the number of its field, or LEFT_OUT. */
  readonly #fields: Int32Array;
  /** For each column, the column that last followed it. One more entry at the end has the column that last came first. */
  readonly #next: Int32Array;

  constructor(columns: FieldColumns) {
    this.#columns = Array.from(columns.keys(), (column) => Buffer.from(`${JSON.stringify(column)}:`));
    this.#columnViews = this.#columns.map(viewOf);
    this.#columnLengths = Int32Array.from(this.#columns, ({ length }) => length);
    this.#fields = Int32Array.from(columns.values(), (field) =>
      field === null ? LEFT_OUT : FIELDS.findIndex(({ name }) => name === field),
    );
    this.#next = new Int32Array(columns.size + 1);
  }

  /**
   * @param bytes UTF-8, with an LF at the end. @returns the place of the line's LF; -1 if the line must be
   * decoded
   */
  read(bytes: Uint8Array, view: DataView, start: number): number {
    const { spans } = this;
    for (let n = 0; n < spans.length; n++) spans[n] = -1;
    this.names.count = 0;
    let at = start;
    if (bytes[at++] !== OPENING_BRACE) return -1;
    let before = this.#fields.length;
    let seen = 0;
    for (;;) {
      const column = this.#columnAt(bytes, view, at, before);
      if (column === UNKNOWN) {
        at = this.#skipUnknown(bytes, view, at);
        if (at === -1) return -1;
      } else {
        const field = this.#fields[column] as number;
        if (field === LEFT_OUT || (seen & (1 << field)) !== 0) return -1;
        seen |= 1 << field;
        before = column;
        at += this.#columnLengths[column] as number;
        while (bytes[at] === SPACE) at++;
        if (bytes[at] === QUOTE) {
          at = this.#readValue(bytes, view, at + 1, 3 * field);
          if (at === -1) return -1;
        } else if (isNull(bytes, view, at)) at += 4;
        else return -1;
      }
      const byte = bytes[at++];
      if (byte === COMMA) {
        while (bytes[at] === SPACE) at++;
      } else if (byte === CLOSING_BRACE) {
        if (bytes[at] === CR) at++;
        return bytes[at] === LF ? at : -1;
      } else return -1;
    }
  }

  #columnAt(bytes: Uint8Array, view: DataView, at: number, before: number): number {
    const guess = this.#next[before] as number;
    const length = this.#columnLengths[guess] as number;
    if (at + length <= bytes.length && isSame(this.#columnViews[guess] as DataView, 0, view, at, length))
      return guess;
    const column = findColumn(this.#columns, bytes, at);
    if (column !== UNKNOWN) this.#next[before] = column;
    return column;
  }

  /**
   * Hashes up to the closing quote, four bytes at a time. XOR turns a quote into a zero byte, and the subtraction then
   * sets the highest bit of that byte.
   */
  #readValue(bytes: Uint8Array, view: DataView, from: number, place: number): number {
    let hash = HASH_BEGIN;
    let at = from;
    for (; at + 4 <= bytes.length; at += 4) {
      const word = view.getInt32(at, true);
      const zeroed = word ^ FOUR_QUOTES;
      if (((zeroed - 0x01010101) & ~zeroed & 0x80808080) !== 0) break;
      hash = addWord(hash, word);
    }
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        if (bytes[at - 1] === BACKSLASH) return this.#readEscaped(bytes, view, from, place);
        return this.#found(place, from, at, endHash(hash));
      }
      hash = addByte(hash, byte);
    }
    return -1;
  }

  /** Reads a text with a backslash before a quote, because this quote may be escaped. */
  #readEscaped(bytes: Uint8Array, view: DataView, from: number, place: number): number {
    for (let at = from; at < bytes.length; at++) {
      if (bytes[at] === BACKSLASH) at++;
      else if (bytes[at] === QUOTE) return this.#found(place, from, at, quickHash(view, from, at));
    }
    return -1;
  }

  /** Skips a name that is not a field, and its value if the value is a text or null. */
  #skipUnknown(bytes: Uint8Array, view: DataView, start: number): number {
    let at = plainTextEnd(bytes, start);
    if (at === -1 || bytes[at] !== COLON) return -1;
    const { names } = this;
    const place = 2 * names.count++;
    if (place === names.places.length) {
      const larger = new Int32Array(2 * place);
      larger.set(names.places);
      names.places = larger;
    }
    names.places[place] = start + 1;
    names.places[place + 1] = at - 1;
    at++;
    while (bytes[at] === SPACE) at++;
    return isNull(bytes, view, at) ? at + 4 : plainTextEnd(bytes, at);
  }

  #found(place: number, from: number, to: number, hash: number): number {
    this.spans[place] = from;
    this.spans[place + 1] = to;
    this.spans[place + 2] = hash;
    return to + 1;
  }
}

/** A function of its own: inside `#columnAt`, its closure would be allocated on each call. */
function findColumn(columns: readonly Buffer[], bytes: Uint8Array, at: number): number {
  return columns.findIndex((each) => startsWith(bytes, at, each));
}

function startsWith(bytes: Uint8Array, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

function isNull(bytes: Uint8Array, view: DataView, at: number): boolean {
  return bytes[at] === LETTER_N && at + 4 <= bytes.length && view.getInt32(at, true) === NULL_WORD;
}

function plainTextEnd(bytes: Uint8Array, start: number): number {
  if (bytes[start] !== QUOTE) return -1;
  const end = bytes.indexOf(QUOTE, start + 1);
  return end !== -1 && isPlainJsonText(bytes, start + 1, end) ? end + 1 : -1;
}
