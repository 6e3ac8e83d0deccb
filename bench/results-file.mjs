/** The form of results in a file: the rounds of each server as columns, easy to read and to compare line by line. */

const DIGITS = 5;

/** Paths whose changes could affect the measurement. */
export const MEASURED = ['src', 'bench', 'package-lock.json', ':!bench/results', ':!bench/report'];

/** As JSON; arrays of numbers are one line each. */
export function textOf(results) {
  const { measurements, ...rest } = results;
  const columns = measurements.map(({ servers, ...about }) => ({
    ...about,
    servers: servers.map(({ rounds, ...server }) => ({ ...server, rounds: columnsOf(rounds) })),
  }));
  const text = JSON.stringify(
    { ...rest, measurements: columns },
    (_key, value) => (typeof value === 'number' ? rounded(value) : value),
    1,
  );
  return `${text.replace(/\[\s+([^[\]{}]*?)\s+\]/g, (_all, list) => `[${list.replace(/,\s+/g, ', ')}]`)}\n`;
}

function rounded(value) {
  return Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS));
}

/** [{ a: 1, b: { c: 2 } }, …] to { a: [1, …], b: { c: [2, …] } } */
function columnsOf(rounds) {
  const columns = {};
  for (const [field, value] of Object.entries(rounds[0])) {
    if (field === 'kind' || field === 'failed') continue;
    const values = rounds.map((round) => round[field]);
    columns[field] = typeof value === 'object' ? columnsOf(values) : values;
  }
  return columns;
}
