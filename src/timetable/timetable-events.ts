import type { Refusal } from '../refresh/gate.js';
import type { LoadResult } from '../refresh/keeper.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';

/** What a timetable tells its listeners. */

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

/** A load has ended. */
export interface LoadedEvent {
  /** `unchanged` where the source still has what is served, `refused` also where it still has what was refused. */
  readonly result: LoadResult;
  readonly durationMs: number;
}

export interface TimetableEvents {
  published: [event: PublishedEvent];
  refused: [event: RefusedEvent];
  /** After each load, however it ended; after `published`, `refused` or `error` where it is one of these. */
  loaded: [event: LoadedEvent];
  /**
   * A load failed, the snapshot file could not be read or written, a serving thread was lost (`thread-lost`) and is
   * replaced, or a listener of another event threw. What is served stays as it is.
   */
  error: [error: Error];
}
