import { isUtf8 } from 'node:buffer';
import type { LecternError } from '../../base/errors.js';
import { CSV_COLUMNS_MAX, CSV_REREAD_TIMES_MAX, RECORD_BYTES_MAX } from '../../base/limits.js';
import { FIELDS } from '../../base/model/fields.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { SHOWN_CHARACTERS_MAX } from '../../base/model/text.js';
import { viewOf } from '../../base/structures/byte-strings.js';
import { quickHash } from '../../base/structures/quick-hash.js';
import { type Names, NULL, namesOf } from '../../base/structures/row.js';
import { type FieldTable, LEFT_OUT } from '../field-map.js';
import type { CsvDialect } from '../source.js';
import {
  cellsAbove,
  ESCAPED_CELL,
  guessHeaderLine,
  INCOMPLETE,
  lineStart,
  OPEN_QUOTE,
  PLAIN_CELL,
  RowScanner,
  recogniseDialect,
} from './csv-row.js';
import { type FormatReader, malformed, notUtf8, tooLong } from './reader.js';

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
/** Stands for a delimiter of several bytes; it is no character of texts. */
const UNIT_SEPARATOR = '\x1f';

/**
 * CSV (RFC 4180): delimited by comma, semicolon, tab or bar, or by the character of the rules, with lines that end in
 * LF, CR LF or CR. An empty cell becomes null, and a pair of quotes an empty text. Rows of empty cells are skipped. The
 * first row is the header, unless the rules name its line or the columns, or say that there is none.
 */
export class CsvReader implements FormatReader {
  readonly format = 'csv';
  readonly selfDelimiting = false;
  /** Whether the last row has no line end and cannot be read. */
  endsCut = false;
  records = 0;
  readonly #sourceName: string;
  readonly #table: FieldTable;
  readonly #encoding: string | undefined;
  readonly #delimiter: Buffer | null;
  readonly #givenHeader: ReadRules['header'];
  /** The line of the header, if it is not the first row. */
  readonly #headerLine: number | null;
  /** The cells of the row above the header, which name the columns that the header leaves empty. */
  #namesAbove: readonly string[] = [];
  /** Whether columns without names can be used. */
  readonly #takesNumbers: boolean;
  /** The last bytes, if a delimiter of several bytes may begin with them. */
  #begun: Buffer = Buffer.alloc(0);
  readonly #scanner: RowScanner;
  /** Bytes to leave out before the first row. */
  #toSkip: number;
  #header: CsvHeader | null = null;
  /** The bytes being read, with their view. */
  #data: Buffer = Buffer.alloc(0);
  #view: DataView = viewOf(this.#data);
  /** Rows that end before this place in the data are known to be UTF-8 without a NUL. */
  #textEnd = 0;
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

