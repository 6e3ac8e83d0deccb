import type { ConflictBy, FieldName, OutputFieldName, RequiredFieldName } from './fields.js';

/**
 * How identifiers are read: lower-cased UUIDs, or any string of 1 to 64 characters, compared exactly. In records a whole number
 * stands for its digits then.
 */
export type IdentifierMode = 'uuid' | 'any';

/**
 * A record as a source gives it: the fields of an event, as JSON has them. Null and a field that is left out mean the same: it
 * is not known. Other fields are skipped.
 */
export interface TimetableRecord {
  /** Identifier of the event. No two records have the same. A UUID, unless `identifiers` says otherwise; then also a whole number. */
  readonly id: string | number;
  /** Start of the event, inclusive: RFC 3339 with an offset, such as `2024-09-02T08:00:00Z`. */
  readonly time: string;
  /** End of the event, exclusive, written as `time` is. Equal to `time` for an event without length. */
  readonly endTime: string;
  /** Title of the event. */
  readonly title?: string | null | undefined;
  /** Identifier of the room. */
  readonly roomId?: string | number | null | undefined;
  /** Identifier of the course. */
  readonly courseId?: string | number | null | undefined;
  /** Name of the study group. */
  readonly studyGroup?: string | null | undefined;
  /** Name of the lecturer. */
  readonly lecturer?: string | null | undefined;
  /** Type of the event, such as `Lecture`. */
  readonly type?: string | null | undefined;
  /** Identifier of the group. */
  readonly groupId?: string | number | null | undefined;
  /** Identifier of the lecturer. It selects events, and no answer shows it. */
  readonly lecturerId?: string | number | null | undefined;
}

/** The Event record as clients receive it: ten fields, in the specification's order, times in UTC with milliseconds. */
export type TimetableEvent = {
  -readonly [Name in keyof Pick<TimetableRecord, OutputFieldName>]-?: Name extends RequiredFieldName
    ? string
    : string | null;
};

/** One entry of GET /schedule/conflicts. */
export interface ConflictEntry {
  /** What the lessons share. */
  readonly by: ConflictBy;
  /** The room, lecturer or group that they share. */
  readonly key: string;
  /** Earliest start of its lessons. */
  readonly startTime: string;
  /** Latest end of its lessons. */
  readonly endTime: string;
  /** The largest number of lessons at one instant. */
  readonly peak: number;
  /** Its events, in order. */
  readonly events: readonly TimetableEvent[];
}

/**
 * A record after normalisation, before indexing: canonical strings, null where unknown, instants as epoch
 * milliseconds (integers within the years 0000 to 9999).
 */
export type NormalisedEvent = {
  [Name in FieldName]: Name extends 'time' | 'endTime' ? number : Name extends 'id' ? string : string | null;
};

/** Why a record may be left out. Stable codes; the detail is for people. */
export const REJECTION_CODES = [
  'malformed-record',
  'record-too-large',
  'wrong-type',
  'missing-field',
  'malformed-identifier',
  'malformed-time',
  'malformed-text',
  'end-before-start',
  'duplicate-id',
  /** Not a fault: one of several sources has the id, and a later one, which wins, has it too. */
  'overridden',
] as const;

/** Why a record was left out, as a code that never changes. */
export type RejectionCode = (typeof REJECTION_CODES)[number];

/** Where a record stands in its source. Lines and records count from 1, bytes from 0. */
export interface RecordPosition {
  /** 1-based number of the record (blank lines are not records). */
  readonly record: number;
  /** 1-based line, for text formats. */
  readonly line?: number;
  /** 0-based offset of its first byte in the (decompressed) source, for binary formats. */
  readonly byte?: number;
  /** 1-based page that line and byte are counted on, where the source came in pages; absent on the first. */
  readonly page?: number;
  /** Which of several sources it is, for people; absent where there is one only. */
  readonly source?: string;
}

/** `line 17 (record 16)`, `record 3 at byte 512`, `page 2, line 5 of a.ndjson`. */
export function formatPosition({ record, line, byte, page, source }: RecordPosition): string {
  let place = byte === undefined ? `record ${record}` : `record ${record} at byte ${byte}`;
  if (line !== undefined) place = line === record ? `line ${line}` : `line ${line} (record ${record})`;
  return `${page === undefined ? '' : `page ${page}, `}${place}${source === undefined ? '' : ` of ${source}`}`;
}

/** A record that was left out: where it stood, and why. */
export interface Rejection {
  /** Where it stands in its source. */
  readonly position: RecordPosition;
  /** Why it was left out. */
  readonly code: RejectionCode;
  /** The field at fault, or null where it is the record itself. */
  readonly field: FieldName | null;
  /** One sentence: what was wrong and what would be right. */
  readonly detail: string;
}
