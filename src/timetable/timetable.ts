/**
 * Room timetable/. The library: opens a timetable, reads it, serves it. It puts the other rooms together and knows
 * nothing of the command line.
 */
import type { IncomingMessage } from 'node:http';
import { LecternError } from '../errors.js';
import type { RequestHandler } from '../http/handler.js';
import { ANSWER_CACHE_SHARE } from '../limits.js';
import type { TimetableEvent } from '../model/event.js';
import type {
  EmbeddedHandlerOptions,
  Resolved,
  ServeOptions,
  TimetableOptions,
} from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { Explanation } from '../query/explain.js';
import { checkText, invalidParameters, readQueryObject } from '../query/object-form.js';
import type { EndpointName } from '../query/parameters.js';
import { Keeper, type LoadOutcome, type Publication } from '../refresh/keeper.js';
import { Listeners } from '../refresh/listeners.js';
import { type AnySource, Loader } from '../refresh/loader.js';
import { NO_DIFFERENCES } from '../snapshot/differences.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { MemorySource, type Records } from '../source/records.js';
import { parseSourceArgument } from '../source/spec.js';
import type { Answer } from '../view/answer.js';
import { loadingSource, Present, publicationOf } from '../view/present.js';
import type { View } from '../view/view.js';
import type { PublicationState, SourceState, TimetableStatus, ViewSource } from '../view/view-source.js';
import { createEmbeddedHandler } from './embedded-handler.js';
import { OpenServers, type TimetableServer } from './open-servers.js';
import type { Reading } from './plan-auth.js';
import {
  answerOf,
  bytesOf,
  type ChangeSet,
  type ConflictPage,
  type ConflictQuery,
  type EventPage,
  eventPage,
  type PageQuery,
  parse,
  type ScheduleQuery,
} from './queries.js';
import { checkEventName, type TimetableEvents, type TimetableListener } from './timetable-events.js';

/** How a timetable is loaded again. */
export interface RefreshOptions {
  /** Publishes whatever comes, past the gate. Default false. */
  readonly force?: boolean;
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
  /** One event by its id, or null. Throws `parameters-invalid` for what is no text. */
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
  /** Loads now, off this thread, and resolves to how that load went. Until then the process stays alive. */
  refresh(options?: RefreshOptions): Promise<LoadOutcome>;
  /**
   * Listeners are called one after the other, right after what they are told of. One that throws, or returns a promise that
   * is rejected, stops neither the others nor the service. What it threw is told to the listeners of `error`; if there are
   * none, or one of them threw it, Node prints it as a warning of the process.
   *
   * @throws LecternError `option-invalid` for an event that does not exist
   */
  on<Name extends keyof TimetableEvents>(name: Name, listener: TimetableListener<Name>): this;
  /** Ends what {@link on} began, with the same function. */
  off<Name extends keyof TimetableEvents>(name: Name, listener: TimetableListener<Name>): this;
  /** A handler `(req, res)` for an existing server, which answers for CORS; see {@link EmbeddedHandlerOptions}. */
  handler<Request extends IncomingMessage = IncomingMessage>(
    options?: EmbeddedHandlerOptions<Request>,
  ): RequestHandler<Request>;
  /**
   * Listens, and answers requests as `lectern serve` does in production: on this thread, or on several that share the one
   * snapshot. Before the first snapshot it answers 503. Resolves when it listens.
   *
   * @throws LecternError `option-invalid`, `key-missing`, `key-invalid`, `address-unavailable`, `closed`
   */
  serve(options: ServeOptions): Promise<TimetableServer>;
  /**
   * Closes what {@link serve} opened, aborts loads and ends timers, watches and threads. Later reads throw `closed`. When all
   * is closed, it rejects with what closing the watch of a source of one's own threw.
   */
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
  return new KeptTimetable(resolveOptions('openTimetable', options));
}

