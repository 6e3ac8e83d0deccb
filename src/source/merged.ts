import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import { LecternError, type LecternErrorCode } from '../errors.js';
import {
  COPY_BATCH_BYTES_MAX,
  COPY_BATCH_RECORDS,
  COPY_BATCH_UNPACKED_BYTES_MAX,
  PARTS_AT_ONCE,
} from '../limits.js';
import type { RecordPosition, Rejection } from '../model/event.js';
import { MAPPED_FIELDS } from './field-map.js';
import { LoadNotes } from './load-notes.js';
import {
  type FoundParts,
  formatOf,
  type LoadOptions,
  type LoadSummary,
  type PartFailure,
  type PartReport,
  type RecordCopy,
  type RecordSink,
  type Source,
} from './source.js';

/** Largest number of sources listed in one name. */
const NAMES_SHOWN = 3;
/** Largest number of failures listed in one message. */
const FAILURES_SHOWN = 3;

/**
 * Several sources as one source. The later source wins. A merged source, folder or glob among them is
 * replaced by its parts.
 */
export function mergedSource(sources: readonly Source[]): Source {
  if (sources.length === 0)
    throw new LecternError('option-invalid', 'no source is given; expected at least one');
  const names = labelsOf(sources);
  const rest = names.length - NAMES_SHOWN;
  const shown = rest > 1 ? [...names.slice(0, NAMES_SHOWN), `${rest} more`] : names;
  return partsSource(shown.join(' + '), async (signal) => {
    const found = await Promise.all(
      sources.map((source) => source.find?.(signal) ?? { sources: [source], skipped: 0 }),
    );
    return {
      sources: found.flatMap((each) => each.sources),
      skipped: found.reduce((count, { skipped }) => count + skipped, 0),
    };
  });
}

/**
 * A source whose parts are searched again at each load. A load reads every part, several at a time, into a
 * compressed copy. A part that fails keeps its last copy. After all reads, the copies are merged from last to
 * first, and the snapshot keeps the first record of an id. A part that reports no change keeps its copy and is not
 * read again. The version of the source covers the list of parts with their versions.
 */
export function partsSource(name: string, find: NonNullable<Source['find']>): Source {
  return {
    name,
    find,
    async load(sink, options = {}) {
      options.signal?.throwIfAborted();
      return new PartsLoad(await find(options.signal), options).load(sink);
    },
  };
}

/** Errors that make one part stale without failing the whole load. */
const PART_FAULTS: ReadonlySet<LecternErrorCode> = new Set<LecternErrorCode>([
  'source-unreadable',
  'source-malformed',
  'source-too-large',
]);

interface Part {
  readonly source: Source;
  readonly name: string;
  readonly id: string;
}

class PartsLoad {
  readonly #parts: readonly Part[];
  readonly #skipped: number;
  readonly #options: LoadOptions;
  readonly #known: ReadonlyMap<string, PartReport>;
  readonly #budget: { bytes: number };
  readonly #progress: { bytesRead: number; records: number }[];
  readonly #errors = new Map<PartReport, LecternError>();

