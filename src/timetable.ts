import { LecternError, type ParameterFault } from './errors.js';
import { type LoadedImage, loadImage } from './load.js';
import type { ConflictEntry, IdentifierMode, TimetableEvent } from './model/event.js';
import type { ConflictBy, ParameterFieldName } from './model/fields.js';
import type { Explanation } from './query/explain.js';
import { Snapshot } from './snapshot/snapshot.js';
import type { SnapshotSummary } from './snapshot/summary.js';
import { fileSource } from './source/file.js';
import { memorySource } from './source/memory.js';
import type { LoadProgress, Source } from './source/source.js';
import type { Answer, ReadResult } from './view/answer.js';
import { viewOf } from './view/snapshot-view.js';
import type { ParameterPairs, ParseOptions, View } from './view/view.js';
import type { SourceState, ViewSource } from './view/view-source.js';

export interface TimetableOptions {
  /**
   * Where events come from: a path (`-` for standard input), a Source, or records in memory. Files are NDJSON, a JSON
   * array or MessagePack, plain or gzipped, recognised by content.
   */
  readonly source: string | Source | Iterable<unknown> | AsyncIterable<unknown>;
  /** Default `uuid`. */
  readonly identifiers?: IdentifierMode;
  /** Whether a parameter that an endpoint does not have is a fault (`reject`, the default) or skipped. */
  readonly unknownParameters?: ParseOptions['unknownParameters'];
  readonly onProgress?: (progress: LoadProgress) => void;
  /** Aborts the load. */
  readonly signal?: AbortSignal;
}

/** The filters of GET /schedule as an object: one value or any of several. Times are RFC 3339 texts or Dates. */
export type ScheduleQuery = {
  readonly [Name in ParameterFieldName]?: string | readonly string[];
} & {
  readonly startTime?: string | Date;
  readonly endTime?: string | Date;
  /** Entries per page, 1 to 10,000; everything where it is left out. */
  readonly limit?: number;
  /** From `nextCursor` of the page before. */
  readonly cursor?: string;
};

/** The query of GET /schedule/conflicts: the scope, and what counts as a conflict. */
export type ConflictQuery = ScheduleQuery & {
  readonly by?: ConflictBy | readonly ConflictBy[];
  /** False: rows of one lesson conflict with each other. Default true. */
  readonly merge?: boolean;
};

/** The part of /schedule/all to return. */
export type PageQuery = Pick<ScheduleQuery, 'limit' | 'cursor'>;

export interface EventPage {
  readonly events: TimetableEvent[];
  /** Matching events on all pages. */
  readonly total: number;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface ConflictPage {
  readonly conflicts: ConflictEntry[];
  readonly total: number;
  readonly nextCursor: string | null;
}

/**
 * A timetable in memory: loads its source once and answers reads from one immutable snapshot. The HTTP layer uses what
 * is here and nothing else.
 */
export interface Timetable extends ViewSource {
  /** Resolves when the first snapshot can be read; rejects with the LecternError that kept it from being built. */
  readonly ready: Promise<SnapshotSummary>;
  /** The summary of the present snapshot, or null while there is none. */
  readonly summary: SnapshotSummary | null;
  /**
   * GET /schedule. All reads are synchronous.
   *
   * @throws LecternError `parameters-invalid` with every fault, `not-ready` before the first snapshot
   */
  find(query?: ScheduleQuery): EventPage;
  /** GET /schedule/conflicts. Throws as {@link find} does. */
  conflicts(query?: ConflictQuery): ConflictPage;
  /** GET /schedule/types. Throws `not-ready`. */
  types(): string[];
  /** GET /schedule/all. Throws as {@link find} does. */
  all(query?: PageQuery): EventPage;
  /** How GET /schedule would answer `query`. Throws as {@link find} does. */
  explain(query?: ScheduleQuery): Explanation;
  /** Aborts a load that is under way and lets the snapshot go. Later reads throw `closed`. */
  close(): Promise<void>;
}

/**
 * Opens a timetable. Returns at once; `ready` says when it can be read.
 *
 * @example
 * const timetable = openTimetable({ source: 'events.ndjson' });
 * await timetable.ready;
 * const { events } = timetable.find({ studyGroup: 'CSCI-1100-01' });
 */
export function openTimetable(options: TimetableOptions): Timetable {
  return new LoadedTimetable(options);
}

/** The kinds of source that a caller may give, as one. */
export function sourceOf(source: TimetableOptions['source']): Source {
  if (typeof source === 'string') return fileSource(source);
  return 'load' in source ? source : memorySource(source);
}

class LoadedTimetable implements Timetable {
  readonly ready: Promise<SnapshotSummary>;
  readonly #parseOptions: ParseOptions;
  readonly #abort = new AbortController();
  #view: View | null = null;
  #source: SourceState;
  #closed = false;

