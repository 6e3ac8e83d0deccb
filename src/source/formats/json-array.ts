import { isAscii } from 'node:buffer';
import { type JsonFault, placeOf } from '../../base/model/json-fault.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { FieldTable } from '../field-map.js';
import { Carry, type FormatReader, JsonRecords, malformed } from './reader.js';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** States are numbers, because they are compared at each token. */
const BEFORE_ARRAY = 0;
const FIRST_ELEMENT = 1;
const NEXT_ELEMENT = 2;
const AFTER_ELEMENT = 3;
const AFTER_ARRAY = 4;
/** The following states are inside an element. */
const CONTAINER = 5;
const STRING = 6;
const ESCAPE = 7;
const SCALAR = 8;

/** Bytes that end a run of plain bytes in a string, a container or a scalar. */
const STOPS_STRING: Uint8Array = tableOf(QUOTE, BACKSLASH, LF);
const STOPS_CONTAINER: Uint8Array = tableOf(QUOTE, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT, LF);
const ENDS_SCALAR: Uint8Array = tableOf(COMMA, CLOSE_ARRAY, TAB, LF, CR, SPACE);

function tableOf(...bytes: number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of bytes) table[byte] = 1;
  return table;
}

/**
 * One JSON array of records. The scanner finds the ends of elements; JSON.parse checks each element. A fault
 * inside an element rejects that record; damage between elements fails the whole source.
 */
export class JsonArrayReader implements FormatReader {
  readonly format = 'json-array';
  readonly selfDelimiting = true;
  readonly #sourceName: string;
  readonly #records: JsonRecords;
  readonly #carry: Carry = new Carry();
  readonly #place: TextPlace = new TextPlace();
  #state = BEFORE_ARRAY;
  #depth = 0;
  #opener = 0;
  #elementLine = 1;
  /** The column of the element. Kept up to date only until the first valid record or fault. */
  #elementColumn = 1;

  constructor(sourceName: string, table: FieldTable, rules?: ReadRules) {
    this.#sourceName = sourceName;
    this.#records = new JsonRecords(table, rules);
  }

  get records(): number {
    return this.#records.count;
  }

  push(chunk: Buffer): void {
    const end = chunk.length;
    let state = this.#state;
    /** Start of the element, or of its part in this chunk. */
    let start = 0;
    let i = 0;
    while (i < end) {
      switch (state) {
        case CONTAINER: {
          while (i < end && STOPS_CONTAINER[chunk[i] as number] === 0) i++;
          if (i === end) break;
          const byte = chunk[i++] as number;
          if (byte === QUOTE) state = STRING;
          else if (byte === LF) this.#place.newLine(i);
          else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth++;
          else if (--this.#depth === 0) {
            if (byte !== this.#opener + 2) throw this.#crossedBrackets(chunk, i - 1);
            state = this.#endElement(chunk, start, i);
          }
          break;
        }
        case STRING: {
          while (i < end && STOPS_STRING[chunk[i] as number] === 0) i++;
          if (i === end) break;
          const byte = chunk[i++] as number;
          if (byte === BACKSLASH) state = ESCAPE;
          else if (byte === LF) this.#place.newLine(i);
          else if (this.#depth > 0) state = CONTAINER;
          else state = this.#endElement(chunk, start, i);
          break;
        }
        case ESCAPE:
          // A backslash before a line break is not JSON, but the line break must still be counted.
          if (chunk[i] !== LF) i++;
          state = STRING;
          break;
        case SCALAR:
          while (i < end && ENDS_SCALAR[chunk[i] as number] === 0) i++;
          if (i === end) break;
          state = this.#endElement(chunk, start, i);
          break;
        default: {
          const byte = chunk[i] as number;
          if (byte === SPACE || byte === CR || byte === TAB) {
            i++;
          } else if (byte === LF) {
            this.#place.newLine(++i);
          } else {
            state = this.#between(state, chunk, i);
            start = i;
            i++;
          }
        }
      }
    }
    if (state >= CONTAINER) this.#carry.append(chunk, start, end);
    this.#state = state;
    this.#place.leave(chunk);
  }

  finish(): void {
    if (this.#state !== AFTER_ARRAY) {
      throw this.#damage(
        `the source ends inside ${this.#missing()}`,
        this.#place.columnAt(Buffer.alloc(0), 0),
      );
    }
    const { isHopeless, firstProblem } = this.#records;
    if (isHopeless) throw malformed(this.#sourceName, `${firstProblem}. No record of the array is JSON`);
  }

  #between(state: number, chunk: Buffer, at: number): number {
    const byte = chunk[at] as number;
    switch (state) {
      case BEFORE_ARRAY:
        return FIRST_ELEMENT;
      case AFTER_ARRAY:
        throw this.#unexpected(chunk, at, ' after the end of the array; expected nothing more');
      case AFTER_ELEMENT:
        if (byte === COMMA) return NEXT_ELEMENT;
        if (byte === CLOSE_ARRAY) return AFTER_ARRAY;
        throw this.#unexpected(chunk, at, ` after record ${this.records}; expected "," or "]"`);
    }
    if (byte === CLOSE_ARRAY && state === FIRST_ELEMENT) return AFTER_ARRAY;
    if (byte === CLOSE_ARRAY || byte === COMMA || byte === CLOSE_OBJECT) {
      throw this.#unexpected(chunk, at, `; expected ${this.#aRecord()}`);
    }
    this.#elementLine = this.#place.line;
    const { decoded, firstProblem } = this.#records;
    if (decoded === 0 && firstProblem === null) this.#elementColumn = this.#place.columnAt(chunk, at);
    this.#opener = byte;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      this.#depth = 1;
      return CONTAINER;
    }
    this.#depth = 0;
    return byte === QUOTE ? STRING : SCALAR;
  }

