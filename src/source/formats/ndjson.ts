import { isUtf8 } from 'node:buffer';
import { RECORD_BYTES_MAX } from '../../base/limits.js';
import { placeOf } from '../../base/model/json-fault.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { viewOf } from '../../base/structures/byte-strings.js';
import { type FieldTable, mapOf } from '../field-map.js';
import { columnsOf } from '../map-template.js';
import { FlatLines } from './flat-line.js';
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
    const id = mapOf(this.#rules?.fieldMap ?? {}, this.format).get('id') ?? [{ column: 'id' }];
    return columnsOf(id).every((column) => column in record || (column.split('.')[0] as string) in record);
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
    this.#records.reject(line, `line ${line}, ${problem}`, `the line is not JSON: ${problem}`);
  }
}

/** Whether a line has only JSON's white space and the CR of a CRLF. */
function isBlank(line: string): boolean {
  return line.length === 0 || (line.charCodeAt(0) <= 0x20 && /^[ \t\r]*$/.test(line));
}
