import { ChangeMessages } from '../answer/change-messages.js';
import { checkText } from '../answer/object-form.js';
import type { ChangeCounts, LiveViews } from '../answer/present.js';
import { optionInvalid } from '../base/errors.js';
import { CHANGES_WAITING_MAX } from '../base/limits.js';
import { keepingProcessAlive } from '../refresh/refresher.js';
import type { ChangeSet } from './query-types.js';

/** The start and the end of a loop over changes. */
export interface ChangesOptions {
  /** Id of the snapshot that the program knows: the changes since then come first. Default: only new changes. */
  readonly since?: string | undefined;
  /** Ends the loop. */
  readonly signal?: AbortSignal | undefined;
}

/** Changes that are too many to list, that a slow loop missed, or that are no longer known: read everything again. */
export interface MissedChanges {
  /** Id of the past snapshot; null if unknown. */
  readonly from: string | null;
  /** Id of the later snapshot. */
  readonly to: string;
  /** Marks a change without lists. */
  readonly readAnew: true;
  /** Numbers of events; null if unknown. */
  readonly counts: ChangeCounts | null;
}

/** What one publication changed. */
export type TimetableChange = ChangeSet | MissedChanges;

interface Waiting {
  readonly from: string | null;
  readonly to: string;
  /** Null if the changes were missed. */
  readonly json: Buffer | null;
}

function changeOf({ from, to, json }: Waiting): TimetableChange {
  if (json === null) return { from, to, readAnew: true, counts: null };
  return JSON.parse(json.toString('utf8')) as TimetableChange;
}

/** All loops over the changes of a timetable. */
export class ChangeLoops {
  readonly #views: LiveViews;
  readonly #messages: ChangeMessages;
  readonly #closing = new AbortController();

  constructor(views: LiveViews) {
    this.#views = views;
    this.#messages = new ChangeMessages(views);
  }

  /** Each loop over the result starts with the next publication, or with the changes after `since`. */
  over(options: ChangesOptions): AsyncIterable<TimetableChange> {
    const { since, signal, ...others } = options;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) {
      const problem = `changes() has no option ${JSON.stringify(unknown)}; expected since or signal`;
      throw optionInvalid(problem);
    }
    if (since !== undefined) checkText('since', 'changes', 'the id of a snapshot', since);
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw optionInvalid('signal of changes() must be an AbortSignal');
    }
    return { [Symbol.asyncIterator]: () => this.#loop(options) };
  }

  /** Ends all loops. Changes that already wait can still be taken. */
  end(): void {
    this.#closing.abort();
  }

  /** One publication at a time. If too many wait, one {@link MissedChanges} replaces them all. */
  #loop({
    since,
    signal = this.#closing.signal,
  }: ChangesOptions): AsyncGenerator<TimetableChange, undefined> {
    const leaving = new AbortController();
    const ended = AbortSignal.any([signal, leaving.signal, this.#closing.signal]);
    /** Null before the first publication. */
    let snapshotId = since ?? this.#views.view?.summary.id ?? null;
    let waiting: Waiting[] = [];
    let wake = (): void => {};
    const look = (isPublication: boolean): void => {
      const { view } = this.#views;
      if (view === null) return;
      const [from, to] = [snapshotId, view.summary.id];
      snapshotId = to;
      // A publication may change only the rejections.
      if (from === null || from === to) return;
      const { json } = this.#messages.since(view, from, isPublication);
      if (waiting.length < CHANGES_WAITING_MAX) waiting.push({ from, to, json });
      else waiting = [{ from: waiting[0]?.from ?? null, to, json: null }];
      wake();
    };
    async function* changes(): AsyncGenerator<TimetableChange, undefined> {
      for (;;) {
        const next = waiting.shift();
        if (next !== undefined) yield changeOf(next);
        else if (ended.aborted) return;
        else
          await keepingProcessAlive(
            new Promise<void>((resolve) => {
              wake = resolve;
            }),
          );
      }
    }
    const loop = changes();
    if (ended.aborted) return loop;
    const leave = loop.return.bind(loop);
    const unlisten = this.#views.listen(() => look(true));
    ended.addEventListener('abort', () => {
      unlisten();
      wake();
    });
    look(false);
    return Object.assign(loop, {
      return(value: undefined) {
        waiting = [];
        // A call of next() that still waits comes to its end.
        leaving.abort();
        return leave(value);
      },
    });
  }
}
