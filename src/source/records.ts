/**
 * Records in memory: an array, a generator, a database cursor. Each record should be a `TimetableRecord`; the
 * load rejects other records.
 */
export type Records = Iterable<unknown> | AsyncIterable<unknown>;

/** The result of {@link RecordSource.load}. */
export type RecordLoad =
  | {
      /** All records of the source. */
      readonly records: Records;
      /** An opaque text, equal only for loads of the same records; null if unknown. */
      readonly version: string | null;
    }
  | {
      /** The source still has the served version. */
      readonly notModified: true;
    }
  | RecordDelta;

/** The changes since the version `previous`, instead of all records. Allowed only if `previous` is not null. */
export interface RecordDelta {
  /**
   * Records to add, or to replace the records with the same ids. Of several records with one id, the last
   * counts.
   */
  readonly upserts: Records;
  /** Ids to remove; unknown ids are skipped. An id that is also among the upserts is not removed. */
  readonly removals: Iterable<string | number>;
  /**
   * The version after the changes, as for a load of all records. Null if unknown, so that the next load asks
   * for all records.
   */
  readonly version: string | null;
}

/** Options of {@link RecordSource.load}. */
export interface RecordLoadOptions {
  /**
   * The version of the last load, served or refused; null to load in any case. A source that still has this
   * version may answer `{ notModified: true }`. A source that knows the changes since this version may give a
   * {@link RecordDelta}.
   */
  readonly previous: string | null;
  /**
   * The served version; null if none is served, or if it is unknown. Only a delta since this version can be
   * applied. A source that gives another delta is asked again, with this version as `previous`.
   */
  readonly served: string | null;
  /** Aborted when the load is no longer needed. */
  readonly signal: AbortSignal;
}

/** A watch of a {@link RecordSource}. */
export interface RecordWatch {
  /** Ends the watch. */
  close(): void;
}

/** A source that the embedding program implements itself. */
export interface RecordSource {
  /** For messages. */
  readonly name: string;
  /** Gives all records or the changes since `previous`, or reports that there are no changes. An error fails the load. */
  load(options: RecordLoadOptions): RecordLoad | Promise<RecordLoad>;
  /** Calls back after each possible change, until closed. */
  watch?(onChange: () => void): RecordWatch;
}
