import { EventEmitter } from 'node:events';
import { checkTimetableOptions } from './check-timetable-options.js';
import { createEmbeddedHandler, type EmbeddedHandlerOptions } from './embedded-handler.js';
import { LecternError, type ParameterFault } from './errors.js';
import type { RequestHandler } from './http/handler.js';
import type { IdentifierMode, TimetableEvent } from './model/event.js';
import type { Explanation } from './query/explain.js';
import type { ParameterPairs } from './query/parameters.js';
import { GATE_DEFAULTS, type Refusal } from './refresh/gate.js';
import { Keeper, type Publication } from './refresh/keeper.js';
import { type AnySource, Loader } from './refresh/loader.js';
import { History } from './snapshot/history.js';
import { Snapshot } from './snapshot/snapshot.js';
import type { SnapshotSummary } from './snapshot/summary.js';
import { MemorySource, type Records } from './source/records.js';
import { parseSourceArgument } from './source/spec.js';
import type {
  ChangeSet,
  ConflictPage,
  ConflictQuery,
  EventPage,
  PageQuery,
  ScheduleQuery,
  TimetableOptions,
} from './timetable-options.js';
import type { Answer, ReadResult } from './view/answer.js';
import { viewOf } from './view/snapshot-view.js';
import type { ParseOptions, View } from './view/view.js';
import type {
  Origin,
  PublicationState,
  SourceState,
  TimetableStatus,
  ViewSource,
} from './view/view-source.js';

/** A snapshot was published. */
export interface PublishedEvent {
  readonly summary: SnapshotSummary;
  readonly origin: Origin;
  /** Counts of what is different from the snapshot before; null at the first. */
  readonly changes: { readonly added: number; readonly changed: number; readonly removed: number } | null;
}

/** A snapshot was built and not published. */
export interface RefusedEvent {
  readonly refusal: Refusal;
  /** Of the snapshot that was refused. */
  readonly summary: SnapshotSummary;
}

export interface TimetableEvents {
  published: [event: PublishedEvent];
  refused: [event: RefusedEvent];
  /** A load failed, or the snapshot file could not be read or written. What is served stays as it is. */
  error: [error: Error];
}

/**
 * A timetable in memory: loads its source, keeps it fresh, and answers reads from one immutable snapshot. The HTTP layer
 * uses what is here and nothing else. All reads are synchronous.
 */
export interface Timetable extends ViewSource, AsyncDisposable {
  /**
   * Resolves when the first snapshot can be read; rejects with the LecternError that kept it from being built. With a
   * regular refresh a failed load is not the end, and `ready` waits for the first that succeeds. Until it has settled, the
   * process stays alive; the timetable keeps no process alive later on.
   */
  readonly ready: Promise<SnapshotSummary>;
  /**
   * GET /schedule.
   *
   * @throws LecternError `parameters-invalid` with every fault; `not-ready` before the first snapshot; `stale` where it is
   *   older than `staleSecondsMax`; `closed`
   */
  find(query?: ScheduleQuery): EventPage;
  /** The events of {@link find} as JSON bytes, without parsing them. Shared memory where that saves a copy: do not write. */
  findBytes(query?: ScheduleQuery): Uint8Array;
  /** One event by its id, or null. */
  get(id: string): TimetableEvent | null;
  /** GET /schedule/conflicts. Throws as {@link find} does. */
  conflicts(query?: ConflictQuery): ConflictPage;
  /** GET /schedule/types. */
  types(): string[];
  /** GET /schedule/all. Throws as {@link find} does. */
  all(query?: PageQuery): EventPage;
  /** What changed since a snapshot, by its id; null where it is not known, or not any more. */
  changes(since: string): ChangeSet | null;
  /** How GET /schedule would answer `query`. Throws as {@link find} does. */
  explain(query?: ScheduleQuery): Explanation;
  /**
   * Loads now, off this thread, and resolves when it has been tried; how it went is in `status` and `source`. Until then
   * the process stays alive.
   *
   * @param options.force publishes whatever comes, past the gate
   */
  refresh(options?: { readonly force?: boolean }): Promise<void>;
  on<Name extends keyof TimetableEvents>(
    name: Name,
    listener: (...event: TimetableEvents[Name]) => void,
  ): this;
  off<Name extends keyof TimetableEvents>(
    name: Name,
    listener: (...event: TimetableEvents[Name]) => void,
  ): this;
  /** A handler `(req, res)` to mount in an existing server; see {@link EmbeddedHandlerOptions}. */
  handler(options?: EmbeddedHandlerOptions): RequestHandler;
  /** Aborts loads and ends timers, watches and threads. Later reads throw `closed`. */
  close(): Promise<void>;
}

