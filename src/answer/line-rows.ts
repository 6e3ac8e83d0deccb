import { OUTPUT_FIELDS } from '../model/fields.js';
import type { Rows } from '../snapshot/rows.js';
import { type ListLayout, NO_ROOM } from './row-layout.js';
import type { RowListForm } from './row-lists.js';
import { copyBytes, HAS_COMMA, HAS_ESCAPE, RowSpans } from './row-spans.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

const spans = new RowSpans();

/** RFC 4180. Null is an empty cell, and an empty text is a pair of quotes. */
const CSV_LAYOUT: ListLayout = { number: 3, sums: null, write: writeCsvRow };

export const CSV: RowListForm = {
  layout: CSV_LAYOUT,
  opening: Buffer.from(`${OUTPUT_FIELDS.map(({ name }) => name).join()}\r\n`),
  closing: Buffer.alloc(0),
};

/** The result is never longer than JSON: a quote takes two bytes in both, and JSON adds names and quotes. */
function writeCsvRow(rows: Rows, ordinal: number, target: Buffer, offset: number): number {
  const { bytes, start } = rows;
  if (offset + start[ordinal + 1]! - start[ordinal]! > target.length) return NO_ROOM;
  spans.read(rows, ordinal);
  let to = offset;
  for (let n = 0; n < OUTPUT_FIELDS.length; n++) {
    if (n > 0) target[to++] = COMMA;
    const from = spans.from[n]!;
    if (from === -1) continue;
    const has = spans.has[n]!;
    if (has & HAS_ESCAPE) to += target.write(quoted(spans.textOf(rows, n) ?? ''), to, 'utf8');
    else {
      const end = spans.to[n]!;
      const needsQuotes = (has & HAS_COMMA) !== 0 || end === from;
      if (needsQuotes) target[to++] = QUOTE;
      to = copyBytes(bytes, from, end, target, to);
      if (needsQuotes) target[to++] = QUOTE;
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

const NOTHING = Buffer.alloc(0);

/** A line feed replaces the comma. */
const NDJSON_LAYOUT: ListLayout = {
  number: 2,
  sums: 'start',
  write({ bytes, start }, ordinal, target, offset) {
    const end = start[ordinal + 1]! - 1;
    const at = offset + end - start[ordinal]!;
    if (at >= target.length) return NO_ROOM;
    bytes.copy(target, offset, start[ordinal]!, end);
    target[at] = LINE_FEED;
    return at + 1;
  },
};

export const NDJSON: RowListForm = { layout: NDJSON_LAYOUT, opening: NOTHING, closing: NOTHING };
