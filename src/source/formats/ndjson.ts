import { isAscii, isUtf8 } from 'node:buffer';
import { RECORD_BYTES_MAX } from '../../limits.js';
import type { RecordPosition } from '../../model/event.js';
import { findJsonFault, placeOf } from '../../model/json-fault.js';
import type { RecordSink } from '../source.js';
import { Carry } from './carry.js';
import { FlatLines } from './flat-line.js';
import { type FormatReader, malformed, rejectNotUtf8, rejectTooLarge, rejectUndecodable } from './reader.js';

const LF = 0x0a;
/** After a piece of which most lines had to be decoded after all, so many are decoded at once: trying costs a tenth. */
const PIECES_DECODED = 15;
/** Of the first bytes, as many as show an array inside an object: `{ "count": 2, "events": [`. */
const HEAD_BYTES = 512;
/** An object whose names and plain values up to its first array are all that was seen, and the array's name. */
const WRAPPED_ARRAY =
  /^\ufeff?\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*,)*\s*"([^"\\]{1,40})"\s*:\s*\[/;

/**
 * Newline-delimited JSON: one value a line, ended by LF or CRLF, the last line by the end of the source. Blank lines
 * are skipped. A line that cannot be read is rejected and the next one read; only where no line at all is JSON is the
 * source malformed.
 */
export class NdjsonReader implements FormatReader {
  readonly format = 'ndjson';
  readonly selfDelimiting = false;
  readonly #sourceName: string;
  readonly #sink: RecordSink;
  /** The last line so far, where its LF has not come yet. */
  readonly #carry: Carry = new Carry();
  #line = 0;
  #records = 0;
  #decoded = 0;
  #firstProblem: string | null = null;
  #head: Buffer = Buffer.alloc(0);
  /** Whether line 1 is JSON by itself. */
  #startsWithRecord = false;
  /** Whether it has an id, as events do. */
  #startsWithEvent = false;
  #endsCut = false;
  readonly #flatLines: FlatLines = new FlatLines();
  /** Pieces to come that are decoded without trying the fast way first. */
  #piecesToDecode = 0;

  constructor(sourceName: string, sink: RecordSink) {
    this.#sourceName = sourceName;
    this.#sink = sink;
  }

  get records(): number {
    return this.#records;
  }

  /** A last line that is not JSON and has no LF. */
  get endsCut(): boolean {
    return this.#endsCut;
  }

  push(chunk: Buffer): void {
    if (this.#head.length < HEAD_BYTES) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, HEAD_BYTES - this.#head.length)]);
    }
    const end = chunk.lastIndexOf(LF) + 1;
    let start = 0;
    if (end > 0 && this.#carry.length > 0) {
      start = chunk.indexOf(LF) + 1;
      this.#carry.append(chunk, 0, start - 1);
      this.#readCarry();
    }
    if (start < end) this.#readLines(chunk.subarray(start, end));
    if (end < chunk.length) this.#carry.append(chunk, end, chunk.length);
  }

  finish(): void {
    if (this.#carry.length > 0) {
      const [records, decoded] = [this.#records, this.#decoded];
      this.#readCarry();
      this.#endsCut = this.#records > records && this.#decoded === decoded;
    }
    const wrapped = this.#wrappedArray();
    if (wrapped !== null) {
      const found = `found an object around an array ${JSON.stringify(wrapped)}`;
      throw malformed(
        this.#sourceName,
        `line 1: ${found}; expected that array at the top level ([…]), or NDJSON (one record a line)`,
      );
    }
    if (this.#decoded === 0 && this.#firstProblem !== null) {
      throw malformed(
        this.#sourceName,
        `${this.#firstProblem}. No line is JSON by itself; expected NDJSON (one record a line), a JSON array or MessagePack`,
      );
    }
  }

  /**
   * The name of the array that the source is, wrapped in an object; null where it may be NDJSON. One line of many that is cut
   * behind a "[" must not look like it.
   */
  #wrappedArray(): string | null {
    const head = this.#head.toString('utf8');
    const match = WRAPPED_ARRAY.exec(head);
    if (match === null) return null;
    const [begin, name = ''] = match;
    const goesOn =
      this.#decoded === 0 || begin.includes('\n') || /^[ \t\r]*\n/.test(head.slice(begin.length));
    return (this.#records === 1 ? !this.#startsWithEvent : !this.#startsWithRecord && goesOn) ? name : null;
  }

  /**
   * Whole lines, each with its LF. They are decoded at once and cut afterwards: a slice of a string is a view, and
   * one check of the encoding serves all. The end of a line is never inside a character, so nothing is cut.
   */
  #readLines(bytes: Buffer): void {
    if (bytes.length > RECORD_BYTES_MAX || !isUtf8(bytes)) {
      this.#readEachLine(bytes);
      return;
    }
    if (this.#sink.undecoded !== undefined && this.#piecesToDecode-- <= 0) {
      this.#readFlatLines(bytes);
      return;
    }
    const text = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
    let start = 0;
    while (start < text.length) {
      const end = text.indexOf('\n', start);
      this.#readText(text.slice(start, end));
      start = end + 1;
    }
  }

