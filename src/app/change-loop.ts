import { ChangeMessages } from '../answer/change-messages.js';
import { checkText } from '../answer/object-form.js';
import type { ChangeCounts, LiveViews } from '../answer/present.js';
import { LecternError } from '../errors.js';
import { CHANGES_WAITING_MAX } from '../limits.js';
import { TIMER_MS_MAX } from '../model/clock.js';
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

type Result = IteratorResult<TimetableChange, undefined>;

/**
 * The publications of a timetable, one at a time. If too many wait, one {@link MissedChanges} replaces them
 * all.
 */
export class ChangeLoop implements AsyncIterableIterator<TimetableChange, undefined> {
  readonly #views: LiveViews;
  readonly #messages: ChangeMessages;
  readonly #onEnd: (loop: ChangeLoop) => void;
  readonly #unlisten: () => void;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => this.end();
  /** Null before the first publication. */
  #snapshotId: string | null;
  #waiting: Waiting[] = [];
  /** Calls of next() that still wait for a change. */
  #asking: ((result: Result) => void)[] = [];
  /** Keeps the process alive while next() waits for a publication. */
  #alive: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /** @param messages shared by all loops */
  constructor(
    views: LiveViews,
    messages: ChangeMessages,
    { since, signal }: ChangesOptions,
    onEnd: (loop: ChangeLoop) => void,
  ) {
    this.#views = views;
    this.#messages = messages;
    this.#onEnd = onEnd;
    this.#signal = signal;
    this.#snapshotId = since ?? views.view?.summary.id ?? null;
    this.#unlisten = views.listen(() => this.#look(true));
    if (signal?.aborted) this.end();
    signal?.addEventListener('abort', this.#abort, { once: true });
    this.#look(false);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) return Promise.resolve({ done: false, value: changeOf(waiting) });
    if (this.#hasEnded) return Promise.resolve({ done: true, value: undefined });
    this.#alive ??= setInterval(() => {}, TIMER_MS_MAX);
    return new Promise((resolve) => this.#asking.push(resolve));
  }

  return(): Promise<Result> {
    this.#waiting = [];
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the loop. Changes that already wait can still be taken. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#unlisten();
    this.#signal?.removeEventListener('abort', this.#abort);
    for (const resolve of this.#asking) resolve({ done: true, value: undefined });
    this.#asking = [];
    this.#rest();
    this.#onEnd(this);
  }

  #rest(): void {
    clearInterval(this.#alive);
    this.#alive = undefined;
  }

  #look(isPublication: boolean): void {
    const { view } = this.#views;
    if (view === null || this.#hasEnded) return;
    const from = this.#snapshotId;
    const to = view.summary.id;
    this.#snapshotId = to;
    // A publication may change only the rejections.
    if (from === null || from === to) return;
    const { json } = this.#messages.since(view, from, isPublication);
    const waiting: Waiting = { from, to, json };
    const asking = this.#asking.shift();
    if (this.#asking.length === 0) this.#rest();
    if (asking !== undefined) asking({ done: false, value: changeOf(waiting) });
    else if (this.#waiting.length < CHANGES_WAITING_MAX) this.#waiting.push(waiting);
    else this.#waiting = [{ from: this.#waiting[0]?.from ?? null, to, json: null }];
  }
}

function changeOf({ from, to, json }: Waiting): TimetableChange {
  if (json === null) return { from, to, readAnew: true, counts: null };
  return JSON.parse(json.toString('utf8')) as TimetableChange;
}

/** All loops of a timetable. */
export class ChangeLoops {
  readonly #views: LiveViews;
  readonly #messages: ChangeMessages;
  readonly #open = new Set<ChangeLoop>();

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
      throw new LecternError('option-invalid', problem);
    }
    if (since !== undefined) checkText('since', 'changes', 'the id of a snapshot', since);
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new LecternError('option-invalid', 'signal of changes() must be an AbortSignal');
    }
    return {
      [Symbol.asyncIterator]: () => {
        const loop = new ChangeLoop(this.#views, this.#messages, options, (ended) =>
          this.#open.delete(ended),
        );
        this.#open.add(loop);
        return loop;
      },
    };
  }

  end(): void {
    for (const loop of this.#open) loop.end();
  }
}