  constructor({ sources, skipped }: FoundParts, options: LoadOptions) {
    const labels = labelsOf(sources);
    const ids = new Map<string, number>();
    this.#parts = sources.map((source, n) => {
      const id = source.id ?? source.name;
      const before = ids.get(id) ?? 0;
      ids.set(id, before + 1);
      return { source, name: labels[n] as string, id: before === 0 ? id : `${id} again ${before}` };
    });
    this.#skipped = skipped;
    this.#options = options;
    this.#known = new Map(options.parts?.map((report) => [report.id, report]));
    this.#budget = { bytes: options.copyBytesMax ?? Number.POSITIVE_INFINITY };
    this.#progress = sources.map(() => ({ bytesRead: 0, records: 0 }));
  }

  async load(sink: RecordSink): Promise<LoadSummary | 'not-modified'> {
    const { previous = null, signal, onParts, onVersion } = this.#options;
    const reports = await this.#readAll();
    signal?.throwIfAborted();
    onParts?.({ parts: reports, skipped: this.#skipped });
    this.#throwIfTooManyFailed(reports);
    const version = versionOf(reports);
    onVersion?.(version);
    if (version !== null && version === previous) return 'not-modified';
    const copies: RecordCopy[] = [];
    for (const { copy, name } of [...reports].reverse()) {
      if (copy === null) continue;
      copies.push(copy);
      sink.notes?.add(copy.notes);
      for (const _batch of replay(copy, labelling(sink, name))) {
        this.#tellProgress();
        await nextTurn();
        signal?.throwIfAborted();
      }
    }
    return {
      ...formatOf(copies),
      bytesRead: copies.reduce((bytes, { bytesRead }) => bytes + bytesRead, 0),
      version,
    };
  }

  async #readAll(): Promise<PartReport[]> {
    const reports: PartReport[] = [];
    let next = 0;
    let hasEnded = false;
    const work = async (): Promise<void> => {
      while (next < this.#parts.length && !hasEnded) {
        const n = next++;
        try {
          reports[n] = await this.#read(n);
        } catch (error) {
          hasEnded = true;
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: PARTS_AT_ONCE }, work));
    return reports;
  }

  async #read(n: number): Promise<PartReport> {
    const { source, name, id } = this.#parts[n] as Part;
    const { rules, signal, onRecord, previous = null } = this.#options;
    const known = this.#known.get(id) ?? { copy: null, confirmedMs: null, failure: null };
    const { copy } = known;
    if (known.failure !== null && Date.now() < known.failure.retryAtMs) return { ...known, id, name };
    if (copy !== null && source.readOnce) return { ...known, id, name, failure: null };
    const progress = this.#progress[n] as { bytesRead: number; records: number };
    try {
      const writer = new CopyWriter(name, this.#budget);
      const answer = await source.load(writer, {
        rules,
        signal,
        onRecord,
        previous: previous === null ? null : (copy?.version ?? null),
        onProgress: ({ bytesRead, records }) => {
          Object.assign(progress, { bytesRead, records });
          this.#tellProgress();
        },
      });
      const isKept = answer === 'not-modified';
      if (isKept && copy === null)
        throw new Error(`the source ${name} was not asked whether anything changed`);
      return {
        id,
        name,
        copy: isKept ? copy : writer.finish(answer),
        confirmedMs: Date.now(),
        failure: null,
      };
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof LecternError) || !PART_FAULTS.has(error.code)) throw error;
      const report = { ...known, id, name, failure: partFailureOf(error, known.failure) };
      this.#errors.set(report, error);
      return report;
    }
  }

  /** The load fails if every part failed, or if a required part is missing. */
  #throwIfTooManyFailed(reports: readonly PartReport[]): void {
    const { allowMissing = false } = this.#options;
    const failed = reports.filter(({ failure }) => failure !== null);
    const missing = reports.filter(
      ({ copy }, n) => copy === null && !(allowMissing && this.#parts[n]?.source.mayBeMissing),
    );
    const listed = failed.length === reports.length ? failed : missing;
    const [first, ...others] = listed.map((report) => this.#errorOf(report));
    if (first === undefined) return;
    if (others.length === 0) throw first;
    const shown = [first, ...others].slice(0, FAILURES_SHOWN).map(({ message }) => message);
    const rest = listed.length - shown.length;
    const waits = [first, ...others].map(({ retryAfterMs }) => retryAfterMs);
    throw new LecternError(
      first.code,
      `${listed.length} of ${reports.length} sources cannot be read: ${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`,
      { retryAfterMs: waits.includes(null) ? null : Math.min(...(waits as number[])) },
    );
  }

  /**
   * The failure of a part. A part that was skipped because of its Retry-After keeps the failure of an earlier
   * load.
   */
  #errorOf(report: PartReport): LecternError {
    const { code, message, retryAtMs } = report.failure as PartFailure;
    const retryAfterMs = retryAtMs === 0 ? null : Math.max(0, retryAtMs - Date.now());
    return this.#errors.get(report) ?? new LecternError(code, message, { retryAfterMs });
  }

  #tellProgress(): void {
    const sum = (name: 'bytesRead' | 'records'): number =>
      this.#progress.reduce((total, progress) => total + progress[name], 0);
    this.#options.onProgress?.({ bytesRead: sum('bytesRead'), bytesTotal: null, records: sum('records') });
  }
}

function partFailureOf(
  { code, message, retryAfterMs }: LecternError,
  known: PartFailure | null,
): PartFailure {
  const nowMs = Date.now();
  return {
    code,
    message,
    sinceMs: known?.sinceMs ?? nowMs,
    retryAtMs: retryAfterMs === null ? 0 : nowMs + retryAfterMs,
  };
}

/** The version of all parts, of 22 base64url characters. Null if a part has no version. */
function versionOf(reports: readonly PartReport[]): string | null {
  const versions = reports.map(({ id, copy }) => [id, copy === null ? 'missing' : copy.version] as const);
  if (versions.some(([, version]) => version === null)) return null;
  return createHash('sha256').update(JSON.stringify(versions)).digest().subarray(0, 16).toString('base64url');
}

