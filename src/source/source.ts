/**
 * Folder source/. Reads records from files, addresses and memory. This folder knows neither the rules for records
 * nor snapshots.
 */
import type { LecternErrorCode } from '../base/errors.js';
import type { Rejection } from '../base/model/event.js';
import { type ExpansionWindow, joinExpansions } from '../base/model/expansion.js';
import type { ReadRules } from '../base/model/read-rules.js';
import type { Row } from '../base/structures/row.js';
import type { LoadNotes, NotesReport } from './load-notes.js';

/** Takes records synchronously, in the order of the source. */
export interface RowSink {
  /** A record, or one of its rows, with the rules by which it is read. The row is overwritten by the next one. */
  row(row: Row, rules: ReadRules): void;
  /** Takes back the rows of an earlier record: a later version follows, or cancels it. Only calendars do this. */
  retract?(id: string, rules: ReadRules): void;
  /** A record that could not be read. */
  fault(rejection: Rejection): void;
}

export interface RowForm {
  /** The fields of a row, by number. */
  readonly fields: readonly string[];
  /** What a record must be: `an object with the fields of an event`. */
  readonly record: string;
}

/** Progress of a load, for a person at a terminal. */
export interface LoadProgress {
  /** Bytes received so far, before decompression. */
  readonly bytesRead: number;
  /** Bytes of the whole source. Null if unknown, as for standard input. */
  readonly bytesTotal: number | null;
  /** Records read so far. */
  readonly records: number;
}

/** What the catalogue of a database says about the rows of a source. */
export interface Catalogue {
  /** The form of a column's values by its name, if the column's type tells it. */
  readonly forms: ReadonlyMap<string, 'uuid' | 'instant' | 'local' | 'date' | 'clock' | 'number'>;
  /** The columns of the primary key of each table whose whole key is in the rows. */
  readonly keys: readonly (readonly string[])[];
}

export interface LoadOptions {
  /** Default: UUIDs, and times with offsets. */
  readonly rules?: ReadRules | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The version of the served records, from an earlier load; null or absent to load in any case. */
  readonly previous?: string | null;
  /**
   * Called before the first record, if the source already knows its version. A call with null withdraws an
   * earlier version.
   */
  readonly onVersion?: ((version: string | null) => void) | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** What the rows hold. Default: the fields of events. */
  readonly form?: RowForm | undefined;
  /** The notes of the whole load, which its sources and pages share. */
  readonly notes?: LoadNotes | undefined;
  /** Called with each record before the field map, until it returns false. */
  readonly onRecord?: ((value: unknown) => boolean) | undefined;
  /** Called by a database before its first record, if `onRecord` is given. Several sources have no catalogue. */
  readonly onCatalogue?: ((catalogue: Catalogue) => void) | undefined;
  /** For several sources: the parts that the last load passed to `onParts`. */
  readonly parts?: readonly PartReport[] | undefined;
  /** Whether a part that was never read may be missing. Default false: a missing part fails the load. */
  readonly allowMissing?: boolean | undefined;
  /** Whether parts are read, too, whose own time has not come. Default false. */
  readonly asksAll?: boolean | undefined;
  /** Most compressed bytes of all new copies of parts together. Default: no limit. */
  readonly copyBytesMax?: number | undefined;
  /** Called when all records were read. The thread may be busy from now on. */
  readonly onAllRead?: (() => void) | undefined;
  /** Called after all parts of several sources were read, before their records go to the sink. */
  readonly onParts?: ((report: PartsReport) => void) | undefined;
}

/**
 * Records of one source, compressed; `merged.ts` makes it. A copy is plain data that crosses threads and is
 * stored.
 */
export interface RecordCopy extends LoadSummary {
  /** Records, rejected ones included. */
  readonly records: number;
  /** Notes on the load that delivered the records. */
  readonly notes: NotesReport;
  /** The copy, in shared memory. */
  readonly bytes: Uint8Array;
}

/** One of several sources, after a load. Plain data. Times are epoch milliseconds. */
export interface PartReport {
  /** Identifies the source: equal sources have equal ids, also after a restart. */
  readonly id: string;
  /** The name of the part in messages, different from the names of the other parts. */
  readonly name: string;
  /** The last good records; null if the part was never read. */
  readonly copy: RecordCopy | null;
  /** When the part last delivered or confirmed these records. */
  readonly confirmedMs: number | null;
  /** Null if the last load succeeded. */
  readonly failure: PartFailure | null;
}

