import { gallop } from './search.js';

/**
 * Sets of ordinals: ascending lists, and runs. Runs are pairs [first, end) in one array, ascending, disjoint and not
 * touching.
 */

/** How many ordinals the runs hold. */
export function countRuns(runs: Uint32Array): number {
  let count = 0;
  for (let r = 0; r < runs.length; r += 2) count += runs[r + 1]! - runs[r]!;
  return count;
}

/** How many ordinals of list[low, high) lie within the runs. O(runs × log list). */
export function countWithinRuns(list: Uint32Array, low: number, high: number, runs: Uint32Array): number {
  let count = 0;
  let at = low;
  for (let r = 0; r < runs.length && at < high; r += 2) {
    const first = gallop(list, runs[r]!, at, high);
    at = gallop(list, runs[r + 1]!, first, high);
    count += at - first;
  }
  return count;
}

/**
 * Writes to `out` where the ordinals of list[low, high) that lie within the runs stand, counted from `low`; there are
 * countWithinRuns of them.
 */
export function positionsWithinRuns(
  list: Uint32Array,
  low: number,
  high: number,
  runs: Uint32Array,
  out: Uint32Array,
): void {
  let written = 0;
  let at = low;
  for (let r = 0; r < runs.length && at < high; r += 2) {
    const first = gallop(list, runs[r]!, at, high);
    at = gallop(list, runs[r + 1]!, first, high);
    for (let position = first - low; position < at - low; position++) out[written++] = position;
  }
}

/**
 * Sorts list[0, count) and takes out repeats, in place.
 *
 * @param universe ordinals are below it. A list of more than a 32nd of them is put through a bitmap: O(universe / 32 +
 *   count); a shorter one is sorted.
 * @returns how many are left
 */
export function sortUnique(list: Uint32Array, count: number, universe: number): number {
  if (count > universe / 32) {
    const bits = new Uint32Array((universe + 31) >>> 5);
    for (let i = 0; i < count; i++) bits[list[i]! >>> 5]! |= 1 << (list[i]! & 31);
    let written = 0;
    for (let word = 0; word < bits.length; word++) {
      // Terminates: each round clears the lowest bit.
      for (let rest = bits[word]!; rest !== 0; rest &= rest - 1) {
        list[written++] = (word << 5) + 31 - Math.clz32(rest & -rest);
      }
    }
    return written;
  }
  const part = list.subarray(0, count).sort();
  let written = 0;
  for (let i = 0; i < count; i++) {
    if (i === 0 || part[i] !== part[i - 1]) list[written++] = part[i]!;
  }
  return written;
}
