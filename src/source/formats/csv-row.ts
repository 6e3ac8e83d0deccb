/** Finds the cells of one row of CSV (RFC 4180). A row may come in several parts. */
import { CSV_COLUMNS_MAX } from '../../base/limits.js';

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;

/** How a cell is written. `ESCAPED` holds doubled quotes. */
export const PLAIN_CELL = 0;
const QUOTED_CELL = 1;
export const ESCAPED_CELL = 2;

/** States are numbers, because they are compared at each byte that ends a run of plain bytes. */
const CELL_BEGINS = 0;
const IN_PLAIN = 1;
const IN_QUOTES = 2;
const AFTER_QUOTE = 3;
/** Text after a closing quote. */
const IN_REST = 4;

export const INCOMPLETE = -1;
/**
 * Text follows a closing quote on a later line, probably because the cell's opening quote was never closed.
 */
export const OPEN_QUOTE = -2;

const STOPS_QUOTED: Uint8Array = tableOf(QUOTE, CR, LF);

function tableOf(...bytes: number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of bytes) table[byte] = 1;
  return table;
}

/** All offsets count from the beginning of the row, which may lie in an earlier part. */
export class RowScanner {
  /** Start, end and kind of each cell, without its quotes, for the first CSV_COLUMNS_MAX cells. */
  readonly cells: Int32Array = new Int32Array(3 * CSV_COLUMNS_MAX);
  /** Number of all cells. */
  count = 0;
  /** Line breaks inside quotes. */
  lineBreaks = 0;
  /** The first cell, from 1, with text after its closing quote; 0 for none. */
  restCell = 0;
  /** The position after the first line break inside the present cell's quotes; -1 for none. */
  resumeAt = -1;
  /** `resumeAt` of the first cell with a line break inside quotes, and the number of this cell, from 0. */
  firstResumeAt = -1;
  firstCell = 0;
  /** Where `scan` stopped and returned OPEN_QUOTE. */
  stoppedAt = 0;
  /** Line breaks of the row before the present cell. */
  breaksBefore = 0;
  readonly delimiter: number;
  readonly #stopsPlain: Uint8Array;
  #state = CELL_BEGINS;
  #cellStart = 0;
  #cellEnd = 0;
  #kind = PLAIN_CELL;
  #lastCr = -1;

  constructor(delimiter: number) {
    this.delimiter = delimiter;
    this.#stopsPlain = tableOf(delimiter, CR, LF);
  }

  get isInQuotes(): boolean {
    return this.#state === IN_QUOTES;
  }

  begin(): void {
    this.count = 0;
    this.lineBreaks = 0;
    this.restCell = 0;
    this.firstResumeAt = -1;
    this.#state = CELL_BEGINS;
    this.#beginCell(0);
  }

  /**
   * @param from the start of this part
   * @param row start of the row: negative if it is in an earlier part
   * @returns the place of the CR or LF that ends the row, INCOMPLETE or OPEN_QUOTE
   */
  scan(bytes: Uint8Array, from: number, row: number): number {
    const end = bytes.length;
    const stopsPlain = this.#stopsPlain;
    let state = this.#state;
    let at = from;
    while (at < end) {
      const byte = bytes[at] as number;
      if (state === IN_QUOTES) {
        if (byte === QUOTE) {
          state = AFTER_QUOTE;
          this.#cellEnd = at - row;
          at++;
          continue;
        }
        if (byte === CR) this.#breakLine(at - row, true);
        else if (byte === LF) this.#breakLine(at - row, false);
        at++;
        while (at < end && STOPS_QUOTED[bytes[at] as number] === 0) at++;
        continue;
      }
      if (byte === QUOTE && state === CELL_BEGINS) {
        state = IN_QUOTES;
        this.#kind = QUOTED_CELL;
        this.#cellStart = at + 1 - row;
        at++;
        while (at < end && STOPS_QUOTED[bytes[at] as number] === 0) at++;
        continue;
      }
      if (byte === QUOTE && state === AFTER_QUOTE) {
        state = IN_QUOTES;
        this.#kind = ESCAPED_CELL;
        at++;
        while (at < end && STOPS_QUOTED[bytes[at] as number] === 0) at++;
        continue;
      }
      if (byte === this.delimiter) {
        this.#endCell(state, at - row);
        this.#beginCell(at + 1 - row);
        state = CELL_BEGINS;
        at++;
        continue;
      }
      if (byte === CR || byte === LF) {
        this.#endCell(state, at - row);
        this.#state = CELL_BEGINS;
        return at;
      }
      if (state === AFTER_QUOTE) {
        if (this.resumeAt !== -1) {
          this.#state = state;
          this.stoppedAt = at - row;
          return OPEN_QUOTE;
        }
        if (this.restCell === 0) this.restCell = this.count + 1;
        state = IN_REST;
      } else if (state === CELL_BEGINS) state = IN_PLAIN;
      at++;
      while (at < end && stopsPlain[bytes[at] as number] === 0) at++;
    }
    this.#state = state;
    return INCOMPLETE;
  }

