import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { LecternError, type LecternErrorCode, optionInvalid, tooLarge } from '../base/errors.js';
import {
  COPY_BATCH_BYTES_MAX,
  COPY_BATCH_RECORDS,
  COPY_BATCH_UNPACKED_BYTES_MAX,
  PARTS_AT_ONCE,
} from '../base/limits.js';
import { shortDigest } from '../base/model/derived-identifier.js';
import type { RecordPosition, Rejection } from '../base/model/event.js';
import { slotOf } from '../base/model/fields.js';
import { overlaid, type ReadRules } from '../base/model/read-rules.js';
import { ByteStrings } from '../base/structures/byte-strings.js';
import { KeyedHash, randomHashSeed } from '../base/structures/keyed-hash.js';
import { quickHash } from '../base/structures/quick-hash.js';
import {
  HALVED,
  type Names,
  NULL,
  namesOf,
  PLAIN,
  Row,
  STRIDE,
  TEXT,
  textsOf,
} from '../base/structures/row.js';
import { MAPPED_FIELDS } from './field-map.js';
import { LoadNotes } from './load-notes.js';
import {
  type FoundParts,
  formatOf,
  idOf,
  type LoadOptions,
  type LoadSummary,
  type PartFailure,
  type PartReport,
  type RecordCopy,
  type RowSink,
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
  if (sources.length === 0) throw optionInvalid('no source is given; expected at least one');
  const names = labelsOf(sources);
  const rest = names.length - NAMES_SHOWN;
  const shown = rest > 1 ? [...names.slice(0, NAMES_SHOWN), `${rest} more`] : names;
  return partsSource(shown.join(' + '), JSON.stringify(sources.map(idOf)), async (signal) => {
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
export function partsSource(name: string, id: string, find: NonNullable<Source['find']>): Source {
  return {
    name,
    id,
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

/** A timer of the interval may fire a tenth early. */
const REFRESH_SHARE = 0.85;

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
      const id = idOf(source);
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

  async load(sink: RowSink): Promise<LoadSummary | 'not-modified'> {
    const { previous = null, signal, onParts, onVersion } = this.#options;
    const reports = await this.#readAll();
    signal?.throwIfAborted();
    onParts?.({ parts: reports, skipped: this.#skipped });
    this.#throwIfTooManyFailed(reports);
    const version = versionOf(reports);
    onVersion?.(version);
    if (version !== null && version === previous) return 'not-modified';
    const copies: RecordCopy[] = [];
    for (let n = reports.length - 1; n >= 0; n--) {
      const { copy, name } = reports[n] as PartReport;
      if (copy === null) continue;
      copies.push(copy);
      this.#options.notes?.add(copy.notes);
      for (const _batch of replay(copy, sink, this.#rulesOf(n), name)) {
        this.#tellProgress();
        await nextTurn();
        signal?.throwIfAborted();
      }
    }
    const times = copies.flatMap(({ modifiedMs }) => modifiedMs ?? []);
    return {
      ...formatOf(copies),
      bytesRead: copies.reduce((bytes, { bytesRead }) => bytes + bytesRead, 0),
      version,
      ...(times.length === 0 ? {} : { modifiedMs: Math.max(...times) }),
    };
  }

  /** The rows of a part are judged by its own rules. */
  #rulesOf(n: number): ReadRules {
    return overlaid(this.#options.rules ?? { identifiers: 'uuid' }, this.#parts[n]?.source.rules ?? {});
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
    const { rules, signal, onRecord, previous = null, asksAll = false } = this.#options;
    const known = this.#known.get(id) ?? { copy: null, confirmedMs: null, failure: null };
    const { copy } = known;
    if (known.failure !== null && Date.now() < known.failure.retryAtMs) return { ...known, id, name };
    if (copy !== null && source.readOnce) return { ...known, id, name, failure: null };
    if (copy !== null && !asksAll && isFresh(source, known)) return { ...known, id, name };
    const progress = this.#progress[n] as { bytesRead: number; records: number };
    try {
      const writer = new CopyWriter(name, this.#budget);
      const notes = new LoadNotes();
      const answer = await source.load(writer, {
        rules,
        notes,
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
        copy: isKept ? copy : writer.finish({ ...answer, notes: notes.report() }),
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

/** Whether a part was read so recently that it is not due. */
function isFresh(
  { refreshMs = 0 }: Source,
  { confirmedMs, failure }: Pick<PartReport, 'confirmedMs' | 'failure'>,
): boolean {
  return failure === null && confirmedMs !== null && Date.now() - confirmedMs < REFRESH_SHARE * refreshMs;
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
  return shortDigest(JSON.stringify(versions));
}

/** Makes all names different. */
function labelsOf(sources: readonly Source[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of sources) counts.set(name, (counts.get(name) ?? 0) + 1);
  return sources.map(({ name }, n) => (counts.get(name) === 1 ? name : `${name} (source ${n + 1})`));
}

/**
 * Rows of one source in batches. A batch is stored as its length in four bytes, then the Brotli data of its JSON. Each
 * distinct value is stored once, and a row consists of the numbers of its values.
 */
interface Batch {
  /** Each distinct list of names that are no fields. */
  readonly names: readonly (readonly string[])[];
  readonly values: readonly string[];
  readonly entries: readonly (RowEntry | RejectionEntry | RetractedEntry)[];
}

/**
 * A row: its position, the number of its names, and a number for each field: MISSING, NULL, or KINDS times the number of
 * a value plus its kind. An id that is a text is the text itself.
 */
type RowEntry = readonly [position: Position, names: number, ...values: (number | string)[]];
type RejectionEntry = readonly [rejection: Rejection];
type RetractedEntry = readonly [id: string];
/** One number if the number of the record equals its line, as it usually does. */
type Position = number | RecordPosition;

/** Brotli at this quality takes 0.8 µs a record; see docs/decisions/0046-several-sources.md. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const LENGTH_BYTES = 4;
const KINDS = 16;
const VALUES_REMEMBERED = 4096;
const ID = slotOf('id');

/** Keeps rows in few bytes. */
export class CopyWriter implements RowSink {
  readonly #source: string;
  readonly #budget: { bytes: number };
  readonly #batches: Buffer[] = [];
  readonly #hash = new KeyedHash(randomHashSeed());
  #names = new Map<string, number>();
  #namesList: (readonly string[])[] = [];
  #seen = new ByteStrings();
  /** For each quick hash: the last value + 1, or 0. */
  readonly #recent: Int32Array = new Int32Array(VALUES_REMEMBERED);
  #values: string[] = [];
  #entries: (RowEntry | RejectionEntry | RetractedEntry)[] = [];
  #batchBytes = 0;
  #records = 0;

  /** @param budget bytes left for this copy and others */
  constructor(source: string, budget: { bytes: number }) {
    this.#source = source;
    this.#budget = budget;
  }

  row(row: Row): void {
    const { record, line, byte, page, source } = row;
    const isLine = record === line && byte === -1 && page === 0 && source === undefined;
    const entry: [Position, number, ...(number | string)[]] = [
      isLine ? record : row.position,
      this.#namesOf(row),
    ];
    for (let field = 0; field < MAPPED_FIELDS.length; field++) entry.push(this.#wordOf(row, field));
    this.#batchBytes += 2 * MAPPED_FIELDS.length;
    this.#entries.push(entry);
    this.#added();
  }

  retract(id: string): void {
    this.#entries.push([id]);
  }

  fault(rejection: Rejection): void {
    this.#entries.push([rejection]);
    this.#batchBytes += rejection.detail.length;
    this.#added();
  }

  /** @throws LecternError `source-too-large` */
  finish(summary: LoadSummary & Pick<RecordCopy, 'notes'>): RecordCopy {
    this.#endBatch();
    const length = this.#batches.reduce((bytes, batch) => bytes + batch.length, 0);
    const bytes = new Uint8Array(new SharedArrayBuffer(length));
    let offset = 0;
    for (const batch of this.#batches) {
      bytes.set(batch, offset);
      offset += batch.length;
    }
    return { ...summary, records: this.#records, bytes };
  }

  #added(): void {
    this.#records++;
    if (this.#entries.length >= COPY_BATCH_RECORDS || this.#batchBytes >= COPY_BATCH_BYTES_MAX)
      this.#endBatch();
  }

  #namesOf(row: Row): number {
    const names = textsOf(row.names);
    const key = JSON.stringify(names);
    let number = this.#names.get(key);
    if (number === undefined) {
      number = this.#namesList.push(names) - 1;
      this.#names.set(key, number);
      this.#batchBytes += key.length;
    }
    return number;
  }

  #wordOf(row: Row, field: number): number | string {
    const kind = row.kindOf(field);
    if (kind <= NULL) return kind;
    if (field === ID && kind <= HALVED) {
      const id = row.textOf(field);
      this.#batchBytes += id.length;
      return id;
    }
    const from = row.spans[STRIDE * field] as number;
    const to = row.spans[STRIDE * field + 1] as number;
    const view = row.viewOf(field);
    const place = (row.spans[STRIDE * field + 2] as number) & (VALUES_REMEMBERED - 1);
    let number = (this.#recent[place] as number) - 1;
    if (number === -1 || !this.#seen.isAt(number, view, from, to)) {
      const hash = this.#hash.bytes(view, from, to);
      number = this.#seen.find(hash, view, from, to);
      if (number === -1) {
        number = this.#seen.add(hash, view, from, to);
        this.#values.push(row.bytesOf(field).toString('utf8', from, to));
        this.#batchBytes += to - from;
      }
      this.#recent[place] = number + 1;
    }
    return KINDS * number + (kind === PLAIN ? TEXT : kind);
  }

  #endBatch(): void {
    if (this.#entries.length === 0) return;
    const batch: Batch = { names: this.#namesList, values: this.#values, entries: this.#entries };
    const packed = brotliCompressSync(Buffer.from(JSON.stringify(batch)), BROTLI);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(packed.length);
    this.#budget.bytes -= packed.length;
    if (this.#budget.bytes < 0) {
      const problem = `no memory is left for the records of several sources, after ${this.#records} records`;
      throw tooLarge(this.#source, problem);
    }
    this.#batches.push(length, packed);
    this.#names = new Map();
    this.#namesList = [];
    this.#seen = new ByteStrings();
    this.#recent.fill(0);
    this.#values = [];
    this.#entries = [];
    this.#batchBytes = 0;
  }
}

/**
 * Gives the rows of a copy to a sink, a batch at each step.
 *
 * @param rules by which the values are to be read
 * @param label names the source of rows that have no source
 */
export function* replay(
  { bytes }: RecordCopy,
  sink: RowSink,
  rules: ReadRules,
  label?: string,
): Generator<void> {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const row = new Row(MAPPED_FIELDS.length);
  const placed = (position: Position): RecordPosition => {
    const place = typeof position === 'number' ? { record: position, line: position } : position;
    // A merged part has already named its parts.
    return label === undefined ? place : { ...place, source: place.source ?? label };
  };
  let offset = 0;
  while (offset < all.length) {
    const end = offset + LENGTH_BYTES + all.readUInt32LE(offset);
    const values = new BatchValues(unpackBatch(all.subarray(offset + LENGTH_BYTES, end)));
    offset = end;
    for (const entry of values.entries) {
      if (isRetracted(entry)) sink.retract?.(entry[0], rules);
      else if (isRejected(entry)) sink.fault({ ...entry[0], position: placed(entry[0].position) });
      else {
        values.fill(row, entry);
        row.place(placed(entry[0]));
        sink.row(row, rules);
      }
    }
    yield;
  }
}

/** The values of a batch as bytes. */
class BatchValues {
  readonly entries: Batch['entries'];
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #places: Int32Array;
  readonly #hashes: Int32Array;
  readonly #names: readonly Names[];
  readonly #values: readonly string[];

  constructor({ names, values, entries }: Batch) {
    this.entries = entries;
    this.#values = values;
    this.#names = names.map(namesOf);
    const all = namesOf(values);
    this.#view = all.view;
    this.#bytes = Buffer.from(all.view.buffer, all.view.byteOffset, all.view.byteLength);
    this.#places = all.places;
    this.#hashes = Int32Array.from(values, (_, n) =>
      quickHash(all.view, all.places[2 * n] as number, all.places[2 * n + 1] as number),
    );
  }

  fill(row: Row, [, names, ...words]: RowEntry): void {
    row.begin(this.#bytes, this.#view);
    row.names = this.#names[names] as Names;
    for (let field = 0; field < words.length; field++) {
      const word = words[field] as number | string;
      if (typeof word === 'string') row.put(field, word);
      else if (word <= NULL) row.clear(field, word);
      else {
        const kind = word % KINDS;
        const n = (word - kind) / KINDS;
        if (kind !== TEXT) row.putAs(kind, field, this.#values[n] as string);
        else
          row.point(
            field,
            this.#places[2 * n] as number,
            this.#places[2 * n + 1] as number,
            this.#hashes[n] as number,
          );
      }
    }
  }
}

/** @throws LecternError `image-unusable`: only a file can hold damaged copies */
function unpackBatch(packed: Uint8Array): Batch {
  try {
    const text = brotliDecompressSync(packed, { maxOutputLength: COPY_BATCH_UNPACKED_BYTES_MAX });
    const batch = JSON.parse(text.toString('utf8')) as Partial<Batch>;
    if (!Array.isArray(batch.names)) throw new Error('it has another form');
    return batch as Batch;
  } catch (cause) {
    throw new LecternError('image-unusable', 'the stored records of a source are damaged', { cause });
  }
}

function isRejected(entry: RowEntry | RejectionEntry): entry is RejectionEntry {
  return entry.length === 1;
}

function isRetracted(entry: Batch['entries'][number]): entry is RetractedEntry {
  return typeof entry[0] === 'string';
}
