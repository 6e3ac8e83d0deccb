import type { SourceParts } from '../model/source-parts.js';
import type { ChangeCounts } from '../snapshot/differences.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';
import type { View } from './view.js';

/** What the HTTP layer needs of a timetable. */
export interface ViewSource {
  /** The present snapshot; null while there is none, or none that is fresh enough. A request takes it once. */
  readonly view: View | null;
  /** Of the present snapshot, fresh enough or not; null while there is none. */
  readonly summary: SnapshotSummary | null;
  /** `starting`: no snapshot yet. `degraded`: the last good one is served, but the source has a problem. */
  readonly status: TimetableStatus;
  /** How the source is doing. */
  readonly source: SourceState;
  /** How the present snapshot came to be served; null while there is none. */
  readonly publication: PublicationState | null;
}

/** Also tells of publications. */
export interface LiveViews extends ViewSource {
  /** What the present publication changed; null for the first, and while there is none. */
  readonly changes: ChangeCounts | null;
  /** Calls back right after each publication. It must not throw. @returns what ends it */
  follow(onPublished: () => void): () => void;
}

/** How a timetable is doing; see {@link ViewSource.status}. */
export type TimetableStatus = 'starting' | 'ok' | 'degraded';

/** How a snapshot came to be served. */
export interface PublicationState {
  /** Where it came from. */
  readonly origin: Origin;
  /** Epoch milliseconds. */
  readonly publishedAtMs: number;
  /** When the snapshot was built, by `monotonicMs`: its age is counted from here. */
  readonly builtMonotonicMs: number;
}

/** How the source is doing. Times are epoch milliseconds. */
export interface SourceState {
  /** A path, an address without credentials, `standard input`, … */
  readonly name: string;
  /** `refused`: the last load worked, but the gate did not let its snapshot through. */
  readonly state: 'loading' | 'loaded' | 'failed' | 'refused';
  /** When the source last gave, or confirmed, what is served. */
  readonly lastSuccessMs: number | null;
  /** The same by `monotonicMs`: whether it was too long ago is counted from here. */
  readonly lastSuccessMonotonicMs: number | null;
  /** One line: why the last load failed or was refused; null if it went well. */
  readonly lastError: string | null;
  /** Since when loads have failed, or been refused; null if the last went well. */
  readonly failingSinceMs: number | null;
  /** Several sources, a folder or a glob; null for a single source. */
  readonly parts: SourceParts | null;
  /** What was published turned out to be damaged: nothing is served until the next publication. */
  readonly isWithdrawn?: boolean;
}
