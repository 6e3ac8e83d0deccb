/**
 * Records in memory: an array, a generator, a database cursor. Each should be a `TimetableRecord`. A load rejects the records
 * that cannot be served.
 */
export type Records = Iterable<unknown> | AsyncIterable<unknown>;

/** The result of {@link RecordSource.load}. */
export type RecordLoad =
  | {
      /** All records of the source. */
      readonly records: Records;
      /** Opaque: equal only for loads of the same records. Null: unknown. */
      readonly version: string | null;
    }
  | {
      /** The source still has the served version. */
      readonly notModified: true;
    }
  | RecordDelta;

/** What changed since the version `previous`: a load without the rest of the records. Only where `previous` is not null. */
export interface RecordDelta {
  /** Records to add; they replace those with the same id. Of several with one id the last counts. */
  readonly upserts: Records;
  /** Ids to remove; unknown ones are skipped. An id that is also among the upserts is not removed. */
  readonly removals: Iterable<string | number>;
  /** As of a load of all records. Null: unknown; the next load is then asked for all records. */
  readonly version: string | null;
}

/** Given to {@link RecordSource.load}. */
export interface RecordLoadOptions {
  /**
   * The version of the last load: the served one, or one that was refused. Null: load in any case. A source that still has it
   * may answer `{ notModified: true }`. One that knows what changed since then may give a {@link RecordDelta}.
   */
  readonly previous: string | null;
  /**
   * The served version; null if there is none, or it is unknown. Only a delta since then can be applied: a source that gives
   * one since another version is asked again, with this one as `previous`.
   */
  readonly served: string | null;
  /** Aborted when the load is no longer wanted. */
  readonly signal: AbortSignal;
}

/** A watch of a {@link RecordSource}. */
export interface RecordWatch {
  /** Ends it. */
  close(): void;
}

/** A source that the embedding program implements itself. */
export interface RecordSource {
  /** For messages. */
  readonly name: string;
  /** Gives all records, or what changed since `previous`, or reports that nothing has changed. An error fails the load. */
  load(options: RecordLoadOptions): RecordLoad | Promise<RecordLoad>;
  /** Calls back after each possible change, until closed. */
  watch?(onChange: () => void): RecordWatch;
}
