/**
 * The verdict of a soak on memory, from the memory of the service at each look. Pure, so tests can show that it refuses a leak.
 *
 * A look sees the heap after a full collection, so what is left to chance is small: 0.2 MB with nobody there. What the system
 * says is resident has in it what the allocator keeps for later, and jumps by some MB.
 */
import { fitOf } from './slope.mjs';

const MB = 1_000_000;
const MINUTES_PER_HOUR = 60;

/** Looks in the second half without which a line says nothing. */
export const LOOKS_MIN = 4;
/** In a run shorter than this all of it is warming up: code is compiled and caches fill, for which some MB are allowed. */
const WARM_UP_MINUTES = 10;

/**
 * MB an hour that each may grow over the second half, and MB that it may in all of it while the service warms up.
 *
 * - The heap: what is promised. Part of it is code that V8 compiles as it sees what is called often, which goes on,
 *   ever more slowly, for as long as any run was.
 * - The heap without that code: where a leak of Lectern's would be, and what chance moves least. What V8 counts as code has some
 *   outside of the heap in it, so the level is 2 MB too low, and none of what a function has besides its code; a slope is one all the same.
 * - Buffers and other memory outside of the heap: snapshots, above all. One of 20,000 events, 15 MB, kept for good out of the 300 that
 *   an hour publishes is found.
 * - Resident: 64 MB an hour are 32 bytes for each of 550 requests a second. What native code leaks for each request, connection or
 *   publication is more than that.
 */
export const LIMITS = {
  heapUsed: { mbPerHourMax: 1, warmUpMb: 6 },
  heapWithoutCode: { mbPerHourMax: 0.5, warmUpMb: 3 },
  arrayBuffers: { mbPerHourMax: 8, warmUpMb: 32 },
  external: { mbPerHourMax: 8, warmUpMb: 32 },
  rss: { mbPerHourMax: 64, warmUpMb: 128 },
};

/** Standard errors between what was measured and the limit from which on it is believed: 1 in 40 by chance. */
const ERRORS = 2;

/**
 * @param {readonly object[]} looks `hours` since the beginning, and bytes by the names of LIMITS
 * @param {number} minutes that the run was to last
 * @returns {{ faults: string[], undecided: string[], figures: Record<string, object> }} what is refused; what is above its limit but may
 *   be chance, so that neither can be said; and for each kind of memory its slope, the standard error, whether a run of that length
 *   can tell, and how many minutes one would need
 */
export function judgeMemory(looks, minutes) {
  const half = looks.slice(Math.floor(looks.length / 2));
  const faults = [];
  const undecided = [];
  const figures = {};
  if (half.length < LOOKS_MIN) {
    return {
      faults: [`${half.length} looks in the second half; ${LOOKS_MIN} are needed to say anything`],
      undecided,
      figures,
    };
  }
  const hours = half.at(-1).hours - half[0].hours;
  for (const [name, { mbPerHourMax, warmUpMb }] of Object.entries(LIMITS)) {
    const { slope, error } = fitOf(half.map((look) => ({ x: look.hours, y: look[name] / MB })));
    const limit = mbPerHourMax + (minutes < WARM_UP_MINUTES ? warmUpMb / hours : 0);
    const canTell = ERRORS * error <= limit;
    const needed = minutesToTell(error, hours, mbPerHourMax);
    const found = `by ${slope.toFixed(2)} MB an hour, give or take ${error.toFixed(2)}; at most ${limit.toFixed(1)}`;
    if (slope - ERRORS * error > limit || (slope > limit && canTell)) faults.push(`${name} grows ${found}`);
    else if (slope > limit)
      undecided.push(`${name} may grow ${found}; a run of ${needed} minutes could tell`);
    figures[name] = {
      mbPerHour: rounded(slope),
      standardError: rounded(error),
      mbPerHourMax: rounded(limit),
      canTell,
      minutesToTell: needed,
    };
  }
  return { faults, undecided, figures };
}

/**
 * How long a run has to be so that twice the error of its second half is the limit: with looks at the same intervals the
 * error falls with the time to the power of 3/2.
 */
function minutesToTell(error, hours, mbPerHourMax) {
  return Math.ceil(2 * hours * MINUTES_PER_HOUR * ((ERRORS * error) / mbPerHourMax) ** (2 / 3));
}

function rounded(value) {
  return Number(value.toFixed(3));
}
