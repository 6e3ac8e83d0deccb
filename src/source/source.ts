import type { RecordPosition, Rejection } from '../model/event.js';

/** One decoded record: any JSON-like value, not yet looked at, and where it stood. */
export interface RawRecord {
  readonly position: RecordPosition;
  readonly value: unknown;
}

/**
 * Where a source puts what it reads. Calls come in the order of the source and are synchronous, so a source never
 * buffers more than one chunk's records.
 */
export interface RecordSink {
  /** A record that could be decoded. It may still be rejected by the normaliser. */
  record(value: unknown, position: RecordPosition): void;
  /** A record that could not even be decoded, with the reason. */
  reject(rejection: Rejection): void;
}

/** Progress of a load, for a person at a terminal. */
export interface LoadProgress {
  readonly bytesRead: number;
  /** Null where the size is not known, as with standard input. */
  readonly bytesTotal: number | null;
  readonly records: number;
}

export interface LoadOptions {
  readonly signal?: AbortSignal;
  /** Called after each chunk. */
  readonly onProgress?: (progress: LoadProgress) => void;
}

/** What a load found out about the source itself. */
export interface LoadSummary {
  /** `ndjson`, `json-array` or `messagepack`. */
  readonly format: SourceFormat;
  readonly gzipped: boolean;
  /** Bytes before decompression. */
  readonly bytesRead: number;
}

export type SourceFormat = 'ndjson' | 'json-array' | 'messagepack' | 'memory';

/**
 * A place that records come from. One contract for every kind.
 *
 * `load` pushes every record into the sink and resolves when the source has been read whole; it throws a LecternError
 * `source-unreadable` (cannot be opened or read) or `source-malformed` (is not any known format, or ends early).
 */
export interface Source {
  /** For messages: a path, `standard input`, … */
  readonly name: string;
  load(sink: RecordSink, options?: LoadOptions): Promise<LoadSummary>;
}
