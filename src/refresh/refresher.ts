import { TIMER_MS_MAX } from '../model/clock.js';

/** Options of `refresh`. */
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

/** Each pause varies by up to this share, so that replicas do not ask at the same time. */
const JITTER_SHARE = 0.1;
/** The first pause after a failure. Further pauses double, up to the interval. */
const BACK_OFF_MS_MIN = 1000;

/**
 * Runs refreshes one at a time. Requests during a refresh share the next one, because their changes may come too
 * late for the present one. No timer here keeps a process alive.
 */
export class Refresher<Outcome extends RefreshOutcome = RefreshOutcome> {
  readonly #refresh: (force: boolean) => Promise<Outcome>;
  readonly #intervalMs: number;
  readonly #random: () => number;
  #running: Promise<Outcome> | null = null;
  #next: Promise<Outcome | null> | null = null;
  #nextIsForced = false;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  /** @param refresh never rejects */
  constructor(
    refresh: (force: boolean) => Promise<Outcome>,
    intervalMs: number,
    random: () => number = Math.random,
  ) {
    this.#refresh = refresh;
    this.#intervalMs = intervalMs;
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

  /** Ends the timers. Resolves when a running refresh has ended; the caller aborts it. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#next;
  }

  #run(force: boolean): Promise<Outcome> {
    clearTimeout(this.#timer);
    const beganMs = performance.now();
    this.#running = this.#refresh(force).then((outcome) => {
      this.#running = null;
      this.#failures = outcome.failed ? this.#failures + 1 : 0;
      this.#schedule(outcome, performance.now() - beganMs);
      return outcome;
    });
    return this.#running;
  }

  #schedule({ retryAfterMs, dueMs }: Outcome, spentMs: number): void {
    const regular = pauseMs(this.#intervalMs, this.#failures, retryAfterMs, this.#random(), spentMs);
    const due = dueMs === null ? null : Math.max(dueMs, retryAfterMs ?? 0);
    const pauses = [regular, due].filter((pause) => pause !== null);
    if (pauses.length === 0 || this.#closed) return;
    this.#timer = setTimeout(() => void this.request(), Math.min(...pauses, TIMER_MS_MAX)).unref();
  }
}

/**
 * The pause before the next load in milliseconds; null for never. A failed source is asked again soon, then less
 * often, but at least as often as a healthy one. After a failure `spentMs` is deducted, because a long hang needs no
 * long pause.
 */
export function pauseMs(
  intervalMs: number,
  failures: number,
  retryAfterMs: number | null,
  random: number,
  spentMs = 0,
): number | null {
  if (intervalMs <= 0) return null;
  const regular = failures === 0 ? intervalMs : Math.min(intervalMs, BACK_OFF_MS_MIN * 2 ** (failures - 1));
  const rest = failures === 0 ? regular : Math.max(Math.min(regular, BACK_OFF_MS_MIN), regular - spentMs);
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
