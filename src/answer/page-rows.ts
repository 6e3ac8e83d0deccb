import { hash } from 'node:crypto';
import type { Rows } from '../snapshot/rows.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { PAGE_FILES } from './page-files.js';
import { NO_ROOM } from './row-layout.js';
import type { FeedHead, RowListForm } from './row-lists.js';
import {
  copyBytes,
  fieldNumber,
  HAS_ESCAPE,
  HAS_MARKUP,
  HAS_SEMICOLON_OR_DELETE,
  type NameAt,
  namesAt,
  put,
  RowSpans,
} from './row-spans.js';

const { style, script } = PAGE_FILES;

/** The Content-Security-Policy of all pages: files of the service, and nothing else. */
export const PAGE_POLICY: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const COLUMNS = ['Start', 'End', 'Title', 'Room', 'Lecturer', 'Group', 'Type'];

const BEFORE_TITLE = Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>`);

const BEFORE_ROWS = Buffer.from(`
<div class="wide" role="region" aria-labelledby="caption" tabindex="0">
<table>
<caption id="caption">In order of time. All times of this table are in UTC.</caption>
<thead><tr>${COLUMNS.map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead>
<tbody>`);

const CLOSING = Buffer.from(`</tbody>
</table>
</div>
</main>
</body>
</html>
`);

/**
 * A hash of frame and names of files, because a newer version of the program may have another page for the same
 * events.
 */
export const PAGE_REVISION: string = hash(
  'sha256',
  Buffer.concat([BEFORE_TITLE, Buffer.from(`${style} ${script}`), BEFORE_ROWS, CLOSING]),
  'base64',
);

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: HTML has no use for these
const SPECIAL = /[&<>"\x00-\x1f\x7f]/g;

/** Text for the content of an element. Control characters become spaces. */
export function escapeHtml(text: string): string {
  return text.replace(SPECIAL, (character) => ENTITIES[character] ?? ' ');
}

/** Links are relative, because a proxy may add a prefix. The script replaces the page by a view of weeks. */
function openingOf({ name, file }: FeedHead): Buffer {
  const text = escapeHtml(name);
  const files = file.startsWith('../') ? '../../view/' : '../view/';
  const header = `${text}</title>
<link rel="icon" href="${files}icon.svg" type="image/svg+xml">
<link rel="manifest" href="${files}app.webmanifest">
<link rel="stylesheet" href="${files}${style}">
<script type="module" src="${files}${script}"></script>
</head>
<body>
<main id="feed" data-file="${file}">
<h1><bdi>${text}</bdi></h1>
<p><a href="${file}.ics">Calendar file</a> <a href="${file}.csv" download="timetable.csv">Table (CSV)</a></p>`;
  return Buffer.concat([BEFORE_TITLE, Buffer.from(header), BEFORE_ROWS]);
}

/** Writes the page of a feed: a table with a row for each event, which the script of all pages turns into weeks. */
export function pageForm(snapshot: Snapshot): RowListForm {
  const roomName = namesAt(snapshot, 'roomId');
  const courseName = namesAt(snapshot, 'courseId');
  return {
    opening: openingOf({ name: 'Timetable', file: 'timetable' }),
    closing: CLOSING,
    openingOf,
    layout: {
      number: 6,
      isOfSnapshot: true,
      sums: null,
      write: (rows, ordinal, target, offset) => writeRow(rows, ordinal, roomName, courseName, target, offset),
    },
  };
}

const TIME = fieldNumber('time');
const END_TIME = fieldNumber('endTime');
const TITLE = fieldNumber('title');
const ROOM = fieldNumber('roomId');
/** The fields of the last columns. */
const OTHERS = (['lecturer', 'studyGroup', 'type'] as const).map(fieldNumber);

/** Bytes apart from texts. */
const FRAME_BYTES_MAX = 256;
/**
 * Largest number of bytes that a byte of JSON, or a UTF-16 unit of a name, becomes. `&` becomes five bytes. A
 * quote becomes six, but has two in JSON.
 */
const BYTES_PER_JSON_BYTE_MAX = 5;
const BYTES_PER_UNIT_MAX = 6;

const BEGIN = Buffer.from('<tr><td><time datetime="');
const TIME_TEXT = Buffer.from('">');
const NEXT_TIME = Buffer.from('</time></td><td><time datetime="');
const AFTER_TIMES = Buffer.from('</time></td><td>');
const NEXT_CELL = Buffer.from('</td><td>');
const END = Buffer.from('</td></tr>\n');
const NEEDS_ESCAPES = HAS_ESCAPE | HAS_MARKUP | HAS_SEMICOLON_OR_DELETE;

const spans = new RowSpans();

function writeRow(
  rows: Rows,
  ordinal: number,
  roomNameAt: NameAt,
  courseNameAt: NameAt,
  target: Buffer,
  offset: number,
): number {
  const { bytes, start } = rows;
  spans.read(rows, ordinal);
  const courseName = isEmpty(TITLE) ? courseNameAt(ordinal) : null;
  const roomName = roomNameAt(ordinal);
  const bytesMax =
    FRAME_BYTES_MAX +
    (start[ordinal + 1]! - start[ordinal]!) * BYTES_PER_JSON_BYTE_MAX +
    ((courseName?.length ?? 0) + (roomName?.length ?? 0)) * BYTES_PER_UNIT_MAX;
  if (bytesMax > target.length - offset) return NO_ROOM;
  let to = writeInstant(bytes, spans.from[TIME]!, 0, target, put(BEGIN, target, offset));
  const fromMinute = isSameDay(bytes) ? DATE_CHARACTERS : 0;
  to = writeInstant(bytes, spans.from[END_TIME]!, fromMinute, target, put(NEXT_TIME, target, to));
  to = writeName(rows, courseName, TITLE, target, put(AFTER_TIMES, target, to));
  to = writeName(rows, roomName, ROOM, target, put(NEXT_CELL, target, to));
  for (const field of OTHERS) to = writeText(rows, field, target, put(NEXT_CELL, target, to));
  return put(END, target, to);
}

function isEmpty(field: number): boolean {
  return spans.from[field] === -1 || spans.to[field] === spans.from[field];
}

/** The name, or else the text of a field. */
function writeName(rows: Rows, name: string | null, field: number, target: Buffer, offset: number): number {
  if (name === null) return writeText(rows, field, target, offset);
  return offset + target.write(escapeHtml(name), offset, 'utf8');
}

/** Writes nothing for null. Most texts have no characters to escape and are copied. */
function writeText(rows: Rows, field: number, target: Buffer, offset: number): number {
  if (isEmpty(field)) return offset;
  if (spans.has[field]! & NEEDS_ESCAPES) {
    return offset + target.write(escapeHtml(spans.textOf(rows, field) ?? ''), offset, 'utf8');
  }
  return copyBytes(rows.bytes, spans.from[field]!, spans.to[field]!, target, offset);
}

const DATE_CHARACTERS = 'YYYY-MM-DDT'.length;
const MINUTE_CHARACTERS = 'YYYY-MM-DDTHH:mm'.length;
const INSTANT_CHARACTERS = 'YYYY-MM-DDTHH:mm:ss.sssZ'.length;
const PLACE_OF_T = DATE_CHARACTERS - 1;
const SPACE = 0x20;

/** Writes `2024-09-02T08:00:00.000Z">2024-09-02 08:00`. @param shownFrom where the shown part begins */
function writeInstant(
  bytes: Buffer,
  from: number,
  shownFrom: number,
  target: Buffer,
  offset: number,
): number {
  let to = copyBytes(bytes, from, from + INSTANT_CHARACTERS, target, offset);
  to = put(TIME_TEXT, target, to);
  const shown = to;
  to = copyBytes(bytes, from + shownFrom, from + MINUTE_CHARACTERS, target, to);
  if (shownFrom === 0) target[shown + PLACE_OF_T] = SPACE;
  return to;
}

/** Whether start and end are on one day of UTC. */
function isSameDay(bytes: Buffer): boolean {
  const [start, end] = [spans.from[TIME]!, spans.from[END_TIME]!];
  for (let n = 0; n < PLACE_OF_T; n++) if (bytes[start + n] !== bytes[end + n]) return false;
  return true;
}
