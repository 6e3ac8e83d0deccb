import { pipeline, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { tooLarge } from '../../base/errors.js';
import { HEAD_BYTES, READ_CHUNK_BYTES } from '../../base/limits.js';
import { placeOf } from '../../base/model/json-fault.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { FieldTable } from '../field-map.js';
import { preparePatterns } from '../map-value.js';
import type { LoadOptions, ReadSummary, RowSink } from '../source.js';
import { guessHeaderLine, recogniseDialect } from './csv-row.js';
import { type FormatReader, malformed } from './reader.js';
import { foreignText, Transcoder } from './text-encoding.js';

type ReaderClass = new (
  sourceName: string,
  table: FieldTable,
  rules: ReadRules,
  /** The first HEAD_BYTES of what is pushed, or all. */
  head: Buffer,
) => FormatReader;

/** A new format needs a reader here and an entry in `sniff`. Readers are imported when their format occurs. */
const READERS: Readonly<Record<RecognisedFormat, () => Promise<ReaderClass>>> = {
  ndjson: async () => (await import('./ndjson.js')).NdjsonReader,
  'json-array': async () => (await import('./json-array.js')).JsonArrayReader,
  messagepack: async () => (await import('./messagepack.js')).MessagePackReader,
  icalendar: async () => (await import('../calendar/calendar-reader.js')).CalendarReader,
  csv: async () => (await import('./csv.js')).CsvReader,
};

/**
 * Formats of plain text. No brackets or markers show that such text is in another encoding, so its bytes are
 * checked at once.
 */
const PLAIN_TEXT: ReadonlySet<RecognisedFormat> = new Set(['csv']);

const DEFAULT_RULES: ReadRules = { identifiers: 'uuid' };
const GZIP_MARK_BYTES = 2;

export interface ReadOptions extends Omit<LoadOptions, 'previous'> {
  readonly sourceName: string;
  /** Length before decompression, for the progress; null if unknown. */
  readonly bytesTotal: number | null;
  /**
   * Whether the end of the bytes is the end of the data. If false, the data may be cut, so only
   * self-delimiting formats are accepted. Default true.
   */
  readonly endIsCertain?: boolean;
  readonly unpackedBytesMax?: number;
  /** Called with each chunk that is no longer needed, unless the data is packed. */
  readonly onRead?: (chunk: Uint8Array) => void;
}

/**
 * Reads records of any format, gzipped or not. Memory holds one chunk and the beginning of one record. Chunks
 * must not change before `onRead`, because unpacking reads ahead.
 *
 * @throws LecternError `source-malformed`, `source-too-large`; the signal's reason; errors of `chunks` or the
 * sink
 */
export async function readRecords(
  chunks: AsyncIterable<Uint8Array>,
  sink: RowSink,
  options: ReadOptions,
): Promise<ReadSummary> {
  const { sourceName, signal, bytesTotal, unpackedBytesMax = Number.POSITIVE_INFINITY } = options;
  const { rules = DEFAULT_RULES } = options;
  let bytesRead = 0;
  const given = await withHead(
    inPieces(chunks, (bytes) => {
      signal?.throwIfAborted();
      bytesRead += bytes;
    }),
    GZIP_MARK_BYTES,
  );
  const gzipped = isGzip(given.head);
  const pieces = gzipped ? gunzip(sourceName, given.pieces, unpackedBytesMax) : given.pieces;
  const whole = await withHead(pieces, HEAD_BYTES);
  const transcoder = new Transcoder(sourceName, rules.encoding, whole.head);
  const head = new Transcoder(sourceName, rules.encoding, whole.head).push(whole.head);
  const { reader, table, skip } = await begin(sink, head, {
    ...options,
    rules: { ...rules, encoding: transcoder.encoding },
  });
  let skipped = 0;
  for await (const piece of whole.pieces) {
    signal?.throwIfAborted();
    const text = transcoder.push(piece);
    const cut = Math.min(skip - skipped, text.length);
    skipped += cut;
    reader.push(text.subarray(cut));
    if (!gzipped) options.onRead?.(piece);
    options.onProgress?.({ bytesRead, bytesTotal, records: reader.records });
  }
  signal?.throwIfAborted();
  reader.push(transcoder.finish());
  await reader.finish();
  // The last bytes may have held further records.
  options.onProgress?.({ bytesRead, bytesTotal, records: reader.records });
  for (const _step of reader.rest?.() ?? []) {
    options.onProgress?.({ bytesRead, bytesTotal, records: reader.records });
    await nextTurn();
    signal?.throwIfAborted();
  }
  table.finish();
  if (options.endIsCertain === false && !gzipped && !reader.selfDelimiting) {
    const problem = `it may be cut: the transfer has no length, and ${reader.format} does not mark its end`;
    throw malformed(sourceName, `${problem}; expected a known length, an array, or gzip data`);
  }
  return {
    format: reader.format,
    gzipped,
    bytesRead,
    ...(reader.expanded === undefined ? {} : { expanded: reader.expanded }),
    ...(reader.csv === undefined ? {} : { csv: reader.csv }),
    ...(reader.endsCut === true ? { endsCut: true } : {}),
  };
}

/** @returns the first bytes, at least so many if there are as many, and all pieces */
async function withHead(
  pieces: AsyncGenerator<Buffer>,
  bytesMin: number,
): Promise<{ readonly head: Buffer; readonly pieces: AsyncGenerator<Buffer> }> {
  const first: Buffer[] = [];
  let length = 0;
  while (length < bytesMin) {
    const next = await pieces.next();
    if (next.done) break;
    first.push(next.value);
    length += next.value.length;
  }
  async function* all(): AsyncGenerator<Buffer> {
    yield* first;
    yield* pieces;
  }
  const [only] = first;
  return { head: first.length === 1 ? (only as Buffer) : Buffer.concat(first), pieces: all() };
}

/** @param head the first bytes, or all */
async function begin(
  sink: RowSink,
  head: Buffer,
  { sourceName, rules = DEFAULT_RULES, ...options }: ReadOptions,
): Promise<{ readonly reader: FormatReader; readonly table: FieldTable; readonly skip: number }> {
  const sniffed = sniffedBy(rules, sniff(head), head);
  if ('problem' in sniffed) throw malformed(sourceName, sniffed.problem);
  const { format, skip } = sniffed;
  if (PLAIN_TEXT.has(format) && rules.encoding === undefined) {
    const problem = foreignText(head);
    if (problem !== null) throw malformed(sourceName, problem);
  }
  const Reader = rules.records === undefined ? await READERS[format]() : await nestedReader();
  await preparePatterns(rules);
  const table = new FieldTable(sink, format, rules, sourceName, options);
  return { reader: new Reader(sourceName, table, rules, head.subarray(skip)), table, skip };
}

async function nestedReader(): Promise<ReaderClass> {
  return (await import('./nested-json.js')).NestedJsonReader;
}

/** The format, with what the rules say of it. */
function sniffedBy({ delimiter, header, records }: ReadRules, sniffed: Sniffed, head: Buffer): Sniffed {
  if (records !== undefined && !('format' in sniffed && /^(?:ndjson|json-array)$/.test(sniffed.format)))
    return {
      problem: `records is an expression over JSON; ${'format' in sniffed ? `found ${sniffed.format}` : sniffed.problem}`,
    };
  // Cells may be parted by a character that is not recognised, and a title above the header has no cells.
  const isGiven = delimiter !== undefined || typeof header === 'number';
  const isText = 'problem' in sniffed && head.some((byte) => !isWhiteSpace(byte));
  const isCsv = isText && (isGiven || (header === 'guess' && hasHeaderBelow(head)));
  return isCsv ? { format: 'csv', skip: head[0] === 0xef && head[1] === 0xbb ? 3 : 0 } : sniffed;
}

/** Cuts long chunks, so that no step blocks the event loop for long. */
async function* inPieces(
  chunks: AsyncIterable<Uint8Array>,
  onPiece: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let start = 0; start < bytes.length; start += READ_CHUNK_BYTES) {
      if (start > 0) await nextTurn();
      const piece = bytes.subarray(start, start + READ_CHUNK_BYTES);
      onPiece(piece.length);
      yield piece;
    }
  }
}