  constructor(options: TimetableOptions) {
    const source = sourceOf(options.source);
    this.#parseOptions = { unknownParameters: options.unknownParameters ?? 'reject' };
    this.#source = { name: source.name, state: 'loading', lastSuccessMs: null, lastError: null };
    const signals = [this.#abort.signal, ...(options.signal === undefined ? [] : [options.signal])];
    this.ready = loadImage(source, options.identifiers ?? 'uuid', {
      signal: AbortSignal.any(signals),
      ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
    }).then(
      (loaded) => this.#publish(loaded),
      (error: unknown) => this.#fail(error),
    );
    // Whoever does not wait for `ready` learns of a failure from `status` and from the reads.
    this.ready.catch(() => {});
  }

  get view(): View | null {
    return this.#view;
  }

  get summary(): SnapshotSummary | null {
    return this.#view?.summary ?? null;
  }

  get status(): ViewSource['status'] {
    if (this.#view === null) return 'starting';
    return this.#source.lastError === null ? 'ok' : 'degraded';
  }

  get source(): SourceState {
    return this.#source;
  }

  find(query: ScheduleQuery = {}): EventPage {
    return eventPage(answerOf(this.#open().schedule(pairsOf(query), this.#parseOptions)));
  }

  all(query: PageQuery = {}): EventPage {
    return eventPage(answerOf(this.#open().all(pairsOf(query), this.#parseOptions)));
  }

  conflicts(query: ConflictQuery = {}): ConflictPage {
    const answer = answerOf(this.#open().conflicts(pairsOf(query), this.#parseOptions));
    return { conflicts: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
  }

  types(): string[] {
    return parse(answerOf(this.#open().types([], this.#parseOptions)));
  }

  explain(query: ScheduleQuery = {}): Explanation {
    const result = this.#open().explain(pairsOf(query), this.#parseOptions);
    if ('faults' in result) throw invalidParameters(result.faults);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#abort.abort();
    await this.ready.catch(() => {});
    this.#view = null;
  }

  #open(): View {
    if (this.#closed) throw new LecternError('closed', 'the timetable is closed');
    if (this.#view !== null) return this.#view;
    throw new LecternError(
      'not-ready',
      this.#source.lastError === null
        ? 'the timetable is still loading: await its `ready` first'
        : `the timetable could not be loaded: ${this.#source.lastError}`,
    );
  }

  #publish(loaded: LoadedImage): SnapshotSummary {
    this.#view = viewOf(new Snapshot(loaded.image));
    this.#source = { ...this.#source, state: 'loaded', lastSuccessMs: Date.now(), lastError: null };
    return loaded.image.summary;
  }

  #fail(error: unknown): never {
    const message = error instanceof Error ? error.message : String(error);
    this.#source = { ...this.#source, state: 'failed', lastError: message };
    throw error;
  }
}

/**
 * The object form of a query as the pairs that a query string would give. An empty list becomes an empty value, which is
 * a fault: "any of none" must not turn into "everything".
 */
function pairsOf(query: object): ParameterPairs {
  const pairs: [string, string][] = [];
  for (const [name, given] of Object.entries(query) as [string, unknown][]) {
    if (given === undefined) continue;
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (values.length === 0) pairs.push([name, '']);
    for (const value of values) pairs.push([name, textOf(value)]);
  }
  return pairs;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  return String(value);
}

function invalidParameters(faults: readonly ParameterFault[]): LecternError {
  return new LecternError('parameters-invalid', faults.map((fault) => fault.detail).join('; '), { faults });
}

function answerOf(result: ReadResult): Answer {
  if ('faults' in result) throw invalidParameters(result.faults);
  return result.read.execute('json');
}

function eventPage(answer: Answer): EventPage {
  return { events: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
}

function parse<T>(answer: Answer): T {
  const bytes = answer.body.chunks.length === 1 ? answer.body.chunks[0] : Buffer.concat(answer.body.chunks);
  return JSON.parse(new TextDecoder().decode(bytes)) as T;
}
