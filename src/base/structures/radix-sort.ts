import { scratch } from './slabs.js';

const DIGIT_BITS = 16;
const DIGIT_VALUES = 1 << DIGIT_BITS;
const WORD_BITS = 32;
const WORD_VALUES = 2 ** WORD_BITS;
const MINUTE_MS = 60_000;
/** Below this number of keys, sorting by comparison is faster. */
const COUNT_MIN = 4096;

/**
 * Sorts `order` by `keys[order[i]]`, stably: 16 bits at a time, least significant first. Keys are integers
 * below 2^53. O(n) per digit; a digit that all keys share costs one counting pass.
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
  for (let word = 0; word === 0 || keyMax >= WORD_VALUES ** word; word++) {
    for (let shift = 0; shift < WORD_BITS; shift += DIGIT_BITS) {
      const next = new Uint32Array(DIGIT_VALUES + 1);
      for (let i = 0; i < count; i++) next[digitAt(keys[from[i]!]!, word, shift) + 1]!++;
      if (next.indexOf(count) !== -1) continue;
      for (let digit = 0; digit < DIGIT_VALUES; digit++) next[digit + 1]! += next[digit]!;
      for (let i = 0; i < count; i++) {
        const index = from[i]!;
        to[next[digitAt(keys[index]!, word, shift)]!++] = index;
      }
      [from, to] = [to, from];
    }
  }
  if (from !== order) order.set(from);
}

/** `>>>` takes a number modulo 2^32, so only the upper word needs a division. */
function digitAt(key: number, word: number, shift: number): number {
  return ((word === 0 ? key : Math.floor(key / WORD_VALUES)) >>> shift) & (DIGIT_VALUES - 1);
}

/** Sorts by (start, end), stably. Starts and ends are integers, and each end is at or after its start. */
export function sortByIntervals(order: Uint32Array, starts: Float64Array, ends: Float64Array): void {
  let startMin = Number.POSITIVE_INFINITY;
  for (const start of starts) if (start < startMin) startMin = start;
  // Whole minutes have fewer digits.
  const unit = isWhole(starts, MINUTE_MS) && isWhole(ends, MINUTE_MS) ? MINUTE_MS : 1;
  const keys = scratch.float64(starts.length);
  for (let i = 0; i < keys.length; i++) keys[i] = (ends[i]! - starts[i]!) / unit;
  radixSort(order, keys);
  for (let i = 0; i < keys.length; i++) keys[i] = (starts[i]! - startMin) / unit;
  radixSort(order, keys);
}

function isWhole(values: Float64Array, unit: number): boolean {
  for (let i = 0; i < values.length; i++) if (values[i]! % unit !== 0) return false;
  return true;
}