/** Makes all names different. */
function labelsOf(sources: readonly Source[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of sources) counts.set(name, (counts.get(name) ?? 0) + 1);
  return sources.map(({ name }, n) => (counts.get(name) === 1 ? name : `${name} (source ${n + 1})`));
}

function labelling(sink: RecordSink, label: string): RecordSink {
  // A merged part has already named its parts.
  const labelled = (position: RecordPosition): RecordPosition => ({
    ...position,
    source: position.source ?? label,
  });
  return {
    record: (value, position) => sink.record(value, labelled(position)),
    reject: (rejection) => sink.reject({ ...rejection, position: labelled(rejection.position) }),
    notes: sink.notes,
  };
}

/**
 * Records of one source in batches. A batch is stored as its length in four bytes, then Brotli data. The data
 * unpacks to JSON, or to MessagePack if JSON cannot represent a value. Each distinct value is stored once, and a
 * record consists of the numbers of its values.
 */
interface Batch {
  /** Each distinct list of the names in a record. */
  readonly shapes: readonly (readonly string[])[];
  readonly values: readonly unknown[];
  readonly entries: readonly (RecordEntry | RejectionEntry)[];
}

/**
 * A record: the number of its shape, its position, and for each name the number of a value; for `id`, the value
 * itself. With shape -1, the record is a single value instead of an object.
 */
type RecordEntry = readonly [shape: number, position: Position, ...values: (number | string)[]];
type RejectionEntry = readonly [rejection: Rejection];
type Position = number | RecordPosition;

/** Brotli at this quality takes 0.8 µs a record; see docs/decisions/0046-several-sources.md. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const LENGTH_BYTES = 4;
/** The first byte of a batch in JSON. A batch in MessagePack begins with another byte. */
const JSON_OBJECT = 0x7b;
const SERVED: ReadonlySet<string> = new Set(MAPPED_FIELDS);

const NO_LIST: readonly unknown[] = [];
const NO_BYTES: Uint8Array = new Uint8Array(0);
const NO_OBJECT: object = {};

/** Keeps records in few bytes. Only the names of unserved fields are kept. */
export class CopyWriter implements RecordSink {
  readonly notes: LoadNotes = new LoadNotes();
  readonly #source: string;
  readonly #budget: { bytes: number };
  readonly #batches: Buffer[] = [];
  #shapes = new Map<string, number>();
  #shapeNames: (readonly string[])[] = [];
  #lastShape = 0;
  #values = new Map<unknown, number>();
  #entries: (RecordEntry | RejectionEntry)[] = [];
  #batchBytes = 0;
  #needsMessagePack = false;
  #records = 0;

  /** @param budget bytes left for this copy and others */
  constructor(source: string, budget: { bytes: number }) {
    this.#source = source;
    this.#budget = budget;
  }

  record(value: unknown, position: RecordPosition): void {
    this.#entries.push(this.#entryOf(value, packPosition(position)));
    this.#added();
  }

  reject(rejection: Rejection): void {
    this.#entries.push([rejection]);
    this.#batchBytes += rejection.detail.length;
    this.#added();
  }