/**
 * Opens a timetable. Returns at once; `ready` says when it can be read.
 *
 * @throws LecternError `option-invalid`
 *
 * @example
 * const timetable = openTimetable({ source: 'events.ndjson' });
 * await timetable.ready;
 * const { events } = timetable.find({ studyGroup: 'CSCI-1100-01' });
 */
export function openTimetable(options: TimetableOptions): Timetable {
  return new KeptTimetable(options);
}

/** The kinds of source that a caller may give, as those that can be loaded. */
function sourceOf(source: TimetableOptions['source']): AnySource {
  if (typeof source === 'string') return parseSourceArgument(source, {});
  if (typeof source === 'object' && source !== null) {
    if ('kind' in source) return source;
    if ('load' in source) {
      if (typeof source.load === 'function') return source;
      throw new LecternError('option-invalid', 'source.load is no function');
    }
    if (Symbol.iterator in source || Symbol.asyncIterator in source)
      return new MemorySource(source as Records);
  }
  throw new LecternError(
    'option-invalid',
    'source must be a path, an address, a source or an iterable of records',
  );
}

class KeptTimetable implements Timetable {
  readonly ready: Promise<SnapshotSummary>;
  readonly #parseOptions: ParseOptions;
  readonly #reading: ParseOptions & { readonly identifiers: IdentifierMode };
  readonly #keeper: Keeper;
  readonly #staleMsMax: number;
  readonly #sourceName: string;
  readonly #emitter = new EventEmitter();
  #view: View | null = null;
  #history = History.EMPTY;
  #publication: PublicationState | null = null;
  #closed = false;

