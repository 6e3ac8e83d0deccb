import { OUTPUT_FIELDS } from '../base/model/fields.js';
import type { Rows } from '../snapshot/rows.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { type ListLayout, NO_ROOM } from './row-layout.js';
import type { RowListForm } from './row-lists.js';
import { copyBytes, HAS_COMMA, HAS_ESCAPE, RowSpans } from './row-spans.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const LINE_END = Buffer.from('\r\n');
const NOTHING = Buffer.alloc(0);

const spans = new RowSpans();

const CSV_NAMES = OUTPUT_FIELDS.map(({ name }) => name as string);
const CSV_LAYOUT: ListLayout = { number: 3, sums: null, write: writeCsvRow };

/**
 * RFC 4180. Null is an empty cell, and an empty text is a pair of quotes. If the timetable has lessons, the last column
 * has them, so that the file can be read again.
 */
export function csvForm({ lessons }: Snapshot): RowListForm {
  if (lessons.codes.length === 0)
    return { layout: CSV_LAYOUT, opening: headerOf(CSV_NAMES), closing: NOTHING };
  const layout: ListLayout = {
    ...CSV_LAYOUT,
    isOfSnapshot: true,
    write(rows, ordinal, target, offset) {
      const lesson = quoted(lessons.nameOf(ordinal) ?? '');
      const end = writeCsvRow(rows, ordinal, target, offset);
      if (end === NO_ROOM || end + Buffer.byteLength(lesson) >= target.length) return NO_ROOM;
      // The comma takes the place of the carriage return.
      let to = end - LINE_END.length;
      target[to++] = COMMA;
      to += target.write(lesson, to, 'utf8');
      return to + LINE_END.copy(target, to);
    },
  };
  return { layout, opening: headerOf([...CSV_NAMES, 'lessonId']), closing: NOTHING };
}

function headerOf(names: readonly string[]): Buffer {
  return Buffer.from(`${names.join()}\r\n`);
}

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
