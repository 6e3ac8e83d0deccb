import { monotonicMs, monotonicMsAt } from '../base/model/clock.js';
import type { RoomTable } from '../base/model/room.js';
import type { SourceState } from '../base/model/source-state.js';
import { type Change, type ChangeCounts, differingIds } from '../change/change.js';
import { type Differences, NO_DIFFERENCES, netCounts } from '../change/history.js';
import { byteLengthOf, type SnapshotImage } from '../snapshot/image.js';
import { Snapshot } from '../snapshot/snapshot.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';
import { SnapshotView, type View } from './view.js';

/** A publication as plain data in shared memory; every thread makes a view of it. */
export interface PublishedImage {
  readonly image: SnapshotImage;
  readonly differences: Differences | null;
  readonly state: PublicationState;
  /** A number greater than that of every earlier publication. */
  readonly sequence: number;
  /** The sequence comes from a publisher, so all replicas have the same one. */
  readonly hasSharedSequence?: boolean;
  /** What differs from the previous publication, oldest first. */
  readonly changes: readonly Change[];
  readonly rooms?: RoomTable | null;
}

export interface PresentOptions {
  /** How long after the last good load a snapshot is served. Infinity: no limit. */
  readonly staleMsMax: number;
  /** Memory for the row cache and the differences from past snapshots. */
  readonly cacheBytesMax: number;
  /** Threads that share the differences; each has its own row cache. Default 1. */
  readonly threads?: number;
}

/** Receives each publication, for example to pass it to other threads. */
export interface Receiver {
  publish(published: PublishedImage): void;
  become(source: SourceState): void;
  /** Resolves when the receiver serves all publications so far. */
  settled(): Promise<void>;
}

export function publicationOf(origin: Origin, { builtAtMs }: SnapshotSummary): PublicationState {
  return { origin, publishedAtMs: Date.now(), builtMonotonicMs: monotonicMsAt(builtAtMs) };
}

/** The snapshot that one thread serves now. */
export class Present implements LiveViews {
  readonly #options: PresentOptions;
  #view: SnapshotView | null = null;
  source: SourceState;
  publication: PublicationState | null = null;
  /** Null before the first publication. */
  published: PublishedImage | null = null;
  readonly #listeners = new Set<() => void>();

  constructor(source: SourceState, options: PresentOptions) {
    this.source = source;
    this.#options = options;
  }

  get view(): View | null {
    return this.isStale ? null : this.#view;
  }

  get summary(): SnapshotSummary | null {
    return this.#view?.summary ?? null;
  }

  get status(): TimetableStatus {
    if (this.#view === null) return 'starting';
    const { lastError, parts, snapshotFileError = null } = this.source;
    const hasFault = lastError !== null || (parts?.overdue ?? 0) > 0 || snapshotFileError !== null;
    const isGood = !hasFault && !this.isStale;
    return isGood ? 'ok' : 'degraded';
  }

  get isStale(): boolean {
    const { staleMsMax } = this.#options;
    if (this.#view === null || staleMsMax === Number.POSITIVE_INFINITY) return false;
    // An image from disk was good when it was built.
    const goodAtMs = this.source.lastSuccessMonotonicMs ?? this.publication?.builtMonotonicMs;
    return goodAtMs !== undefined && monotonicMs() - goodAtMs > staleMsMax;
  }

  publish(published: PublishedImage): void {
    const { cacheBytesMax, threads = 1 } = this.#options;
    const { image, differences, state, sequence, hasSharedSequence, rooms = null, changes } = published;
    const rowCacheBytes = Math.max(0, cacheBytesMax - byteLengthOf(differences) / threads);
    const before = this.#view;
    const changedIds = changes[0]?.from === before?.summary.id ? differingIds(changes) : null;
    const snapshot = new Snapshot(image, changedIds === null ? null : before?.snapshot);
    const view = new SnapshotView(
      snapshot,
      differences ?? NO_DIFFERENCES,
      rowCacheBytes,
      rooms,
      sequence,
      hasSharedSequence,
    );
    if (before !== null && changedIds !== null) view.takeOver(before, changedIds);
    this.#view?.rowCache.clear();
    this.#view = view;
    this.published = published;
    this.publication = state;
    for (const listener of this.#listeners) listener();
  }

  get changes(): ChangeCounts | null {
    const { changes = [], differences = null } = this.published ?? {};
    return netCounts(changes, differences ?? NO_DIFFERENCES);
  }

  listen(onPublished: () => void): () => void {
    // One function may be registered several times.
    const listener = (): void => onPublished();
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  become(source: SourceState): void {
    this.source = source;
  }

  /** Releases the snapshot. */
  clear(): void {
    this.#view = null;
    this.published = null;
  }
}

export type { ChangeCounts } from '../change/change.js';

/** The timetable as the HTTP layer sees it. */
export interface ViewSource {
  /** The present snapshot; null if there is none or it is stale. A request reads it once. */
  readonly view: View | null;
  /** Summary of the present snapshot, even a stale one; null if there is none. */
  readonly summary: SnapshotSummary | null;
  /**
   * `starting`: no snapshot yet. `degraded`: the last good snapshot is served, but the source or the snapshot file has a
   * problem.
   */
  readonly status: TimetableStatus;
  readonly source: SourceState;
  /** The publication of the present snapshot; null if there is none. */
  readonly publication: PublicationState | null;
}

/** A source of views that also reports publications. */
export interface LiveViews extends ViewSource {
  /** The changes of the present publication; null for the first, and while there is none. */
  readonly changes: ChangeCounts | null;
  /** Calls `onPublished` right after each publication; it must not throw. @returns a function that ends the calls */
  listen(onPublished: () => void): () => void;
}

/** The state of a timetable; see {@link ViewSource.status}. */
export type TimetableStatus = 'starting' | 'ok' | 'degraded';

/** Facts about a publication. */
export interface PublicationState {
  /** Where the publication came from. */
  readonly origin: Origin;
  /** Epoch milliseconds. */
  readonly publishedAtMs: number;
  /** When the snapshot was built, on the clock of `monotonicMs`: its age counts from here. */
  readonly builtMonotonicMs: number;
}
