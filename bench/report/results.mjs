import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LATENCIES, missingRows } from '../rows.mjs';

const ROW_NUMBERS = ['median', 'q1', 'q3', 'min', 'max'];
const DETAIL_NUMBERS = [
  'micros',
  'floorMicros',
  'perSecond',
  'floorPerSecond',
  'requestsPerRound',
  'setEvents',
];

/** The major version of Node in the results. */
export function majorOf({ node }) {
  return Number(/^v(\d+)/.exec(node)?.[1] ?? Number.NaN);
}

/** The published files: one for each major version of Node. @param {string} folder */
export function publishedFiles(folder) {
  const names = readdirSync(folder).filter((name) => /^node\d+\.json$/.test(name));
  if (names.length === 0) throw new Error(`no results in ${folder}: npm run bench makes them`);
  return names.map((name) => join(folder, name));
}

/**
 * @param {string[]} files as `npm run bench` writes them
 * @returns {object[]} by version of Node; any may lack rows
 * @throws Error if one of them cannot be reported
 */
export function readResults(files) {
  const all = files.map((file) => {
    try {
      return JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
      throw new Error(`${file} cannot be read: ${error.message}`, { cause: error });
    }
  });
  for (const results of all) checkResults(results);
  return all.sort((a, b) => majorOf(a) - majorOf(b));
}

/** The rows that a whole run has and these results lack, as sentences. */
export function lacking(results) {
  return missingRows(results.rows, { peers: true }).map(
    ({ group, name, set }) => `The results of ${results.node} lack "${group}: ${name} (${set})".`,
  );
}

/**
 * Checks that results can be reported: their numbers are valid.
 *
 * @param {object} results as `npm run bench` writes them
 * @throws Error that names the first fault
 */
function checkResults(results) {
  const fail = (what) => {
    throw new Error(`the results of ${results.node ?? 'no version of Node'} ${what}`);
  };
  if (Number.isNaN(majorOf({ node: String(results.node) })))
    fail('do not say which version of Node they are of');
  for (const field of ['date', 'commit', 'machine', 'settings', 'rows', 'measurements']) {
    if (results[field] === undefined) fail(`have no "${field}"`);
  }
  if (results.settings.quick) fail('are of a quick run, which measures nothing');
  if (results.rows.length === 0) fail('have no row');
  const { launches, rounds } = results.settings;
  for (const row of results.rows) {
    checkRow(row, launches * rounds, (what) => fail(`say of ${row.group}, ${row.name}: ${what}`));
  }
}

/** @param {number} valuesCount values of a workload: one for each round of each launch */
function checkRow(row, valuesCount, fail) {
  const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
  for (const field of ROW_NUMBERS) if (!isNumber(row[field])) fail(`${field} ${row[field]}`);
  const ascending = ['min', 'q1', 'median', 'q3', 'max'].map((field) => row[field]);
  if (ascending.some((value, n) => n > 0 && value < ascending[n - 1])) fail(`a spread of ${ascending}`);
  if (row.target !== null && !(isNumber(row.target) && row.target > 0)) fail(`target ${row.target}`);
  if (row.group !== 'workload') return;
  if (row.values.length !== valuesCount) fail(`${row.values.length} rounds instead of ${valuesCount}`);
  for (const field of DETAIL_NUMBERS) {
    if (!(isNumber(row.detail[field]) && row.detail[field] > 0)) fail(`${field} ${row.detail[field]}`);
  }
  for (const p of LATENCIES) if (!isNumber(row.detail.latencyMs[p])) fail(`latency ${p}`);
}

/** The values of each server of a measurement, by its name. */
export function serversOf(results, name, set) {
  const found = results.measurements.find((each) => each.name === name && each.set === set);
  if (found === undefined) throw new Error(`the results have no measurement of ${name} (${set})`);
  return found.servers;
}
