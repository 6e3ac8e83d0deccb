import { retryPauseMs } from '../limits.js';

/** Each pause varies by up to this share, so that many processes do not try again at the same time. */
const JITTER_SHARE = 0.1;

/** @param random from 0 to 1 */
export function jittered(ms: number, random: number): number {
  return ms * (1 + JITTER_SHARE * (2 * random - 1));
}

/**
 * Tries something again after failures, with growing pauses, until it succeeds or is closed. The timer does not
 * keep the process alive.
 */
export class Retry {
  readonly #attempt: () => void;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param attempt must call `failed` or `succeeded` */
  constructor(attempt: () => void) {
    this.#attempt = attempt;
  }

  failed(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    const pauseMs = jittered(retryPauseMs(++this.#failures), Math.random());
    this.#timer = setTimeout(this.#attempt, pauseMs).unref();
  }

  succeeded(): void {
    clearTimeout(this.#timer);
    this.#failures = 0;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#isClosed = true;
  }
}
