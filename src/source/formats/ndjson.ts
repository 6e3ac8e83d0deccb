import { isUtf8 } from 'node:buffer';
import { RECORD_BYTES_MAX } from '../../base/limits.js';
import { placeOf } from '../../base/model/json-fault.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { isPlainJsonText } from '../../base/model/text.js';
import { isSame, viewOf } from '../../base/structures/byte-strings.js';
import { addByte, addWord, endHash, HASH_BEGIN } from '../../base/structures/quick-hash.js';
import { MISSING, type Names, NULL, type Row } from '../../base/structures/row.js';
import { entriesOf, type FieldTable, LEFT_OUT } from '../field-map.js';
import { columnsOf } from '../map-value.js';
import { Carry, type FormatReader, JsonRecords, malformed } from './reader.js';

const LF = 0x0a;
/** Pieces to decode without trying the fast way, after it failed on most lines. */
const PIECES_DECODED = 15;
/**
 * Bytes of the beginning that are kept: enough for an array inside an object: `{ "count": 2, "events": [`.
 */
const WRAPPING_BYTES = 512;
/** An object with only plain values before its first array; captures the name of the array. */
const WRAPPED_ARRAY =
  /^\ufeff?\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*,)*\s*"([^"\\]{1,40})"\s*:\s*\[/;

/**
 * Newline-delimited JSON: one value a line. Blank lines are skipped, and unreadable lines rejected. The
 * source is malformed only if no line is JSON.
 */
export class NdjsonReader implements FormatReader {
  readonly format = 'ndjson';
  readonly selfDelimiting = false;
  /** Whether the last line has no LF and is not JSON. */
  endsCut = false;
  readonly #sourceName: string;
  readonly #table: FieldTable;
  readonly #records: JsonRecords;
  readonly #carry: Carry = new Carry();
  readonly #flatLines: FlatLines;
  /** The beginning of the source; null for lines that are not those of a file. */
  readonly #head: string | null;
  #line = 0;
  #piecesToDecode = 0;

  readonly #rules: ReadRules | undefined;
  readonly #hasLines: boolean;

  /** @param head of a file, whose lines name the place of a record */
  constructor(sourceName: string, table: FieldTable, rules?: ReadRules, head?: Buffer) {
    const hasLines = head !== undefined;
    this.#head = head?.toString('utf8', 0, WRAPPING_BYTES) ?? null;
    this.#sourceName = sourceName;
    this.#table = table;
    this.#rules = rules;
    this.#hasLines = hasLines;
    this.#records = new JsonRecords(table, rules, hasLines);
    this.#flatLines = new FlatLines(table);
  }

  get records(): number {
    return this.#records.count;
  }

  push(chunk: Buffer): void {
    const end = chunk.lastIndexOf(LF) + 1;
    let start = 0;
    if (end > 0 && this.#carry.length > 0) {
      start = chunk.indexOf(LF) + 1;
      this.#readLine(chunk, 0, start - 1);
    }
    if (start < end) this.#readLines(chunk.subarray(start, end));
    if (end < chunk.length) this.#carry.append(chunk, end, chunk.length);
  }