  /** The fast way: values go from the bytes to the sink where both can do that, and only the other lines are decoded. */
  #readFlatLines(bytes: Buffer): void {
    const sink = this.#sink;
    const lines = this.#flatLines;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let balance = 0;
    for (let start = 0; start < bytes.length; ) {
      // The first record is decoded in any case: what it looks like is asked for in the end.
      let end = this.#records === 0 ? -1 : lines.read(bytes, view, start);
      if (end !== -1 && sink.undecoded?.(bytes, view, lines.spans, lines.names) === true) {
        this.#line++;
        this.#records++;
        this.#decoded++;
        balance++;
      } else {
        end = bytes.indexOf(LF, start);
        this.#readText(bytes.toString('utf8', start, end));
        balance--;
      }
      start = end + 1;
    }
    this.#piecesToDecode = balance < 0 ? PIECES_DECODED : 0;
  }

  /** The slow way, for lines of which some may not be UTF-8 or may be too long. */
  #readEachLine(bytes: Buffer): void {
    let start = 0;
    while (start < bytes.length) {
      const end = bytes.indexOf(LF, start);
      this.#readBytes(bytes.subarray(start, end), end - start);
      start = end + 1;
    }
  }

  #readCarry(): void {
    this.#readBytes(this.#carry.overflown ? null : this.#carry.view(), this.#carry.length);
    this.#carry.clear();
  }

  /** @param bytes one line without its LF, or null where it was too long to be kept */
  #readBytes(bytes: Buffer | null, byteLength: number): void {
    if (bytes === null || byteLength > RECORD_BYTES_MAX) {
      this.#sink.reject(rejectTooLarge(this.#nextPosition(), byteLength));
    } else if (isUtf8(bytes)) {
      this.#readText(bytes.toString('utf8'));
    } else {
      this.#sink.reject(rejectNotUtf8(this.#nextPosition()));
    }
  }

  #readText(line: string): void {
    if (isBlank(line)) {
      this.#line++;
      return;
    }
    const position = this.#nextPosition();
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      this.#rejectText(line, position);
      return;
    }
    this.#decoded++;
    if (position.record === 1) {
      this.#startsWithRecord = true;
      this.#startsWithEvent = typeof value === 'object' && value !== null && 'id' in value;
    }
    this.#sink.record(value, position);
  }

  #rejectText(line: string, position: RecordPosition): void {
    const fault = findJsonFault(line) ?? { offset: 0, problem: 'it cannot be parsed' };
    const { column } = placeOf(line, fault.offset);
    this.#firstProblem ??= `line ${position.line}, column ${column}: ${fault.problem}`;
    this.#sink.reject(
      rejectUndecodable(position, `the line is not JSON: column ${column}: ${fault.problem}`),
    );
  }

  #nextPosition(): RecordPosition {
    return { record: ++this.#records, line: ++this.#line };
  }
}

/** Nothing but JSON's white space, which includes the CR of a CRLF. */
function isBlank(line: string): boolean {
  return line.length === 0 || (line.charCodeAt(0) <= 0x20 && /^[ \t\r]*$/.test(line));
}
