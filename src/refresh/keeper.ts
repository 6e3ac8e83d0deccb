/**
 * Folder refresh/. Keeps the timetable up to date: decides when to load, what to publish and what to store.
 * This folder knows nothing of requests.
 */

import { LecternError } from '../base/errors.js';
import { PARTS_LISTED_MAX, RETRY_MS_MAX } from '../base/limits.js';
import { monotonicMs } from '../base/model/clock.js';
import type { ReadRules } from '../base/model/read-rules.js';
import { LOADING, type LoadState, type SourcePart, type SourceParts } from '../base/model/source-state.js';
import { DAY_MS } from '../base/model/time.js';
import { type History, numbered } from '../change/history.js';
import type { SnapshotImage } from '../snapshot/image.js';
import { type IntakeBounds, OUT_OF_MEMORY } from '../snapshot/intake-bounds.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';
import { hasMovingWindow, type LoadProgress, type PartReport, type PartsReport } from '../source/source.js';
import { type Gate, judge, type Refusal } from './gate.js';
import type { AnyLoader } from './loader.js';
import { Patience } from './patience.js';
import { keepingProcessAlive, Refresher, type RefreshOutcome } from './refresher.js';
import { checkIdentifiers, SnapshotFile } from './snapshot-file.js';
import type { Loaded } from './thread/task-messages.js';
import { Weight } from './thread/weight.js';

export interface Publication extends Pick<Loaded, 'image' | 'changes' | 'history'> {
  readonly origin: Origin;
  /** Greater than every earlier sequence, also across restarts. A replica takes it from the announcement. */
  readonly sequence: number;
}

/** `unchanged`: the source still has the served data. `refused`: the gate refuses the source's data. */
export type LoadResult = 'published' | 'unchanged' | 'refused' | 'failed';

/** How one load ended. */
export interface LoadOutcome {
  /** The end of the load. */
  readonly result: LoadResult;
  /** Why the source's data is not served; null if it is. */
  readonly reason: string | null;
}

type ToPublish = Omit<Publication, 'sequence'> & { readonly sequence: number | null };

interface KeeperEvents {
  /** Swaps the reference to the served snapshot, before any other listener learns of the publication. */
  publish(publication: Publication): void;
  /** @param summary of the refused set; null if its load was given up */
  refused(refusal: Refusal, summary: SnapshotSummary | null): void;
  failed(error: Error): void;
  /** Gives the served snapshot's sequence, which may have grown. */
  renumbered?(sequence: number): void;
  /** A part of several sources began to fail, or works again. */
  partChanged?(part: SourcePart): void;
  ended?(result: LoadResult, durationMs: number): void;
  changed?(state: LoadState): void;
}

export interface KeeperOptions {
  readonly loader: AnyLoader;
  readonly gate: Gate | null;
  readonly bounds: IntakeBounds;
  readonly refreshSeconds: number;
  readonly watch: boolean;
  readonly snapshotFile: string | null;
  readonly pin: string | null;
  readonly onProgress?: (progress: LoadProgress) => void;
  readonly events: KeeperEvents;
  readonly now?: () => number;
  readonly random?: () => number;
}

const NO_PARTS: PartsReport = { parts: [], skipped: 0 };
const CLOSED: LoadOutcome = { result: 'failed', reason: 'the timetable was closed' };