  constructor(options: TimetableOptions) {
    checkTimetableOptions(options);
    const { refreshSeconds = 0, watch = true, gate = {}, snapshotFile, pin, onProgress } = options;
    this.#parseOptions = { unknownParameters: options.unknownParameters ?? 'reject' };
    this.#reading = { ...this.#parseOptions, identifiers: options.identifiers ?? 'uuid' };
    this.#staleMsMax = (options.staleSecondsMax ?? Number.POSITIVE_INFINITY) * 1000;
    const loader = new Loader(
      sourceOf(options.source),
      this.#reading.identifiers,
      options.buildOn ?? 'thread',
    );
    this.#sourceName = pin ?? loader.name;
    this.#keeper = new Keeper({
      loader,
      gate: gate === false ? null : { ...GATE_DEFAULTS, ...gate },
      refreshSeconds,
      watch,
      snapshotFile:
        snapshotFile === undefined ? null : { path: snapshotFile, keep: options.snapshotFilesKept ?? 0 },
      pin: pin ?? null,
      ...(onProgress === undefined ? {} : { onProgress }),
      events: {
        publish: (publication) => this.#publish(publication),
        refused: (refusal, summary) => this.#emit('refused', { refusal, summary }),
        failed: (error) => this.#emit('error', error),
      },
    });
    this.ready = this.#keeper.start().then(() => {
      if (this.#view === null) throw this.#unreadable();
      return this.#view.summary;
    });
    // Whoever does not wait for `ready` learns of a failure from `status`, from 'error' and from the reads.
    this.ready.catch(() => {});
  }

  get view(): View | null {
    return this.#staleMsMax === Number.POSITIVE_INFINITY || !this.#isStale() ? this.#view : null;
  }

  get summary(): SnapshotSummary | null {
    return this.#view?.summary ?? null;
  }

  get publication(): PublicationState | null {
    return this.#publication;
  }

  get status(): TimetableStatus {
    if (this.#view === null) return 'starting';
    return this.#keeper.state.lastError === null && !this.#isStale() ? 'ok' : 'degraded';
  }

  get source(): SourceState {
    return { name: this.#sourceName, ...this.#keeper.state };
  }

  find(query: ScheduleQuery = {}): EventPage {
    return eventPage(answerOf(this.#open().schedule(pairsOf(query), this.#parseOptions)));
  }

  findBytes(query: ScheduleQuery = {}): Uint8Array {
    return bytesOf(answerOf(this.#open().schedule(pairsOf(query), this.#parseOptions)));
  }

  get(id: string): TimetableEvent | null {
    const bytes = this.#open().eventOf(id);
    return bytes === null ? null : (JSON.parse(Buffer.from(bytes).toString('utf8')) as TimetableEvent);
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

  changes(since: string): ChangeSet | null {
    const result = this.#open().changes(pairsOf({ since }), this.#parseOptions);
    return 'gone' in result ? null : parse(answerOf(result));
  }

  explain(query: ScheduleQuery = {}): Explanation {
    const result = this.#open().explain(pairsOf(query), this.#parseOptions);
    if ('faults' in result) throw invalidParameters(result.faults);
    return result;
  }

  async refresh({ force = false }: { readonly force?: boolean } = {}): Promise<void> {
    if (this.#closed) throw closedError();
    await this.#keeper.refresh(force);
  }

  on<Name extends keyof TimetableEvents>(
    name: Name,
    listener: (...event: TimetableEvents[Name]) => void,
  ): this {
    this.#emitter.on(name, listener as (...event: unknown[]) => void);
    return this;
  }

  off<Name extends keyof TimetableEvents>(
    name: Name,
    listener: (...event: TimetableEvents[Name]) => void,
  ): this {
    this.#emitter.off(name, listener as (...event: unknown[]) => void);
    return this;
  }

  handler(options: EmbeddedHandlerOptions = {}): RequestHandler {
    return createEmbeddedHandler(this, options, this.#reading);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#keeper.close();
    this.#view = null;
    this.#history = History.EMPTY;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #open(): View {
    const { view } = this;
    if (view === null || this.#closed) throw this.#unreadable();
    return view;
  }

  /** Why there is nothing to read. */
  #unreadable(): LecternError {
    if (this.#closed) return closedError();
    const { lastError } = this.#keeper.state;
    if (this.#view !== null) {
      return new LecternError(
        'stale',
        `the snapshot is older than staleSecondsMax: ${lastError ?? 'no load since'}`,
      );
    }
    return new LecternError(
      'not-ready',
      lastError === null
        ? 'the timetable is still loading: await its `ready` first'
        : `the timetable could not be loaded: ${lastError}`,
    );
  }

  #isStale(): boolean {
    if (this.#view === null || this.#staleMsMax === Number.POSITIVE_INFINITY) return false;
    // What came from disk was good when it was built.
    const goodAtMs = this.#keeper.state.lastSuccessMs ?? this.#view.summary.builtAtMs;
    return Date.now() - goodAtMs > this.#staleMsMax;
  }

  #publish({ image, origin, delta }: Publication): void {
    // Without a difference nothing of the past can be told any more.
    this.#history = delta === null ? History.EMPTY : this.#history.with(delta);
    this.#view = viewOf(new Snapshot(image), this.#history);
    this.#publication = { origin, publishedAtMs: Date.now() };
    this.#emit('published', {
      summary: image.summary,
      origin,
      changes: delta === null ? null : { added: delta.added, changed: delta.changed, removed: delta.removed },
    });
  }

  #emit<Name extends keyof TimetableEvents>(name: Name, ...event: TimetableEvents[Name]): void {
    // An 'error' that nobody listens for would be thrown, and end the process that wants to go on serving.
    if (this.#emitter.listenerCount(name) > 0) this.#emitter.emit(name, ...event);
  }
}

function closedError(): LecternError {
  return new LecternError('closed', 'the timetable is closed');
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
  if ('gone' in result) throw new LecternError('not-ready', result.gone);
  return result.read.execute('json');
}

function eventPage(answer: Answer): EventPage {
  return { events: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
}

function bytesOf(answer: Answer): Uint8Array {
  const chunks = [...answer.body.chunks];
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

function parse<T>(answer: Answer): T {
  // A Buffer decodes shared memory, a TextDecoder does not.
  const bytes = bytesOf(answer);
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T;
}
