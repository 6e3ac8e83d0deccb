/**
 * Room source/. Where records come from: files, addresses, memory. It knows no rule for a record and no snapshot.
 */
import type { RecordPosition, Rejection } from '../model/event.js';
import type { ReadRules } from '../model/read-rules.js';
import type { LoadNotes } from './load-notes.js';

/** Places of the names in a line that are not event fields: beginning and end in turn. */
export interface NameSpans {
  readonly places: Int32Array;
  readonly count: number;
  /** Where they stand, if not in the record: in the header of CSV. */
  readonly view?: DataView;
}

/** Takes records synchronously, in the order of the source. */
export interface RecordSink {
  /** A decoded record. The normaliser may still reject it. */
  record(value: unknown, position: RecordPosition): void;
  reject(rejection: Rejection): void;
  /**
   * A record as UTF-8, not decoded. It has no position, so only a source that is alone calls this.
   *
   * @param view the same bytes
   * @param spans for each field, in the order of the descriptor table: where its value begins (-1: no value), where it ends, and
   *   its quickHash. Values are unchecked: they may hold backslashes or control characters.
   * @param names of its other fields
   * @returns false if the sink did not take it: decode it and call `record`
   */
  undecoded?: (bytes: Uint8Array, view: DataView, spans: Int32Array, names: NameSpans) => boolean;
  /** Of the whole load. A sink around another one passes it on. */
  readonly notes?: LoadNotes | undefined;
}

/** Progress of a load, for a person at a terminal. */
export interface LoadProgress {
  /** Bytes that have come so far, before decompression. */
  readonly bytesRead: number;
  /** Bytes of the whole source. Null if the size is not known, as with standard input. */
  readonly bytesTotal: number | null;
  /** Records that have been read so far. */
  readonly records: number;
}

export interface LoadOptions {
  /** Default: UUIDs, and times with offsets. */
  readonly rules?: ReadRules | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The version of the served records, from an earlier load. Null or absent: load in any case. */
  readonly previous?: string | null;
  /** Called before the first record, if the source knows its version by then. Null: what was told before does not hold. */
  readonly onVersion?: ((version: string | null) => void) | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Called with each record as it stands in the source, before the field map. Then all records are decoded. */
  readonly onRecord?: ((value: unknown) => void) | undefined;
}

/** `mixed`: several sources of different formats. */
export type SourceFormat = 'ndjson' | 'json-array' | 'messagepack' | 'csv' | 'memory' | 'mixed';

export interface ReadSummary {
  readonly format: SourceFormat;
  readonly gzipped: boolean;
  readonly bytesRead: number;
  /** The last record looks cut, although the bytes have ended. */
  readonly endsCut?: true;
}

export interface LoadSummary extends ReadSummary {
  /** Opaque: equal only for loads of the same records. Null: unknown, so the source is read each time. */
  readonly version: string | null;
}

export function formatOf(reads: readonly ReadSummary[]): Pick<ReadSummary, 'format' | 'gzipped'> {
  const [format = 'mixed', ...others] = new Set(reads.map((read) => read.format));
  return { format: others.length === 0 ? format : 'mixed', gzipped: reads.some(({ gzipped }) => gzipped) };
}

export interface Source {
  /** For messages: a path, `standard input`, … */
  readonly name: string;
  /**
   * Pushes every record into the sink. Errors of the sink pass through.
   *
   * @returns `not-modified` if the source still has the version `previous`: the sink got nothing
   * @throws LecternError `source-unreadable` also for a change during the read; `source-malformed` also for an early end
   */
  load(sink: RecordSink, options?: LoadOptions): Promise<LoadSummary | 'not-modified'>;
}
