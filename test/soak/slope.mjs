/**
 * The slope of the straight line through points by least squares.
 *
 * @param {readonly { x: number, y: number }[]} points at least two different x
 */
export function slopeOf(points) {
  const mean = (field) => points.reduce((sum, point) => sum + point[field], 0) / points.length;
  const x0 = mean('x');
  const y0 = mean('y');
  let products = 0;
  let squares = 0;
  for (const { x, y } of points) {
    products += (x - x0) * (y - y0);
    squares += (x - x0) ** 2;
  }
  return products / squares;
}
