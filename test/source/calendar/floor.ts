/** What expansions of rules are measured against. */
import { OCCURRENCES_MAX } from '../../../src/base/limits.js';
import { derivedIdentifier } from '../../../src/base/model/derived-identifier.js';

/** Means 50 ms: the floor took 8.4 to 10 ms of processor time where this was written. */
export const RATIO_MAX = 6;
const RUNS = 5;

export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The digests of the identifiers of all occurrences, alone. */
function digests(): void {
  for (let n = 0; n < OCCURRENCES_MAX; n++) derivedIdentifier('id', `event ${n}`);
}

/** The least of several runs, in turns with the floor: the first have cold code, and other processes only add. */
export function leastMs(measure: () => number): { readonly spentMs: number; readonly floorMs: number } {
  let [spentMs, floorMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const isNoisy = (): boolean => spentMs > RATIO_MAX * floorMs;
  for (let run = 0; run < RUNS || (isNoisy() && run < 8 * RUNS); run++) {
    spentMs = Math.min(spentMs, measure());
    floorMs = Math.min(floorMs, cpuMs(digests));
  }
  return { spentMs, floorMs };
}
