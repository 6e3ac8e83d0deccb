import { pipeline, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { LecternError } from '../../errors.js';
import { READ_CHUNK_BYTES } from '../../limits.js';
import type { ReadRules } from '../../model/read-rules.js';
import { mappedSink } from '../field-map.js';
import type { LoadOptions, ReadSummary, RecordSink } from '../source.js';
import { type FormatReader, malformed } from './reader.js';
import { isGzip, type RecognisedFormat, sniff } from './sniff.js';
import { foreignText, Transcoder } from './text-encoding.js';

type ReaderClass = new (sourceName: string, sink: RecordSink, rules: ReadRules) => FormatReader;

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
  sink: RecordSink,
  options: ReadOptions,
): Promise<ReadSummary> {
  const { sourceName, signal, bytesTotal, unpackedBytesMax = Number.POSITIVE_INFINITY } = options;
  const { rules = DEFAULT_RULES } = options;
  const transcoder = new Transcoder(sourceName, rules.encoding);
  let bytesRead = 0;
  const pieces = inPieces(chunks, (bytes) => {
    signal?.throwIfAborted();
    bytesRead += bytes;
  });
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await pieces.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  const gzipped = isGzip(head);
  const whole = prepend(head, pieces);
  const untold = new FirstBytes();
  let reader: FormatReader | null = null;
  const beginWith = (head: Buffer, ended: boolean): Promise<FormatReader | null> =>
    begin(sink, head, ended, { ...options, rules: { ...rules, encoding: transcoder.encoding } });
  for await (const chunk of gzipped ? gunzip(sourceName, whole, unpackedBytesMax) : whole) {
    signal?.throwIfAborted();
    const text = transcoder.push(chunk);
    if (reader !== null) {
      reader.push(text);
    } else if (text.length > 0) {
      const head = untold.push(text);
      if (head !== null) reader = await beginWith(head, false);
    }
    if (reader !== null && !gzipped) options.onRead?.(chunk);
    options.onProgress?.({ bytesRead, bytesTotal, records: reader?.records ?? 0 });
  }
  signal?.throwIfAborted();
  const last = transcoder.finish();
  if (reader !== null) reader.push(last);
  else reader = (await beginWith(Buffer.concat([untold.all, last]), true)) as FormatReader;
  reader.finish();
  for (const _step of reader.rest?.() ?? []) {
    options.onProgress?.({ bytesRead, bytesTotal, records: reader.records });
    await nextTurn();
    signal?.throwIfAborted();
  }
  if (options.endIsCertain === false && !gzipped && !reader.selfDelimiting) {
    const problem = `it may be cut: the transfer has no length, and ${reader.format} does not mark its end`;
    throw malformed(sourceName, `${problem}; expected a known length, an array, or gzip data`);
  }
  return {
    format: reader.format,
    gzipped,
    bytesRead,
    ...(reader.expanded === undefined ? {} : { expanded: reader.expanded }),
    ...(reader.endsCut === true ? { endsCut: true } : {}),
  };
}

/** The first bytes, while the format is unknown. */
class FirstBytes {
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #nextLength = 1;

  get all(): Buffer {
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
  }

  /**
   * @returns all bytes whenever their number has doubled, else null: pieces may have one byte each, and looking at
   * all bytes for each of them would take quadratic time
   */
  push(piece: Buffer): Buffer | null {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length < this.#nextLength) return null;
    this.#nextLength = Math.max(this.#length + 1, Math.min(2 * this.#length, READ_CHUNK_BYTES));
    return this.all;
  }
}

/** Null if more bytes are needed to recognise the format. */
async function begin(
  sink: RecordSink,
  head: Buffer,
  ended: boolean,
  { sourceName, rules = DEFAULT_RULES, onRecord }: ReadOptions,
): Promise<FormatReader | null> {
  const sniffed = sniff(head, ended);
  if (sniffed === null) return null;
  if ('problem' in sniffed) throw malformed(sourceName, sniffed.problem);
  if (PLAIN_TEXT.has(sniffed.format) && rules.encoding === undefined) {
    const problem = foreignText(head);
    if (problem !== null) throw malformed(sourceName, problem);
  }
  const Reader = await READERS[sniffed.format]();
  const mapped = mappedSink(sink, sniffed.format, rules, sourceName);
  const reader = new Reader(
    sourceName,
    onRecord === undefined ? mapped : lookingSink(mapped, onRecord),
    rules,
  );
  if (head.length > sniffed.skip) reader.push(head.subarray(sniffed.skip));
  return reader;
}

/**
 * Calls back with each record before it goes to the sink. Until `onRecord` returns false, all records are
 * decoded.
 */
export function lookingSink(sink: RecordSink, onRecord: NonNullable<LoadOptions['onRecord']>): RecordSink {
  let isLooking = true;
  return {
    record(value, position) {
      if (isLooking) isLooking = onRecord(value);
      sink.record(value, position);
    },
    reject: (rejection) => sink.reject(rejection),
    // Readers get this property before each piece of the source.
    get undecoded() {
      return isLooking ? undefined : sink.undecoded;
    },
    columns: sink.columns,
    notes: sink.notes,
  };
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

async function* prepend(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
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
        throw new LecternError('source-too-large', `cannot read ${sourceName}: ${problem}`);
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
