/**
 * Prints a figure beside its target: median, smallest and largest in parentheses, its ratio to the target, and the verdict.
 *
 * @param {string} label
 * @param {readonly number[]} values one for each run
 * @param {string} unit
 * @param {number | null} target the most that the median may be; null for a figure without one
 */
export function printRow(label, values, unit, target) {
  const ascending = [...values].sort((a, b) => a - b);
  const median = ascending[ascending.length >> 1];
  const text = (value) => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
  const figure = `${text(median)} ${unit}`.padStart(12);
  const spread = `(${text(ascending[0])} to ${text(ascending.at(-1))})`;
  const ratio = target === 0 || target === null ? '' : `${(median / target).toFixed(2)} of `;
  const verdict =
    target === null ? '' : `${ratio}target ${target} ${unit}, ${median <= target ? 'met' : 'MISSED'}`;
  const line = `${label.padEnd(70)}${figure}  ${spread.padEnd(18)} ${verdict}`;
  process.stdout.write(`${line.trimEnd()}\n`);
}

/** The same without targets for a quick run, whose figures are too few for a verdict. */
export function rowPrinter(isQuick) {
  return (label, values, unit, target) => printRow(label, values, unit, isQuick ? null : target);
}
