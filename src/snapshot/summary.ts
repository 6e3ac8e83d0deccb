import type { IdentifierMode, Rejection, RejectionCode } from '../model/event.js';
import type { FieldName } from '../model/fields.js';

/** Where a published snapshot came from. */
export type Origin = 'source' | 'disk' | 'pin';

/** What is known about a snapshot without reading it. Plain data: it crosses threads and goes to disk. */
export interface SnapshotSummary {
  /** Identifies the content: equal for equal data, whichever process built it. 22 base64url characters. */
  readonly id: string;
  readonly events: number;
  readonly slots: number;
  /** Records left out, all of them. */
  readonly rejected: number;
  readonly rejectedByCode: Readonly<Partial<Record<RejectionCode, number>>>;
  /** The first of them, with position and reason. */
  readonly rejections: readonly Rejection[];
  /** Epoch milliseconds. */
  readonly builtAtMs: number;
  /** From the first byte read to the snapshot being ready. */
  readonly buildMs: number;
  /** Bytes of the snapshot's typed arrays. */
  readonly bytes: number;
  readonly identifiers: IdentifierMode;
  /** Per field that may be unknown: distinct values, and events that have one. */
  readonly fields: readonly { readonly name: FieldName; readonly values: number; readonly events: number }[];
  /** Earliest start and latest end, or null where there are no events. */
  readonly span: { readonly startMs: number; readonly endMs: number } | null;
}

/** Records left out because something is wrong with them: all but those that a later source overrides. */
export function faultyRecords(summary: SnapshotSummary): number {
  return summary.rejected - (summary.rejectedByCode.overridden ?? 0);
}
