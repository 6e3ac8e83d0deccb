/**
 * Room source/. Where records come from: files, addresses, memory. It knows no rule for a record and no snapshot.
 */
import type { RecordPosition, Rejection } from '../model/event.js';

/** One decoded record: any JSON-like value, not yet looked at, and where it stood. */
export interface RawRecord {
  readonly position: RecordPosition;
  readonly value: unknown;
}

/** Where the names of a line that are no field of an event stand: beginning and end in turn. */
export interface NameSpans {
  readonly places: Int32Array;
  readonly count: number;
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
  /**
   * A record that was not decoded: where its values stand among bytes of UTF-8. Only for a source that is alone, since no
   * position comes with it. A sink without this method has every record decoded.
   *
   * @param view the same bytes
   * @param spans by number of the field in the descriptor table three numbers: where its value begins, or -1 for none,
   *   where it ends, and its quickHash. Nothing else is known of the value: it may hold backslashes or control characters.
   * @param names of its other fields
   * @returns false where the record has to be decoded and given to `record`; nothing was taken of it then
   */
  undecoded?: (bytes: Uint8Array, view: DataView, spans: Int32Array, names: NameSpans) => boolean;
}

/** Progress of a load, for a person at a terminal. */
export interface LoadProgress {
  /** Bytes that have come so far, before decompression. */
  readonly bytesRead: number;
  /** Bytes of the whole source. Null where the size is not known, as with standard input. */
  readonly bytesTotal: number | null;
  /** Records that have been read so far. */
  readonly records: number;
}

export interface LoadOptions {
  readonly signal?: AbortSignal;
  /**
   * The version of what is being served, as an earlier load gave it. A source that still has this version answers
   * {@link NotModified} without reading. Null or absent: load whatever is there.
   */
  readonly previous?: string | null;
  /** Called before the first record with the version of what is read, where the source knows it by then. */
  readonly onVersion?: (version: string) => void;
  /** Called after each chunk. */
  readonly onProgress?: (progress: LoadProgress) => void;
}

/** What reading the bytes of a source found out about them. */
export interface ReadSummary {
  readonly format: SourceFormat;
  readonly gzipped: boolean;
  /** Bytes before decompression. */
  readonly bytesRead: number;
  /** Only where the last record may be the first part of one, although the bytes have ended. */
  readonly endsCut?: true;
}

/** What a load found out about the source itself. */
export interface LoadSummary extends ReadSummary {
  /**
   * Opaque: equal for two loads only where the second would bring the same records. Null where the source cannot say,
   * so that it is read each time.
   */
  readonly version: string | null;
}

/** The source still has the version that the caller has. Nothing was put into the sink. */
export interface NotModified {
  readonly notModified: true;
}

export const NOT_MODIFIED: NotModified = { notModified: true };

export function isNotModified(result: object): result is NotModified {
  return 'notModified' in result;
}

/** `mixed`: several sources of different formats. */
export type SourceFormat = 'ndjson' | 'json-array' | 'messagepack' | 'memory' | 'mixed';

/**
 * A place that records come from. One contract for every kind.
 *
 * `load` pushes every record into the sink and resolves when the source has been read whole; it throws a LecternError
 * `source-unreadable` (cannot be opened or read, or changed while it was read) or `source-malformed` (is not any known
 * format, or ends early). Asked with `previous`, it may answer {@link NotModified} instead, before it puts anything into
 * the sink. What the sink throws comes through as it is.
 */
export interface Source {
  /** For messages: a path, `standard input`, … */
  readonly name: string;
  load(sink: RecordSink, options?: LoadOptions): Promise<LoadSummary | NotModified>;
}