  constructor(
    sourceName: string,
    table: FieldTable,
    { encoding, delimiter, header, fieldMap }: ReadRules,
    head: Buffer,
  ) {
    this.#sourceName = sourceName;
    this.#table = table;
    this.#encoding = encoding;
    this.#delimiter = delimiter === undefined ? null : Buffer.from(delimiter);
    this.#givenHeader = header;
    this.#takesNumbers = header === 'guess' || /\bcolumn \d/.test(JSON.stringify(fieldMap ?? {}));
    const isLong = this.#delimiter !== null && this.#delimiter.length > 1;
    const byte = isLong ? UNIT_SEPARATOR.charCodeAt(0) : this.#delimiter?.[0];
    // As `push` gives them, because lines above the header are left out by their length.
    const bytes = isLong ? inOneByte(head, this.#delimiter as Buffer) : head;
    this.#headerLine = typeof header === 'number' ? header : null;
    if (header === 'guess') this.#headerLine = guessHeaderLine(bytes, byte, isData);
    const above = lineStart(bytes, this.#headerLine ?? 1);
    if (above === -1)
      throw malformed(
        sourceName,
        `the header is in line ${header}; the source has fewer lines, or longer ones`,
      );
    const dialect = recogniseDialect(bytes, byte, above);
    if (dialect === null) {
      throw this.#malformed(
        'the header line has one column; expected names separated by comma, semicolon, tab or |',
      );
    }
    if (Array.isArray(header)) this.#header = headerOf(header, table, false);
    this.#scanner = new RowScanner(dialect.delimiter);
    this.#toSkip = dialect.skip;
    if (dialect.skip > 0) this.#line = Math.max(2, this.#headerLine ?? 2);
    // The head may end between the CR and the LF above the header.
    this.#afterCr = above > 0 && bytes[above - 1] === CR;
    if (above > 0) this.#namesAbove = cellsAbove(bytes.subarray(0, above), dialect.delimiter);
  }

  /** What was guessed or given. */
  get csv(): CsvDialect | undefined {
    const header = this.#header;
    if (header === null) return undefined;
    const given = this.#delimiter?.toString();
    return {
      delimiter: given ?? String.fromCharCode(this.#scanner.delimiter),
      hasHeader: header.isRead,
      ...(this.#headerLine === null ? {} : { headerLine: this.#headerLine }),
    };
  }

  push(given: Buffer): void {
    const chunk = this.#delimiter === null || this.#delimiter.length === 1 ? given : this.#oneByteEach(given);
    this.#bytesRead += chunk.length;
    const skipped = Math.min(this.#toSkip, chunk.length);
    this.#toSkip -= skipped;
    this.#read(chunk.subarray(skipped));
  }

  /** Puts one byte in the place of each delimiter of several bytes, because rows are scanned byte by byte. */
  #oneByteEach(given: Buffer): Buffer {
    const delimiter = this.#delimiter as Buffer;
    const bytes = this.#begun.length === 0 ? given : Buffer.concat([this.#begun, given]);
    let kept = Math.min(delimiter.length - 1, bytes.length);
    while (kept > 0 && !delimiter.subarray(0, kept).equals(bytes.subarray(bytes.length - kept))) kept--;
    this.#begun = Buffer.from(bytes.subarray(bytes.length - kept));
    return inOneByte(bytes.subarray(0, bytes.length - kept), delimiter);
  }

  finish(): void {
    while (this.#heldLength > 0) this.#finishRow();
    if (this.#skipped > 0) this.#endSkipped();
    if (this.#header === null)
      throw this.#malformed('the source ends before the header line; expected column names');
  }

  #read(chunk: Buffer): void {
    const scanner = this.#scanner;
    let data = chunk;
    let at = 0;
    this.#take(data);
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
      if (this.#heldLength === 0) scanner.begin();
      const row = at - this.#heldLength;
      const end = scanner.scan(data, at, row);
      if (end >= 0) {
        if (this.#heldLength === 0) this.#takeRow(data, this.#view, at, end);
        else {
          this.#hold(data, at, end);
          this.#takeRow(this.#held, viewOf(this.#held), 0, this.#heldLength);
        }
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
          this.#take(data);
        }
        this.#heldLength = 0;
      } else {
        this.#skipped = data.length - row;
        this.#heldLength = 0;
        break;
      }
    }
  }

  #take(data: Buffer): void {
    this.#data = data;
    this.#view = viewOf(data);
    const end = Math.max(data.lastIndexOf(LF), data.lastIndexOf(CR)) + 1;
    const rows = data.subarray(0, end);
    this.#textEnd = isUtf8(rows) && !rows.includes(0) ? end : 0;
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
    if (!scanner.isInQuotes) {
      scanner.finish(length);
      this.#heldLength = 0;
      this.endsCut = !this.#takeRow(this.#held, viewOf(this.#held), 0, length);
      return;
    }
    const resumeAt = this.#rejectOpenQuote(length, false);
    const rest = resumeAt === -1 ? Buffer.alloc(0) : Buffer.from(this.#held.subarray(resumeAt, length));
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
    this.#place().reject(problem);
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
    if (this.#header === null) throw this.#malformed(tooLong(length));
    this.#place().reject(tooLong(length), 'record-too-large');
  }

  /** Begins a record. */
  #place(): FieldTable {
    const { row } = this.#table;
    row.record = ++this.records;
    row.line = this.#line;
    return this.#table;
  }

  /** @returns false if the row was rejected */
  #takeRow(bytes: Buffer, view: DataView, from: number, to: number): boolean {
    if (to === from) return true;
    const header = this.#header ?? this.#takeHeader(bytes.subarray(from, to));
    if (header === null) return true;
    if (to - from > RECORD_BYTES_MAX) {
      this.#place().reject(tooLong(to - from), 'record-too-large');
      return false;
    }
    const isText = bytes === this.#data && to < this.#textEnd;
    if (!isText && !isUtf8(bytes.subarray(from, to))) {
      this.#place().reject(notUtf8(bytes.subarray(from, to), this.#encoding), 'malformed-text');
      return false;
    }
    if (this.#isBlank()) return true;
    const hasNul = !isText && bytes.subarray(from, to).includes(0);
    const problem = this.#problemOf(hasNul, header.columns.length);
    if (problem !== null) {
      this.#place().reject(problem);
      return false;
    }
    const table = this.#place();
    if (table.needsObjects) table.object(this.#objectOf(bytes.subarray(from, to), header));
    else this.#giveRow(bytes, view, from, header);
    return true;
  }

  #giveRow(bytes: Buffer, view: DataView, start: number, { places, names }: CsvHeader): void {
    const { cells } = this.#scanner;
    const { row } = this.#table;
    row.begin(bytes, view);
    for (let n = 0; n < places.length; n++) {
      const place = places[n] as number;
      if (place === LEFT_OUT) continue;
      const from = start + (cells[3 * n] as number);
      const to = start + (cells[3 * n + 1] as number);
      const kind = cells[3 * n + 2];
      if (kind === ESCAPED_CELL) row.putUndoubled(place, bytes, from, to, QUOTE);
      else if (from === to && kind === PLAIN_CELL) row.clear(place, NULL);
      else row.point(place, from, to, quickHash(view, from, to));
    }
    row.names = names;
    this.#table.give();
  }

  /** Whether all cells of the row are empty. */
  #isBlank(): boolean {
    const { cells, count } = this.#scanner;
    if (count > CSV_COLUMNS_MAX) return false;
    for (let n = 0; n < count; n++) if (cells[3 * n] !== cells[3 * n + 1]) return false;
    return true;
  }

  #problemOf(hasNul: boolean, columns: number): string | null {
    const { count, restCell } = this.#scanner;
    if (hasNul) return 'the row holds a NUL character; expected text';
    if (restCell > 0) {
      return `cell ${restCell} has text after its closing quote; expected quotes inside a quoted cell to be doubled`;
    }
    if (count === columns) return null;
    const hint = count > columns ? ', with quotes around a cell that holds the separator' : '';
    return `the row has ${count} cell${count === 1 ? '' : 's'}; expected ${columns}, as the header has${hint}`;
  }

  /** @returns null if the row was the header; otherwise the row is a record, too */
  #takeHeader(row: Buffer): CsvHeader | null {
    const { count } = this.#scanner;
    if (row.length > RECORD_BYTES_MAX) throw this.#malformed(tooLong(row.length));
    if (!isUtf8(row)) throw this.#malformed(notUtf8(row, this.#encoding));
    const problem = this.#problemOf(row.includes(0), count);
    if (problem !== null) throw this.#malformed(problem);
    const given = this.#givenHeader;
    const above = this.#namesAbove.length === count ? this.#namesAbove : [];
    const texts = this.#textsOf(row).map((text, n) => (text.trim() === '' ? (above[n] ?? '') : text));
    const isGiven = given === true || typeof given === 'number';
    const isRecord = given === false || (!isGiven && this.#takesNumbers && isData(texts));
    const columns = readCsvHeader(isRecord ? texts.map(() => '') : texts, count, isGiven || isRecord);
    if ('problem' in columns) throw this.#malformed(columns.problem);
    this.#header = headerOf(columns, this.#table, !isRecord);
    return isRecord ? this.#header : null;
  }

  #textsOf(row: Buffer): string[] {
    const { cells, count } = this.#scanner;
    return Array.from({ length: Math.min(count, CSV_COLUMNS_MAX) }, (_, n) => {
      const text = row.toString('utf8', cells[3 * n], cells[3 * n + 1]);
      return cells[3 * n + 2] === ESCAPED_CELL ? text.replaceAll('""', '"') : text;
    });
  }

  /** The row as a record of its columns. */
  #objectOf(row: Buffer, { columns }: CsvHeader): Record<string, string | null> {
    const { cells } = this.#scanner;
    const values = this.#textsOf(row).map((text, n) =>
      text === '' && cells[3 * n + 2] === PLAIN_CELL ? null : text,
    );
    return Object.fromEntries(columns.map((column, n) => [column, values[n] as string | null]));
  }