  /** Ends the row at the end of the source. */
  finish(length: number): void {
    this.#endCell(this.#state, length);
    this.#state = CELL_BEGINS;
  }

  #beginCell(start: number): void {
    this.#cellStart = start;
    this.#kind = PLAIN_CELL;
    this.#lastCr = -1;
    this.resumeAt = -1;
    this.breaksBefore = this.lineBreaks;
  }

  #endCell(state: number, end: number): void {
    if (this.count < CSV_COLUMNS_MAX) {
      const place = 3 * this.count;
      this.cells[place] = this.#cellStart;
      this.cells[place + 1] = state === AFTER_QUOTE || state === IN_REST ? this.#cellEnd : end;
      this.cells[place + 2] = this.#kind;
    }
    this.count++;
  }

  #breakLine(offset: number, isCr: boolean): void {
    const isPair = !isCr && this.#lastCr === offset - 1 && this.#lastCr !== -1;
    if (isCr) this.#lastCr = offset;
    if (!isPair) this.lineBreaks++;
    if (this.resumeAt !== -1 && !(isPair && this.resumeAt === offset)) return;
    if (this.firstResumeAt === this.resumeAt) {
      this.firstResumeAt = offset + 1;
      this.firstCell = this.count;
    }
    this.resumeAt = offset + 1;
  }
}

/**
 * The recognised delimiters. At equal scores the first wins, so the comma is last: texts often have commas.
 */
const DELIMITERS = ['\t', ';', '|', ','].map((delimiter) => delimiter.charCodeAt(0));
const BAR = 0x7c;
const ROWS_COMPARED = 50;
/** The first line that names the delimiter, as Excel writes and reads it. */
const SEPARATOR_LINE = /^"?sep=([^\w\s"]|\t)"?(?:\r\n|\r|\n|$)/i;

export interface Dialect {
  readonly delimiter: number;
  /** Length of the lines before the header: `sep=;`, or a title. */
  readonly skip: number;
}

/**
 * @param head the first bytes
 * @param given the byte between cells, if it is known
 * @param above the length of the lines above the header
 * @returns null if the first row has fewer than two columns
 */
export function recogniseDialect(head: Buffer, given?: number, above = 0): Dialect | null {
  const separator = SEPARATOR_LINE.exec(head.toString('latin1', 0, 16));
  if (separator !== null) {
    const skip = Math.max(above, separator[0].length);
    return { delimiter: given ?? (separator[1] as string).charCodeAt(0), skip };
  }
  if (given !== undefined) return { delimiter: given, skip: above };
  let best: { delimiter: number; columns: number; equal: number } | null = null;
  for (const delimiter of DELIMITERS) {
    const [columns = 0, ...counts] = countCells(head.subarray(above), delimiter);
    // Sentences may have one bar.
    if (columns < (delimiter === BAR ? 3 : 2)) continue;
    const equal =
      counts.length === 0 ? 1 : counts.filter((count) => count === columns).length / counts.length;
    const isBetter = best === null || equal > best.equal || (equal === best.equal && columns > best.columns);
    if (isBetter) best = { delimiter, columns, equal };
  }
  return best === null ? null : { delimiter: best.delimiter, skip: above };
}

/** A header is searched in so many rows. */
const HEADER_ROWS_MAX = 20;
/** The least share of rows that have the usual number of cells. */
const USUAL_SHARE_MIN = 0.5;

/** @returns where a line begins, counted from 1; -1 if the bytes have fewer lines */
export function lineStart(bytes: Buffer, line: number): number {
  let at = 0;
  for (let passed = 1; passed < line; passed++) {
    while (at < bytes.length && bytes[at] !== LF && bytes[at] !== CR) at++;
    if (at >= bytes.length) return -1;
    at += bytes[at] === CR && bytes[at + 1] === LF ? 2 : 1;
  }
  return at;
}

