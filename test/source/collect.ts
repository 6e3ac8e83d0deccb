import type { RecordPosition, Rejection } from '../../src/model/event.js';
import { readRecords } from '../../src/source/formats/read-records.js';
import type { LoadOptions, LoadSummary, RawRecord, RecordSink, Source } from '../../src/source/source.js';

/** Everything that a load brought. */
export interface Collected {
  readonly records: RawRecord[];
  readonly rejections: Rejection[];
  readonly summary: LoadSummary;
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
  return { records: sink.records, rejections: sink.rejections, summary };
}

/** Reads bytes that come in pieces of the given size; 0 for all at once. */
export async function collectBytes(bytes: string | Uint8Array, pieceBytes = 0): Promise<Collected> {
  const sink = new Collector();
  const summary = await readRecords(inPieces(Buffer.from(bytes), pieceBytes), sink, {
    sourceName: 'test',
    bytesTotal: null,
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

/** The error that a promise is rejected with; fails where it is not. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error('it failed with what is no Error');
  }
  throw new Error('expected a failure, but it succeeded');
}
