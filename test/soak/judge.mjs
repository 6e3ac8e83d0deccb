/**
 * The verdict of a soak on memory, from regular measurements of the service. A pure function, so that tests
 * can show that it finds a leak.
 *
 * Each measurement follows a full collection, so it varies little: 0.2 MB without clients. Resident memory
 * includes memory kept by the allocator, and jumps by some MB.
 */
import { fitOf } from './slope.mjs';

const MB = 1_000_000;
const MINUTES_PER_HOUR = 60;

/** The fewest measurements in the second half for a meaningful line. */
export const LOOKS_MIN = 4;
/** A shorter run is all warm-up: code is compiled and caches fill, for which some MB are allowed. */
const WARM_UP_MINUTES = 10;

/**
 * Allowed growth of each kind of memory over the second half, in MB an hour; and in MB in total during
 * warm-up.
 *
 * - The heap: the promised limit. A part of the growth is code: V8 compiles functions that are called often,
 *   and in every run so far it never stopped. - The heap without this code: here a leak of Lectern would
 *   show, and noise is least. V8's count of code includes memory outside the heap and excludes other memory
 *   of functions. So the level is 2 MB too low, but the slope is right.
 * - Buffers and other memory outside the heap, mainly snapshots. If one of the 300 snapshots of an hour (20,000 events, 15 MB) is never
 *   released, this limit finds it.
 * - Resident: 64 MB an hour are 32 bytes for each of 550 requests a second. A leak of native code per request, connection or
 *   publication would be larger.
 */
export const LIMITS = {
  heapUsed: { mbPerHourMax: 1, warmUpMb: 6 },
  heapWithoutCode: { mbPerHourMax: 0.5, warmUpMb: 3 },
  arrayBuffers: { mbPerHourMax: 8, warmUpMb: 32 },
  external: { mbPerHourMax: 8, warmUpMb: 32 },
  rss: { mbPerHourMax: 64, warmUpMb: 128 },
};

/** Distance from the limit, in standard errors, at which a result counts: wrong by chance in 1 of 40 cases. */
const ERRORS = 2;

/**
 * @param {readonly object[]} looks `hours` since the start, and bytes by the names of LIMITS
 * @param {number} minutes planned length of the run
 * @returns {{ faults: string[], undecided: string[], figures: Record<string, object> }} the exceeded limits; limits that may be exceeded
 *   by chance; and for each kind of memory its slope, the standard error, whether a run of this length
 *   is long enough, and how many minutes would be
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
 * The length of a run at which twice the error of its second half equals the limit: with measurements at
 * equal intervals the error falls with time to the power of 3/2.
 */
function minutesToTell(error, hours, mbPerHourMax) {
  return Math.ceil(2 * hours * MINUTES_PER_HOUR * ((ERRORS * error) / mbPerHourMax) ** (2 / 3));
}

function rounded(value) {
  return Number(value.toFixed(3));
}
