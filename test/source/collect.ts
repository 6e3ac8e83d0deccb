import type { RecordPosition, Rejection } from '../../src/base/model/event.js';
import type { ReadRules } from '../../src/base/model/read-rules.js';
import { BOOLEAN, MISSING, NULL, NUMBER, type Row, WHOLE } from '../../src/base/structures/row.js';
import { FieldTable, MAPPED_FIELDS } from '../../src/source/field-map.js';
import { readRecords } from '../../src/source/formats/read-records.js';
import type { LoadNotes } from '../../src/source/load-notes.js';
import type { LoadOptions, LoadSummary, ReadSummary, RowSink, Source } from '../../src/source/source.js';
import { type SourceSpec, sourceOfSpec } from '../../src/source/spec.js';

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

/** A source by its description, as programs give it, so that tests know no module of a kind of source. */
export function sourceOf(spec: SourceSpec): Source {
  return sourceOfSpec(spec);
}

/** Gives the records unchanged. */
export function memorySource(records: Iterable<unknown>, name = 'records in memory'): Source {
  return {
    name,
    async load(sink, { signal, rules, onRecord } = {}) {
      signal?.throwIfAborted();
      const table = new FieldTable(
        sink,
        'memory',
        { identifiers: 'uuid', ...rules, fieldMap: undefined },
        name,
        { onRecord },
      );
      for (const record of records) {
        table.row.record++;
        table.object(record);
      }
      return { format: 'memory', gzipped: false, bytesRead: 0, version: null };
    },
  };
}

/** The values of a row: fields, then null for each other name. What is neither text nor number is given in words. */
export function valuesOf(row: Row): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const [field, name] of MAPPED_FIELDS.entries()) {
    const kind = row.kindOf(field);
    if (kind === MISSING) continue;
    const text = row.textOf(field);
    const isNumber = kind === WHOLE || kind === NUMBER;
    values.push([
      name,
      kind === NULL ? null : isNumber ? Number(text) : kind === BOOLEAN ? text === 'true' : text,
    ]);
  }
  const { view, places, count } = row.names;
  for (let n = 0; n < count; n++) {
    const [from, to] = [places[2 * n] as number, places[2 * n + 1] as number];
    values.push([Buffer.from(view.buffer, view.byteOffset + from, to - from).toString(), null]);
  }
  return Object.fromEntries(values);
}

/** Keeps rows and rejections. */
export class Collector implements RowSink {
  readonly records: RawRecord[] = [];
  readonly rejections: Rejection[] = [];
  row(row: Row): void {
    this.records.push({ position: row.position, value: valuesOf(row) });
  }
  fault(rejection: Rejection): void {
    this.rejections.push(rejection);
  }
}

/** Like Collector, but with the records as they were before the field map. Its \`look\` is the option \`onRecord\`. */
class RawCollector extends Collector {
  #looked: unknown;
  readonly look = (value: unknown): boolean => {
    this.#looked = value;
    return true;
  };
  override row(row: Row): void {
    this.records.push({ position: row.position, value: this.#looked });
  }
}

function collectorFor(
  rules: ReadRules | undefined,
  source?: Source,
  isLooked = true,
): { sink: Collector; onRecord: LoadOptions['onRecord'] } {
  if (
    !isLooked ||
    rules?.fieldMap !== undefined ||
    rules?.identifiers === 'derived' ||
    source?.find !== undefined
  )
    return { sink: new Collector(), onRecord: undefined };
  const sink = new RawCollector();
  return { sink, onRecord: sink.look };
}

/** A table for a reader, which gives records as they are in the source. */
export function rawTable(
  record: (value: unknown, position: RecordPosition) => void,
  fault: (rejection: Rejection) => void = () => {},
  format = 'ndjson',
  notes?: LoadNotes,
): FieldTable {
  let looked: unknown;
  const sink: RowSink = {
    row: (row) => record(looked, row.position),
    fault,
  };
  const onRecord = (value: unknown): boolean => {
    looked = value;
    return true;
  };
  return new FieldTable(sink, format, { identifiers: 'uuid' }, 'test', { onRecord, notes });
}

/** Loads a source. Without a field map, the records are as they are in the source. */
export async function collect(source: Source, options?: LoadOptions): Promise<Collected> {
  const isLooked = options === undefined || !('onRecord' in options) || options.onRecord !== undefined;
  const { sink, onRecord } = collectorFor(options?.rules, source, isLooked);
  const summary = await source.load(sink, { ...options, ...(onRecord === undefined ? {} : { onRecord }) });
  if (summary === 'not-modified') throw new Error('expected a load, but nothing was modified');
  return { records: sink.records, rejections: sink.rejections, summary };
}

/** Overwrites all bytes that may be overwritten, so that a reader that still needs them fails. */
export function overwrite(chunk: Uint8Array): void {
  chunk.fill(0xc1);
}

/** Reads pieces into a sink of the test. */
export function readInto(sink: RowSink, pieces: AsyncIterable<Uint8Array>): Promise<ReadSummary> {
  return readRecords(pieces, sink, { sourceName: 'test', bytesTotal: null });
}

/** Reads bytes that arrive in pieces of the given size; 0 for all at once. */
export function collectBytes(
  bytes: string | Uint8Array,
  pieceBytes = 0,
  rules?: ReadRules,
): Promise<Collected<ReadSummary>> {
  return collectPieces(inPieces(Buffer.from(bytes), pieceBytes), rules);
}

/** Reads bytes that arrive in these pieces, which are overwritten. */
export async function collectPieces(
  pieces: AsyncIterable<Uint8Array>,
  rules?: ReadRules,
): Promise<Collected<ReadSummary>> {
  const { sink, onRecord } = collectorFor(rules);
  const summary = await readRecords(pieces, sink, {
    sourceName: 'test',
    bytesTotal: null,
    rules,
    onRead: overwrite,
    onRecord,
  });
  return { records: sink.records, rejections: sink.rejections, summary };
}

/** The rows and faults of bytes in any format: the fields by name, and null for each other name. */
export async function rowsOf(
  bytes: string | Uint8Array,
  rules: ReadRules = { identifiers: 'uuid' },
  pieceBytes = 0,
): Promise<{ readonly rows: RawRecord[]; readonly faults: Rejection[]; readonly summary: ReadSummary }> {
  const sink = new Collector();
  const options = { sourceName: 'test', bytesTotal: null, rules, onRead: overwrite };
  const summary = await readRecords(inPieces(Buffer.from(bytes), pieceBytes), sink, options);
  return { rows: sink.records, faults: sink.rejections, summary };
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