function sourceOf(source: TimetableOptions['source']): AnySource {
  if (typeof source === 'string') return parseSourceArgument(source);
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
  readonly #reading: Reading;
  readonly #cacheBytesMax: number;
  readonly #keeper: Keeper;
  readonly #present: Present;
  readonly #servers: OpenServers;
  readonly #handlers: { close(): void }[] = [];
  readonly #listeners = new Listeners<TimetableEvents>();
  #closed = false;

  constructor(options: Resolved<'openTimetable'>) {
    const { refreshSeconds, watch, gate = {}, snapshotFile, snapshotFilesKept, pin, onProgress } = options;
    const { unknownParameters, identifiers, staleSecondsMax, memoryMbMax } = options;
    this.#reading = { unknownParameters, identifiers };
    this.#cacheBytesMax = options.cacheMb * 2 ** 20;
    // A pinned snapshot does not grow stale, as no source is asked.
    const canBeStale = pin === undefined && staleSecondsMax !== undefined;
    const staleMsMax = canBeStale ? staleSecondsMax * 1000 : Number.POSITIVE_INFINITY;
    const loader = new Loader(sourceOf(options.source), identifiers, options.buildOn);
    const name = pin ?? loader.name;
    this.#present = new Present(loadingSource(name), {
      staleMsMax,
      cacheBytesMax: this.#cacheBytesMax * (1 - ANSWER_CACHE_SHARE),
    });
    this.#servers = new OpenServers({
      present: this.#present,
      timetable: this,
      staleMsMax,
      cacheBytesMax: this.#cacheBytesMax,
      reading: this.#reading,
      onLost: (error) => this.#listeners.tell('error', error),
    });
    this.#keeper = new Keeper({
      loader,
      gate: gate === false ? null : resolveOptions('gate', gate),
      bounds: {
        eventsMax: options.eventsMax ?? null,
        memoryBytesMax: memoryMbMax === undefined ? null : memoryMbMax * 2 ** 20,
      },
      refreshSeconds,
      watch,
      snapshotFile: snapshotFile === undefined ? null : { path: snapshotFile, keep: snapshotFilesKept },
      pin: pin ?? null,
      ...(onProgress === undefined
        ? {}
        : { onProgress: (progress) => this.#listeners.heed('onProgress', onProgress(progress)) }),
      events: {
        publish: (publication) => this.#publish(publication),
        refused: (refusal, summary) => this.#listeners.tell('refused', { refusal, summary }),
        ended: (result, durationMs) => this.#listeners.tell('loaded', { result, durationMs }),
        failed: (error) => this.#listeners.tell('error', error),
        changed: (state) => this.#become({ name, ...state }),
      },
    });
    this.ready = this.#keeper.start().then(async () => {
      const { summary } = this.#present;
      if (summary === null) throw this.#unreadable();
      await this.#servers.settled();
      return summary;
    });
    // Callers that do not await it learn of a failure from `status`, from 'error' and from the reads.
    this.ready.catch(() => {});
  }

  get view(): View | null {
    return this.#present.view;
  }

  get summary(): SnapshotSummary | null {
    return this.#present.summary;
  }

  get publication(): PublicationState | null {
    return this.#present.publication;
  }

  get status(): TimetableStatus {
    return this.#present.status;
  }

  get source(): SourceState {
    return this.#present.source;
  }

  find(query?: ScheduleQuery): EventPage {
    return eventPage(this.#answer('schedule', 'find', query));
  }

  findBytes(query?: ScheduleQuery): Uint8Array {
    return bytesOf(this.#answer('schedule', 'findBytes', query));
  }

  get(id: string): TimetableEvent | null {
    const bytes = this.#open().eventOf(checkText('id', 'get', 'the id of an event', id));
    return bytes === null ? null : (JSON.parse(Buffer.from(bytes).toString('utf8')) as TimetableEvent);
  }

  all(query?: PageQuery): EventPage {
    return eventPage(this.#answer('all', 'all', query));
  }

  conflicts(query?: ConflictQuery): ConflictPage {
    const answer = this.#answer('conflicts', 'conflicts', query);
    return { conflicts: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
  }

  types(): string[] {
    return parse(this.#answer('types', 'types', undefined));
  }

  changes(since: string): ChangeSet | null {
    const view = this.#open();
    const id = checkText('since', 'changes', 'the id of a snapshot', since);
    const result = view.changes([['since', id]], this.#reading);
    if ('gone' in result) return null;
    // What never was the id of a snapshot is as unknown as one that is gone.
    if ('faults' in result && result.faults.every(({ code }) => code === 'malformed-snapshot')) return null;
    return parse(answerOf(result));
  }

  explain(query?: ScheduleQuery): Explanation {
    const view = this.#open();
    const { pairs, faults } = readQueryObject('schedule', 'explain', query);
    const result = view.explain(pairs, this.#reading);
    if ('faults' in result) throw invalidParameters([...faults, ...result.faults]);
    if (faults.length > 0) throw invalidParameters(faults);
    return result;
  }

  async refresh({ force = false }: RefreshOptions = {}): Promise<LoadOutcome> {
    if (this.#closed) throw this.#unreadable();
    const outcome = await this.#keeper.refresh(force);
    await this.#servers.settled();
    return outcome;
  }

  on<Name extends keyof TimetableEvents>(name: Name, listener: TimetableListener<Name>): this {
    checkEventName(name);
    this.#listeners.add(name, listener);
    return this;
  }

  off<Name extends keyof TimetableEvents>(name: Name, listener: TimetableListener<Name>): this {
    this.#listeners.remove(name, listener);
    return this;
  }

  handler<Request extends IncomingMessage>(
    options: EmbeddedHandlerOptions<Request> = {},
  ): RequestHandler<Request> {
    const cacheBytesMax = this.#cacheBytesMax * ANSWER_CACHE_SHARE;
    const embedded = createEmbeddedHandler(this, options, this.#reading, cacheBytesMax);
    this.#handlers.push(embedded);
    return embedded.handler;
  }

  async serve(options: ServeOptions): Promise<TimetableServer> {
    if (this.#closed) throw this.#unreadable();
    return this.#servers.open(options);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const handler of this.#handlers) handler.close();
    const kept = this.#keeper.close();
    const served = this.#servers.close(kept);
    try {
      await kept;
    } finally {
      await served;
      this.#present.clear();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @throws LecternError `parameters-invalid` with every fault */
  #answer(endpoint: Exclude<EndpointName, 'personal' | 'changes'>, method: string, query: unknown): Answer {
    const view = this.#open();
    const { pairs, faults } = readQueryObject(endpoint, method, query);
    const result = view[endpoint](pairs, this.#reading);
    if (faults.length > 0) throw invalidParameters([...faults, ...('faults' in result ? result.faults : [])]);
    return answerOf(result);
  }

  #open(): View {
    const { view } = this;
    if (view === null || this.#closed) throw this.#unreadable();
    return view;
  }

  /** Why there is nothing to read. */
  #unreadable(): LecternError {
    if (this.#closed) return new LecternError('closed', 'the timetable is closed');
    const { lastError } = this.#keeper.state;
    if (this.#present.summary !== null) {
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

  #publish({ image, origin, delta, history }: Publication): void {
    const differences = history?.differences ?? NO_DIFFERENCES;
    const published = { image, differences, state: publicationOf(origin, image.summary) };
    this.#present.publish(published);
    this.#servers.publish(published);
    this.#listeners.tell('published', {
      summary: image.summary,
      origin,
      changes: delta === null ? null : { added: delta.added, changed: delta.changed, removed: delta.removed },
    });
  }

  #become(source: SourceState): void {
    this.#present.become(source);
    this.#servers.become(source);
  }
}
