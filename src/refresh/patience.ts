import { statNow } from '../base/files/file-calls.js';
import { UPSTREAM_HEADERS_MS_MAX, UPSTREAM_IDLE_MS_MAX, UPSTREAM_TOTAL_MS_MAX } from '../base/limits.js';
import type { HttpSpec } from '../source/http.js';
import type { FileSpec, MergedSpec, SourceSpec } from '../source/spec.js';

/** Shortest time limit of a regular load: with the pause of 1 s, a hang ends within the interval plus five seconds. */
const UPSTREAM_QUICK_MS_MIN = 4000;

/** Time limits of an upstream or a file at each stage of a load; see {@link HttpSpec}. */
export type TimeLimits = Required<Pick<HttpSpec, 'headersMsMax' | 'idleMsMax' | 'totalMsMax'>>;

/** While loads fail, one of this many attempts gets the full time. */
const ATTEMPTS = 5;
const STAGE_SHARE = 0.9;

/**
 * Time limit of an upstream that is asked regularly: the interval, or twice the longest load if that is
 * longer. So a hanging upstream is soon asked again. Every fifth attempt gets the full time, because the
 * upstream may have become slower.
 */
export class Patience {
  readonly #intervalMs: number;
  #longestMs: number | null = null;
  #failures = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** @param ms duration of the load; null if it did not read all data */
  succeeded(ms: number | null): void {
    this.#failures = 0;
    if (ms !== null) this.#longestMs = Math.max(ms, this.#longestMs ?? 0);
  }

  failed(): void {
    this.#failures++;
  }

  /** The limits of the next load; null for the full time. */
  get limits(): TimeLimits | null {
    const isLast = this.#failures % ATTEMPTS === ATTEMPTS - 1;
    if (this.#intervalMs <= 0 || this.#longestMs === null || isLast) return null;
    const ms = Math.round(Math.max(UPSTREAM_QUICK_MS_MIN, this.#intervalMs, 2 * this.#longestMs));
    // Each stage gets slightly less time, so that a hang is not reported as a slow load.
    const stageMs = Math.round(STAGE_SHARE * ms);
    return {
      headersMsMax: Math.min(stageMs, UPSTREAM_HEADERS_MS_MAX),
      idleMsMax: Math.min(stageMs, UPSTREAM_IDLE_MS_MAX),
      totalMsMax: Math.min(ms, UPSTREAM_TOTAL_MS_MAX),
    };
  }
}

type PartSpec = Exclude<SourceSpec, MergedSpec>;

/** The source with a change to each of its parts. */
export function mapParts(spec: SourceSpec, change: (part: PartSpec) => SourceSpec): SourceSpec {
  return spec.kind === 'merged'
    ? { ...spec, specs: spec.specs.map((each) => mapParts(each, change)) }
    : change(spec);
}

/** The source with these limits, unless the source has its own limits. */
export function withTimeLimits(spec: SourceSpec, limits: TimeLimits): SourceSpec {
  const { headersMsMax, ...ofFiles } = limits;
  return mapParts(spec, (part) => {
    const own = Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
    return part.kind === 'http' || part.kind === 'postgres'
      ? { ...limits, ...(own as unknown as HttpSpec) }
      : { ...ofFiles, ...(own as unknown as FileSpec) };
  });
}

/**
 * The source with its pipes marked: a pipe is read only if it was at its path when the timetable was opened,
 * as for `lectern serve <(command)`. A pipe that later replaces a file is a mistake.
 */
export function withPipes(spec: SourceSpec): SourceSpec {
  return mapParts(spec, (part) =>
    part.kind === 'file' ? { ...part, isPipe: part.isPipe ?? isPipe(part.path) } : part,
  );
}

export function isPipe(path: string): boolean {
  try {
    return path !== '-' && statNow(path)?.isFIFO() === true;
  } catch {
    return false;
  }
}