/** Unpacks gzip data (RFC 1952) of one or several members. Only zeros may follow the last member. */
export async function* gunzip(
  sourceName: string,
  chunks: AsyncIterable<Uint8Array>,
  unpackedBytesMax: number,
): AsyncGenerator<Buffer> {
  let given = 0;
  let unpacked = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      given += chunk.length;
      yield chunk;
    }
  }
  const packed = Readable.from(counted(), { objectMode: false, highWaterMark: READ_CHUNK_BYTES });
  const plain = createGunzip({ chunkSize: READ_CHUNK_BYTES });
  // Failures of source and decompression appear in the loop.
  pipeline(packed, plain, () => {});
  try {
    for await (const chunk of plain) {
      unpacked += (chunk as Buffer).length;
      if (unpacked > unpackedBytesMax) {
        const problem = `it has more than ${unpackedBytesMax} bytes, unpacked from ${given}`;
        throw tooLarge(sourceName, problem);
      }
      yield chunk as Buffer;
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!code.startsWith('Z_')) throw error;
    const problem =
      code === 'Z_BUF_ERROR'
        ? `the gzip data ends early, after ${given} bytes; expected the rest of it`
        : `the gzip data is corrupt within its first ${given} bytes (${(error as Error).message})`;
    throw malformed(sourceName, problem, error);
  }
}