interface SeenRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * The line of a header below a title, or of the second of two header lines, as spreadsheets have them. Lines above a
 * header fill at most half of the usual number of cells; a second header line names columns that the first leaves empty.
 *
 * @param isData whether cells are data and no names
 * @returns null if the first row is not above a header
 */
export function guessHeaderLine(
  head: Buffer,
  given: number | undefined,
  isData: (cells: readonly string[]) => boolean,
): number | null {
  let rows: readonly SeenRow[] = [];
  let [width, share] = [0, 0];
  for (const delimiter of given === undefined ? DELIMITERS : [given]) {
    const seen = rowsOf(head, delimiter);
    const widths = new Map<number, number>();
    for (const { cells } of seen) widths.set(cells.length, (widths.get(cells.length) ?? 0) + 1);
    const [usual = 0, count = 0] = [...widths].sort((a, b) => b[1] - a[1])[0] ?? [];
    if (usual < 2 || count / seen.length <= share) continue;
    [rows, width, share] = [seen, usual, count / seen.length];
  }
  const filled = ({ cells }: SeenRow): number => cells.filter((cell) => cell !== '').length;
  const first = rows.findIndex((row) => 2 * filled(row) > width);
  const [header, next, after] = rows.slice(first);
  if (first === -1 || first >= HEADER_ROWS_MAX || header === undefined || share < USUAL_SHARE_MIN)
    return null;
  if (header.cells.length !== width || isData(header.cells)) return null;
  const names = next?.cells.some((cell, n) => cell !== '' && header.cells[n] === '');
  const isSecond = names && next?.cells.length === width && !isData(next.cells);
  const found = isSecond && after !== undefined && isData(after.cells) ? next : header;
  return found === rows[0] ? null : (found?.line ?? null);
}

/** The cells of the row above a header, between which blank lines may stand. @param above the bytes before the header */
export function cellsAbove(above: Buffer, delimiter: number): readonly string[] {
  return rowsOf(above, delimiter, Number.POSITIVE_INFINITY).at(-1)?.cells ?? [];
}

/** The first rows that are not blank, without an incomplete one. */
function rowsOf(head: Buffer, delimiter: number, rowsMax: number = ROWS_COMPARED): SeenRow[] {
  const rows: SeenRow[] = [];
  const scanner = new RowScanner(delimiter);
  const separator = SEPARATOR_LINE.exec(head.toString('latin1', 0, 16));
  let line = separator === null ? 1 : 2;
  for (let at = separator?.[0].length ?? 0; at < head.length && rows.length < rowsMax; ) {
    scanner.begin();
    const end = scanner.scan(head, at, at);
    if (end < 0) break;
    const cells = cellsOf(head.subarray(at, end), scanner);
    if (cells.some((cell) => cell !== '')) rows.push({ line, cells });
    line += scanner.lineBreaks + 1;
    at = end + (head[end] === CR && head[end + 1] === LF ? 2 : 1);
  }
  return rows;
}

/** The texts of a scanned row, without white space around them. */
function cellsOf(row: Buffer, { cells, count }: Pick<RowScanner, 'cells' | 'count'>): string[] {
  return Array.from({ length: Math.min(count, CSV_COLUMNS_MAX) }, (_, n) =>
    row.toString('utf8', cells[3 * n], cells[3 * n + 1]).trim(),
  );
}

/** How many cells each of the first rows has. Blank lines do not count, nor an incomplete row after the first. */
function countCells(head: Buffer, delimiter: number): number[] {
  const counts: number[] = [];
  const scanner = new RowScanner(delimiter);
  for (let at = 0; at < head.length && counts.length < ROWS_COMPARED; ) {
    scanner.begin();
    const end = scanner.scan(head, at, at);
    const isBlank = end === at;
    if (end === INCOMPLETE || end === OPEN_QUOTE) {
      if (counts.length === 0) counts.push(Math.min(scanner.count + 1, CSV_COLUMNS_MAX + 1));
      break;
    }
    if (!isBlank) counts.push(scanner.count);
    at = end + (head[end] === CR && head[end + 1] === LF ? 2 : 1);
  }
  return counts;
}
