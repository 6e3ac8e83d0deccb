import type { RecordPosition, Rejection } from '../../src/model/event.js';
import type { ReadRules } from '../../src/model/read-rules.js';
import { readRecords } from '../../src/source/formats/read-records.js';
import type { LoadOptions, LoadSummary, ReadSummary, RecordSink, Source } from '../../src/source/source.js';

interface RawRecord {
  readonly position: RecordPosition;
  readonly value: unknown;
}

/** All records and rejections of a load. */
export interface Collected<Summary extends ReadSummary = LoadSummary> {
  readonly records: RawRecord[];
  readonly rejections: Rejection[];
  readonly summary: Summary;
}

/** Gives the records unchanged. */
export function memorySource(records: Iterable<unknown>, name = 'records in memory'): Source {
  return {
    name,
    async load(sink, { signal } = {}) {
      signal?.throwIfAborted();
      let count = 0;
      for (const record of records) sink.record(record, { record: ++count });
      return { format: 'memory', gzipped: false, bytesRead: 0, version: null };
    },
  };
}

class Collector implements RecordSink {
  readonly records: RawRecord[] = [];
  readonly rejections: Rejection[] = [];
  record(value: unknown, position: RecordPosition): void {
    this.records.push({ position, value });
  }
  reject(rejection: Rejection): void {
    this.rejections.push(rejection);
  }
}

export async function collect(source: Source, options?: LoadOptions): Promise<Collected> {
  const sink = new Collector();
  const summary = await source.load(sink, options);
  if (summary === 'not-modified') throw new Error('expected a load, but nothing was modified');
  return { records: sink.records, rejections: sink.rejections, summary };
}

/** Overwrites all bytes that may be overwritten, so that a reader that still needs them fails. */
export function overwrite(chunk: Uint8Array): void {
  chunk.fill(0xc1);
}

/** Reads bytes that arrive in pieces of the given size; 0 for all at once. */
export async function collectBytes(
  bytes: string | Uint8Array,
  pieceBytes = 0,
  rules?: ReadRules,
): Promise<Collected<ReadSummary>> {
  const sink = new Collector();
  const summary = await readRecords(inPieces(Buffer.from(bytes), pieceBytes), sink, {
    sourceName: 'test',
    bytesTotal: null,
    rules,
    onRead: overwrite,
  });
  return { records: sink.records, rejections: sink.rejections, summary };
}

export async function* inPieces(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  if (pieceBytes === 0) {
    yield bytes;
    return;
  }
  for (let start = 0; start < bytes.length; start += pieceBytes)
    yield bytes.subarray(start, start + pieceBytes);
}

/** Whether the source reports no change since `previous`. Fails if it still pushes records. */
export async function isUnchanged(
  source: Source,
  previous: string | null,
  options?: LoadOptions,
): Promise<boolean> {
  const sink = new Collector();
  const result = await source.load(sink, { ...options, previous });
  if (result !== 'not-modified') return false;
  if (sink.records.length + sink.rejections.length > 0)
    throw new Error('records came although nothing was modified');
  return true;
}

/** The error of a rejected promise; fails if it does not reject. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error('it failed with what is no Error');
  }
  throw new Error('expected a failure, but it succeeded');
}