/** Messages show few characters, because the text may be a secret given as a source by mistake. */
const LINE_CHARACTERS_SHOWN = 8;
const DESCRIBED_BYTES = 512;

type RecognisedFormat = 'ndjson' | 'json-array' | 'messagepack' | 'csv' | 'icalendar';

/** The format and the bytes of a byte order mark to skip, or a problem. */
type Sniffed = { readonly format: RecognisedFormat; readonly skip: number } | { readonly problem: string };

const EXPECTED =
  'expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped';

const CALENDAR_BEGIN = 'BEGIN:VCALENDAR';

/** RFC 1952 section 2.3.1. */
function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

/**
 * Recognises the format of a source by its first HEAD_BYTES, or all bytes. Text may begin with a UTF-8 byte order mark and
 * white space.
 */
export function sniff(head: Buffer): Sniffed {
  const first = head[0];
  if (first === undefined) return { problem: `the source is empty; ${EXPECTED}` };
  const beginsMessagePack = (first >= 0x80 && first < 0xa0) || (first >= 0xdc && first <= 0xdf);
  if (beginsMessagePack && !isWesternWord(head)) return { format: 'messagepack', skip: 0 };
  if (beginsStructure(head) && isArrayByte(head[first === 0xd4 ? 3 : 4]))
    return { format: 'messagepack', skip: 0 };

  const skip = first === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  let start = skip;
  while (isWhiteSpace(head[start])) start++;
  if (start === head.length) {
    const what = start < HEAD_BYTES ? 'the source is empty' : `the first ${start} bytes are nothing`;
    return { problem: `${what} but ${start < HEAD_BYTES ? 'for ' : ''}white space; ${EXPECTED}` };
  }
  const byte = head[start];
  if ((byte === 0x7b || byte === 0x5b) && head[start + 1] !== 0x00)
    return { format: byte === 0x7b ? 'ndjson' : 'json-array', skip };
  const beginning = head.toString('latin1', start, start + CALENDAR_BEGIN.length).toUpperCase();
  if (beginning === CALENDAR_BEGIN) return { format: 'icalendar', skip };
  if (looksLikeCsv(head.subarray(skip))) return { format: 'csv', skip };
  const text = head.toString('utf8', skip, Math.min(head.length, start + DESCRIBED_BYTES));
  const place = placeOf(text, start - skip);
  const where = `line ${place.line}, column ${place.column}`;
  return { problem: `${where}: found ${describe(head, text.slice(start - skip), start)}; ${EXPECTED}` };
}

/**
 * Whether the bytes begin a record structure of msgpackr: an extension of type 114. Records of this form are
 * rejected one by one.
 */
function beginsStructure(head: Buffer): boolean {
  return (head[0] === 0xd4 || head[0] === 0xd5) && head[1] === 0x72;
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

/** Whether a header stands below lines without cells. */
function hasHeaderBelow(head: Buffer): boolean {
  if (
    head.includes(0) ||
    MAGIC.some(([magic]) => head.toString('latin1', 0, 16).trimStart().startsWith(magic))
  )
    return false;
  return guessHeaderLine(head, undefined, () => false) !== null;
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
  if (utf16 !== undefined)
    return `UTF-16 text without a byte order mark: in a timetable file, give encoding: ${utf16[1]}`;
  if (head.toString('latin1', TAR_MARK_AT, TAR_MARK_AT + 5) === 'ustar') return 'a tar archive: unpack it';
  const line = text.slice(0, text.search(/[\r\n]|$/));
  if (/^[^\p{Cc}\ufffd]+$/u.test(line)) {
    const cut = line.length > LINE_CHARACTERS_SHOWN ? '…' : '';
    return `the text ${JSON.stringify(line.slice(0, LINE_CHARACTERS_SHOWN).toWellFormed())}${cut}`;
  }
  const shown = [...head.subarray(start, start + 4)].map((byte) => byte.toString(16).padStart(2, '0'));
  return `the bytes ${shown.join(' ')} (hexadecimal)`;
}
