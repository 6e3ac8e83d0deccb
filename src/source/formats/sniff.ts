import { READ_CHUNK_BYTES } from '../../limits.js';
import { placeOf } from '../../model/json-fault.js';
import { recogniseDialect } from './csv-dialect.js';

/** Messages show few characters, because the text may be a secret given as a source by mistake. */
const LINE_CHARACTERS_SHOWN = 8;
const DESCRIBED_BYTES = 512;

export type RecognisedFormat = 'ndjson' | 'json-array' | 'messagepack' | 'csv' | 'icalendar';

/** The format and the bytes of a byte order mark to skip, or a problem. */
export type Sniffed =
  | { readonly format: RecognisedFormat; readonly skip: number }
  | { readonly problem: string };

const EXPECTED =
  'expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped';

const CALENDAR_BEGIN = 'BEGIN:VCALENDAR';

/** RFC 1952 section 2.3.1. */
export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

/**
 * Recognises the format of a source by its first bytes. Text may begin with a UTF-8 byte order mark and white space.
 *
 * @param ended whether these are all bytes of the source; if not, a result of null asks for more bytes
 */
export function sniff(head: Buffer, ended: boolean): Sniffed | null {
  const first = head[0];
  if (first === undefined) return ended ? { problem: `the source is empty; ${EXPECTED}` } : null;
  const beginsMessagePack = (first >= 0x80 && first < 0xa0) || (first >= 0xdc && first <= 0xdf);
  if (beginsMessagePack && !isWesternWord(head)) return { format: 'messagepack', skip: 0 };
  if (beginsStructure(head)) {
    if (head.length < STRUCTURE_BYTES && !ended) return null;
    if (isArrayByte(head[first === 0xd4 ? 3 : 4])) return { format: 'messagepack', skip: 0 };
  }

  const skip = first === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  let start = skip;
  while (isWhiteSpace(head[start])) start++;
  if (start === head.length) {
    if (ended) return { problem: `the source is empty but for white space; ${EXPECTED}` };
    if (head.length < READ_CHUNK_BYTES) return null;
    return { problem: `the first ${head.length} bytes are nothing but white space; ${EXPECTED}` };
  }
  const byte = head[start];
  if (byte === 0x7b || byte === 0x5b) {
    if (start + 1 === head.length && !ended) return null;
    if (head[start + 1] !== 0x00) return { format: byte === 0x7b ? 'ndjson' : 'json-array', skip };
  }
  const beginning = head.toString('latin1', start, start + CALENDAR_BEGIN.length).toUpperCase();
  if (beginning === CALENDAR_BEGIN) return { format: 'icalendar', skip };
  if (!ended && head.length < DESCRIBED_BYTES) return null;
  if (looksLikeCsv(head.subarray(skip))) return { format: 'csv', skip };
  const text = head.toString('utf8', skip, Math.min(head.length, start + DESCRIBED_BYTES));
  const place = placeOf(text, start - skip);
  const where = `line ${place.line}, column ${place.column}`;
  return { problem: `${where}: found ${describe(head, text.slice(start - skip), start)}; ${EXPECTED}` };
}

/** Length of a record structure's header with a two-byte number, plus the first byte of the names after it. */
const STRUCTURE_BYTES = 5;

/**
 * Whether the bytes begin a record structure of msgpackr: an extension of type 114. Records of this form are
 * rejected one by one.
 */
function beginsStructure(head: Buffer): boolean {
  return (head[0] === 0xd4 || head[0] === 0xd5) && (head.length === 1 || head[1] === 0x72);
}

function isArrayByte(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x90 && byte < 0xa0) || byte === 0xdc || byte === 0xdd);
}

/**
 * Whether the bytes begin with a word such as `\u00dcbung` in windows-1252. As MessagePack, they would be an array of
 * thousands of numbers.
 */
function isWesternWord(head: Buffer): boolean {
  return /^[ÜÝÞß][a-z][a-z]/.test(head.toString('latin1', 0, 3));
}

/** Text whose first row has a separator outside quotes. */
function looksLikeCsv(head: Buffer): boolean {
  const text = head.toString('latin1', 0, DESCRIBED_BYTES).trimStart();
  const line = Buffer.from(text.slice(0, text.search(/[\r\n]|$/)), 'latin1');
  if (line.some((byte) => byte < 0x20 && !isWhiteSpace(byte))) return false;
  if (MAGIC.some(([magic]) => text.startsWith(magic))) return false;
  return recogniseDialect(Buffer.from(text, 'latin1')) !== null;
}

function isWhiteSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

const ZIP = 'a zip archive: unpack it';
const SAVE_AS_CSV =
  'open it in Excel or LibreOffice, choose "Save As" with the type CSV (in Excel "CSV UTF-8"), and give that file';

/** Names of entries of zip archives, and the type that OpenDocument files begin with. */
const ZIPPED: readonly (readonly [content: RegExp, what: string])[] = [
  [/opendocument\.spreadsheet/, `a LibreOffice spreadsheet (.ods): ${SAVE_AS_CSV}`],
  [/opendocument|word\/|ppt\//, 'an office document: a timetable needs a table, saved as CSV'],
  [/xl\/|^\[Content_Types\]\.xml|^_rels\/|^docProps\//, `an Excel workbook (.xlsx): ${SAVE_AS_CSV}`],
];

/** Describes a zip archive by its first entries, whose names begin 30 bytes after their marks. */
function describeZip(archive: string): string {
  const names = archive.slice(30);
  return ZIPPED.find(([content]) => content.test(names))?.[1] ?? ZIP;
}

/** Patterns of UTF-16 text that begins with ASCII. Only UTF-16 text has NUL bytes, so these patterns match nothing else. */
const UTF_16: readonly (readonly [pattern: RegExp, encoding: string])[] = [
  [/^(?:[\t\n\r -~]\0){2}/, 'utf-16le'],
  [/^(?:\0[\t\n\r -~]){2}/, 'utf-16be'],
];
const TAR_MARK_AT = 257;

/** Formats that people give by mistake, recognised by their first bytes. */
const MAGIC: readonly (readonly [bytes: string, what: string])[] = [
  ['\x1f\x8b', 'gzip data inside gzip data: unpack it once'],
  ['\x28\xb5\x2f\xfd', 'zstd data: unpack it, or compress it with gzip'],
  ['PK\x03\x04', ZIP],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', `an old Office document, such as .xls: ${SAVE_AS_CSV}`],
  ['7z\xbc\xaf\x27\x1c', 'a 7z archive: unpack it'],
  ['Rar!\x1a\x07', 'a RAR archive: unpack it'],
  ['%PDF-', 'a PDF document: a timetable needs a table, saved as CSV'],
  ['BZh', 'bzip2 data: unpack it, or compress it with gzip'],
  ['\xfd7zXZ\0', 'xz data: unpack it, or compress it with gzip'],
  ['SQLite format 3\0', 'an SQLite database: export it as CSV or NDJSON'],
  ['PAR1', 'a Parquet file: export it as CSV or NDJSON'],
  [
    'LECTERN\x1a',
    'a snapshot file of Lectern: `lectern serve --pin` serves it, and --snapshot-file continues from it',
  ],
  ['<', 'HTML or XML'],
];

function describe(head: Buffer, text: string, start: number): string {
  const bytes = head.toString('latin1', start, start + 16);
  const known = MAGIC.find(([magic]) => bytes.startsWith(magic));
  if (known?.[1] === ZIP) return describeZip(head.toString('latin1', start, start + DESCRIBED_BYTES));
  if (known !== undefined) return known[1];
  const utf16 = UTF_16.find(([pattern]) => pattern.test(bytes));
  if (utf16 !== undefined) return `UTF-16 text without a byte order mark: give --encoding ${utf16[1]}`;
  if (head.toString('latin1', TAR_MARK_AT, TAR_MARK_AT + 5) === 'ustar') return 'a tar archive: unpack it';
  const line = text.slice(0, text.search(/[\r\n]|$/));
  if (/^[^\p{Cc}\ufffd]+$/u.test(line)) {
    if (/[^|]\|[^|]+\|/.test(line)) return 'cells separated by |: make sep=| the first line';
    const cut = line.length > LINE_CHARACTERS_SHOWN ? '…' : '';
    return `the text ${JSON.stringify(line.slice(0, LINE_CHARACTERS_SHOWN).toWellFormed())}${cut}`;
  }
  const shown = [...head.subarray(start, start + 4)].map((byte) => byte.toString(16).padStart(2, '0'));
  return `the bytes ${shown.join(' ')} (hexadecimal)`;
}
