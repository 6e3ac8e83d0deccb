import { isAscii, isUtf8 } from 'node:buffer';
import type { LecternError } from '../../errors.js';
import { CSV_COLUMNS_MAX, CSV_HEAD_BYTES, CSV_REREAD_TIMES_MAX, RECORD_BYTES_MAX } from '../../limits.js';
import { FIELDS, type FieldName } from '../../model/fields.js';
import type { ReadRules } from '../../model/read-rules.js';
import { SHOWN_CHARACTERS_MAX } from '../../model/text.js';
import { viewOf } from '../../structures/byte-strings.js';
import { type FieldColumns, OWN_COLUMNS } from '../field-columns.js';
import { type NameSpans, spansOf } from '../name-spans.js';
import type { RecordSink } from '../source.js';
import { recogniseDialect } from './csv-dialect.js';
import { ESCAPED_CELL, INCOMPLETE, OPEN_QUOTE, RowScanner } from './csv-row.js';
import { FlatRows } from './flat-row.js';
import { type FormatReader, malformed, rejectFault, rejectNotUtf8, rejectTooLarge } from './reader.js';

const LF = 0x0a;
const CR = 0x0d;
const BACKSLASH = 0x5c;
/** Pieces to decode without trying the fast way, after it failed on most lines. */
const PIECES_DECODED = 15;
/** Longer rows are decoded cell by cell, because a remembered cell would keep the text of its whole row. */
const ROW_TEXT_BYTES_MAX = 512;

/**
 * CSV with a header line (RFC 4180): delimited by comma, semicolon or tab, with lines that end in LF, CR LF
 * or CR. A row becomes a record of its columns. An empty cell becomes null, and a pair of quotes an empty text.
 * Rows of empty cells are skipped.
 */
export class CsvReader implements FormatReader {
  readonly format = 'csv';
  readonly selfDelimiting = false;
  /** Whether the last row has no line end and cannot be read. */
  endsCut = false;
  records = 0;
  readonly #sourceName: string;
  readonly #sink: RecordSink;
  readonly #encoding: string | undefined;
  /** The first bytes, until the delimiter is known. */
  #head: Buffer | null = Buffer.alloc(0);
  #delimiter = 0;
  #scanner: RowScanner = new RowScanner(0);
  #header: CsvHeader | null = null;
  #flatRows: FlatRows | null = null;
  /** The beginning of a row whose end has not arrived yet. */
  #held: Buffer = Buffer.alloc(0);
  #heldLength = 0;
  /** Line number of the present row. */
  #line = 1;
  #afterCr = false;
  /** Bytes of a row that is too long to hold. */
  #skipped = 0;
  #bytesRead = 0;
  #bytesReread = 0;
  #piecesToDecode = 0;

  constructor(sourceName: string, sink: RecordSink, { encoding }: ReadRules) {
    this.#sourceName = sourceName;
    this.#sink = sink;
    this.#encoding = encoding;
  }

