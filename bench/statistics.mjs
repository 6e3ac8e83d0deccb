/** @param {number} portion 0 for the smallest, 1 for the largest; interpolated between */
function quantile(ascending, portion) {
  const at = (ascending.length - 1) * portion;
  const below = Math.floor(at);
  const above = Math.ceil(at);
  return ascending[below] + (ascending[above] - ascending[below]) * (at - below);
}

export function median(values) {
  return spreadOf(values).median;
}

/** @returns {{ median: number, q1: number, q3: number, min: number, max: number }} the middle half is from q1 to q3 */
export function spreadOf(values) {
  const ascending = [...values].sort((a, b) => a - b);
  return {
    median: quantile(ascending, 0.5),
    q1: quantile(ascending, 0.25),
    q3: quantile(ascending, 0.75),
    min: ascending[0],
    max: ascending.at(-1),
  };
}
