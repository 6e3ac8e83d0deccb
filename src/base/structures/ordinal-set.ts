import { gallop } from './search.js';

/** `runs` are pairs [first, end): ascending, disjoint and not adjacent. */
export function countRuns(runs: Uint32Array): number {
  let count = 0;
  for (let r = 0; r < runs.length; r += 2) count += runs[r + 1]! - runs[r]!;
  return count;
}

/**
 * Finds the ordinals of list[low, high) that lie in the runs, writes their places (minus `offset`) to `out`, and
 * returns their number. Galloping over list and runs takes O(fewer × log(more / fewer)) plus the output.
 */
export function positionsWithinRuns(
  list: Uint32Array,
  low: number,
  high: number,
  runs: Uint32Array,
  offset: number,
  out: Uint32Array,
): number {
  let written = 0;
  let at = low;
  let bound = 0;
  // Invariant: boundaries before `bound` are at most list[at]. Terminates: each round advances `at` and `bound`.
  while (at < high) {
    bound = gallop(runs, list[at]! + 1, bound, runs.length);
    if (bound === runs.length) break;
    const next = gallop(list, runs[bound]!, at + 1, high);
    if (bound % 2 === 1) for (let p = at; p < next; p++) out[written++] = p - offset;
    at = next;
  }
  return written;
}

/**
 * Sorts list[0, count) in place without repeats and returns the new length. Ordinals are below `universe`.
 * Lists longer than a 32nd of `universe` are sorted by a bitmap.
 */
export function sortUnique(list: Uint32Array, count: number, universe: number): number {
  if (count > universe / 32) {
    const bits = new Uint32Array((universe + 31) >>> 5);
    for (let i = 0; i < count; i++) bits[list[i]! >>> 5]! |= 1 << (list[i]! & 31);
    let written = 0;
    for (let word = 0; word < bits.length; word++) {
      // Each round clears the lowest bit.
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
