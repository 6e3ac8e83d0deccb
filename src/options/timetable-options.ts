import type { IdentifierMode } from '../model/event.js';
import type { GateOptions } from '../refresh/gate.js';
import type { AnySource, BuildPlace } from '../refresh/loader.js';
import type { Records } from '../source/records.js';
import type { LoadProgress } from '../source/source.js';
import type { ParseOptions } from '../view/view.js';

/** How a timetable is opened. Only the source has no default. */
export interface TimetableOptions {
  /**
   * Where events come from: a path (`-` for standard input) or an http(s) address; a source as plain data
   * ({@link SourceSpec}: files, addresses with headers, several merged); records in memory; a {@link MemorySource}; or a
   * source of one's own ({@link RecordSource}). Files and addresses give NDJSON, a JSON array or MessagePack, plain or
   * gzipped, recognised by content.
   */
  readonly source: string | AnySource | Records;
  /** What identifiers of the data look like: UUIDs, or any text of 1 to 64 characters and whole numbers. Default `uuid`. */
  readonly identifiers?: IdentifierMode | undefined;
  /** Whether a parameter that an endpoint does not have is a fault or skipped. Default `reject`. */
  readonly unknownParameters?: ParseOptions['unknownParameters'] | undefined;
  /** Seconds between two loads, varied by up to 10 %, 0 to 31,536,000; 0 for none. Default 0. */
  readonly refreshSeconds?: number | undefined;
  /** Whether a file that changes, or a MemorySource, is loaded at once. Default true. */
  readonly watch?: boolean | undefined;
  /** What a new snapshot must be like to be published; false publishes everything. Default: see {@link GateOptions}. */
  readonly gate?: GateOptions | false | undefined;
  /**
   * Seconds after the last good load from which on reads fail rather than answer stale, 0 to 31,536,000. A pinned snapshot does
   * not grow stale. Default: never.
   */
  readonly staleSecondsMax?: number | undefined;
  /** A file that each published snapshot is written to, and that is served at once at the next start. Default: none. */
  readonly snapshotFile?: string | undefined;
  /** Earlier snapshots to keep beside it, as `<file>.1` and so on, 0 to 100. Default 0. */
  readonly snapshotFilesKept?: number | undefined;
  /** A snapshot file to serve, and nothing else: the source is not asked. Default: none. */
  readonly pin?: string | undefined;
  /**
   * MiB of memory for caches besides the snapshot, 0 to 1,048,576: events of one room, group and so on side by side, what has
   * changed since past snapshots, and, for each handler, an eighth of it for whole answers. 0 for none. Default 256.
   */
  readonly cacheMb?: number | undefined;
  /**
   * MiB of memory that one load may take, all that it holds counted, 64 to 1,048,576. A load that would take more is refused.
   * Default: three quarters of what the machine and the container have left when it begins.
   */
  readonly memoryMbMax?: number | undefined;
  /** Events of one load, 1 to 4,294,967,294; one with more is refused. Default: any number. */
  readonly eventsMax?: number | undefined;
  /** Where snapshots are built: on a `thread` of their own, or `here`, for small sets. Default `thread`. */
  readonly buildOn?: BuildPlace | undefined;
  /** Told now and then during the first load, which fails with what it throws. A promise that it returns is not waited for. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}
