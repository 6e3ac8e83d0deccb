import { setImmediate as nextTurn } from 'node:timers/promises';
import { LecternError } from '../../errors.js';
import { READ_CHUNK_BYTES } from '../../limits.js';
import type { LoadOptions, ReadSummary, RecordSink } from '../source.js';
import { gunzip } from './gunzip.js';
import { JsonArrayReader } from './json-array.js';
import { MessagePackReader } from './messagepack.js';
import { NdjsonReader } from './ndjson.js';
import { type FormatReader, malformed } from './reader.js';
import { isGzip, sniff } from './sniff.js';

export interface ReadOptions extends Omit<LoadOptions, 'previous'> {
  /** What the messages call the source: a path, an address. */
  readonly sourceName: string;
  /** Size of the source before decompression, or null where it is not known. For the progress only. */
  readonly bytesTotal: number | null;
  /**
   * Whether the end of the bytes is known to be the end of the data. Where it is not, a format that does not say itself
   * where it ends is refused: what was cut between two records would pass for whole. Default true.
   */
  readonly endIsCertain?: boolean;
  /** Of the data once it is unpacked: a little of it may unpack to more than anybody can wait for. Default none. */
  readonly unpackedBytesMax?: number;
  /**
   * Told of bytes that nothing needs any more: of each chunk of up to READ_CHUNK_BYTES, as soon as it was read, unless there was
   * anything to unpack. A chunk that did not tell the format may come as a copy, with what followed it.
   */
  readonly onRead?: (chunk: Uint8Array) => void;
}

const READERS: {
  readonly [format in FormatReader['format']]?: new (
    sourceName: string,
    sink: RecordSink,
  ) => FormatReader;
} = {
  ndjson: NdjsonReader,
  'json-array': JsonArrayReader,
  messagepack: MessagePackReader,
};

/**
 * Reads records from a stream of bytes, whichever of the formats they are, gzipped or not. Holds one chunk and the
 * beginning of one record, never the source. Between chunks the event loop turns, the signal is looked at, and
 * progress is told.
 *
 * @param chunks bytes in pieces of any size, which nobody may change before `onRead` is told of them: unpacking reads ahead
 * @throws LecternError `source-malformed`, `source-too-large`; the signal's reason where it was aborted; what `chunks` or the sink throws
 */
export async function readRecords(
  chunks: AsyncIterable<Uint8Array>,
  sink: RecordSink,
  options: ReadOptions,
): Promise<ReadSummary> {
  const { sourceName, signal, unpackedBytesMax = Number.POSITIVE_INFINITY } = options;
  let bytesRead = 0;
  const counted = pieces(chunks, signal, (bytes) => {
    bytesRead += bytes;
  });
  const { gzipped, bytes } = await unpack(sourceName, counted);

  let reader: FormatReader | null = null;
  /** The first bytes, while they do not tell the format yet. */
  let head: Buffer = Buffer.alloc(0);
  let unpackedBytes = 0;
  for await (const chunk of bytes) {
    signal?.throwIfAborted();
    unpackedBytes += chunk.length;
    if (unpackedBytes > unpackedBytesMax) {
      const problem = `it has more than ${unpackedBytesMax} bytes, unpacked from ${bytesRead}`;
      throw new LecternError('source-too-large', `cannot read ${sourceName}: ${problem}`);
    }
    if (reader === null) {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      reader = begin(sourceName, sink, head, false);
    } else {
      reader.push(chunk);
    }
    if (reader !== null && !gzipped) options.onRead?.(chunk);
    options.onProgress?.({ bytesRead, bytesTotal: options.bytesTotal, records: reader?.records ?? 0 });
  }
  signal?.throwIfAborted();
  reader ??= begin(sourceName, sink, head, true);
  reader.finish();
  if (options.endIsCertain === false && !gzipped && !reader.selfDelimiting) {
    const problem = `nobody can tell whether it is whole: neither does ${reader.format} say where it ends, nor do the bytes`;
    throw malformed(sourceName, `${problem}; expected a known length, an array, or gzip data`);
  }
  return { format: reader.format, gzipped, bytesRead, ...(reader.endsCut === true ? { endsCut: true } : {}) };
}

/** Chooses the reader and gives it the first bytes. Null, before the end, where the format is still open. */
function begin(sourceName: string, sink: RecordSink, head: Buffer, ended: true): FormatReader;
function begin(sourceName: string, sink: RecordSink, head: Buffer, ended: boolean): FormatReader | null;
function begin(sourceName: string, sink: RecordSink, head: Buffer, ended: boolean): FormatReader | null {
  const sniffed = sniff(head, ended);
  if (sniffed === null) return null;
  if ('problem' in sniffed) throw malformed(sourceName, sniffed.problem);
  const Reader = READERS[sniffed.format];
  if (Reader === undefined) throw new Error(`no reader for ${sniffed.format}`);
  const reader = new Reader(sourceName, sink);
  if (head.length > sniffed.skip) reader.push(head.subarray(sniffed.skip));
  return reader;
}

/** Unpacks gzip where the first two bytes say so. */
async function unpack(
  sourceName: string,
  chunks: AsyncGenerator<Buffer>,
): Promise<{ gzipped: boolean; bytes: AsyncIterable<Buffer> }> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await chunks.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  const whole = prepend(head, chunks);
  return isGzip(head)
    ? { gzipped: true, bytes: gunzip(sourceName, whole) }
    : { gzipped: false, bytes: whole };
}

async function* prepend(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}

/** Cuts what is longer than a chunk, so that no step holds up the event loop, and counts. */
async function* pieces(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let start = 0; start < bytes.length; start += READ_CHUNK_BYTES) {
      if (start > 0) await nextTurn();
      const piece = bytes.subarray(start, start + READ_CHUNK_BYTES);
      count(piece.length);
      yield piece;
    }
  }
}