  #missing(): string {
    if (this.#state === AFTER_ELEMENT) return 'the array; expected "," or "]"';
    if (this.#state <= NEXT_ELEMENT) return `the array; expected ${this.#aRecord()}`;
    return `record ${this.records + 1}, which begins on line ${this.#elementLine}; expected its end and "]"`;
  }

  #aRecord(): string {
    return this.records === 0 ? 'a record or "]"' : 'a record';
  }

  #endElement(chunk: Buffer, start: number, end: number): number {
    const records = this.#records;
    const text = records.textOf(this.#carry.end(chunk, start, end), this.#elementLine);
    const fault = text === null ? null : records.take(text, this.#elementLine);
    if (text !== null && fault !== null) this.#reject(text, fault);
    return AFTER_ELEMENT;
  }

  #reject(text: string, fault: JsonFault): void {
    const place = placeOf(text, fault.offset);
    const isFirstLine = place.line === 1;
    const column = isFirstLine ? this.#elementColumn + place.column - 1 : place.column;
    const line = this.#elementLine + place.line - 1;
    const where = isFirstLine ? `character ${place.column} of the record` : `line ${line}, column ${column}`;
    this.#records.reject(
      `line ${line}, column ${column}: ${fault.problem}`,
      `the record is not JSON: ${where}: ${fault.problem}`,
    );
  }

  #crossedBrackets(chunk: Buffer, at: number): Error {
    const opener = String.fromCharCode(this.#opener);
    const opened = `record ${this.records + 1}, which begins with "${opener}" on line ${this.#elementLine}`;
    return this.#unexpected(
      chunk,
      at,
      ` at the end of ${opened}; a bracket is missing before this ${showByte(chunk[at] as number)}`,
    );
  }

  #unexpected(chunk: Buffer, at: number, problem: string): Error {
    return this.#damage(`found ${showByte(chunk[at] as number)}${problem}`, this.#place.columnAt(chunk, at));
  }

  #damage(problem: string, column: number): Error {
    return malformed(this.#sourceName, `line ${this.#place.line}, column ${column}: ${problem}`);
  }
}

/** Line and column in a text that arrives in chunks. Columns count code points from 1. */
class TextPlace {
  line = 1;
  /** Start of the line in this chunk; 0 if the line began earlier. */
  #lineStart = 0;
  /** Characters of this line in earlier chunks. */
  #charactersBefore = 0;

  newLine(start: number): void {
    this.line++;
    this.#lineStart = start;
    this.#charactersBefore = 0;
  }

  columnAt(chunk: Buffer, offset: number): number {
    const bytes = chunk.subarray(this.#lineStart, offset);
    if (isAscii(bytes)) return this.#charactersBefore + bytes.length + 1;
    let column = this.#charactersBefore + 1;
    for (let i = 0; i < bytes.length; i++) {
      // Continuation bytes (10xxxxxx) begin no character.
      if (((bytes[i] as number) & 0xc0) !== 0x80) column++;
    }
    return column;
  }

  leave(chunk: Buffer): void {
    this.#charactersBefore = this.columnAt(chunk, chunk.length) - 1;
    this.#lineStart = 0;
  }
}

function showByte(byte: number): string {
  if (byte >= 0x80) return 'a character that is not ASCII';
  if (byte < 0x20 || byte === 0x7f) return `the control character U+00${byte.toString(16).padStart(2, '0')}`;
  return byte === QUOTE ? `'"'` : `"${String.fromCharCode(byte)}"`;
}
