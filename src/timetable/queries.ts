/** What a program asks of a timetable, and what it gets. */
import type { ConflictEntry, TimetableEvent } from '../model/event.js';
import type { ConflictBy, ParameterFieldName } from '../model/fields.js';

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
