import type { IncomingMessage } from 'node:http';
import type { Explanation } from '../answer/explain.js';
import type { ViewSource } from '../answer/present.js';
import type { TimetableEvent } from '../base/model/event.js';
import type { DirectoryName } from '../base/model/fields.js';
import type { FormatName } from '../base/model/format.js';
import type { RequestHandler } from '../http/handler.js';
import type { EmbeddedHandlerOptions, ServeOptions } from '../options/option-types.js';
import type { LoadOutcome } from '../refresh/keeper.js';
import type { RefreshOptions } from '../refresh/refresher.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { ChangesOptions, TimetableChange } from './change-loop.js';
import type { TimetableServer } from './open-servers.js';
import type {
  BytesQuery,
  ChangeSet,
  ConflictPage,
  ConflictQuery,
  DirectoryPage,
  DirectoryQuery,
  EventPage,
  FreePage,
  FreeTimeQuery,
  PageQuery,
  ScheduleQuery,
} from './query-types.js';
import type { TimetableEvents, TimetableListener } from './timetable-events.js';

/** Loads a source, keeps it fresh, and answers reads from one immutable snapshot. All reads are synchronous. */
export interface Timetable extends ViewSource, AsyncDisposable {
  /**
   * Resolves when the first snapshot can be read. Rejects with the LecternError of a failed first load; with regular
   * refreshes it waits for the first good load instead. A watched source without regular refreshes is tried again even
   * after `ready` has rejected, so the timetable may serve later, which `published` tells; `close()` ends the attempts. The
   * process stays alive until `ready` has settled.
   */
  readonly ready: Promise<SnapshotSummary>;
  /**
   * GET /schedule.
   *
   * @throws LecternError `parameters-invalid` with every fault; `not-ready` before the first snapshot; `stale` after
   *   `staleSecondsMax`; `closed`
   */
  find(query?: ScheduleQuery): EventPage;
  /**
   * The bytes of an answer, by default JSON. The bytes may be shared memory, so only read them. Throws like
   * {@link find}.
   */
  findBytes(query?: BytesQuery, format?: FormatName): Uint8Array;
  /** One event by its id, or null. Throws `parameters-invalid` for an id that is not a text. */
  get(id: string): TimetableEvent | null;
  /** GET /schedule/conflicts. Throws like {@link find}. */
  conflicts(query?: ConflictQuery): ConflictPage;
  /** GET /schedule/free: rooms, lecturers or groups with nothing scheduled in a window. Throws like {@link find}. */
  free(query: FreeTimeQuery): FreePage;
  /** GET /schedule/types. */
  types(): string[];
  /**
   * GET /schedule/rooms, /courses, /groups or /lecturers: the rooms, courses, groups or lecturers of a
   * query's events, with names and numbers of events. Throws like {@link find}, and `option-invalid` for
   * another name.
   */
  directory(name: DirectoryName, query?: DirectoryQuery): DirectoryPage;
  /** GET /schedule/all. Throws like {@link find}. */
  all(query?: PageQuery): EventPage;
  /** Changes since a snapshot with the given id; null for an unknown or forgotten id. */
  changes(since: string): ChangeSet | null;
  /**
   * The changes of each publication from now on, for a `for await` loop. The loop ends when the signal is
   * aborted or the timetable is closed. A slow loop gets {@link MissedChanges} instead of the changes that it
   * missed.
   *
   * @throws LecternError `parameters-invalid`, `option-invalid`, `closed`
   */
  changes(options?: ChangesOptions): AsyncIterable<TimetableChange>;
  /** The plan of GET /schedule, a directory or /schedule/free for `query`. Throws like {@link find}. */
  explain(query?: ScheduleQuery | DirectoryQuery | FreeTimeQuery, of?: DirectoryName | 'free'): Explanation;
  /**
   * Loads now, on another thread, and reads files as {@link reload} does; resolves to the outcome. Keeps the
   * process alive.
   */
  refresh(options?: RefreshOptions): Promise<LoadOutcome>;
  /**
   * Reads the configuration files now, such as rooms, secrets, keys and enrolments. Without this call, changes
   * are noticed within a second. Bad content is logged or becomes an `error`, and the earlier content stays.
   */
  reload(): Promise<void>;
  /**
   * Adds a listener. Listeners run in order, right after the event. If a listener throws, or its promise
   * rejects, the others still run, and listeners of `error` get the error. Without listeners of `error`, or
   * if they fail, the error becomes a process warning.
   *
   * @throws LecternError `option-invalid` for an event that does not exist
   */
  on<Name extends keyof TimetableEvents>(name: Name, listener: TimetableListener<Name>): this;
  off<Name extends keyof TimetableEvents>(name: Name, listener: TimetableListener<Name>): this;
  /** A handler `(req, res)` for an existing server. CORS is left to the server; see {@link EmbeddedHandlerOptions}. */
  handler<Request extends IncomingMessage = IncomingMessage>(
    options?: EmbeddedHandlerOptions<Request>,
  ): RequestHandler<Request>;
  /**
   * Answers requests as `lectern serve` does: on this thread, or on several that share one snapshot. Resolves when
   * the server listens. Before the first snapshot, the server answers 503.
   *
   * @throws LecternError `option-invalid`, `key-missing`, `key-invalid`, `address-unavailable`, `closed`
   */
  serve(options: ServeOptions): Promise<TimetableServer>;
  /**
   * Closes servers, aborts loads and ends timers, watches and threads. Later reads throw `closed`. If a
   * custom source fails to close its watch, `close` rejects with that error after everything else is closed.
   */
  close(): Promise<void>;
}