export interface PartFailure {
  readonly code: LecternErrorCode;
  readonly message: string;
  /** When the part began to fail. */
  readonly sinceMs: number;
  /** The time before which the part asked not to be read (Retry-After). */
  readonly retryAtMs: number;
}

export interface PartsReport {
  readonly parts: readonly PartReport[];
  /** How many files in folders were not read. */
  readonly skipped: number;
}

/** `mixed`: several sources of different formats. */
export type SourceFormat =
  | 'ndjson'
  | 'json-array'
  | 'messagepack'
  | 'csv'
  | 'icalendar'
  | 'postgresql'
  | 'memory'
  | 'mixed';

/** How a CSV source is written. */
export interface CsvDialect {
  readonly delimiter: string;
  /** Whether a row names the columns. */
  readonly hasHeader: boolean;
  /** The line of the header, if lines above it are left out. */
  readonly headerLine?: number;
}

export interface ReadSummary {
  readonly format: SourceFormat;
  readonly gzipped: boolean;
  readonly bytesRead: number;
  /** Present only for calendars with recurring events. */
  readonly expanded?: ExpansionWindow;
  /** Present only for CSV. */
  readonly csv?: CsvDialect;
  /** Present if the source has ended, but its last record looks cut. */
  readonly endsCut?: true;
}

export interface LoadSummary extends ReadSummary {
  /**
   * An opaque text, equal only for loads of the same records. Null if unknown, so that the source is read
   * each time.
   */
  readonly version: string | null;
  /**
   * When the source says that its records last changed, in epoch milliseconds: the time of a file, Last-Modified. Absent if
   * it does not say.
   */
  readonly modifiedMs?: number | undefined;
}

export function formatOf(
  reads: readonly ReadSummary[],
): Pick<ReadSummary, 'format' | 'gzipped' | 'expanded'> {
  const [format = 'mixed', ...others] = new Set(reads.map((read) => read.format));
  const expanded = joinExpansions(reads.map((read) => read.expanded));
  return {
    format: others.length === 0 ? format : 'mixed',
    gzipped: reads.some(({ gzipped }) => gzipped),
    ...(expanded === undefined ? {} : { expanded }),
  };
}

export interface Source {
  /** For messages: a path, `standard input`, … */
  readonly name: string;
  /** Identifies the source: equal sources have equal ids, also after a restart. Default: the name. */
  readonly id?: string;
  /** The rules of the source's rows where they differ from those of the load. */
  readonly rules?: Partial<ReadRules> | undefined;
  /** For one of several sources: how old its last good read may become before it is read again. Default 0. */
  readonly refreshMs?: number | undefined;
  /** The source can be read only once. */
  readonly readOnce?: true;
  /**
   * Present if the source may be missing at the first load of several sources: an address, or a file found in
   * a folder or by a glob.
   */
  readonly mayBeMissing?: true;
  /** For several sources: searches for the sources again. */
  readonly find?: (signal: AbortSignal | undefined) => Promise<FoundParts>;
  /**
   * Gives every record to the sink. Errors of the sink pass through.
   *
   * @returns `not-modified`, without any call of the sink, if the source still has the version `previous`
   * @throws LecternError `source-unreadable`, including when the source changes during the read;
   * `source-malformed`, including when the source ends early
   */
  load(sink: RowSink, options?: LoadOptions): Promise<LoadSummary | 'not-modified'>;
}

export function idOf({ id, name }: Source): string {
  return id ?? name;
}

export interface FoundParts {
  readonly sources: readonly Source[];
  readonly skipped: number;
}

const WITH_DAY = /^(.*)@(\d{4}-\d\d-\d\d)$/s;

/** Whether the window of recurring events moves each day. */
export function hasMovingWindow({ from, to }: Pick<ReadRules, 'from' | 'to'>): boolean {
  return from === undefined || to === undefined;
}

/**
 * Adds the day of the load to the version of a source with recurring events: on another day the source counts
 * as changed, because the window of `from` and `to` has moved.
 */
export function renewedDaily(source: Source): Source {
  return {
    ...source,
    async load(sink, options = {}) {
      const today = new Date().toISOString().slice(0, 10);
      const { previous = null, rules } = options;
      const [, version = previous, day = today] = WITH_DAY.exec(previous ?? '') ?? [];
      const answer = await source.load(sink, { ...options, previous: day === today ? version : null });
      if (answer === 'not-modified' || answer.version === null || answer.expanded === undefined)
        return answer;
      return hasMovingWindow(rules ?? {}) ? { ...answer, version: `${answer.version}@${today}` } : answer;
    },
  };
}
