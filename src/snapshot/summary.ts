import type { IdentifierMode, Rejection, RejectionCode } from '../base/model/event.js';
import type { ExpansionWindow } from '../base/model/expansion.js';
import { type FieldName, OUTPUT_FIELDS, PARAMETER_FIELDS } from '../base/model/fields.js';
import type { PatternNotes } from '../base/model/read-rules.js';
import type { AmbiguousTimes } from '../base/model/zone.js';
import type { UnservedFields } from './unserved-fields.js';

/** Counts for one field of a snapshot. */
export interface FieldUse {
  readonly name: FieldName;
  /** Distinct values. */
  readonly values: number;
  /** Events that have a value. */
  readonly events: number;
}

/** Where a published snapshot came from. */
export type Origin = 'source' | 'disk' | 'pin';

/** Facts about a snapshot. Plain data that crosses threads and goes to disk. */
export interface SnapshotSummary {
  /** Identifies the content: equal data gives equal ids in all processes. 22 base64url characters. */
  readonly id: string;
  readonly events: number;
  /** Distinct pairs of start and end. */
  readonly slots: number;
  /** Number of records left out. */
  readonly rejected: number;
  /** Records left out, by reason. */
  readonly rejectedByCode: Readonly<Partial<Record<RejectionCode, number>>>;
  /** The first rejections, with position and reason. */
  readonly rejections: readonly Rejection[];
  /** Epoch milliseconds. */
  readonly builtAtMs: number;
  /**
   * When this content was first published, in epoch milliseconds: what Last-Modified says. At a start without a snapshot
   * file, the source's own time, if it has one.
   */
  readonly modifiedMs: number;
  /** Time from the first byte read until the snapshot is ready. */
  readonly buildMs: number;
  /** Bytes of the snapshot's typed arrays. */
  readonly bytes: number;
  /** How identifiers were read. */
  readonly identifiers: IdentifierMode;
  /** Counts for each optional field. */
  readonly fields: readonly FieldUse[];
  /** Names in records that are not fields, with counts. */
  readonly unserved: UnservedFields;
  /** Local times at clock changes, read as RFC 5545 says. */
  readonly ambiguousTimes: Readonly<AmbiguousTimes>;
  /** The days for which recurring events of calendars were expanded; absent without any. */
  readonly expanded?: ExpansionWindow | undefined;
  /** What became of weekly patterns; absent without any. */
  readonly patterns?: Readonly<PatternNotes> | undefined;
  /** Earliest start and latest end of all events in epoch milliseconds; null without events. */
  readonly span: {
    readonly startMs: number;
    readonly endMs: number;
  } | null;
}

/** The part of a summary about records that are not events. */
export type RecordCounts = Pick<
  SnapshotSummary,
  'rejected' | 'rejectedByCode' | 'rejections' | 'unserved' | 'ambiguousTimes'
>;

/** Notes of the source besides its records. */
export type ReadingNotes = Pick<SnapshotSummary, 'ambiguousTimes' | 'expanded' | 'patterns'>;

export const NO_AMBIGUOUS_TIMES: Readonly<AmbiguousTimes> = { gaps: 0, overlaps: 0 };

/** Overridden records are not faults. */
export function faultyRecords(summary: SnapshotSummary): number {
  return summary.rejected - (summary.rejectedByCode.overridden ?? 0);
}

/** Output fields that had values in one timetable and have none in the next, for the log. */
interface FieldLoss {
  readonly fields: readonly FieldName[];
  readonly reason: string;
}

/** Null if no field lost its values, or if a set has no events. */
export function fieldLossOf(before: SnapshotSummary | null, after: SnapshotSummary): FieldLoss | null {
  const countOf = (summary: SnapshotSummary | null, name: FieldName): number =>
    summary?.fields.find((field) => field.name === name)?.events ?? 0;
  const fields = OUTPUT_FIELDS.map(({ name }) => name).filter(
    (name) => countOf(before, name) > 0 && countOf(after, name) === 0,
  );
  if (fields.length === 0 || after.events === 0) return null;
  return { fields, reason: `no event has a ${fields.join(' or a ')} any more` };
}

/** Fields whose filters can match no event. Empty for a set without events. */
export function emptyFilters({ events, fields }: SnapshotSummary): FieldName[] {
  if (events === 0) return [];
  const isEmpty = (name: FieldName): boolean =>
    fields.some((field) => field.name === name && field.events === 0);
  return PARAMETER_FIELDS.map(({ name }) => name).filter(isEmpty);
}