  push(chunk: Buffer): void {
    this.#bytesRead += chunk.length;
    if (this.#head === null) {
      this.#read(chunk);
      return;
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    if (this.#head.length >= CSV_HEAD_BYTES) this.#begin(this.#head);
  }

  finish(): void {
    if (this.#head !== null) this.#begin(this.#head);
    while (this.#heldLength > 0) this.#finishRow();
    if (this.#skipped > 0) this.#endSkipped();
    if (this.#header === null)
      throw this.#malformed('the source ends before the header line; expected column names');
  }

  #begin(head: Buffer): void {
    this.#head = null;
    const dialect = recogniseDialect(head);
    if (dialect === null) {
      throw this.#malformed(
        'the header line has one column; expected names separated by comma, semicolon or tab',
      );
    }
    this.#delimiter = dialect.delimiter;
    this.#scanner = new RowScanner(dialect.delimiter);
    if (dialect.skip > 0) this.#line++;
    this.#read(head.subarray(dialect.skip));
  }

  #read(chunk: Buffer): void {
    const scanner = this.#scanner;
    let data = chunk;
    let at = 0;
    /** Whether the fast way has already tried these bytes. */
    let isTried = false;
    while (at < data.length) {
      if (this.#afterCr) {
        this.#afterCr = false;
        if (data[at] === LF) {
          at++;
          continue;
        }
      }
      if (this.#skipped > 0) {
        at = this.#skip(data, at);
        continue;
      }
      if (this.#heldLength === 0) {
        if (!isTried && this.#header !== null) {
          isTried = true;
          at = this.#readFlatRows(data, at);
          continue;
        }
        scanner.begin();
      }
      const row = at - this.#heldLength;
      const end = scanner.scan(data, at, row);
      if (end >= 0) {
        this.#takeRow(this.#bytesOfRow(data, at, end));
        this.#endRow(data, end);
        at = end + 1;
      } else if (end === INCOMPLETE && data.length - row <= RECORD_BYTES_MAX) {
        this.#hold(data, at, data.length);
        break;
      } else if (end === OPEN_QUOTE || scanner.lineBreaks > 0) {
        const stop = end === OPEN_QUOTE ? row + scanner.stoppedAt : data.length;
        const resumeAt = this.#rejectOpenQuote(stop - row, end === INCOMPLETE);
        if (resumeAt === -1) at = stop;
        else if (row + resumeAt >= 0) at = row + resumeAt;
        else {
          data = Buffer.concat([this.#held.subarray(resumeAt, this.#heldLength), data.subarray(at)]);
          at = 0;
          isTried = false;
        }
        this.#heldLength = 0;
      } else {
        this.#skipped = data.length - row;
        this.#heldLength = 0;
        break;
      }
    }
  }

  /** The fast way, up to the last whole row: values go to the sink as bytes. Rows for which this fails are decoded. */
  #readFlatRows(bytes: Buffer, start: number): number {
    const { undecoded } = this.#sink;
    const flatRows = this.#flatRows;
    const end = Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
    if (end <= start || undecoded === undefined || flatRows === null || this.#piecesToDecode-- > 0)
      return start;
    const whole = bytes.subarray(0, end);
    if (!isUtf8(whole.subarray(start))) return start;
    const { names } = this.#header as CsvHeader;
    const view = viewOf(whole);
    let balance = 0;
    let backslash = nextOf(whole, BACKSLASH, start);
    let at = start;
    while (at < end) {
      let rowEnd = flatRows.read(whole, view, at);
      // In the sink, a backslash starts an escape of JSON.
      if (rowEnd > backslash) {
        rowEnd = -1;
        backslash = nextOf(whole, BACKSLASH, at);
      }
      if (rowEnd !== -1 && undecoded(whole, view, flatRows.spans, names)) {
        this.records++;
        balance++;
      } else {
        this.#scanner.begin();
        rowEnd = this.#scanner.scan(whole, at, at);
        // The caller handles an open quote, and a row that continues after these bytes.
        if (rowEnd < 0) break;
        this.#takeRow(bytes.subarray(at, rowEnd));
        this.#line += this.#scanner.lineBreaks;
        balance--;
      }
      this.#line++;
      at = rowEnd + 1;
      if (bytes[rowEnd] === CR) {
        if (bytes[at] === LF) at++;
        else if (at === bytes.length) this.#afterCr = true;
      }
      if (backslash < at) backslash = nextOf(whole, BACKSLASH, at);
    }
    this.#piecesToDecode = balance < 0 ? PIECES_DECODED : 0;
    return at;
  }

  #bytesOfRow(data: Buffer, from: number, to: number): Buffer {
    if (this.#heldLength === 0) return data.subarray(from, to);
    this.#hold(data, from, to);
    return this.#held.subarray(0, this.#heldLength);
  }

  #hold(data: Buffer, from: number, to: number): void {
    const length = this.#heldLength + to - from;
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#held.length, 1024));
      this.#held.copy(larger, 0, 0, this.#heldLength);
      this.#held = larger;
    }
    data.copy(this.#held, this.#heldLength, from, to);
    this.#heldLength = length;
  }

  #endRow(data: Buffer, end: number): void {
    this.#heldLength = 0;
    this.#line += this.#scanner.lineBreaks + 1;
    this.#afterCr = data[end] === CR;
  }

  /** The last row, which has no line end. */
  #finishRow(): void {
    const scanner = this.#scanner;
    const length = this.#heldLength;
    const row = this.#held.subarray(0, length);
    if (!scanner.isInQuotes) {
      scanner.finish(length);
      this.#heldLength = 0;
      this.endsCut = !this.#takeRow(row);
      return;
    }
    const resumeAt = this.#rejectOpenQuote(length, false);
    const rest = resumeAt === -1 ? Buffer.alloc(0) : Buffer.from(row.subarray(resumeAt));
    this.#heldLength = 0;
    this.endsCut = true;
    this.#read(rest);
  }

  /**
   * Rejects a row with an unclosed quote. Most likely only one quote is missing, so the lines after it are
   * read again.
   *
   * @param isTooLong whether the row has no end, so that any of its quotes may be the unclosed one. If false, the
   * unclosed quote is that of the present cell.
   * @returns the start of the lines to read again; -1 if there are none, or if too much was already read
   * again
   */
  #rejectOpenQuote(length: number, isTooLong: boolean): number {
    const { breaksBefore, count, firstCell, firstResumeAt, lineBreaks } = this.#scanner;
    const resumeAt = isTooLong ? firstResumeAt : this.#scanner.resumeAt;
    const cell = (isTooLong ? firstCell : count) + 1;
    const line = this.#line + (isTooLong ? 0 : breaksBefore);
    const rereads = this.#bytesReread + length - resumeAt;
    const canReread = resumeAt !== -1 && rereads <= CSV_REREAD_TIMES_MAX * this.#bytesRead;
    const last = this.#line + lineBreaks;
    const lost = canReread || resumeAt === -1 ? '' : `; lines ${line + 1} to ${last} are left out with it`;
    const problem = `the quote that opens cell ${cell} on line ${line} is not closed; expected a closing quote${lost}`;
    if (this.#header === null) throw this.#malformed(problem);
    this.#sink.reject(rejectFault(this.#position(), problem));
    if (!canReread) {
      this.#line = last;
      return -1;
    }
    this.#bytesReread = rereads;
    this.#line = line + 1;
    return resumeAt;
  }

  #skip(data: Buffer, from: number): number {
    let end = from;
    while (end < data.length && data[end] !== LF && data[end] !== CR) end++;
    this.#skipped += end - from;
    if (end === data.length) return end;
    this.#endSkipped();
    this.#line++;
    this.#afterCr = data[end] === CR;
    return end + 1;
  }

  #endSkipped(): void {
    const length = this.#skipped;
    this.#skipped = 0;
    if (this.#header === null) throw this.#malformed(rejectTooLarge({ record: 1 }, length).detail);
    this.#sink.reject(rejectTooLarge(this.#position(), length));
  }

  #position(): { readonly record: number; readonly line: number } {
    return { record: ++this.records, line: this.#line };
  }

  /** @returns false if the row was rejected */
  #takeRow(row: Buffer): boolean {
    const scanner = this.#scanner;
    if (row.length === 0) return true;
    const header = this.#header;
    if (header === null) {
      this.#takeHeader(row);
      return true;
    }
    if (row.length > RECORD_BYTES_MAX) {
      this.#sink.reject(rejectTooLarge(this.#position(), row.length));
      return false;
    }
    if (!isUtf8(row)) {
      this.#sink.reject(rejectNotUtf8(this.#position(), row, this.#encoding));
      return false;
    }
    const texts = this.#textsOf(row);
    if (scanner.count === texts.length && texts.every((text) => text === '')) return true;
    const problem = this.#problemOf(row, header.columns.length);
    if (problem !== null) {
      this.#sink.reject(rejectFault(this.#position(), problem));
      return false;
    }
    this.#sink.record(
      header.recordOf(texts, (n) => scanner.isQuoted(n)),
      this.#position(),
    );
    return true;
  }

  #problemOf(row: Buffer, columns: number): string | null {
    const { count, restCell } = this.#scanner;
    if (row.includes(0)) return 'the row holds a NUL character; expected text';
    if (restCell > 0) {
      return `cell ${restCell} has text after its closing quote; expected quotes inside a quoted cell to be doubled`;
    }
    if (count === columns) return null;
    const hint = count > columns ? ', with quotes around a cell that holds the separator' : '';
    return `the row has ${count} cell${count === 1 ? '' : 's'}; expected ${columns}, as the header has${hint}`;
  }

  #takeHeader(row: Buffer): void {
    const { count } = this.#scanner;
    if (row.length > RECORD_BYTES_MAX)
      throw this.#malformed(rejectTooLarge({ record: 1 }, row.length).detail);
    if (!isUtf8(row)) throw this.#malformed(rejectNotUtf8({ record: 1 }, row, this.#encoding).detail);
    const texts = this.#textsOf(row);
    const problem = this.#problemOf(row, count);
    if (problem !== null) throw this.#malformed(problem);
    const columns = readCsvHeader(texts, count);
    if ('problem' in columns) throw this.#malformed(columns.problem);
    this.#header = new CsvHeader(columns, this.#sink.columns);
    const { fields } = this.#header;
    this.#flatRows = fields === null ? null : new FlatRows(fields, this.#delimiter);
  }

  #textsOf(row: Buffer): string[] {
    const { cells, count } = this.#scanner;
    const isShort = row.length <= ROW_TEXT_BYTES_MAX;
    const latin1 = isShort ? row.toString('latin1') : '';
    const isLatin1 = isShort && isAscii(row);
    const texts = new Array<string>(Math.min(count, CSV_COLUMNS_MAX));
    for (let n = 0; n < texts.length; n++) {
      const start = cells[3 * n] as number;
      const end = cells[3 * n + 1] as number;
      const isPlain = isLatin1 || (isShort && isAsciiPart(row, start, end));
      const text = isPlain ? latin1.slice(start, end) : row.toString('utf8', start, end);
      texts[n] = cells[3 * n + 2] === ESCAPED_CELL ? text.replaceAll('""', '"') : text;
    }
    return texts;
  }

  #malformed(problem: string): LecternError {
    return malformed(this.#sourceName, `line ${this.#line}: ${problem}`);
  }
}

