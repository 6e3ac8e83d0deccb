/** Queries of a program and their results. */
import type { ConflictEntry, DirectoryEntry, FreeEntry, TimetableEvent } from '../base/model/event.js';
import type { ConflictBy, ParameterFieldName } from '../base/model/fields.js';

/**
 * The filters of GET /schedule as an object: each with one value or several alternatives. Times are RFC 3339
 * texts or Dates.
 */
export type ScheduleQuery = {
  readonly [Name in ParameterFieldName]?: string | readonly string[] | undefined;
} & {
  /** `'type!': 'Exam'` leaves out events with this value, or with any of several. */
  readonly [Name in `${ParameterFieldName}!`]?: string | readonly string[] | undefined;
} & {
  /** Start of the window: only events that end after it match. `now` is the present second. */
  readonly startTime?: string | Date | undefined;
  /** End of the window: only events that start before it match. */
  readonly endTime?: string | Date | undefined;
  /** The first local day of the window, such as `2026-10-25` or `today`, instead of startTime and endTime. */
  readonly date?: string | undefined;
  /** Local days from `date` on, 1 to 366. Default 1. */
  readonly days?: number | undefined;
  /** IANA name of the zone of `date`. Default: the `timeZone` of the timetable, or UTC. */
  readonly timeZone?: string | undefined;
  /** Entries per page, 1 to 10,000. Default: all entries. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string | undefined;
};

/** A query of `findBytes`. */
export type BytesQuery = ScheduleQuery & {
  /** Whether iCalendar marks events in a conflict. */
  readonly clashes?: 'mark' | undefined;
};

/** The filters of GET /schedule/conflicts, and the kinds of conflict. */
export type ConflictQuery = ScheduleQuery & {
  /** The kinds of conflict. Default: all three. */
  readonly by?: ConflictBy | readonly ConflictBy[] | undefined;
  /**
   * Whether rows of one lesson count as one lesson; if false, they conflict with each other. Default true.
   */
  readonly merge?: boolean | undefined;
};

/** A query for free time: the kind of entries, and the window, given as startTime and endTime or as `date`. */
export type FreeTimeQuery = Pick<
  ScheduleQuery,
  'startTime' | 'endTime' | 'date' | 'days' | 'timeZone' | 'limit' | 'cursor'
> & {
  /** Rooms, lecturers or groups. */
  readonly by: ConflictBy;
  /** Number of consecutive weeks with the same window, in local time of `timeZone`, 1 to 60. Default 1. */
  readonly weeks?: number | undefined;
  /** Only these entries: identifiers, or names of lecturers and groups without an identifier. */
  readonly among?: string | readonly string[] | undefined;
  /** Only rooms in these buildings. */
  readonly building?: string | readonly string[] | undefined;
  /** Only rooms for at least this number of people. */
  readonly capacityMin?: number | undefined;
};

/** The filters of GET /schedule/rooms and the other directories, and a search. */
export type DirectoryQuery = ScheduleQuery & {
  /** A part of the id or the name; case and diacritics are ignored. */
  readonly q?: string | undefined;
};

/** The requested part of /schedule/all. */
export type PageQuery = Pick<ScheduleQuery, 'limit' | 'cursor'>;

/** One page of a list. */
export interface ListPage {
  /** Matching entries on all pages. */
  readonly total: number;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface EventPage extends ListPage {
  /** The events of the page, in order of time, endTime and id. */
  readonly events: TimetableEvent[];
}

export interface ConflictPage extends ListPage {
  /** The conflicts of the page, in order of startTime, endTime, by and key. */
  readonly conflicts: ConflictEntry[];
}

export interface DirectoryPage extends ListPage {
  /** Sorted by name in order of code points, then by id; entries without a name come last. */
  readonly entries: DirectoryEntry[];
}

/** One page of free rooms, lecturers or groups. */
export interface FreePage extends ListPage {
  /** The entries of the page, in order of name, then id. */
  readonly free: FreeEntry[];
}

/** The difference between a past snapshot and the present one. */
export interface ChangeSet {
  /** Id of the past snapshot. */
  readonly from: string;
  /** Id of the present snapshot. */
  readonly to: string;
  readonly added: TimetableEvent[];
  /** Changed events with their present values. */
  readonly changed: TimetableEvent[];
  /** Ids of removed events. */
  readonly removed: string[];
}
