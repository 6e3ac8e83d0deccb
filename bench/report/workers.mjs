/** The cost of several serving threads, as Markdown. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { figure } from '../rows.mjs';
import { measured, middle, table } from './table.mjs';

const MB = 1_000_000;

/**
 * The published results of `npm run bench:workers`.
 *
 * @param {string} folder
 * @throws Error if they come from a run of other measurements
 */
export function readWorkers(folder) {
  const results = JSON.parse(readFileSync(join(folder, 'workers.json'), 'utf8'));
  const { launches, rounds } = results.settings;
  for (const { name, values } of results.cpu) {
    if (values.length !== launches * rounds) {
      throw new Error(`workers.json: ${name} has ${values.length} rounds instead of ${launches * rounds}`);
    }
  }
  for (const { name, values } of results.memory) {
    if (values.length !== launches) {
      throw new Error(`workers.json: ${name} has ${values.length} values instead of ${launches}`);
    }
  }
  return results;
}

/** @returns {string} Markdown */
export function workersReportOf({ node, machine, commit, isChanged, date, settings, memory, cpu }) {
  const about =
    `Node ${node.slice(1)}, ${machine.cpu}, ${machine.cores} cores, commit ${commit.slice(0, 10)}${isChanged ? ' with changes' : ''}, ` +
    `${date.slice(0, 10)}; ${settings.events.toLocaleString('en')} events; ratios to one thread; processor time in ` +
    `${settings.launches * settings.rounds} rounds of ${settings.amount.toLocaleString('en')} requests (${settings.launches} launches of the processes), ` +
    `memory after ${settings.requestsPerThread.toLocaleString('en')} requests for each thread:`;
  const names = [...new Set(memory.map(({ name }) => name))];
  const memoryCell = (name, workers) => {
    const row = memory.find((each) => each.name === name && each.workers === workers);
    const of = `${Math.round(row.detail.bytes / MB)} MB`;
    const each = row.values.length === 1 ? '' : `, each launch ${row.values.map(figure).join(', ')}`;
    return `${measured(row)} (${of})${each}`;
  };
  return [
    about,
    table(
      ['what', 'at most', '2 threads', '4 threads'],
      [
        ...names.map((name) => [
          name,
          `${figure(memory.find((each) => each.name === name && each.target !== null).target)} with 4`,
          memoryCell(name, 2),
          memoryCell(name, 4),
        ]),
        ...cpu.map((row) => [
          `processor time per request, ${row.name}`,
          figure(row.target),
          `${measured(row)}, middle half ${middle(row)}`,
          '',
        ]),
      ],
    ),
  ].join('\n\n');
}