function isAsciiPart(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] as number) >= 0x80) return false;
  return true;
}

/** The place of the next byte of this kind, or the end of the bytes if there is none. */
function nextOf(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at === -1 ? bytes.length : at;
}

const SERVED: ReadonlySet<string> = new Set(FIELDS.map(({ name }) => name));
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DATE = /^\d{1,4}([./-])\d{1,2}\1\d{1,4}(?!\d)/;
const TIME = /^\d{1,2}[:.]\d\d(?::\d\d)?\s*(?:[ap]\.?m\.?)?$/i;
const NUMBER = /^-?\d+(?:[.,]\d+)?$/;

/** The columns of a CSV source, and records made of them. */
class CsvHeader {
  readonly columns: readonly string[];
  /** The field of each column. Null if two columns have one field, because rows must then be decoded. */
  readonly fields: readonly (FieldName | null)[] | null;
  /** The columns that are listed as not served. */
  readonly names: NameSpans;
  readonly #blank: Readonly<Record<string, string | null>>;

  constructor(columns: readonly string[], fieldColumns: FieldColumns = OWN_COLUMNS) {
    this.columns = columns;
    const fields = columns.map((column) => fieldColumns.get(column) ?? null);
    const found = fields.filter((field) => field !== null);
    this.fields = new Set(found).size === found.length ? fields : null;
    this.names = spansOf(columns.filter((column) => !fieldColumns.has(column)));
    this.#blank = Object.fromEntries(columns.map((column) => [column, null]));
  }

