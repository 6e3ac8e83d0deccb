import type { ChangeCounts } from '../change/change.js';
import type { SourceState } from '../model/source-state.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';
import type { View } from './view.js';

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
  follow(onPublished: () => void): () => void;
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
