import { isAscii, isUtf8 } from 'node:buffer';
import { RECORD_BYTES_MAX } from '../../limits.js';
import type { RecordPosition } from '../../model/event.js';
import { findJsonFault, placeOf } from '../../model/json-fault.js';
import type { RecordSink } from '../source.js';
import { Carry } from './carry.js';
import { type FormatReader, malformed, rejectNotUtf8, rejectTooLarge, rejectUndecodable } from './reader.js';
import { TextPlace } from './text-place.js';

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

/** Where the scanner is. Numbers, because this is asked once per token. */
const BEFORE_ARRAY = 0;
const FIRST_ELEMENT = 1;
const NEXT_ELEMENT = 2;
const CONTAINER = 3;
const STRING = 4;
const ESCAPE = 5;
const SCALAR = 6;
const AFTER_ELEMENT = 7;
const AFTER_ARRAY = 8;

/** Bytes that mean something inside a string, and inside an object or array. */
const STOPS_STRING: Uint8Array = tableOf(QUOTE, BACKSLASH, LF);
const STOPS_CONTAINER: Uint8Array = tableOf(QUOTE, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT, LF);
const ENDS_SCALAR: Uint8Array = tableOf(COMMA, CLOSE_ARRAY, TAB, LF, CR, SPACE);

function tableOf(...bytes: number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of bytes) table[byte] = 1;
  return table;
}

/**
 * One JSON array of records. The scanner only finds where an element ends (brackets, strings, escapes); JSON.parse
 * judges the element. So an element that is not JSON inside its own brackets costs that record only, whereas damage
 * between elements, where nobody can say what was meant, makes the source malformed.
 */
export class JsonArrayReader implements FormatReader {
  readonly format = 'json-array';
  readonly selfDelimiting = true;
  readonly #sourceName: string;
  readonly #sink: RecordSink;
  readonly #carry: Carry = new Carry();
  readonly #place: TextPlace = new TextPlace();
  #state = BEFORE_ARRAY;
  /** Open brackets of the element. */
  #depth = 0;
  /** The bracket that opened the element. */
  #opener = 0;
  #elementLine = 1;
  /** Known until the first element was decoded: only the first fault of a hopeless source needs it. */
  #elementColumn = 1;
  #records = 0;
  #decoded = 0;
  #firstProblem: string | null = null;

  constructor(sourceName: string, sink: RecordSink) {
    this.#sourceName = sourceName;
    this.#sink = sink;
  }

  get records(): number {
    return this.#records;
  }