  #malformed(problem: string): LecternError {
    return malformed(this.#sourceName, `line ${this.#line}: ${problem}`);
  }
}

function inOneByte(bytes: Buffer, delimiter: Buffer): Buffer {
  const text = bytes.toString('latin1').replaceAll(delimiter.toString('latin1'), UNIT_SEPARATOR);
  return Buffer.from(text, 'latin1');
}

const SERVED: ReadonlySet<string> = new Set(FIELDS.map(({ name }) => name));
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DATE = /^\d{1,4}([./-])\d{1,2}\1\d{1,4}(?!\d)/;
/** A time of day, or a range. */
const TIME = /^\d{1,2}[:.h]\d\d(?::\d\d)?(?:\s*[ap]\.?m\.?)?(?:$|\s*[-\u2013/]\s*\d{1,2}[:.h]\d\d)/i;
const NUMBER = /^-?\d+(?:[.,]\d+)?$/;

/** A cell that is data and no name of a column; null if all may be names. */
function dataIn(texts: readonly string[]): string | null {
  const given = texts.map((text) => text.trim());
  const data = given.flatMap((name) => [UUID, DATE, TIME].flatMap((form) => form.exec(name)?.[0] ?? []))[0];
  return data ?? (given.every((name) => NUMBER.test(name)) ? (given[0] ?? '') : null);
}

