/**
 * The straight line through points by least squares.
 *
 * @param {readonly { x: number, y: number }[]} points at least two different x
 * @returns {{ slope: number, error: number }} the slope and its standard error, which is Infinity for fewer than three points
 */
export function fitOf(points) {
  const mean = (field) => points.reduce((sum, point) => sum + point[field], 0) / points.length;
  const x0 = mean('x');
  const y0 = mean('y');
  let products = 0;
  let squares = 0;
  for (const { x, y } of points) {
    products += (x - x0) * (y - y0);
    squares += (x - x0) ** 2;
  }
  const slope = products / squares;
  const rest = points.reduce((sum, { x, y }) => sum + (y - y0 - slope * (x - x0)) ** 2, 0);
  const error =
    points.length < 3 ? Number.POSITIVE_INFINITY : Math.sqrt(rest / (points.length - 2) / squares);
  return { slope, error };
}