  push(chunk: Buffer): void {
    const ascii = isAscii(chunk);
    this.#place.enter(chunk, ascii);
    const end = chunk.length;
    let state = this.#state;
    /** Where the part of the present element that lies in this chunk begins. */
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
            if (byte !== this.#opener + 2) throw this.#crossedBrackets(byte, i - 1);
            this.#endElement(chunk, start, i, ascii);
            state = AFTER_ELEMENT;
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
          else {
            this.#endElement(chunk, start, i, ascii);
            state = AFTER_ELEMENT;
          }
          break;
        }
        case ESCAPE:
          // An escaped line break is not JSON, but it is a line break.
          if (chunk[i] !== LF) i++;
          state = STRING;
          break;
        case SCALAR:
          while (i < end && ENDS_SCALAR[chunk[i] as number] === 0) i++;
          if (i === end) break;
          this.#endElement(chunk, start, i, ascii);
          state = AFTER_ELEMENT;
          break;
        default: {
          const byte = chunk[i] as number;
          if (byte === SPACE || byte === CR || byte === TAB) {
            i++;
          } else if (byte === LF) {
            this.#place.newLine(++i);
          } else {
            state = this.#between(state, byte, i);
            start = i;
            i++;
          }
        }
      }
    }
    const open = state === CONTAINER || state === STRING || state === ESCAPE || state === SCALAR;
    if (open) this.#carry.append(chunk, start, end);
    this.#state = state;
    this.#place.leave();
  }

  finish(): void {
    switch (this.#state) {
      case AFTER_ARRAY:
        break;
      case FIRST_ELEMENT:
      case NEXT_ELEMENT:
        throw this.#damage(`the source ends inside the array; expected a record${this.#orClose()}`);
      case AFTER_ELEMENT:
        throw this.#damage('the source ends inside the array; expected "," or "]"');
      default: {
        const where = `record ${this.#records + 1}, which begins on line ${this.#elementLine}`;
        throw this.#damage(`the source ends inside ${where}; expected its end and "]"`);
      }
    }
    if (this.#decoded === 0 && this.#firstProblem !== null) {
      throw malformed(this.#sourceName, `${this.#firstProblem}. No record of the array is JSON`);
    }
  }

  /** A byte between elements: says what it begins or ends. */
  #between(state: number, byte: number, at: number): number {
    switch (state) {
      case BEFORE_ARRAY:
        return FIRST_ELEMENT;
      case AFTER_ARRAY:
        throw this.#damage(`found ${showByte(byte)} behind the end of the array; expected nothing more`, at);
      case AFTER_ELEMENT:
        if (byte === COMMA) return NEXT_ELEMENT;
        if (byte === CLOSE_ARRAY) return AFTER_ARRAY;
        throw this.#damage(`found ${showByte(byte)} behind record ${this.#records}; expected "," or "]"`, at);
    }
    if (byte === CLOSE_ARRAY && state === FIRST_ELEMENT) return AFTER_ARRAY;
    if (byte === CLOSE_ARRAY || byte === COMMA || byte === CLOSE_OBJECT) {
      throw this.#damage(`found ${showByte(byte)}; expected a record${this.#orClose()}`, at);
    }
    this.#elementLine = this.#place.line;
    if (this.#decoded === 0 && this.#firstProblem === null) this.#elementColumn = this.#place.columnAt(at);
    this.#opener = byte;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      this.#depth = 1;
      return CONTAINER;
    }
    this.#depth = 0;
    return byte === QUOTE ? STRING : SCALAR;
  }

  #orClose(): string {
    return this.#records === 0 ? ' or "]"' : '';
  }

  #endElement(chunk: Buffer, start: number, end: number, ascii: boolean): void {
    const position: RecordPosition = { record: ++this.#records, line: this.#elementLine };
    let byteLength = end - start;
    let text: string | null = null;
    if (this.#carry.length === 0) {
      if (byteLength > RECORD_BYTES_MAX) text = null;
      else if (ascii) text = chunk.toString('latin1', start, end);
      else if (isUtf8(chunk.subarray(start, end))) text = chunk.toString('utf8', start, end);
    } else {
      this.#carry.append(chunk, start, end);
      byteLength = this.#carry.length;
      if (!this.#carry.overflown) {
        const bytes = this.#carry.view();
        if (isUtf8(bytes)) text = bytes.toString('utf8');
      }
      this.#carry.clear();
    }
    if (text !== null) this.#decode(text, position);
    else if (byteLength > RECORD_BYTES_MAX) this.#sink.reject(rejectTooLarge(position, byteLength));
    else this.#sink.reject(rejectNotUtf8(position));
  }

  #decode(text: string, position: RecordPosition): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#rejectText(text, position);
      return;
    }
    this.#decoded++;
    this.#sink.record(value, position);
  }

  #rejectText(text: string, position: RecordPosition): void {
    const fault = findJsonFault(text) ?? { offset: 0, problem: 'it cannot be parsed' };
    const place = placeOf(text, fault.offset);
    const line = this.#elementLine + place.line - 1;
    if (this.#decoded === 0 && this.#firstProblem === null) {
      const column = place.line === 1 ? this.#elementColumn + place.column - 1 : place.column;
      this.#firstProblem = `line ${line}, column ${column}: ${fault.problem}`;
    }
    const where =
      place.line === 1 ? `character ${place.column} of the record` : `line ${line}, column ${place.column}`;
    this.#sink.reject(rejectUndecodable(position, `the record is not JSON: ${where}: ${fault.problem}`));
  }

  #crossedBrackets(byte: number, at: number): Error {
    const opened = `record ${this.#records + 1}, which "${String.fromCharCode(this.#opener)}" opened on line ${this.#elementLine}`;
    return this.#damage(
      `found ${showByte(byte)} at the end of ${opened}; a bracket is missing before it`,
      at,
    );
  }

  /** @param at offset into the present chunk; absent at the end of the source */
  #damage(problem: string, at?: number): Error {
    const column = at === undefined ? this.#place.columnAtEnd() : this.#place.columnAt(at);
    return malformed(this.#sourceName, `line ${this.#place.line}, column ${column}: ${problem}`);
  }
}

function showByte(byte: number): string {
  if (byte >= 0x80) return 'a character that is not ASCII';
  if (byte < 0x20 || byte === 0x7f) return `the control character U+00${byte.toString(16).padStart(2, '0')}`;
  return byte === QUOTE ? `'"'` : `"${String.fromCharCode(byte)}"`;
}
