import { isUtf8 } from 'node:buffer';
import { LecternError } from '../../base/errors.js';
import { PROPERTY_NAME_UNITS_MAX, RECORD_BYTES_MAX } from '../../base/limits.js';
import type { ExpansionWindow } from '../../base/model/expansion.js';
import { findJsonFault, type JsonFault } from '../../base/model/json-fault.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { FieldTable } from '../field-map.js';
import type { CsvDialect, SourceFormat } from '../source.js';
import { expectedText } from './text-encoding.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const AFTER_NAME = /[ \t\n\r]*:/y;

/**
 * Reads one format in pieces of any size. Each record goes to a table once its last byte has arrived. `push`
 * and `finish` throw `source-malformed` for bytes that are not this format.
 */
export interface FormatReader {
  readonly format: SourceFormat;
  /** Records so far, rejected ones included. */
  readonly records: number;
  /** Whether the data marks its end, so that cut data is always noticed. */
  readonly selfDelimiting: boolean;
  readonly endsCut?: boolean;
  readonly expanded?: ExpansionWindow | undefined;
  readonly csv?: CsvDialect | undefined;
  /** The caller may overwrite the bytes afterwards. */
  push(chunk: Buffer): void;
  finish(): void | Promise<void>;
  /** Gives the remaining records after `finish`, with some milliseconds of work at each step. */
  rest?(): Iterable<void>;
}

/** The beginning of a record whose end has not arrived yet. Beyond RECORD_BYTES_MAX, only its length is kept. */
export class Carry {
  length = 0;
  #bytes: Buffer | null = null;

  append(chunk: Buffer, start: number, end: number): void {
    const length = this.length + end - start;
    if (length <= RECORD_BYTES_MAX) {
      this.#bytes ??= Buffer.allocUnsafe(RECORD_BYTES_MAX);
      chunk.copy(this.#bytes, this.length, start, end);
    }
    this.length = length;
  }

  /** @returns the bytes of the record, valid until the next call; only their number if there are too many */
  end(chunk: Buffer, start: number, end: number): Buffer | number {
    const isWhole = this.length === 0;
    if (!isWhole) this.append(chunk, start, end);
    const length = isWhole ? end - start : this.length;
    this.length = 0;
    if (length > RECORD_BYTES_MAX) return length;
    return isWhole || this.#bytes === null ? chunk.subarray(start, end) : this.#bytes.subarray(0, length);
  }
}

export function malformed(sourceName: string, problem: string, cause?: unknown): LecternError {
  return new LecternError('source-malformed', `${sourceName}: ${problem}`, { cause });
}

export function tooLong(byteLength: number): string {
  return `the record is ${byteLength} bytes long; expected at most ${RECORD_BYTES_MAX}`;
}

/** @param bytes the text's bytes; absent in binary formats, whose texts are always UTF-8 */
export function notUtf8(bytes?: Buffer, encoding?: string): string {
  const expected = bytes === undefined ? 'expected UTF-8 text' : expectedText(bytes, encoding);
  return `the record holds bytes that are not ${encoding ?? 'UTF-8'}; ${expected}`;
}

export function longName(units: number): string {
  return `the name of a property has ${units} characters; expected at most ${PROPERTY_NAME_UNITS_MAX}`;
}

/** Units of the longest property name in a JSON text; 0 if the whole text is shorter than the bound on names. */
export function longestName(text: string): number {
  if (text.length <= PROPERTY_NAME_UNITS_MAX) return 0;
  let longest = 0;
  for (let start = text.indexOf('"'); start !== -1; ) {
    let end = start + 1;
    while (end < text.length && text.charCodeAt(end) !== QUOTE)
      end += text.charCodeAt(end) === BACKSLASH ? 2 : 1;
    AFTER_NAME.lastIndex = end + 1;
    if (AFTER_NAME.test(text)) longest = Math.max(longest, end - start - 1);
    start = text.indexOf('"', end + 1);
  }
  return longest;
}

/** Gives JSON records to a table. A source without any valid JSON record is malformed. */
export class JsonRecords {
  readonly #table: FieldTable;
  readonly #encoding: string | undefined;
  readonly #hasLines: boolean;
  /** Records so far, rejected ones included. */
  count = 0;
  decoded = 0;
  first: unknown;
  firstProblem: string | null = null;

  constructor(table: FieldTable, rules?: ReadRules, hasLines = true) {
    this.#table = table;
    this.#encoding = rules?.encoding;
    this.#hasLines = hasLines;
  }

  get isHopeless(): boolean {
    return this.decoded === 0 && this.firstProblem !== null;
  }

  /** The text of the next record. Null: rejected because it is not UTF-8 or too large (then `bytes` is only a number). */
  textOf(bytes: Buffer | number, line: number): string | null {
    if (typeof bytes !== 'number' && isUtf8(bytes)) return bytes.toString('utf8');
    const table = this.#begin(line);
    if (typeof bytes === 'number') table.reject(tooLong(bytes), 'record-too-large');
    else table.reject(notUtf8(bytes, this.#encoding), 'malformed-text');
    return null;
  }

  /** @returns the fault of the record; the caller rejects it */
  take(text: string, line: number): JsonFault | null {
    const table = this.#begin(line);
    const units = longestName(text);
    if (units > PROPERTY_NAME_UNITS_MAX) {
      table.reject(longName(units));
      return null;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return findJsonFault(text) ?? { offset: 0, problem: 'it cannot be parsed' };
    }
    this.decoded++;
    if (this.count === 1) this.first = value;
    table.object(value);
    return null;
  }

  /** Rejects the last record. `problem` begins with the record's place in the source. */
  reject(problem: string, detail: string): void {
    this.firstProblem ??= problem;
    this.#table.reject(detail);
  }

  #begin(line: number): FieldTable {
    const { row } = this.#table;
    row.record = ++this.count;
    if (this.#hasLines) row.line = line;
    return this.#table;
  }
}
