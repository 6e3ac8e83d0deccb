import { UPSTREAM_HEADERS_MS_MAX, UPSTREAM_IDLE_MS_MAX, UPSTREAM_TOTAL_MS_MAX } from '../limits.js';
import type { HttpSpec } from '../source/http.js';
import type { SourceSpec } from '../source/spec.js';

/** Least time of a regular load: with the pause of 1 s, a hang ends within the interval and five seconds. */
const UPSTREAM_QUICK_MS_MIN = 4000;

/** How long an upstream, or a file, may take at each stage of a load; see {@link HttpSpec}. */
export type TimeLimits = Required<Pick<HttpSpec, 'headersMsMax' | 'idleMsMax' | 'totalMsMax'>>;

/** Of so many attempts in a row that fail, the last has all the time that there is. */
const ATTEMPTS = 5;
/** Of the whole time, for one stage. */
const STAGE_SHARE = 0.9;

/**
 * How long to wait for an upstream that is asked regularly.
 *
 * One that hangs would keep a timetable from being fresh for as long as anybody has patience, also when it is well again and
 * would answer the next request at once. So it gets no more than the interval, or twice what it ever took to give the
 * whole data: then it is asked anew. It may have become slower, or its data larger; so now and then it gets all the time
 * that there is, and what it takes then is known.
 */
export class Patience {
  readonly #intervalMs: number;
  /** The longest load of the whole data so far. */
  #longestMs: number | null = null;
  #failures = 0;

  /** @param intervalMs between two loads; 0 for no regular ones */
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

  /** For the next load; null for as long as there is. */
  get limits(): TimeLimits | null {
    if (this.#intervalMs <= 0 || this.#longestMs === null || this.#failures % ATTEMPTS === ATTEMPTS - 1)
      return null;
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

/** The source with these limits, where it has none of its own. */
export function withTimeLimits(spec: SourceSpec, limits: TimeLimits): SourceSpec {
  switch (spec.kind) {
    case 'http': {
      const own = Object.entries(spec).filter(([, value]) => value !== undefined);
      return { ...limits, ...(Object.fromEntries(own) as typeof spec) };
    }
    case 'file': {
      const { idleMsMax = limits.idleMsMax, totalMsMax = limits.totalMsMax } = spec;
      return { ...spec, idleMsMax, totalMsMax };
    }
    case 'merged':
      return { ...spec, specs: spec.specs.map((each) => withTimeLimits(each, limits)) };
    default:
      return spec;
  }
}
