import { pauseMs } from './schedule.js';

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

/**
 * Runs refreshes one at a time. Whoever asks while one is under way gets another right behind it, however many ask: what
 * made them ask may have come too late for the one under way. No timer here keeps a process alive.
 */
export class Refresher<Outcome extends RefreshOutcome = RefreshOutcome> {
  readonly #options: RefresherOptions<Outcome>;
  #running: Promise<Outcome> | null = null;
  #next: Promise<Outcome | null> | null = null;
  #nextIsForced = false;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #closed = false;

  constructor(options: RefresherOptions<Outcome>) {
    this.#options = options;
  }

  /**
   * Asks for a refresh now.
   *
   * @param force whether the result is published past the gate
   * @returns when the refresh that this call led to has ended, how it ended; null where it was closed before
   */
  request(force = false): Promise<Outcome | null> {
    if (this.#closed) return Promise.resolve(null);
    // One that already waits for its turn is joined, also in the moment between two runs.
    if (this.#running === null && this.#next === null) return this.#run(force);
    this.#nextIsForced ||= force;
    this.#next ??= (this.#running ?? Promise.resolve(null)).then(() => {
      const forced = this.#nextIsForced;
      this.#next = null;
      this.#nextIsForced = false;
      return this.#closed ? null : this.#run(forced);
    });
    return this.#next;
  }

  /** Ends the timers. A refresh under way is the caller's to abort; resolves when it has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
    await this.#next;
  }

  #run(force: boolean): Promise<Outcome> {
    if (this.#timer !== null) clearTimeout(this.#timer);
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
    this.#timer = setTimeout(() => void this.request(), pause);
    this.#timer.unref();
  }
}
