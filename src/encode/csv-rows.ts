import { OUTPUT_FIELDS } from '../model/fields.js';
import type { Rows } from '../snapshot/rows.js';
import { type ListLayout, NO_ROOM } from './row-layout.js';
import type { RowListForm } from './row-lists.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LETTER_N = 0x6e;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

/** Bytes of `{"name":` or `,"name":` in a row. */
const NAME_BYTES = OUTPUT_FIELDS.map(({ name }) => name.length + 4);

/** RFC 4180. Null is nothing, and an empty text is a pair of quotes. */
const CSV_LAYOUT: ListLayout = { number: 3, sums: null, write: writeCsvRow };

export const CSV: RowListForm = {
  layout: CSV_LAYOUT,
  opening: Buffer.from(`${OUTPUT_FIELDS.map(({ name }) => name).join()}\r\n`),
  closing: Buffer.alloc(0),
};

/**
 * Converts a row from JSON byte by byte. The result is never longer: a quote takes two bytes in both, and JSON adds names and
 * quotes.
 *
 * @throws Error for a damaged row
 */
function writeCsvRow(rows: Rows, ordinal: number, target: Buffer, offset: number): number {
  const source = rows.bytes;
  let from = rows.start[ordinal]!;
  const end = rows.start[ordinal + 1]!;
  if (offset + end - from > target.length) return NO_ROOM;
  let to = offset;
  for (let n = 0; n < NAME_BYTES.length; n++) {
    if (n > 0) target[to++] = COMMA;
    from += NAME_BYTES[n]!;
    if (source[from] === LETTER_N) {
      from += 4;
      continue;
    }
    const open = from;
    const begin = to;
    let hasComma = false;
    let isEscaped = false;
    // Terminates: strings of a row are closed, or the row ends.
    for (from++; source[from] !== QUOTE; from++) {
      if (from >= end) throw new Error(`row ${ordinal} does not end`);
      const byte = source[from]!;
      if (byte === COMMA) hasComma = true;
      else if (byte === BACKSLASH) {
        isEscaped = true;
        from++;
      }
      target[to++] = byte;
    }
    from++;
    if (isEscaped) {
      const text = JSON.parse(source.toString('utf8', open, from)) as string;
      to = begin + target.write(quoted(text), begin, 'utf8');
    } else if (hasComma || to === begin) {
      target.copyWithin(begin + 1, begin, to);
      target[begin] = QUOTE;
      target[to + 1] = QUOTE;
      to += 2;
    }
  }
  target[to++] = CARRIAGE_RETURN;
  target[to++] = LINE_FEED;
  return to;
}

const NEEDS_QUOTES = /[",\r\n]/;

function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
