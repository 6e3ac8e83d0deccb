import type { ChangeCounts } from '../answer/present.js';
import { LecternError } from '../errors.js';
import type { SourcePart } from '../model/source-state.js';
import type { Refusal } from '../refresh/gate.js';
import type { LoadResult } from '../refresh/keeper.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';

export interface PublishedEvent {
  /** Summary of the new snapshot. */
  readonly summary: SnapshotSummary;
  /** Where the snapshot came from. */
  readonly origin: Origin;
  /** Difference from the previous snapshot; null for the first snapshot. */
  readonly changes: ChangeCounts | null;
}

/** A snapshot was not published. */
export interface RefusedEvent {
  /** Why the snapshot was not published. */
  readonly refusal: Refusal;
  /** Summary of the refused snapshot; null if its load was aborted (code `memory`). */
  readonly summary: SnapshotSummary | null;
}

export interface LoadedEvent {
  /**
   * `unchanged`: the source has the served data. `refused`: the gate refused the data, now or at an earlier
   * load.
   */
  readonly result: LoadResult;
  readonly durationMs: number;
}

export interface TimetableEvents {
  /** A new snapshot is served. */
  published: [event: PublishedEvent];
  /** A snapshot was built and not published. */
  refused: [event: RefusedEvent];
  /** One of several sources began to fail, or works again. */
  part: [part: SourcePart];
  /** Emitted after each load, following its `published`, `refused` or `error`. */
  loaded: [event: LoadedEvent];
  /** The timetable file has something that is probably a mistake: a sentence with its place. */
  warning: [sentence: string];
  /**
   * A load failed, the snapshot file could not be read or written, a lost serving thread (`thread-lost`) is
   * replaced, or another listener threw. The served snapshot stays.
   */
  error: [error: Error];
}

export type TimetableListener<Name extends keyof TimetableEvents> = (...event: TimetableEvents[Name]) => void;

const EVENT_NAMES: readonly (keyof TimetableEvents)[] = [
  'published',
  'refused',
  'part',
  'loaded',
  'warning',
  'error',
];

/** Refuses a misspelt event, whose listener would never be called. */
export function checkEventName(name: keyof TimetableEvents): void {
  if (EVENT_NAMES.includes(name)) return;
  const events = EVENT_NAMES.map((each) => `'${each}'`).join(', ');
  throw new LecternError('option-invalid', `there is no event '${String(name)}'; expected one of ${events}`);
}
