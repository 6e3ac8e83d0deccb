import { scratch } from './slabs.js';

const DIGIT_BITS = 16;
const DIGIT_VALUES = 1 << DIGIT_BITS;
/** Comparison sorts fewer keys faster. */
const COUNT_MIN = 4096;

/**
 * Sorts `order` by `keys[order[i]]`, stably: 16 bits at a time, least significant first. Keys are integers below 2^53.
 * O(n) per digit; a digit that all keys share costs one counting pass.
 */
export function radixSort(order: Uint32Array, keys: Float64Array): void {
  const count = order.length;
  if (count < COUNT_MIN) {
    order.sort((a, b) => keys[a]! - keys[b]!);
    return;
  }
  let keyMax = 0;
  for (let i = 0; i < count; i++) keyMax = Math.max(keyMax, keys[order[i]!]!);
  let from: Uint32Array = order;
  let to: Uint32Array = scratch.uint32(count);
  for (let divisor = 1; divisor <= keyMax; divisor *= DIGIT_VALUES) {
    const next = new Uint32Array(DIGIT_VALUES + 1);
    for (let i = 0; i < count; i++) next[digitAt(keys[from[i]!]!, divisor) + 1]!++;
    if (next.indexOf(count) !== -1) continue;
    for (let digit = 0; digit < DIGIT_VALUES; digit++) next[digit + 1]! += next[digit]!;
    for (let i = 0; i < count; i++) {
      const index = from[i]!;
      to[next[digitAt(keys[index]!, divisor)]!++] = index;
    }
    [from, to] = [to, from];
  }
  if (from !== order) order.set(from);
}

function digitAt(key: number, divisor: number): number {
  return Math.floor(key / divisor) % DIGIT_VALUES;
}

/** Sorts by (start, end), stably. All are integers, each end at or after its start. */
export function sortByIntervals(order: Uint32Array, starts: Float64Array, ends: Float64Array): void {
  let startMin = Number.POSITIVE_INFINITY;
  for (const start of starts) if (start < startMin) startMin = start;
  const keys = scratch.float64(starts.length);
  for (let i = 0; i < keys.length; i++) keys[i] = ends[i]! - starts[i]!;
  radixSort(order, keys);
  for (let i = 0; i < keys.length; i++) keys[i] = starts[i]! - startMin;
  radixSort(order, keys);
}