  /** @throws LecternError `source-too-large` */
  finish(summary: LoadSummary): RecordCopy {
    this.#endBatch();
    const length = this.#batches.reduce((bytes, batch) => bytes + batch.length, 0);
    const bytes = new Uint8Array(new SharedArrayBuffer(length));
    let offset = 0;
    for (const batch of this.#batches) {
      bytes.set(batch, offset);
      offset += batch.length;
    }
    return { ...summary, records: this.#records, notes: this.notes.report(), bytes };
  }

  #added(): void {
    this.#records++;
    if (this.#entries.length >= COPY_BATCH_RECORDS || this.#batchBytes >= COPY_BATCH_BYTES_MAX)
      this.#endBatch();
  }

  #entryOf(value: unknown, position: Position): RecordEntry {
    const isObject =
      typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
    if (!isObject || value instanceof Date) return [-1, position, this.#numberOf(value)];
    const record = value as Readonly<Record<string, unknown>>;
    const names = Object.keys(record);
    const entry: [number, Position, ...(number | string)[]] = [this.#shapeOf(names), position];
    this.#batchBytes += 2 * names.length;
    for (const name of names) {
      const each = record[name];
      // Ids are distinct, so listing them among the values would only take more room.
      if (name === 'id' && typeof each === 'string') {
        this.#batchBytes += each.length;
        entry.push(each);
      } else entry.push(SERVED.has(name) ? this.#numberOf(each) : 0);
    }
    return entry;
  }

  #shapeOf(names: readonly string[]): number {
    const last = this.#shapeNames[this.#lastShape];
    if (last?.length === names.length && names.every((name, n) => name === last[n])) return this.#lastShape;
    const key = JSON.stringify(names);
    let number = this.#shapes.get(key);
    if (number === undefined) {
      number = this.#shapes.size;
      this.#shapes.set(key, number);
      this.#shapeNames.push(names);
      this.#batchBytes += key.length;
    }
    this.#lastShape = number;
    return number;
  }

  /** Number 0 is null. */
  #numberOf(value: unknown): number {
    if (value === null) return 0;
    const kept = this.#keptOf(value);
    let number = this.#values.get(kept);
    if (number === undefined) {
      number = this.#values.size + 1;
      this.#values.set(kept, number);
      this.#batchBytes += typeof kept === 'string' ? kept.length : 8;
    }
    return number;
  }

  /**
   * The value to keep. The normaliser refuses every list, object and binary value, so an empty one is kept in its
   * place.
   */
  #keptOf(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        if (!Number.isFinite(value)) this.#needsMessagePack = true;
        return value;
      case 'bigint':
      case 'undefined':
        this.#needsMessagePack = true;
        return value;
      default:
        if (Array.isArray(value)) return NO_LIST;
        if (!(value instanceof Date) && !(value instanceof Uint8Array)) return NO_OBJECT;
        this.#needsMessagePack = true;
        return value instanceof Date ? value : NO_BYTES;
    }
  }

  #endBatch(): void {
    if (this.#entries.length === 0) return;
    const values = [null, ...this.#values.keys()];
    const batch: Batch = { shapes: this.#shapeNames, values, entries: this.#entries };
    const text = this.#needsMessagePack ? pack(batch) : Buffer.from(JSON.stringify(batch));
    const packed = brotliCompressSync(text, BROTLI);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(packed.length);
    this.#budget.bytes -= packed.length;
    if (this.#budget.bytes < 0) {
      const problem = `no memory is left for the records of several sources, after ${this.#records} records`;
      throw new LecternError('source-too-large', `cannot read ${this.#source}: ${problem}`);
    }
    this.#batches.push(length, packed);
    this.#shapes = new Map();
    this.#shapeNames = [];
    this.#lastShape = 0;
    this.#values = new Map();
    this.#entries = [];
    this.#batchBytes = 0;
    this.#needsMessagePack = false;
  }
}

/** Pushes the records of a copy into a sink, a batch at each step. */
export function* replay({ bytes }: RecordCopy, sink: RecordSink): Generator<void> {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  while (offset < all.length) {
    const end = offset + LENGTH_BYTES + all.readUInt32LE(offset);
    const batch = unpackBatch(all.subarray(offset + LENGTH_BYTES, end));
    offset = end;
    for (const entry of batch.entries) {
      if (isRejected(entry)) sink.reject(entry[0]);
      else sink.record(recordOf(batch, entry), unpackPosition(entry[1]));
    }
    yield;
  }
}

/** @throws LecternError `image-unusable`: only a file can hold damaged copies */
function unpackBatch(packed: Uint8Array): Batch {
  try {
    const text = brotliDecompressSync(packed, { maxOutputLength: COPY_BATCH_UNPACKED_BYTES_MAX });
    return (text[0] === JSON_OBJECT ? JSON.parse(text.toString('utf8')) : unpack(text)) as Batch;
  } catch (cause) {
    throw new LecternError('image-unusable', 'the stored records of a source are damaged', { cause });
  }
}

function isRejected(entry: RecordEntry | RejectionEntry): entry is RejectionEntry {
  return entry.length === 1;
}

function recordOf({ shapes, values }: Batch, entry: RecordEntry): unknown {
  const names = shapes[entry[0]];
  if (names === undefined) return values[entry[2] as number];
  const record: Record<string, unknown> = {};
  for (let n = 0; n < names.length; n++) {
    const value = entry[n + 2];
    const name = names[n] as string;
    const found = typeof value === 'number' ? values[value] : value;
    // Assigning `__proto__` would change the prototype.
    if (name === '__proto__') Object.defineProperty(record, name, { value: found, enumerable: true });
    else record[name] = found;
  }
  return record;
}

/** One number if the number of the record equals its line, as it usually does. */
function packPosition(position: RecordPosition): Position {
  const { record, line, byte, page, source } = position;
  const isLine = record === line && byte === undefined && page === undefined && source === undefined;
  return isLine ? record : position;
}

function unpackPosition(position: Position): RecordPosition {
  return typeof position === 'number' ? { record: position, line: position } : position;
}
