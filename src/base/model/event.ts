import type {
  ConflictBy,
  DisplayNameField,
  FieldName,
  OutputFieldName,
  RequiredFieldName,
} from './fields.js';
import { quoteEscaped } from './text.js';

export const IDENTIFIER_MODES = ['uuid', 'any', 'derived'] as const;

/**
 * `uuid`: lower-cased UUIDs. `any`: any string of 1 to 64 characters, compared exactly, or a whole number.
 * `derived`: UUIDs; a text that is not a UUID gets a UUID derived from the text.
 */
export type IdentifierMode = (typeof IDENTIFIER_MODES)[number];

/** A record of a source. Null and missing fields both mean unknown. Other fields are ignored. */
export interface TimetableRecord {
  /** Unique identifier of the event, in the form of {@link IdentifierMode}. */
  readonly id: string | number;
  /** Start of the event, inclusive: RFC 3339 with an offset, such as `2024-09-02T08:00:00Z`. */
  readonly time: string;
  /** End of the event, exclusive, in the form of `time`. Equal to `time` for a zero-length event. */
  readonly endTime: string;
  readonly title?: string | null | undefined;
  readonly roomId?: string | number | null | undefined;
  readonly courseId?: string | number | null | undefined;
  readonly studyGroup?: string | null | undefined;
  readonly lecturer?: string | null | undefined;
  /** Type of the event, such as `Lecture`. */
  readonly type?: string | null | undefined;
  readonly groupId?: string | number | null | undefined;
  /** Identifier of the lecturer, used only for filters; answers do not show it. */
  readonly lecturerId?: string | number | null | undefined;
  /** Display name of the room. Directories show it, but events do not. */
  readonly roomName?: string | null | undefined;
  /** Display name of the course. Directories show it, but events do not. */
  readonly courseName?: string | null | undefined;
  /** Display name of the group. Directories show it, but events do not. */
  readonly groupName?: string | null | undefined;
  /**
   * Identifier of the lesson that the event is a part of, of at most 200 characters. Events with equal lessonId never
   * conflict with each other, and calendars show them as one event.
   */
  readonly lessonId?: string | null | undefined;
  /**
   * Time of the last change, in the form of `time`. Only calendars show it. A value that is no time counts as none.
   * Default: the time of the publication that first had the event's content.
   */
  readonly modified?: string | null | undefined;
}

/** The Event record of answers: ten fields in the order of the specification, times in UTC with milliseconds. */
export type TimetableEvent = {
  -readonly [Name in keyof Pick<TimetableRecord, OutputFieldName>]-?: Name extends RequiredFieldName
    ? string
    : string | null;
};

/** One entry of GET /schedule/conflicts. */
export interface ConflictEntry {
  readonly by: ConflictBy;
  /** The room, lecturer or group that the lessons share. */
  readonly key: string;
  /** Earliest start of the lessons. */
  readonly startTime: string;
  /** Latest end of the lessons. */
  readonly endTime: string;
  /** The largest number of lessons at one instant. */
  readonly peak: number;
  readonly events: readonly TimetableEvent[];
}

/** A room, lecturer or group with nothing scheduled in a window. */
export interface FreeEntry {
  /** The identifier; null for lecturers and groups that have only a name. */
  readonly id: string | null;
  /** The display name; null if none is known. */
  readonly name: string | null;
  /** End of the last event before the window; null if no event comes before. */
  readonly freeFrom: string | null;
  /** Start of the first event after the window; null if no event follows. */
  readonly freeUntil: string | null;
  /** Of rooms, if a rooms file is given; null if unknown. */
  readonly building?: string | null;
  readonly capacity?: number | null;
}

/** One entry of a directory, such as GET /schedule/rooms. */
export interface DirectoryEntry {
  /** The identifier; null for a group or lecturer that has only a name. */
  readonly id: string | null;
  /** The display name; null if no event has one. */
  readonly name: string | null;
  readonly events: number;
  /** Of rooms, if a rooms file is given; null if unknown. */
  readonly building?: string | null;
  readonly capacity?: number | null;
  /** Of groups, if some have a name of their own: the `studyGroup` to filter by. */
  readonly studyGroup?: string | null;
}

/** A record after normalisation: canonical strings, null if unknown, instants as whole epoch milliseconds. */
export type NormalisedEvent = {
  [Name in Exclude<FieldName, DisplayNameField | 'modified'>]: Name extends 'time' | 'endTime'
    ? number
    : Name extends 'id'
      ? string
      : string | null;
} & { [Name in DisplayNameField]?: string | null } & { modified?: number | null };

export const REJECTION_CODES = [
  'malformed-record',
  'record-too-large',
  'wrong-type',
  'missing-field',
  'malformed-identifier',
  'malformed-time',
  'malformed-text',
  'end-before-start',
  'malformed-recurrence',
  'too-many-occurrences',
  'duplicate-id',
  /** This code is not a fault: a later source has the same id and overrides the record. */
  'overridden',
] as const;

/** Stable code of the reason why a record was left out. */
export type RejectionCode = (typeof REJECTION_CODES)[number];

export interface RecordPosition {
  /** 1-based number of the record (blank lines are not records). */
  readonly record: number;
  /** 1-based line, in text formats. */
  readonly line?: number;
  /** 0-based offset of the record's first byte in the (decompressed) source, for binary formats. */
  readonly byte?: number;
  /** 1-based page in which line and byte are counted, for sources in pages; absent on the first page. */
  readonly page?: number;
  /** Name of the source; absent if there is only one. */
  readonly source?: string;
  /** The id that the source gave to the record, if the record has neither line nor byte, as in a database. */
  readonly id?: string;
}

/** `line 17 (record 16)`, `record 3 at byte 512`, `page 2, line 5 of a.ndjson`, `record with id "4711"`. */
export function formatPosition({ record, line, byte, page, source, id }: RecordPosition): string {
  let place = byte === undefined ? `record ${record}` : `record ${record} at byte ${byte}`;
  if (line !== undefined) place = line === record ? `line ${line}` : `line ${line} (record ${record})`;
  if (id !== undefined) place = `record with id ${quoteEscaped(id)}`;
  return `${page === undefined ? '' : `page ${page}, `}${place}${source === undefined ? '' : ` of ${source}`}`;
}

/** One reason why a record was left out. */
export interface Fault {
  readonly code: RejectionCode;
  /** The field at fault, or null for the record itself. */
  readonly field: FieldName | null;
  /** One sentence on the fault and its correction. */
  readonly detail: string;
}

/** A record that was left out. The record is counted only under its first fault. */
export interface Rejection extends Fault {
  readonly position: RecordPosition;
  /** The record's id, canonical if it is an identifier; absent if the record has none. */
  readonly id?: string;
  /** Other faults of the record, in the order of the fields. Absent if there is only one fault. */
  readonly more?: readonly Fault[];
}
