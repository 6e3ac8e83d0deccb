import { EventEmitter } from 'node:events';
import type { ChangeCounts } from '../answer/present.js';
import { optionInvalid } from '../base/errors.js';
import type { SourcePart } from '../base/model/source-state.js';
import type { Refusal, RefusalCode } from '../refresh/gate.js';
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
  throw optionInvalid(`there is no event '${String(name)}'; expected one of ${events}`);
}

/**
 * The listeners of an embedding program. If a listener throws, the others are still called. If a listener
 * throws or rejects, the error goes to the `error` listeners. Without `error` listeners, or if one of these
 * throws, the error becomes a process warning.
 */
export class Listeners<Events extends { readonly [Name in keyof Events]: readonly unknown[] }> {
  readonly #emitter = new EventEmitter();

  add<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.on(name, listener);
  }

  remove<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.off(name, listener);
  }

  /** Calls every present listener. Never throws. */
  tell<Name extends keyof Events & string>(name: Name, ...event: Events[Name]): void {
    this.#tell(name, event);
  }

  /** Reports the rejection of a promise from another callback of the program, as for a listener. */
  heed(callback: string, returned: unknown): void {
    if (!(returned instanceof Promise)) return;
    returned.catch((thrown: unknown) => this.#report('', `${callback} failed`, thrown));
  }

  #tell(name: string, event: readonly unknown[]): void {
    const failed = (thrown: unknown): void => this.#report(name, `a listener of '${name}' threw`, thrown);
    for (const listener of this.#emitter.listeners(name)) {
      try {
        const returned: unknown = listener(...event);
        if (returned instanceof Promise) returned.catch(failed);
      } catch (thrown) {
        failed(thrown);
      }
    }
  }

  #report(name: string, problem: string, thrown: unknown): void {
    const message = `${problem}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    if (name !== 'error' && this.#emitter.listenerCount('error') > 0) {
      this.#tell('error', [new Error(message, { cause: thrown })]);
      return;
    }
    const detail = thrown instanceof Error && { detail: `${thrown.stack}` };
    process.emitWarning(message, { type: 'LecternWarning', ...detail });
  }
}

/** Counts loads and refusals since the timetable was opened. */
export class Activity {
  readonly loads: Record<LoadResult, number> = { published: 0, unchanged: 0, refused: 0, failed: 0 };
  readonly refusals: Record<RefusalCode, number> = {
    empty: 0,
    shrunk: 0,
    rejected: 0,
    memory: 0,
  };
}
