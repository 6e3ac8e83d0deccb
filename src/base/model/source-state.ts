export interface SourceState extends LoadState {
  /** A path, an address without credentials, `standard input`, … */
  readonly name: string;
}

/** How far the changes of a followed table or query are served. Times are epoch milliseconds. */
export interface FollowState {
  /** Tables of a query, each with the reason why its changes cause a read of all rows. */
  readonly wholeReads: readonly string[];
  /** The time of the last commit that changed a followed table, by the clock of the database; null if none was seen. */
  readonly lastCommitMs: number | null;
  /** When the oldest commit that is not served yet was received; null if all are served. */
  readonly waitingSinceMs: number | null;
}

/** The state of the loads of a source. Times are epoch milliseconds. */
export interface LoadState {
  /** `refused`: the last load worked, but the gate refused its snapshot. */
  readonly state: 'loading' | 'loaded' | 'failed' | 'refused';
  /** When the source last delivered or confirmed the served timetable. */
  readonly lastSuccessMs: number | null;
  /** `lastSuccessMs` on the clock of `monotonicMs`, from which staleness counts. */
  readonly lastSuccessMonotonicMs: number | null;
  /** Why the last load failed or was refused, in one line; null if it succeeded. */
  readonly lastError: string | null;
  /** When loads began to fail or to be refused; null if the last load succeeded. */
  readonly failingSinceMs: number | null;
  /** Ten refresh intervals after `failingSinceMs`; null if the last load succeeded. */
  readonly overdueAtMs: number | null;
  /** The parts of several sources, a folder or a glob; null for a single source. */
  readonly parts: SourceParts | null;
  /** Absent or null if the source is not a followed table. */
  readonly followed?: FollowState | null;
  /** Why the snapshot file was not written at the last attempt. Absent or null if it was written. */
  readonly snapshotFileError?: string | null;
}

/** The state before the first load has ended. */
export const LOADING: LoadState = {
  state: 'loading',
  lastSuccessMs: null,
  lastSuccessMonotonicMs: null,
  lastError: null,
  failingSinceMs: null,
  overdueAtMs: null,
  parts: null,
};

/** One of several sources. Times are epoch milliseconds. */
export interface SourcePart {
  /** A path, or an address without credentials. */
  readonly name: string;
  /**
   * `stale`: the records of the part's last good load are served. `missing`: the part has never delivered
   * records.
   */
  readonly state: 'ok' | 'stale' | 'missing';
  /** Number of records in the last good load, including bad and overridden ones. */
  readonly records: number;
  /** When the part last delivered or confirmed these records. */
  readonly lastSuccessMs: number | null;
  /** When the part began to fail; null if the last load succeeded. */
  readonly failingSinceMs: number | null;
  /** Why the last load of the part failed, in one line. */
  readonly lastError: string | null;
  /** Whether the part is missing, or has failed for longer than ten refresh intervals. */
  readonly isOverdue: boolean;
}

/** Several sources that are merged. */
export interface SourceParts {
  readonly total: number;
  readonly stale: number;
  readonly missing: number;
  readonly overdue: number;
  /** Files in folders that are not read: hidden files, and files with other endings. */
  readonly skipped: number;
  /** When the part that has been failing longest began to fail; null if no part fails. */
  readonly failingSinceMs: number | null;
  /** The parts, in their order. With more than 1,000 parts, failing ones come first and the list is cut. */
  readonly listed: readonly SourcePart[];
}
