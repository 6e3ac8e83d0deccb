import { LecternError } from '../errors.js';
import type { Refusal } from '../refresh/gate.js';
import type { LoadResult } from '../refresh/keeper.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';

/** How many events are different from those of another snapshot. */
export interface ChangeCounts {
  /** Events that are new. */
  readonly added: number;
  /** Events that have other values. */
  readonly changed: number;
  /** Events that are gone. */
  readonly removed: number;
}

/** A snapshot was published. */
export interface PublishedEvent {
  /** Of the snapshot. */
  readonly summary: SnapshotSummary;
  /** Where it came from. */
  readonly origin: Origin;
  /** What is different from the snapshot before; null at the first. */
  readonly changes: ChangeCounts | null;
}

/** A snapshot was not published. */
export interface RefusedEvent {
  /** Why not. */
  readonly refusal: Refusal;
  /** Of the snapshot that was refused; null where its load was given up: `grown`, `events` and `memory`. */
  readonly summary: SnapshotSummary | null;
}

/** A load has ended. */
export interface LoadedEvent {
  /** `unchanged` where the source still has what is served, `refused` also where it still has what was refused. */
  readonly result: LoadResult;
  /** What it took. */
  readonly durationMs: number;
}

/** What a timetable tells its listeners, by the name of the event. */
export interface TimetableEvents {
  /** A snapshot is served from now on. */
  published: [event: PublishedEvent];
  /** A snapshot was built and not published. */
  refused: [event: RefusedEvent];
  /** After each load, however it ended; after `published`, `refused` or `error` where it is one of these. */
  loaded: [event: LoadedEvent];
  /**
   * A load failed, the snapshot file could not be read or written, a serving thread was lost (`thread-lost`) and is
   * replaced, or a listener of another event threw. What is served stays as it is.
   */
  error: [error: Error];
}

/** A listener of one event. */
export type TimetableListener<Name extends keyof TimetableEvents> = (...event: TimetableEvents[Name]) => void;

const EVENT_NAMES: readonly (keyof TimetableEvents)[] = ['published', 'refused', 'loaded', 'error'];

/** @throws LecternError `option-invalid`: a listener of a misspelt event would never be called */
export function checkEventName(name: keyof TimetableEvents): void {
  if (EVENT_NAMES.includes(name)) return;
  const events = EVENT_NAMES.map((each) => `'${each}'`).join(', ');
  throw new LecternError('option-invalid', `there is no event '${String(name)}'; expected one of ${events}`);
}
