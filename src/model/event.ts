import type { ConflictBy, FieldName, OutputFieldName } from './fields.js';

/**
 * How identifiers are read: lower-cased UUIDs, or any string of 1 to 64 characters, compared exactly. In records a whole number
 * stands for its digits then.
 */
export type IdentifierMode = 'uuid' | 'any';

type RequiredName = 'id' | 'time' | 'endTime';

/** The Event record as clients receive it: ten fields, in the specification's order, times in UTC with milliseconds. */
export type TimetableEvent = {
  [Name in OutputFieldName]: Name extends RequiredName ? string : string | null;
};

/** One entry of GET /schedule/conflicts. */
export interface ConflictEntry {
  readonly by: ConflictBy;
  readonly key: string;
  readonly startTime: string;
  readonly endTime: string;
  /** The largest number of lessons at one instant. */
  readonly peak: number;
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

/** A record that was left out: where it stood, and why. */
export interface Rejection {
  readonly position: RecordPosition;
  readonly code: RejectionCode;
  /** The field at fault, or null where it is the record itself. */
  readonly field: FieldName | null;
  /** One sentence: what was wrong and what would be right. */
  readonly detail: string;
}