  /**
   * @param texts one for each column
   * @param isQuoted whether a cell has quotes: without quotes, an empty cell is a missing value
   */
  recordOf(texts: readonly string[], isQuoted: (n: number) => boolean): Record<string, string | null> {
    const { columns } = this;
    const record = { ...this.#blank };
    for (let n = 0; n < columns.length; n++) {
      const text = texts[n] as string;
      if (text !== '' || isQuoted(n)) record[columns[n] as string] = text;
    }
    return record;
  }
}

/**
 * The names of the columns: a column without a name is called `column 5`; a repeated name becomes `Note (2)`.
 *
 * @param texts the first CSV_COLUMNS_MAX cells at most
 * @param count number of all cells
 * @returns the names, or why this is not a header
 */
function readCsvHeader(
  texts: readonly string[],
  count: number,
): readonly string[] | { readonly problem: string } {
  if (count > CSV_COLUMNS_MAX) {
    return { problem: `the header has ${count} columns; expected at most ${CSV_COLUMNS_MAX}` };
  }
  const given = texts.map((text) => text.trim());
  const data = given.flatMap((name) => [UUID, DATE, TIME].flatMap((form) => form.exec(name)?.[0] ?? []))[0];
  if (data !== undefined || given.every((name) => NUMBER.test(name))) {
    const shown = JSON.stringify((data ?? given[0] ?? '').slice(0, SHOWN_CHARACTERS_MAX));
    return {
      problem: `it looks like data, not like a header: found ${shown}; expected the names of the columns`,
    };
  }
  const columns: string[] = [];
  const taken = new Set(given);
  const seen = new Set<string>();
  for (const [n, name] of given.entries()) {
    if (seen.has(name) && SERVED.has(name)) {
      const first = given.indexOf(name) + 1;
      return { problem: `columns ${first} and ${n + 1} are both called ${name}; expected different names` };
    }
    seen.add(name);
    const isFree = name !== '' && given.indexOf(name) === n;
    columns.push(isFree ? name : freeName(name, n, taken));
  }
  return columns;
}

function freeName(name: string, n: number, taken: Set<string>): string {
  const base = name === '' ? `column ${n + 1}` : name;
  let free = base;
  for (let number = 2; free === name || taken.has(free); number++) free = `${base} (${number})`;
  taken.add(free);
  return free;
}
