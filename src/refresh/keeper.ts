/**
 * Room refresh/. Keeps the timetable fresh: when to load, what may be published, what goes to disk. It knows no request.
 */
import { LecternError } from '../errors.js';
import { monotonicMs } from '../model/clock.js';
import type { Delta, History } from '../snapshot/differences.js';
import type { SnapshotImage } from '../snapshot/image.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';
import type { LoadProgress } from '../source/source.js';
import { type Gate, growthBound, judge, type Refusal } from './gate.js';
import type { Loader, LoadRequest } from './loader.js';
import { Patience } from './patience.js';
import { keepingProcessAlive } from './process-alive.js';
import { Refresher, type RefreshOutcome } from './refresher.js';
import { checkIdentifiers, SnapshotFile } from './snapshot-file.js';
import { Weight } from './weight.js';

/** A snapshot that is to be served from now on. */
export interface Publication {
  readonly image: SnapshotImage;
  readonly origin: Origin;
  /** What changed; null at the first publication. */
  readonly delta: Delta | null;
  /** Null where `delta` is: nothing of the past can be told. */
  readonly history: History | null;
}

/** How a load ended: `unchanged` where the source still has what is served, `refused` also where it still has what was refused. */
export type LoadResult = 'published' | 'unchanged' | 'refused' | 'failed';

/** How one load ended. */
export interface LoadOutcome {
  /** How it ended. */
  readonly result: LoadResult;
  /** Why what the source has is not served; null where it is. */
  readonly reason: string | null;
}

export interface KeeperEvents {
  /** Swaps the reference. Called before anything else hears of the publication. */
  publish(publication: Publication): void;
  /** @param summary of what was refused; null where its load was given up */
  refused(refusal: Refusal, summary: SnapshotSummary | null): void;
  /** A load failed, or the snapshot file could not be read or written. What is served stays. */
  failed(error: Error): void;
  /** A load has ended, and this is how. */
  ended?(result: LoadResult, durationMs: number): void;
  /** What `state` says is another. */
  changed?(state: KeeperState): void;
}

export interface KeeperOptions {
  /** Null where nothing is ever loaded: one image is served. */
  readonly loader: Loader;
  /** Null: everything is published. */
  readonly gate: Gate | null;
  /** Events of one load; null for no bound. */
  readonly eventsMax: number | null;
  /** Memory that one load may take; null for a share of what there is. */
  readonly memoryBytesMax: number | null;
  readonly refreshSeconds: number;
  /** Whether to load when the source says that it changed. */
  readonly watch: boolean;
  readonly snapshotFile: { readonly path: string; readonly keep: number } | null;
  /** An image file to serve and nothing else. */
  readonly pin: string | null;
  readonly onProgress?: (progress: LoadProgress) => void;
  readonly events: KeeperEvents;
  readonly now?: () => number;
  readonly random?: () => number;
}

/** How the source is doing; see view/view-source.ts. */
export interface KeeperState {
  readonly state: 'loading' | 'loaded' | 'failed' | 'refused';
  readonly lastSuccessMs: number | null;
  readonly lastSuccessMonotonicMs: number | null;
  readonly lastError: string | null;
  /** What was published is damaged, and must not be served; until the next publication. */
  readonly isWithdrawn?: boolean;
}

const CLOSED: LoadOutcome = { result: 'failed', reason: 'the timetable was closed' };