  finish(): void {
    const records = this.#records;
    if (this.#carry.length > 0) {
      const { count, decoded } = records;
      this.#readLine(Buffer.alloc(0), 0, 0);
      this.endsCut = records.count > count && records.decoded === decoded;
    }
    const wrapped = this.#head === null ? null : this.#wrappedArray(this.#head);
    if (wrapped !== null) {
      const found = `found an object around an array ${JSON.stringify(wrapped)}`;
      const expected = 'expected that array at the top level ([…]), or NDJSON (one record a line)';
      throw malformed(this.#sourceName, `line 1: ${found}; ${expected}`);
    }
    if (records.isHopeless) {
      const expected = 'expected NDJSON (one record a line), a JSON array, MessagePack or CSV';
      throw malformed(this.#sourceName, `${records.firstProblem}. No line is JSON by itself; ${expected}`);
    }
  }

  /**
   * The name of the array, if the source is one object around an array. Null for NDJSON, even if line 1 is cut
   * after a "[".
   */
  #wrappedArray(head: string): string | null {
    const { count, decoded, first } = this.#records;
    const match = WRAPPED_ARRAY.exec(head);
    if (match === null) return null;
    const [begin, name = ''] = match;
    if (count === 1) return typeof first === 'object' && first !== null && this.#hasId(first) ? null : name;
    const goesOn = decoded === 0 || begin.includes('\n') || /^[ \t\r]*\n/.test(head.slice(begin.length));
    return first === undefined && goesOn ? name : null;
  }

  #hasId(record: object): boolean {
    const id = entriesOf(this.#rules ?? { identifiers: 'uuid' }, this.format).get('id');
    return (id === undefined ? ['id'] : columnsOf(id)).every(
      (column) => column in record || (column.split('.')[0] as string) in record,
    );
  }

  /** @param bytes whole lines, each with its LF */
  #readLines(bytes: Buffer): void {
    const table = this.#table;
    const { row } = table;
    const records = this.#records;
    const lines = this.#flatLines;
    const isFlat =
      !table.needsObjects && this.#piecesToDecode-- <= 0 && bytes.length <= RECORD_BYTES_MAX && isUtf8(bytes);
    const view = viewOf(bytes);
    if (isFlat) lines.begin(bytes);
    let balance = 0;
    for (let start = 0; start < bytes.length; ) {
      // The first record is decoded for `finish`.
      let end = isFlat && records.count > 0 ? lines.read(bytes, view, start) : -1;
      if (end !== -1) {
        this.#line++;
        records.count++;
        records.decoded++;
        row.record = records.count;
        if (this.#hasLines) row.line = this.#line;
        table.give();
        balance++;
      } else {
        end = bytes.indexOf(LF, start);
        this.#readLine(bytes, start, end);
        balance--;
      }
      start = end + 1;
    }
    if (isFlat && balance < 0) this.#piecesToDecode = PIECES_DECODED;
  }

  #readLine(bytes: Buffer, start: number, end: number): void {
    const line = ++this.#line;
    const text = this.#records.textOf(this.#carry.end(bytes, start, end), line);
    if (text === null || isBlank(text)) return;
    const fault = this.#records.take(text, line);
    if (fault === null) return;
    const { column } = placeOf(text, fault.offset);
    const problem = `column ${column}: ${fault.problem}`;
    this.#records.reject(`line ${line}, ${problem}`, `the line is not JSON: ${problem}`);
  }
}

/** Whether a line has only JSON's white space and the CR of a CRLF. */
function isBlank(line: string): boolean {
  return line.length === 0 || (line.charCodeAt(0) <= 0x20 && /^[ \t\r]*$/.test(line));
}

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

const FOUR_QUOTES = 0x22222222;

/**
 * Finds the values of a record in a JSON line without decoding it. The line must be a flat object of texts and nulls,
 * without escaped or repeated names, with spaces only after colons and commas. JSON.parse reads all other lines. Names
 * usually have the order of the previous line, so the next name is guessed and compared.
 */
class FlatLines {
  readonly #row: Row;
  readonly #names: Names = { places: new Int32Array(32), count: 0, view: viewOf(Buffer.alloc(0)) };
  /** `"name":` of each column, as JSON.stringify writes it. */
  readonly #columns: readonly Buffer[];
  readonly #columnViews: readonly DataView[];
  readonly #columnLengths: Int32Array;
  /** For each column, its slot of the row, or LEFT_OUT. */
  readonly #slots: Int32Array;
  /** For each column, the column that last followed it. One more entry at the end has the column that last came first. */
  readonly #next: Int32Array;
  /** The first backslash at or after the last value for which this was asked. */
  #backslash = 0;

  constructor({ row, places }: Pick<FieldTable, 'row' | 'places'>) {
    this.#row = row;
    this.#columns = Array.from(places.keys(), (column) => Buffer.from(`${JSON.stringify(column)}:`));
    this.#columnViews = this.#columns.map(viewOf);
    this.#columnLengths = Int32Array.from(this.#columns, ({ length }) => length);
    this.#slots = Int32Array.from(places.values());
    this.#next = new Int32Array(places.size + 1);
  }

  /** Begins a chunk of lines. @param bytes UTF-8, with an LF at the end */
  begin(bytes: Buffer): void {
    this.#names.view = viewOf(bytes);
    this.#backslash = nextBackslash(bytes, 0);
  }

