import { monotonicMs, monotonicMsAt } from '../model/clock.js';
import type { Differences } from '../snapshot/differences.js';
import { byteLengthOf, type SnapshotImage } from '../snapshot/image.js';
import { Snapshot } from '../snapshot/snapshot.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';
import { SnapshotView, type View } from './view.js';
import type { PublicationState, SourceState, TimetableStatus, ViewSource } from './view-source.js';

/** A publication as plain data in shared memory: every thread can make a view of it. */
export interface PublishedImage {
  readonly image: SnapshotImage;
  /** What has changed since past snapshots. */
  readonly differences: Differences;
  readonly state: PublicationState;
}

/** What else a reader has to know. */
export interface PresentOptions {
  /** A snapshot whose source was last good longer ago than this is not served. Infinity for never. */
  readonly staleMsMax: number;
  /** For rows that are laid side by side, and for the differences to past snapshots. */
  readonly cacheBytesMax: number;
  /** Threads that have the differences in common, each with a cache of its own. Default 1. */
  readonly threads?: number;
}

/** Whoever is told of what is served: another thread, say. */
export interface Follower {
  publish(published: PublishedImage): void;
  become(source: SourceState): void;
  /** Resolves when everything that it was told of so far is what it serves. */
  settled(): Promise<void>;
}

/** A source that has given nothing so far. */
export function loadingSource(name: string): SourceState {
  return { name, state: 'loading', lastSuccessMs: null, lastSuccessMonotonicMs: null, lastError: null };
}

/** A snapshot that is published now. */
export function publicationOf(origin: Origin, { builtAtMs }: SnapshotSummary): PublicationState {
  return { origin, publishedAtMs: Date.now(), builtMonotonicMs: monotonicMsAt(builtAtMs) };
}

/** What one thread serves at present. */
export class Present implements ViewSource {
  readonly #options: PresentOptions;
  #source: SourceState;
  #published: PublishedImage | null = null;
  #publication: PublicationState | null = null;
  #view: View | null = null;

  constructor(source: SourceState, options: PresentOptions) {
    this.#source = source;
    this.#options = options;
  }

  get view(): View | null {
    return this.#options.staleMsMax === Number.POSITIVE_INFINITY || !this.isStale ? this.#view : null;
  }

  get summary(): SnapshotSummary | null {
    return this.#view?.summary ?? null;
  }

  get publication(): PublicationState | null {
    return this.#publication;
  }

  get status(): TimetableStatus {
    if (this.#view === null) return 'starting';
    return this.#source.lastError === null && !this.isStale ? 'ok' : 'degraded';
  }

  get source(): SourceState {
    return this.#source;
  }

  /** Null before the first publication. */
  get published(): PublishedImage | null {
    return this.#published;
  }

  get isStale(): boolean {
    const { staleMsMax } = this.#options;
    if (this.#view === null || staleMsMax === Number.POSITIVE_INFINITY) return false;
    // What came from disk was good when it was built.
    const goodAtMs = this.#source.lastSuccessMonotonicMs ?? this.#publication?.builtMonotonicMs;
    return goodAtMs !== undefined && monotonicMs() - goodAtMs > staleMsMax;
  }

  /** Swaps the reference. */
  publish(published: PublishedImage): void {
    const { cacheBytesMax, threads = 1 } = this.#options;
    const { image, differences } = published;
    const differenceBytes = byteLengthOf(differences) / threads;
    this.#view?.rowCache.clear();
    this.#view = new SnapshotView(
      new Snapshot(image),
      differences,
      Math.max(0, cacheBytesMax - differenceBytes),
    );
    this.#published = published;
    this.#publication = published.state;
  }

  become(source: SourceState): void {
    this.#source = source;
    if (source.isWithdrawn === true) this.clear();
  }

  /** Lets go of the snapshot. */
  clear(): void {
    this.#view = null;
    this.#published = null;
  }
}
