/** The first index from `low` on whose value is not less than `target`, or `high`. */
export function lowerBound(
  values: Float64Array | Uint32Array,
  target: number,
  low = 0,
  high: number = values.length,
): number {
  let from = low;
  let to = high;
  // Invariant: values before `from` are less, values from `to` on are not.
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle]! < target) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Like lowerBound, for a target that is probably near `low`: O(log distance), by strides that double. */
export function gallop(values: Uint32Array, target: number, low: number, high: number): number {
  let stride = 1;
  let from = low;
  while (from + stride <= high && values[from + stride - 1]! < target) {
    from += stride;
    stride *= 2;
  }
  return lowerBound(values, target, from, Math.min(from + stride, high));
}