/** Keeps one timetable up to date. Slow work runs on other threads; this thread swaps one reference. */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #refresher: Refresher<RefreshOutcome & LoadOutcome>;
  readonly #abort = new AbortController();
  readonly #file: SnapshotFile | null;
  readonly #weight = new Weight();
  readonly #patience: Patience;
  #watch: { close(): void } | null = null;
  #isStarted = false;
  /** An operator or a program asked for the next load. */
  #isAsked = false;
  #firstSnapshot = (): void => {};
  #served: SnapshotImage | null = null;
  #history: History | null = null;
  /** The sequence of the last publication. */
  #sequence = 0;
  /** The source version of the last publication or refusal, which is not loaded again. */
  #seenVersion: string | null = null;
  #servedVersion: string | null = null;
  #refusal: Refusal | null = null;
  #parts: PartsReport = NO_PARTS;
  /** The served image was built and perhaps patched by this process, so a load may patch it. */
  #isBuilt = false;
  state: LoadState = LOADING;
  #lastError: unknown = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { loader, snapshotFile, events, pin, refreshSeconds, watch, random } = options;
    this.#file =
      snapshotFile === null
        ? null
        : new SnapshotFile(snapshotFile, loader, this.#abort.signal, {
            onError: (error) => events.failed(error),
            onWritten: () => this.#noteFile(),
          });
    const intervalMs = pin === null ? refreshSeconds * 1000 : 0;
    this.#patience = new Patience(intervalMs);
    // A watch reports a change once, so a failed load of a watched source is tried again.
    const failedMsMax = intervalMs > 0 ? intervalMs : watch && pin === null ? RETRY_MS_MAX : 0;
    this.#refresher = new Refresher((force) => this.#refresh(force), intervalMs, random, failedMsMax);
  }

  /** Resolves when there is a snapshot. If there is none and no regular refresh follows, throws the reason. */
  start(): Promise<void> {
    return keepingProcessAlive(this.#start());
  }

  async #start(): Promise<void> {
    const { pin, watch, refreshSeconds } = this.#options;
    if (pin !== null) return this.#startPinned(pin);
    // Watched before reading, so that no change in between is missed.
    const watched = watch ? this.#startWatch() : null;
    if (watched !== null) await watched;
    const stored = await this.#file?.read();
    this.#abort.signal.throwIfAborted();
    this.#isStarted = true;
    if (stored) {
      this.#seenVersion = stored.sourceVersion;
      this.#servedVersion = stored.sourceVersion;
      this.#parts = { parts: stored.parts, skipped: 0 };
      this.#publish({ ...stored, origin: 'disk', changes: [] });
      void this.#refresher.request();
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

  async #startPinned(path: string): Promise<void> {
    const { loader } = this.#options;
    try {
      const { signal } = this.#abort;
      const task = { task: 'read-image', path } as const;
      const pinned = await loader.run(task, { signal });
      signal.throwIfAborted();
      checkIdentifiers(path, pinned.image.summary, loader.rules.identifiers);
      this.#publish({ ...pinned, origin: 'pin', changes: [] });
      this.#succeed();
    } catch (error) {
      // A pinned file is loaded once: `start` throws the error, and no `failed` event follows.
      if (!this.#abort.signal.aborted) this.#setFailed(error);
      throw error;
    }
  }

  /** @throws the error of the embedding program's source, because without a watch, changes would go unnoticed */
  #startWatch(): Promise<unknown> | null {
    try {
      // The first load includes everything reported before it.
      const watch = this.#options.loader.watch(() => {
        if (!this.#isStarted) return;
        const waits = (this.#options.loader.followed?.() ?? null)?.waitingSinceMs ?? null;
        // Serving threads report since when a commit waits to be read, so further commits change nothing for them.
        if (waits !== (this.state.followed?.waitingSinceMs ?? null)) this.#become(this.state);
        this.#refresher.changed();
      });
      this.#watch = watch;
      return watch.ready ?? null;
    } catch (error) {
      this.#options.events.failed(this.#setFailed(error));
      throw error;
    }
  }

  /** `force` skips the gate. A pinned snapshot stays unchanged. */
  async refresh(force: boolean): Promise<LoadOutcome> {
    if (this.#options.pin !== null) return { result: 'unchanged', reason: this.state.lastError };
    this.#isAsked = true;
    const { result, reason } = (await keepingProcessAlive(this.#refresher.request(force))) ?? CLOSED;
    return { result, reason };
  }

  /** Finishes a started write. Errors from closing the program's watch are thrown last. */
  async close(): Promise<void> {
    const watch = this.#watch;
    this.#watch = null;
    // The end of the watch is awaited only after the rest is closed, because it may be slow or throw.
    const unwatched = (async () => watch?.close())();
    unwatched.catch(() => {});
    this.#abort.abort(new LecternError('closed', 'the timetable was closed'));
    await this.#refresher.close();
    await this.#file?.close();
    await this.#options.loader.close?.();
    this.#firstSnapshot();
    await unwatched;
  }

  async #refresh(force: boolean): Promise<RefreshOutcome & LoadOutcome> {
    const beganMs = performance.now();
    const partsBefore = this.state.parts;
    let result: LoadResult = 'failed';
    let retryAfterMs: number | null = null;
    try {
      result = await this.#load(force, beganMs);
    } catch (error) {
      if (this.#abort.signal.aborted) return { failed: true, retryAfterMs, dueMs: null, ...CLOSED };
      this.#patience.failed();
      // Damaged copies are useless, so all parts are read again.
      if (error instanceof LecternError && error.code === 'image-unusable') this.#parts = NO_PARTS;
      this.#options.events.failed(this.#setFailed(error));
      if (error instanceof LecternError) retryAfterMs = error.retryAfterMs;
    }
    for (const part of changedParts(partsBefore, this.state.parts)) this.#options.events.partChanged?.(part);
    // Read before `ended` is emitted, because its listeners may begin the next load.
    const reason = this.state.lastError;
    this.#options.events.ended?.(result, performance.now() - beganMs);
    const failed = result === 'failed';
    const { loader, now = Date.now, random = Math.random } = this.#options;
    const renewMs = this.#served && renewalMs(this.#served.summary, loader.rules, failed, now, random);
    // A followed table asks for no load while its connection is lost, and the interval may be long.
    const followMs = failed && loader.followed?.() ? RETRY_MS_MAX : null;
    const dues = [renewMs, followMs, loader.dueMs?.() ?? null].filter((ms) => ms !== null);
    const dueMs = dues.length === 0 ? null : Math.min(...dues);
    return { failed, retryAfterMs, dueMs, result, reason };
  }

  async #load(force: boolean, beganMs: number): Promise<LoadResult> {
    const { loader, bounds, onProgress, refreshSeconds, watch } = this.#options;
    const gate = force ? null : this.#options.gate;
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    const served = this.#served;
    let versionRead = null as string | null;
    const done = await loader.load({
      listeners: {
        signal: this.#abort.signal,
        onVersion: (version) => {
          versionRead = version;
        },
        onParts: (report) => {
          this.#parts = report;
        },
        ...(onProgress === undefined || served !== null ? {} : { onProgress }),
      },
      previousVersion: force ? null : this.#seenVersion,
      servedVersion: this.#servedVersion,
      served,
      mayPatch: this.#isBuilt && !force,
      past: this.#history?.changes ?? [],
      parts: askedParts(this.#parts, force),
      allowMissing: refreshSeconds > 0 || watch,
      asksAll: force || isAsked,
      timeLimits: this.#patience.limits,
      bounds,
    });
    // The load may have ended before the abort, but its result must not be published.
    this.#abort.signal.throwIfAborted();
    const isWhole = done.kind === 'loaded' || done.kind === 'unchanged';
    const hasFailures = this.#parts.parts.some(({ failure }) => failure !== null);
    if (hasFailures) this.#patience.failed();
    else this.#patience.succeeded(isWhole ? performance.now() - beganMs : null);
    switch (done.kind) {
      case 'refused': {
        // A refused version is not read again, unless more free memory may change the result.
        const { code, detail } = done.refusal;
        const isShort =
          code === 'memory' && (bounds.memoryBytesMax === null || detail === OUT_OF_MEMORY.detail);
        if (versionRead !== null && !isShort) {
          this.#seenVersion = versionRead;
          this.#refusal = done.refusal;
        }
        return this.#refuse(done.refusal, null);
      }
      case 'not-modified':
      case 'unchanged':
        if (done.kind === 'unchanged') {
          this.#seenVersion = done.sourceVersion;
          this.#servedVersion = done.sourceVersion;
          this.#refusal = null;
          // The publisher may have announced this content again, after other content that this replica did not load.
          this.#sequence = Math.max(this.#sequence, done.sequence ?? 0);
          this.#options.events.renumbered?.(this.#sequence);
        }
        if (this.#refusal !== null) {
          this.#becomeBad('refused', this.#messageOf(this.#refusal));
          return 'refused';
        }
        this.#succeed();
        return 'unchanged';
      case 'loaded': {
        const { image, changes, history, sourceVersion, isPatched = false, sequence = null } = done;
        const isWholeLoad = !isPatched || done.isWholeLoad === true;
        if (!isWholeLoad) this.#refresher.pauseAfter(performance.now() - beganMs);
        this.#seenVersion = sourceVersion;
        this.#refusal =
          done.isChosen === true ? null : gate && judge(image.summary, this.#served?.summary ?? null, gate);
        if (this.#refusal !== null) return this.#refuse(this.#refusal, image.summary);
        this.#servedVersion = sourceVersion;
        if (!isPatched) this.#isBuilt = done.isChosen !== true;
        this.#publish({ image, origin: 'source', changes, history, sequence });
        this.#succeed();
        const kept = { parts: this.#parts.parts, sequence: this.#sequence, changes, history: this.#history };
        this.#file?.write({ image, sourceVersion, ...kept }, !isWholeLoad);
        return 'published';
      }
    }
  }

  /** @param sequence of an image that was announced or read from disk; null for a new image */
  #publish({ image, changes, history, origin, sequence: kept }: ToPublish): void {
    // Taken from the clock, so that the sequence never goes back, even after a restart without a snapshot file.
    const sequence = kept ?? Math.max(this.#sequence + 1, Date.now());
    this.#sequence = sequence;
    this.#served = image;
    this.#history = history && numbered(history, sequence);
    this.#weight.replace(image.summary.bytes);
    this.#options.events.publish({ image, changes, history, origin, sequence });
    this.#options.loader.published?.(image.summary);
    this.#firstSnapshot();
  }

  #become(state: Omit<LoadState, 'parts' | 'overdueAtMs'>): void {
    const failingMsMax = failingMsMaxOf(this.#options.refreshSeconds * 1000);
    const overdueAtMs = state.failingSinceMs === null ? null : state.failingSinceMs + failingMsMax;
    const parts = sourceParts(this.#parts, failingMsMax);
    const followed = this.#options.loader.followed?.() ?? null;
    this.state = {
      ...state,
      overdueAtMs,
      parts,
      snapshotFileError: this.#file?.failure ?? null,
      ...(followed && { followed }),
    };
    this.#options.events.changed?.(this.state);
  }

  #noteFile(): void {
    if ((this.#file?.failure ?? null) !== (this.state.snapshotFileError ?? null)) this.#become(this.state);
  }

  #becomeBad(state: 'failed' | 'refused', lastError: string): void {
    const failingSinceMs = this.state.failingSinceMs ?? (this.#options.now ?? Date.now)();
    this.#become({ ...this.state, state, lastError, failingSinceMs });
  }

  #succeed(): void {
    const [lastSuccessMs, lastSuccessMonotonicMs] = [(this.#options.now ?? Date.now)(), monotonicMs()];
    const times = { lastSuccessMs, lastSuccessMonotonicMs, failingSinceMs: null, lastError: null };
    this.#become({ state: 'loaded', ...times });
  }

  #setFailed(error: unknown): Error {
    const failure = error instanceof Error ? error : new Error(String(error));
    this.#lastError = failure;
    this.#becomeBad('failed', failure.message);
    return failure;
  }

  #refuse(refusal: Refusal, summary: SnapshotSummary | null): 'refused' {
    const message = this.#messageOf(refusal);
    this.#lastError = new LecternError('snapshot-refused', message);
    this.#becomeBad('refused', message);
    if (summary !== null) this.#options.loader.refused?.(refusal);
    this.#options.events.refused(refusal, summary);
    return 'refused';
  }

  #messageOf(refusal: Refusal): string {
    return `the new snapshot of ${this.#options.loader.name} was refused: ${refusal.detail}`;
  }
}

/** A source is overdue after failing for this many intervals. */
const INTERVALS_MAX = 10;

/**
 * How long a source may fail before it is overdue. Without regular loads, a source that fails is overdue at
 * once.
 */
function failingMsMaxOf(intervalMs: number): number {
  return INTERVALS_MAX * intervalMs;
}

/** Null for a single source. */
export function sourceParts({ parts, skipped }: PartsReport, failingMsMax: number): SourceParts | null {
  if (parts.length === 0) return null;
  const beforeMs = Date.now() - failingMsMax;
  const all = parts.map((part) => sourcePart(part, beforeMs));
  const failing = all.filter(({ state }) => state !== 'ok');
  const good = all.filter(({ state }) => state === 'ok');
  const since = failing.flatMap(({ failingSinceMs }) => failingSinceMs ?? []);
  return {
    total: all.length,
    stale: all.filter(({ state }) => state === 'stale').length,
    missing: all.filter(({ state }) => state === 'missing').length,
    overdue: all.filter(({ isOverdue }) => isOverdue).length,
    skipped,
    failingSinceMs: since.length === 0 ? null : since.reduce((a, b) => Math.min(a, b)),
    listed: all.length <= PARTS_LISTED_MAX ? all : [...failing, ...good].slice(0, PARTS_LISTED_MAX),
  };
}

function sourcePart({ name, copy, confirmedMs, failure }: PartReport, beforeMs: number): SourcePart {
  return {
    name,
    state: failure === null ? 'ok' : copy === null ? 'missing' : 'stale',
    records: copy?.records ?? 0,
    lastSuccessMs: confirmedMs,
    failingSinceMs: failure?.sinceMs ?? null,
    lastError: failure?.message ?? null,
    isOverdue: failure !== null && (copy === null || failure.sinceMs <= beforeMs),
  };
}

/** Parts that began to fail, and parts that work again. */
function changedParts(before: SourceParts | null, after: SourceParts | null): SourcePart[] {
  const failed = new Set(before?.listed.flatMap(({ name, state }) => (state === 'ok' ? [] : [name])));
  return (after?.listed ?? []).filter(({ name, state }) => (state === 'ok') === failed.has(name));
}

/** A forced load asks all parts, even those with a Retry-After. */
function askedParts({ parts }: PartsReport, force: boolean): PartsReport['parts'] {
  return parts.map((part) =>
    !force || part.failure === null ? part : { ...part, failure: { ...part.failure, retryAtMs: 0 } },
  );
}

const RETRY_MS = 3_600_000;
/** Renewals are spread over this time, so that replicas do not all load at once. */
const SPREAD_MS = 600_000;

/**
 * The time until recurring events must be expanded again, because their window moves at midnight UTC. Null if
 * never.
 *
 * @param random from 0 to 1
 */
export function renewalMs(
  { expanded }: Pick<SnapshotSummary, 'expanded'>,
  rules: ReadRules,
  hasFailed: boolean,
  now: () => number,
  random: () => number,
): number | null {
  if (expanded === undefined || !hasMovingWindow(rules)) return null;
  const untilMidnightMs = DAY_MS - (now() % DAY_MS);
  return Math.round(Math.min(untilMidnightMs, hasFailed ? RETRY_MS : DAY_MS) + random() * SPREAD_MS);
}
