import {
  UPSTREAM_HEADERS_MS_MAX,
  UPSTREAM_IDLE_MS_MAX,
  UPSTREAM_QUICK_MS_MIN,
  UPSTREAM_TOTAL_MS_MAX,
} from '../limits.js';
import type { HttpSpec } from '../source/http.js';

/** How long an upstream, or a file, may take at each stage of a load; see {@link HttpSpec}. */
export type TimeLimits = Required<Pick<HttpSpec, 'headersMsMax' | 'idleMsMax' | 'totalMsMax'>>;

/** The last of so many failures in a row had all the time that there is. */
const ATTEMPTS = 5;
/** Of the whole time, for one stage. */
const STAGE_SHARE = 0.9;

/**
 * How long to wait for an upstream that is asked regularly: for the interval, or twice its longest load. So one that hangs is
 * soon asked anew, and found when it is well again. As it may have become slower, or its data larger, every fifth attempt
 * gets all the time that there is.
 */
export class Patience {
  readonly #intervalMs: number;
  #longestMs: number | null = null;
  #failures = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** @param ms how long it took; null where it was not the whole data */
  succeeded(ms: number | null): void {
    this.#failures = 0;
    if (ms !== null) this.#longestMs = Math.max(ms, this.#longestMs ?? 0);
  }

  failed(): void {
    this.#failures++;
  }

  /** For the next load; null for all the time that there is. */
  get limits(): TimeLimits | null {
    const isLast = this.#failures % ATTEMPTS === ATTEMPTS - 1;
    if (this.#intervalMs <= 0 || this.#longestMs === null || isLast) return null;
    const ms = Math.round(Math.max(UPSTREAM_QUICK_MS_MIN, this.#intervalMs, 2 * this.#longestMs));
    // A little less for each stage, so that a hang is not told as a whole that takes too long.
    const stageMs = Math.round(STAGE_SHARE * ms);
    return {
      headersMsMax: Math.min(stageMs, UPSTREAM_HEADERS_MS_MAX),
      idleMsMax: Math.min(stageMs, UPSTREAM_IDLE_MS_MAX),
      totalMsMax: Math.min(ms, UPSTREAM_TOTAL_MS_MAX),
    };
  }
}
