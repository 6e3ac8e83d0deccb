import { RETRY_MS_MIN, retryPauseMs } from '../base/limits.js';
import { TIMER_MS_MAX } from '../base/model/clock.js';

export interface RefreshOptions {
  /** Publish without the checks of the gate. Default false. */
  readonly force?: boolean;
}

export interface RefreshOutcome {
  readonly failed: boolean;
  /** The time from the source's Retry-After, or null. */
  readonly retryAfterMs: number | null;
  /** The time until the next load is due for another reason, or null. */
  readonly dueMs: number | null;
}

/**
 * After a patch, the next one waits three times as long as the patch took, at most 2 s, so patches take at
 * most a quarter of a processor.
 */
export const PATCH_PAUSE_FACTOR = 3;
/** The fastest of the last patches counts; the others waited for a processor or for compiled code. */
export const PATCH_TIMES_KEPT = 4;
export const PATCH_PAUSE_MS_MAX = 2000;
/**
 * Shortest pause after a patch. Changes during a pause share the next patch. With this pause,
 * SNAPSHOTS_KEPT_MAX snapshots reach back 84 s.
 */
export const PATCH_PAUSE_MS_MIN = 330;

/**
 * Runs refreshes one at a time. Requests during a refresh share the next one, because their changes may come too
 * late for the present one. Only a waiting change keeps the process alive; otherwise a program that awaits its
 * publication would end.
 */
export class Refresher<Outcome extends RefreshOutcome = RefreshOutcome> {
  readonly #refresh: (force: boolean) => Promise<Outcome>;
  readonly #intervalMs: number;
  readonly #failedMsMax: number;
  readonly #random: () => number;
  #running: Promise<Outcome> | null = null;
  #next: Promise<Outcome | null> | null = null;
  #nextIsForced = false;
  #timer: NodeJS.Timeout | undefined;
  /** A change waits for its refresh. */
  #isChanged = false;
  #changeTimer: NodeJS.Timeout | undefined;
  /** When the next change may be refreshed. */
  #readyMs = 0;
  /** How long the last patches took, in milliseconds. */
  #patchesMs: readonly number[] = [];
  #failures = 0;
  #closed = false;

  /**
   * @param refresh never rejects
   * @param intervalMs 0 for no regular refreshes
   * @param failedMsMax longest pause after a failure; 0 if a failed refresh is not tried again
   */
  constructor(
    refresh: (force: boolean) => Promise<Outcome>,
    intervalMs: number,
    random: () => number = Math.random,
    failedMsMax: number = intervalMs,
  ) {
    this.#refresh = refresh;
    this.#intervalMs = intervalMs;
    this.#failedMsMax = failedMsMax;
    this.#random = random;
  }

  /** @returns how the refresh of this call ended; null if the refresher was closed first */
  request(force = false): Promise<Outcome | null> {
    if (this.#closed) return Promise.resolve(null);
    // Joins a waiting refresh, even between two runs.
    if (this.#running === null && this.#next === null) return this.#run(force);
    this.#nextIsForced ||= force;
    this.#next ??= (this.#running ?? Promise.resolve()).then(() => {
      const forced = this.#nextIsForced;
      this.#next = null;
      this.#nextIsForced = false;
      return this.#closed ? null : this.#run(forced);
    });
    return this.#next;
  }

  /**
   * The source has changed. Changes of one turn of the event loop share one refresh, and so do changes during a
   * refresh and during the pause after a patch.
   */
  changed(): void {
    if (this.#isChanged || this.#closed) return;
    this.#isChanged = true;
    if (this.#running === null) this.#scheduleChange();
  }

  /** The present refresh was a patch. The pause after it is proportional, so that many changes cause few patches. */
  pauseAfter(patchMs: number): void {
    this.#patchesMs = [...this.#patchesMs, patchMs].slice(-PATCH_TIMES_KEPT);
    const pauseMs = PATCH_PAUSE_FACTOR * Math.min(...this.#patchesMs);
    this.#readyMs = performance.now() + Math.min(Math.max(pauseMs, PATCH_PAUSE_MS_MIN), PATCH_PAUSE_MS_MAX);
  }

  /** Ends the timers. Resolves when a running refresh has ended; the caller aborts it. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#changeTimer);
    await this.#running;
    await this.#next;
  }

  #run(force: boolean): Promise<Outcome> {
    clearTimeout(this.#timer);
    clearTimeout(this.#changeTimer);
    // It includes all changes so far.
    this.#isChanged = false;
    const beganMs = performance.now();
    this.#running = this.#refresh(force).then((outcome) => {
      this.#running = null;
      this.#failures = outcome.failed ? this.#failures + 1 : 0;
      this.#schedule(outcome, performance.now() - beganMs);
      if (this.#isChanged) this.#scheduleChange();
      return outcome;
    });
    return this.#running;
  }

  #scheduleChange(): void {
    if (this.#closed) return;
    const waitMs = Math.max(0, this.#readyMs - performance.now());
    this.#changeTimer = setTimeout(() => void this.request(), waitMs);
  }

  #schedule({ retryAfterMs, dueMs }: Outcome, spentMs: number): void {
    const msMax = this.#failures === 0 ? this.#intervalMs : this.#failedMsMax;
    const regular = pauseMs(msMax, this.#failures, retryAfterMs, this.#random(), spentMs);
    const due = dueMs === null ? null : Math.max(dueMs, retryAfterMs ?? 0);
    const pauses = [regular, due].filter((pause) => pause !== null);
    if (pauses.length === 0 || this.#closed) return;
    this.#timer = setTimeout(() => void this.request(), Math.min(...pauses, TIMER_MS_MAX)).unref();
  }
}

/** Each pause varies by up to this share, so that many processes do not try again at the same time. */
const JITTER_SHARE = 0.1;

/**
 * The pause before the next load in milliseconds; null for never. A failed source is asked again soon, then less
 * often, but at least as often as a healthy one. After a failure `spentMs` is deducted, because a long hang needs no
 * long pause.
 *
 * @param msMax the interval, or the longest pause after a failure
 */
export function pauseMs(
  msMax: number,
  failures: number,
  retryAfterMs: number | null,
  random: number,
  spentMs = 0,
): number | null {
  if (msMax <= 0) return null;
  const regular = failures === 0 ? msMax : retryPauseMs(failures, msMax);
  const rest = failures === 0 ? regular : Math.max(Math.min(regular, RETRY_MS_MIN), regular - spentMs);
  const jittered = rest * (1 + JITTER_SHARE * (2 * random - 1));
  return Math.min(Math.round(Math.max(jittered, retryAfterMs ?? 0)), TIMER_MS_MAX);
}

/** Keeps the process alive during an `await`. Promises, threads and timers of a refresh do not. */
export async function keepingProcessAlive<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, TIMER_MS_MAX);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}
