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
  /** The number of parts. */
  readonly total: number;
  /** The number of stale parts. */
  readonly stale: number;
  /** The number of missing parts. */
  readonly missing: number;
  /** The number of overdue parts. */
  readonly overdue: number;
  /** Files in folders that are not read: hidden files, and files with other endings. */
  readonly skipped: number;
  /** When the part that has been failing longest began to fail; null if no part fails. */
  readonly failingSinceMs: number | null;
  /** The parts, in their order. With more than 1,000 parts, failing ones come first and the list is cut. */
  readonly listed: readonly SourcePart[];
}
