import { CSV_COLUMNS_MAX } from '../../base/limits.js';
import { INCOMPLETE, OPEN_QUOTE, RowScanner } from './csv-row.js';

const CR = 0x0d;
const LF = 0x0a;
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
  /** Length of a line `sep=;` before the header. */
  readonly skip: number;
}

/**
 * @param head the first bytes
 * @param given the byte between cells, if it is known
 * @returns null if the first row has fewer than two columns
 */
export function recogniseDialect(head: Buffer, given?: number): Dialect | null {
  const separator = SEPARATOR_LINE.exec(head.toString('latin1', 0, 16));
  if (separator !== null) {
    return { delimiter: given ?? (separator[1] as string).charCodeAt(0), skip: separator[0].length };
  }
  if (given !== undefined) return { delimiter: given, skip: 0 };
  let best: { delimiter: number; columns: number; equal: number } | null = null;
  for (const delimiter of DELIMITERS) {
    const [columns = 0, ...counts] = countCells(head, delimiter);
    // Sentences may have one bar.
    if (columns < (delimiter === BAR ? 3 : 2)) continue;
    const equal =
      counts.length === 0 ? 1 : counts.filter((count) => count === columns).length / counts.length;
    const isBetter = best === null || equal > best.equal || (equal === best.equal && columns > best.columns);
    if (isBetter) best = { delimiter, columns, equal };
  }
  return best === null ? null : { delimiter: best.delimiter, skip: 0 };
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