/**
 * Keeps a snapshot fresh: loads, judges, publishes, writes to disk, and starts over. Everything slow happens on other
 * threads; here one reference is swapped.
 */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #refresher: Refresher<RefreshOutcome & LoadOutcome>;
  readonly #abort = new AbortController();
  readonly #file: SnapshotFile | null;
  #watch: { close(): void } | null = null;
  #changeNotice: NodeJS.Immediate | null = null;
  #served: SnapshotImage | null = null;
  #history: History | null = null;
  readonly #weight = new Weight();
  readonly #patience: Patience;
  /** The source's version of what is served, or of what was refused: either way there is no need to see it again. */
  #seenVersion: string | null = null;
  #refusal: Refusal | null = null;
  #state: KeeperState = {
    state: 'loading',
    lastSuccessMs: null,
    lastSuccessMonotonicMs: null,
    lastError: null,
  };
  #lastError: unknown = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { loader, snapshotFile, events } = options;
    this.#file =
      snapshotFile === null
        ? null
        : new SnapshotFile(snapshotFile.path, snapshotFile.keep, loader, this.#abort.signal, (error) =>
            events.failed(error),
          );
    const intervalMs = options.pin === null ? options.refreshSeconds * 1000 : 0;
    this.#patience = new Patience(intervalMs);
    this.#refresher = new Refresher({
      refresh: (force) => this.#refresh(force),
      intervalMs,
      ...(options.random === undefined ? {} : { random: options.random }),
    });
  }

  get state(): KeeperState {
    return this.#state;
  }

  /**
   * Serves what is on disk, if anything; then asks the source. Keeps the process alive until it has ended.
   *
   * @returns when there is a snapshot
   * @throws LecternError why there is none. With a regular refresh a failed first load is not the end: it resolves when a
   *   later one succeeds, and never throws.
   */
  start(): Promise<void> {
    return keepingProcessAlive(this.#start());
  }

  async #start(): Promise<void> {
    const { pin, watch, refreshSeconds } = this.#options;
    if (pin !== null) return this.#startPinned(pin);
    // Watched before it is read: a change in between is not missed.
    if (watch) this.#startWatch();
    const stored = await this.#file?.read();
    this.#abort.signal.throwIfAborted();
    if (stored !== undefined && stored !== null) {
      this.#seenVersion = stored.sourceVersion;
      this.#publish({ image: stored.image, origin: 'disk', delta: null, history: null });
      void this.#checkStored(stored.image);
      return;
    }
    await this.#refresher.request();
    if (this.#served !== null) return;
    this.#abort.signal.throwIfAborted();
    if (refreshSeconds === 0) throw this.#lastError;
    await new Promise<void>((resolve) => {
      this.#firstSnapshot = resolve;
    });
  }

  /** Goes through what was published from disk, and then asks the source. */
  async #checkStored(image: SnapshotImage): Promise<void> {
    const fault = (await this.#file?.faultOf(image)) ?? null;
    if (this.#abort.signal.aborted) return;
    // Meanwhile something may have been published on request.
    if (fault !== null && this.#served === image) this.#withdraw(fault);
    await this.#refresher.request();
  }

  /** Serves nothing any more, until a load has succeeded: as if nothing had been on disk. */
  #withdraw(fault: LecternError): void {
    this.#served = null;
    this.#seenVersion = null;
    this.#lastError = fault;
    this.#become({
      state: 'failed',
      lastSuccessMs: null,
      lastSuccessMonotonicMs: null,
      lastError: fault.message,
      isWithdrawn: true,
    });
    this.#options.events.failed(fault);
  }

  async #startPinned(path: string): Promise<void> {
    const { loader } = this.#options;
    try {
      const stored = await loader.run({ task: 'read-image', path, use: 'pin' }, this.#request(true));
      this.#abort.signal.throwIfAborted();
      if (stored.kind !== 'loaded') throw new Error('a reading was answered with something else');
      checkIdentifiers(path, stored.image.summary, loader.identifiers);
      this.#publish({ image: stored.image, origin: 'pin', delta: null, history: null });
      this.#succeed();
    } catch (error) {
      // Nothing follows that could fail or succeed, so `start` alone tells of it.
      if (!this.#abort.signal.aborted) this.#setFailed(error);
      throw error;
    }
  }

  #firstSnapshot: (() => void) | null = null;

  /** @throws what a source of the embedding program throws: nobody would ever learn of a change */
  #startWatch(): void {
    try {
      this.#watch = this.#options.loader.watch(() => this.#changed());
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /**
   * Loads now. `force` publishes whatever comes, past the gate. Resolves to how it went, and keeps the process alive until
   * then. What is pinned stays unchanged.
   */
  async refresh(force: boolean): Promise<LoadOutcome> {
    if (this.#options.pin !== null) return { result: 'unchanged', reason: this.#state.lastError };
    const outcome = await keepingProcessAlive(this.#refresher.request(force));
    return outcome === null ? CLOSED : { result: outcome.result, reason: outcome.reason };
  }

  /** Changes that are told of in one turn of the event loop become one load. */
  #changed(): void {
    this.#changeNotice ??= setImmediate(() => {
      this.#changeNotice = null;
      void this.#refresher.request();
    });
  }

  /**
   * Aborts loads, ends timers, watches and threads. An image that is being written is written to its end.
   *
   * @throws what closing the watch throws, which may be the embedding program's; everything else is closed all the same
   */
  async close(): Promise<void> {
    const watch = this.#watch;
    this.#watch = null;
    // Not awaited before the rest is closed: it may take its time, or throw.
    const unwatched = (async () => watch?.close())();
    unwatched.catch(() => {});
    if (this.#changeNotice !== null) clearImmediate(this.#changeNotice);
    this.#abort.abort(new LecternError('closed', 'the timetable was closed'));
    await this.#refresher.close();
    await this.#file?.close();
    this.#firstSnapshot?.();
    await unwatched;
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  #request(keepsProcessAlive: boolean): Pick<LoadRequest, 'signal' | 'keepsProcessAlive' | 'onProgress'> {
    const { onProgress } = this.#options;
    return {
      signal: this.#abort.signal,
      keepsProcessAlive,
      ...(onProgress === undefined || this.#served !== null ? {} : { onProgress }),
    };
  }

  async #refresh(force: boolean): Promise<RefreshOutcome & LoadOutcome> {
    const { loader, gate, eventsMax, memoryBytesMax } = this.#options;
    const served = this.#served;
    const beganMs = performance.now();
    const ended = (result: LoadResult): LoadOutcome => {
      // Before anybody is told, who may begin the next.
      const outcome = { result, reason: this.#state.lastError };
      this.#options.events.ended?.(result, performance.now() - beganMs);
      return outcome;
    };
    let outcome: LoadOutcome;
    try {
      const result = await loader.load({
        ...this.#request(served === null),
        previousVersion: force ? null : this.#seenVersion,
        served,
        deltas: this.#history?.deltas ?? [],
        timeLimits: this.#patience.limits,
        bounds: {
          eventsMax,
          memoryBytesMax,
          growth: force || gate === null ? null : growthBound(served?.summary ?? null, gate),
        },
      });
      // It may have been on its way already: nothing is published any more.
      this.#abort.signal.throwIfAborted();
      const isWhole = result.kind !== 'not-modified' && result.kind !== 'refused';
      this.#patience.succeeded(isWhole ? performance.now() - beganMs : null);
      // It was compared with an image that has been withdrawn meanwhile. The load that is queued builds anew.
      const isOfWithdrawn = served !== null && this.#served === null;
      if (isOfWithdrawn && (result.kind === 'not-modified' || result.kind === 'unchanged')) {
        return { failed: true, retryAfterMs: null, ...ended('failed') };
      }
      switch (result.kind) {
        case 'not-modified':
          // Of what was refused, or of what is served.
          if (this.#refusal === null) this.#succeed();
          else this.#become({ ...this.#state, state: 'refused', lastError: this.#messageOf(this.#refusal) });
          outcome = ended(this.#refusal === null ? 'unchanged' : 'refused');
          break;
        case 'unchanged':
          this.#seenVersion = result.sourceVersion;
          this.#refusal = null;
          this.#succeed();
          outcome = ended('unchanged');
          break;
        case 'refused':
          // It has no version, so what was seen last is what is served, or what was refused whole before.
          this.#tellRefusal(result.refusal, null);
          outcome = ended('refused');
          break;
        case 'loaded': {
          const refusal =
            force || gate === null ? null : judge(result.image.summary, served?.summary ?? null, gate);
          this.#seenVersion = result.sourceVersion;
          if (refusal === null) {
            this.#refusal = null;
            const { image, delta, history } = result;
            this.#publish({ image, origin: 'source', delta, history });
            this.#succeed();
            this.#file?.write(result.image, result.sourceVersion);
          } else this.#refuse(refusal, result.image.summary);
          outcome = ended(refusal === null ? 'published' : 'refused');
          break;
        }
        case 'written':
        case 'checked':
          throw new Error('a load was answered with something else');
      }
      return { failed: false, retryAfterMs: null, ...outcome };
    } catch (error) {
      if (this.#abort.signal.aborted) return { failed: true, retryAfterMs: null, ...CLOSED };
      this.#patience.failed();
      const failure = this.#fail(error);
      const retryAfterMs = failure instanceof LecternError ? failure.retryAfterMs : null;
      return { failed: true, retryAfterMs, ...ended('failed') };
    }
  }

  #fail(error: unknown): Error {
    const failure = this.#setFailed(error);
    this.#options.events.failed(failure);
    return failure;
  }

  #setFailed(error: unknown): Error {
    const failure = error instanceof Error ? error : new Error(String(error));
    this.#lastError = failure;
    this.#become({ ...this.#state, state: 'failed', lastError: failure.message });
    return failure;
  }

  #publish(publication: Publication): void {
    const { image, history } = publication;
    this.#served = image;
    this.#history = history;
    this.#weight.replace(image.summary.bytes);
    this.#options.events.publish(publication);
    this.#firstSnapshot?.();
  }

  #become(state: KeeperState): void {
    this.#state = state;
    this.#options.events.changed?.(state);
  }

  #succeed(): void {
    this.#become({
      state: 'loaded',
      lastSuccessMs: this.#now(),
      lastSuccessMonotonicMs: monotonicMs(),
      lastError: null,
    });
  }

  #refuse(refusal: Refusal, summary: SnapshotSummary): void {
    this.#refusal = refusal;
    this.#tellRefusal(refusal, summary);
  }

  #tellRefusal(refusal: Refusal, summary: SnapshotSummary | null): void {
    const message = this.#messageOf(refusal);
    this.#lastError = new LecternError('snapshot-refused', message);
    this.#become({ ...this.#state, state: 'refused', lastError: message });
    this.#options.events.refused(refusal, summary);
  }

  #messageOf(refusal: Refusal): string {
    return `the new snapshot of ${this.#options.loader.name} was refused: ${refusal.detail}`;
  }
}
