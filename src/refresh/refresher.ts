/** How one refresh ended, as far as the next one depends on it. */
export interface RefreshOutcome {
  readonly failed: boolean;
  /** How long the source asked to be left alone, or null. */
  readonly retryAfterMs: number | null;
}

export interface RefresherOptions<Outcome extends RefreshOutcome = RefreshOutcome> {
  /** One refresh. Never rejects. */
  readonly refresh: (force: boolean) => Promise<Outcome>;
  /** The regular pause; 0 for none. */
  readonly intervalMs: number;
  /** From 0 to 1; default Math.random. */
  readonly random?: () => number;
}

/** Each pause is made longer or shorter by up to this share, so that replicas do not ask all at once. */
const JITTER_SHARE = 0.1;
/** After a failure the pause begins here and doubles, up to the interval itself. */
const BACK_OFF_MS_MIN = 1000;
/** The longest that a timer takes, 24 days: a longer one would fire at once, over and over. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

/**
 * Runs refreshes one at a time. All requests that come during one share the next, as the change that they are made for may
 * have come too late for the one under way. No timer here keeps a process alive.
 */
export class Refresher<Outcome extends RefreshOutcome = RefreshOutcome> {
  readonly #options: RefresherOptions<Outcome>;
  #running: Promise<Outcome> | null = null;
  #next: Promise<Outcome | null> | null = null;
  #nextIsForced = false;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  constructor(options: RefresherOptions<Outcome>) {
    this.#options = options;
  }

  /**
   * Asks for a refresh now.
   *
   * @param force whether the result is published past the gate
   * @returns how the refresh ended that this call led to; null where it was closed before
   */
  request(force = false): Promise<Outcome | null> {
    if (this.#closed) return Promise.resolve(null);
    // One that waits for its turn is joined, also in the moment between two runs.
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

  /** Ends the timers. Resolves when a refresh under way has ended; the caller aborts it. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#next;
  }

  #run(force: boolean): Promise<Outcome> {
    clearTimeout(this.#timer);
    const beganMs = performance.now();
    this.#running = this.#options.refresh(force).then((outcome) => {
      this.#running = null;
      this.#failures = outcome.failed ? this.#failures + 1 : 0;
      this.#schedule(outcome.retryAfterMs, performance.now() - beganMs);
      return outcome;
    });
    return this.#running;
  }

  #schedule(retryAfterMs: number | null, spentMs: number): void {
    const { intervalMs, random = Math.random } = this.#options;
    const pause = pauseMs(intervalMs, this.#failures, retryAfterMs, random(), spentMs);
    if (pause === null || this.#closed) return;
    this.#timer = setTimeout(() => void this.request(), pause).unref();
  }
}

/**
 * The pause before the next load. A failed source is asked again soon, then less and less often, but at least as often as a
 * healthy one.
 *
 * @param intervalMs the regular pause; 0 for no regular loads, and then no retries either
 * @param failures failed loads in a row
 * @param retryAfterMs what the source asked for, or null
 * @param random from 0 to 1
 * @param spentMs how long the last load took. After a failure it counts, so that a hang is not followed by as long a pause.
 * @returns milliseconds, or null for never
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
