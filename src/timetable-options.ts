import type { ConflictEntry, IdentifierMode, TimetableEvent } from './model/event.js';
import type { ConflictBy, ParameterFieldName } from './model/fields.js';
import type { GateOptions } from './refresh/gate.js';
import type { AnySource, BuildPlace } from './refresh/loader.js';
import type { Records } from './source/records.js';
import type { LoadProgress } from './source/source.js';
import type { ParseOptions } from './view/view.js';

/** How a timetable is opened. Only the source has no default. */
export interface TimetableOptions {
  /**
   * Where events come from: a path (`-` for standard input) or an http(s) address; a source as plain data
   * ({@link SourceSpec}: files, addresses with headers, several merged); records in memory; a {@link MemorySource}; or a
   * source of one's own ({@link RecordSource}). Files and addresses give NDJSON, a JSON array or MessagePack, plain or
   * gzipped, recognised by content.
   */
  readonly source: string | AnySource | Records;
  /** Default `uuid`. */
  readonly identifiers?: IdentifierMode | undefined;
  /** Whether a parameter that an endpoint does not have is a fault (`reject`, the default) or skipped. */
  readonly unknownParameters?: ParseOptions['unknownParameters'] | undefined;
  /** Seconds between two loads, each made longer or shorter by up to 10 %. 0, the default: never by itself. */
  readonly refreshSeconds?: number | undefined;
  /** Whether a file that changes, or a MemorySource, is loaded at once. Default true. */
  readonly watch?: boolean | undefined;
  /** What a new snapshot must be like to be published; false publishes everything. Default: see {@link GateOptions}. */
  readonly gate?: GateOptions | false | undefined;
  /** Seconds after the last success from which on reads fail rather than answer stale; not for what is pinned. Default Infinity. */
  readonly staleSecondsMax?: number | undefined;
  /** A file that each published snapshot is written to, and that is served at once at the next start. Default none. */
  readonly snapshotFile?: string | undefined;
  /** Earlier snapshots to keep beside it, as `<file>.1` and so on. Default 0. */
  readonly snapshotFilesKept?: number | undefined;
  /** A snapshot file to serve, and nothing else: the source is not asked. */
  readonly pin?: string | undefined;
  /**
   * MiB of memory for caches besides the snapshot: events of one room, group and so on side by side, and, for each handler,
   * an eighth of it for whole answers. 0 for none. Default 256.
   */
  readonly cacheMb?: number | undefined;
  /**
   * MiB of memory that one load may take, all that it holds counted, 64 to 1,048,576. A load that would take more is refused. Default:
   * three quarters of what the machine and the container have left when it begins.
   */
  readonly memoryMbMax?: number | undefined;
  /** Events of one load; one with more is refused. Default: any number. */
  readonly eventsMax?: number | undefined;
  /** `thread`, the default: snapshots are built on a thread of their own. `here`: right here, for small sets. */
  readonly buildOn?: BuildPlace | undefined;
  /** Told now and then during the first load, which fails with what it throws. A promise that it returns is not waited for. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

/** The filters of GET /schedule as an object: one value or any of several. Times are RFC 3339 texts or Dates. */
export type ScheduleQuery = {
  readonly [Name in ParameterFieldName]?: string | readonly string[] | undefined;
} & {
  readonly startTime?: string | Date | undefined;
  readonly endTime?: string | Date | undefined;
  /** Entries per page, 1 to 10,000; everything where it is left out. */
  readonly limit?: number | undefined;
  /** From `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
};

/** The query of GET /schedule/conflicts: the scope, and what counts as a conflict. */
export type ConflictQuery = ScheduleQuery & {
  readonly by?: ConflictBy | readonly ConflictBy[] | undefined;
  /** False: rows of one lesson conflict with each other. Default true. */
  readonly merge?: boolean | undefined;
};

/** The part of /schedule/all to return. */
export type PageQuery = Pick<ScheduleQuery, 'limit' | 'cursor'>;

export interface EventPage {
  readonly events: TimetableEvent[];
  /** Matching events on all pages. */
  readonly total: number;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface ConflictPage {
  readonly conflicts: ConflictEntry[];
  readonly total: number;
  readonly nextCursor: string | null;
}

/** What is different between a past snapshot and the present one. */
export interface ChangeSet {
  /** Ids of the two snapshots. */
  readonly from: string;
  readonly to: string;
  readonly added: TimetableEvent[];
  /** As they are now. */
  readonly changed: TimetableEvent[];
  /** Ids. */
  readonly removed: string[];
}
