/** Queries of a program and their results. */
import { LecternError } from '../errors.js';
import type {
  ConflictEntry,
  DirectoryEntry,
  FreeEntry,
  TimetableEvent,
  TimetableRecord,
} from '../model/event.js';
import {
  type ConflictBy,
  DIRECTORIES,
  type DirectoryName,
  isDirectory,
  type ParameterFieldName,
} from '../model/fields.js';
import { FORMATS, type FormatName } from '../model/format.js';
import { checkText, invalidParameters } from '../query/object-form.js';
import type { Answer, ReadResult } from '../view/answer.js';
import type { ParseOptions, View } from '../view/view.js';

/**
 * The filters of GET /schedule as an object: each with one value or several alternatives. Times are RFC 3339
 * texts or Dates.
 */
export type ScheduleQuery = {
  readonly [Name in keyof Pick<TimetableRecord, ParameterFieldName>]?: string | readonly string[] | undefined;
} & {
  /** Only events that end after it. */
  readonly startTime?: string | Date | undefined;
  /** Only events that start before it. */
  readonly endTime?: string | Date | undefined;
  /** Instead of startTime and endTime: the first local day of the window, such as `2026-10-25`. */
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
  /** False: rows of one lesson conflict with each other. Default true. */
  readonly merge?: boolean | undefined;
};

/** Kind of entries, and the window: either startTime and endTime, or `date`. */
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

/** One page of free rooms, lecturers or groups. */
export interface FreePage {
  /** In order of name, then id. */
  readonly free: FreeEntry[];
  /** Free entries on all pages. */
  readonly total: number;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** The filters of GET /schedule/rooms and the other directories, and a search. */
export type DirectoryQuery = ScheduleQuery & {
  /** A part of the id or the name; case and diacritics are ignored. */
  readonly q?: string | undefined;
};

/** The requested part of /schedule/all. */
export type PageQuery = Pick<ScheduleQuery, 'limit' | 'cursor'>;

/** One page of events. */
export interface EventPage {
  /** In order of time, endTime and id. */
  readonly events: TimetableEvent[];
  /** Matching events on all pages. */
  readonly total: number;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** One page of conflicts. */
export interface ConflictPage {
  /** In order of startTime, endTime, by and key. */
  readonly conflicts: ConflictEntry[];
  /** Matching conflicts on all pages. */
  readonly total: number;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** One page of a directory. */
export interface DirectoryPage {
  /** Sorted by name in order of code points, then by id; entries without a name come last. */
  readonly entries: DirectoryEntry[];
  /** Matching entries on all pages. */
  readonly total: number;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** The difference between a past snapshot and the present one. */
export interface ChangeSet {
  /** Id of the past snapshot. */
  readonly from: string;
  /** Id of the present one. */
  readonly to: string;
  /** Added events. */
  readonly added: TimetableEvent[];
  /** Changed events with their present values. */
  readonly changed: TimetableEvent[];
  /** Ids of removed events. */
  readonly removed: string[];
}

/** Null for an unknown or forgotten snapshot. Throws `parameters-invalid` for an id that is not a text. */
export function changesSince(view: View, since: unknown, reading: ParseOptions): ChangeSet | null {
  const id = checkText('since', 'changes', 'the id of a snapshot', since);
  const result = view.changes([['since', id]], reading);
  if ('gone' in result) return null;
  // Malformed ids count as unknown.
  if ('faults' in result && result.faults.every(({ code }) => code === 'malformed-snapshot')) return null;
  return parse(answerOf(result));
}

export function answerOf(result: ReadResult, format: FormatName = 'json'): Answer {
  if ('faults' in result) throw invalidParameters(result.faults);
  if ('gone' in result) throw new LecternError('not-ready', result.gone);
  if ('missing' in result) throw new Error(result.missing);
  return result.read.execute(format);
}

/** @throws LecternError `parameters-invalid` for a format that does not exist */
export function checkFormat(format: FormatName): void {
  if (FORMATS.some(({ name }) => name === format)) return;
  const names = FORMATS.map(({ name }) => name).join(', ');
  const detail = `format must be one of ${names}, not ${JSON.stringify(format) ?? String(format)}`;
  throw invalidParameters([{ parameter: 'format', code: 'unknown-value', detail }]);
}

export function eventPage(answer: Answer): EventPage {
  return { events: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
}

export function bytesOf(answer: Answer): Uint8Array {
  const chunks = [...answer.body.chunks];
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

export function parse<T>(answer: Answer): T {
  // A Buffer can decode shared memory; a TextDecoder cannot.
  const bytes = bytesOf(answer);
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T;
}

/** @throws LecternError `option-invalid` */
export function directoryName(given: unknown): DirectoryName {
  if (isDirectory(given)) return given;
  const names = DIRECTORIES.map(({ name }) => name).join(', ');
  throw new LecternError('option-invalid', `a directory is one of ${names}`);
}

/** Why a timetable cannot be read now. */
export function unreadable(isClosed: boolean, hasSnapshot: boolean, lastError: string | null): LecternError {
  if (isClosed) return new LecternError('closed', 'the timetable is closed');
  if (hasSnapshot) {
    const reason = lastError ?? 'no load since';
    return new LecternError('stale', `the snapshot is older than staleSecondsMax: ${reason}`);
  }
  return new LecternError(
    'not-ready',
    lastError === null
      ? 'the timetable is still loading: await its `ready` first'
      : `the timetable could not be loaded: ${lastError}`,
  );
}
