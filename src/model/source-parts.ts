/** One of several sources. Times are epoch milliseconds. */
export interface SourcePart {
  /** A path, or an address without credentials. */
  readonly name: string;
  /** `stale`: its last good records are served. `missing`: it never delivered any. */
  readonly state: 'ok' | 'stale' | 'missing';
  /** Records it delivered last, bad and overridden ones included. */
  readonly records: number;
  /** When it last delivered, or confirmed, these records. */
  readonly lastSuccessMs: number | null;
  /** Since when it has failed; null if its last load went well. */
  readonly failingSinceMs: number | null;
  /** Why its last load failed, in one line. */
  readonly lastError: string | null;
  /** It is missing, or has failed for longer than ten refresh intervals. */
  readonly isOverdue: boolean;
}

/** Several sources that are merged. */
export interface SourceParts {
  /** How many there are. */
  readonly total: number;
  /** How many are stale. */
  readonly stale: number;
  /** How many are missing. */
  readonly missing: number;
  /** How many are overdue. */
  readonly overdue: number;
  /** Files of folders that are not read: hidden ones, and those with other endings. */
  readonly skipped: number;
  /** Since when the first of them has failed; null if none fails. */
  readonly failingSinceMs: number | null;
  /** The parts, in their order. Of more than 1,000 those that fail come first, and the rest is cut off. */
  readonly listed: readonly SourcePart[];
}