  /** Fills the row. @returns the place of the line's LF; -1 if the line must be decoded */
  read(bytes: Buffer, view: DataView, start: number): number {
    const row = this.#row;
    const names = this.#names;
    row.begin(bytes, view);
    names.count = 0;
    let at = start;
    if (bytes[at++] !== OPENING_BRACE) return -1;
    let before = this.#slots.length;
    for (;;) {
      const column = this.#columnAt(bytes, view, at, before);
      const slot = column === UNKNOWN ? LEFT_OUT : (this.#slots[column] as number);
      if (slot === LEFT_OUT) {
        at = this.#skip(bytes, view, at, column === UNKNOWN);
        if (at === -1) return -1;
      } else {
        if (row.kindOf(slot) !== MISSING) return -1;
        at += this.#columnLengths[column] as number;
        while (bytes[at] === SPACE) at++;
        if (bytes[at] === QUOTE) {
          at = this.#readValue(bytes, view, at + 1, slot);
          if (at === -1) return -1;
        } else if (isNull(bytes, view, at)) {
          row.clear(slot, NULL);
          at += 4;
        } else return -1;
      }
      if (column !== UNKNOWN) before = column;
      const byte = bytes[at++];
      if (byte === COMMA) {
        while (bytes[at] === SPACE) at++;
      } else if (byte === CLOSING_BRACE) {
        if (bytes[at] === CR) at++;
        if (bytes[at] !== LF) return -1;
        if (names.count > 0) row.names = names;
        return at;
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
   * Hashes up to the closing quote, four bytes at a time. XOR turns a quote into a zero byte, and subtracting 1 then sets
   * the highest bit of that byte. Subtracting 0x20 sets it for a control character, which no text of JSON may hold.
   */
  #readValue(bytes: Buffer, view: DataView, from: number, slot: number): number {
    const wordsEnd = bytes.length - 4;
    let hash = HASH_BEGIN;
    let at = from;
    for (; at <= wordsEnd; at += 4) {
      const word = view.getInt32(at, true);
      const zeroed = word ^ FOUR_QUOTES;
      const found = ((zeroed - 0x01010101) & ~zeroed) | ((word - 0x20202020) & ~word);
      if ((found & 0x80808080) !== 0) break;
      hash = addWord(hash, word);
    }
    // The loop ends: the last byte is a line break.
    for (; ; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) break;
      if (byte < SPACE) return -1;
      hash = addByte(hash, byte);
    }
    if (this.#backslash < from) this.#backslash = nextBackslash(bytes, from);
    if (this.#backslash < at) return this.#readEscaped(bytes, from, slot);
    this.#row.point(slot, from, at, endHash(hash));
    return at + 1;
  }

  /** Reads a text with a backslash. The quote after it may be escaped. */
  #readEscaped(bytes: Buffer, from: number, slot: number): number {
    let at = from;
    // The loop ends: the last byte is a line break.
    for (; bytes[at] !== QUOTE; at++) {
      if (bytes[at] === BACKSLASH) at++;
      if ((bytes[at] as number) < SPACE) return -1;
    }
    try {
      this.#row.put(slot, JSON.parse(bytes.toString('utf8', from - 1, at + 1)));
    } catch {
      return -1;
    }
    return at + 1;
  }

  /** Skips a name without a place, and its value if the value is a text or null. @param isListed whether to list the name */
  #skip(bytes: Buffer, view: DataView, start: number, isListed: boolean): number {
    let at = plainTextEnd(bytes, start);
    if (at === -1 || bytes[at] !== COLON) return -1;
    if (isListed) this.#list(start + 1, at - 1);
    at++;
    while (bytes[at] === SPACE) at++;
    return isNull(bytes, view, at) ? at + 4 : plainTextEnd(bytes, at);
  }

  #list(from: number, to: number): void {
    const names = this.#names;
    const place = 2 * names.count++;
    if (place === names.places.length) {
      const larger = new Int32Array(2 * place);
      larger.set(names.places);
      names.places = larger;
    }
    names.places[place] = from;
    names.places[place + 1] = to;
  }
}

function nextBackslash(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(BACKSLASH, from);
  return at === -1 ? bytes.length : at;
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