function isData(texts: readonly string[]): boolean {
  return dataIn(texts) !== null;
}

/** The columns of a CSV source. */
interface CsvHeader {
  readonly columns: readonly string[];
  /** For each column its slot of the row, or LEFT_OUT. */
  readonly places: Int32Array;
  /** The columns that are listed as not served. */
  readonly names: Names;
  /** Whether the first row names the columns. */
  readonly isRead: boolean;
}

function headerOf(columns: readonly string[], table: FieldTable, isRead: boolean): CsvHeader {
  const places = table.placesOf(columns);
  return {
    columns,
    places: Int32Array.from(places, (place) => place ?? LEFT_OUT),
    names: namesOf(columns.filter((_, n) => places[n] === undefined)),
    isRead,
  };
}

/**
 * The names of the columns: a column without a name is called `column 5`; a repeated name becomes `Note (2)`.
 *
 * @param texts the first CSV_COLUMNS_MAX cells at most
 * @param count number of all cells
 * @param isSure whether these are names for certain, so that their look does not count
 * @returns the names, or why this is not a header
 */
function readCsvHeader(
  texts: readonly string[],
  count: number,
  isSure: boolean,
): readonly string[] | { readonly problem: string } {
  if (count > CSV_COLUMNS_MAX) {
    return { problem: `the header has ${count} columns; expected at most ${CSV_COLUMNS_MAX}` };
  }
  const given = texts.map((text) => text.trim());
  const data = isSure ? null : dataIn(texts);
  if (data !== null) {
    const shown = JSON.stringify(data.slice(0, SHOWN_CHARACTERS_MAX));
    const found = `it looks like data, not like a header: found ${shown}`;
    const remedy = 'or, in a timetable file, header: with their names';
    return { problem: `${found}; expected the names of the columns, ${remedy}` };
  }
  const repeated = given.flatMap((name, n) => {
    const first = given.indexOf(name);
    return SERVED.has(name) && first < n ? [`columns ${first + 1} and ${n + 1} are both called ${name}`] : [];
  });
  if (repeated.length > 0) return { problem: `${repeated.join(', ')}; expected different names` };
  const taken = new Set(given);
  return given.map((name, n) => (name !== '' && given.indexOf(name) === n ? name : freeName(name, n, taken)));
}

function freeName(name: string, n: number, taken: Set<string>): string {
  const base = name === '' ? `column ${n + 1}` : name;
  let free = base;
  for (let number = 2; free === name || taken.has(free); number++) free = `${base} (${number})`;
  taken.add(free);
  return free;
}
