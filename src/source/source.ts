/**
 * Room source/. Where records come from: files, addresses, memory. It knows no rule for a record and no snapshot.
 */
import type { RecordPosition, Rejection } from '../model/event.js';

/** Where the names of a line stand that are no fields of an event: beginning and end in turn. */
export interface NameSpans {
  readonly places: Int32Array;
  readonly count: number;
}

/** What a source puts its records into. Calls are synchronous, in the order of the source. */
export interface RecordSink {
  /** A record that could be decoded. It may still be rejected by the normaliser. */
  record(value: unknown, position: RecordPosition): void;
  /** A record that could not be decoded. */
  reject(rejection: Rejection): void;
  /**
   * A record that was not decoded, as UTF-8 and a view of it. A sink without this method gets every record decoded.
   *
   * @param spans for each field of the descriptor table where its value begins, or -1, where it ends, and its quickHash. The value
   *   is unchecked: it may hold backslashes or control characters.
   * @param names of other fields
   * @returns false where nothing was taken: then the record has to be decoded and given to `record`
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
  readonly signal?: AbortSignal | undefined;
  /** The version of what is served, as an earlier load gave it. Null or absent: load whatever is there. */
  readonly previous?: string | null;
  /** Called before the first record with the version of what is read, where the source knows it by then. */
  readonly onVersion?: ((version: string) => void) | undefined;
  /** Called after each chunk. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

/** `mixed`: several sources of different formats. */
export type SourceFormat = 'ndjson' | 'json-array' | 'messagepack' | 'memory' | 'mixed';

export interface ReadSummary {
  readonly format: SourceFormat;
  readonly gzipped: boolean;
  /** Bytes before decompression. */
  readonly bytesRead: number;
  /** Where the last record looks cut, although the bytes have ended. */
  readonly endsCut?: true;
}

export interface LoadSummary extends ReadSummary {
  /** Opaque: equal only for two loads of the same records. Null where the source cannot say, so that it is read each time. */
  readonly version: string | null;
}

/** What is common to several reads. */
export function formatOf(reads: readonly ReadSummary[]): Pick<ReadSummary, 'format' | 'gzipped'> {
  const [format = 'mixed', ...others] = new Set(reads.map((read) => read.format));
  return {
    format: others.length === 0 ? format : 'mixed',
    gzipped: reads.some(({ gzipped }) => gzipped),
  };
}

/** A place that records come from. */
export interface Source {
  /** For messages: a path, `standard input`, … */
  readonly name: string;
  /**
   * Pushes every record into the sink and resolves when the source has been read whole. What the sink throws comes through.
   *
   * @returns `not-modified` where the source still has the version `previous`; then nothing was put into the sink
   * @throws LecternError `source-unreadable` where it cannot be opened or read, or changed while it was read;
   *   `source-malformed` where it is of no known format, or ends early
   */
  load(sink: RecordSink, options?: LoadOptions): Promise<LoadSummary | 'not-modified'>;
}
