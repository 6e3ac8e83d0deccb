import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import { LecternError } from '../errors.js';
import { COPY_BATCH_BYTES_MAX, COPY_BATCH_RECORDS, COPY_BATCH_UNPACKED_BYTES_MAX } from '../limits.js';
import type { RecordPosition, Rejection } from '../model/event.js';
import { MAPPED_FIELDS } from './field-map.js';
import { LoadNotes } from './load-notes.js';
import type { LoadSummary, RecordCopy, RecordSink } from './source.js';

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
