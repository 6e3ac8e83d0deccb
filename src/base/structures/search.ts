/** The first index in [low, high) with a value of at least `target`, or `high`. */
export function lowerBound(
  values: Float64Array | Uint32Array,
  target: number,
  low = 0,
  high: number = values.length,
): number {
  let from = low;
  let to = high;
  // Invariant: values before `from` are less, values from `to` on are not. The gap halves.
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle]! < target) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Like lowerBound, in O(log distance) from `low`. */
export function gallop(values: Uint32Array, target: number, low: number, high: number): number {
  let stride = 1;
  let from = low;
  while (from + stride <= high && values[from + stride - 1]! < target) {
    from += stride;
    stride *= 2;
  }
  return lowerBound(values, target, from, Math.min(from + stride, high));
}

/**
 * The first number from `low` on for which `holds` returns true, or `high`. `holds` must return true for all
 * later numbers.
 */
export function firstWhere(low: number, high: number, holds: (n: number) => boolean): number {
  let from = low;
  let to = high;
  // Invariant: false before `from`, true from `to` on. The gap halves.
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
