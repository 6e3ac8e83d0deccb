/** The cost of representations, feeds, compression, directories and free time, as Markdown. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { figure, isMet } from '../rows.mjs';
import { middle, table } from './table.mjs';

/** The published results of `npm run bench:formats`; null before the first. @param {string} folder */
export function readFormats(folder) {
  const file = join(folder, 'formats.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

/** @returns {string} Markdown */
export function formatsReportOf(results) {
  if (results === null) return 'Not published yet: `npm run bench:formats` prints the figures.';
  const { node, machine, commit, isChanged, date, settings, rows } = results;
  const about =
    `Node ${node.slice(1)}, ${machine.cpu}, ${machine.cores} cores, commit ${commit.slice(0, 10)}${isChanged ? ' with changes' : ''}, ` +
    `${date.slice(0, 10)}; medians of ${settings.rounds} rounds of ${settings.roundSeconds} s; processor time of the server, ` +
    `${settings.events.medium.toLocaleString('en')} events with --cache-mb ${settings.cacheMb} (the default is ${settings.cacheMbDefault}: [decision 0010](decisions/0010-large-bodies-in-slices.md)); ` +
    `directories and free time ${settings.events.large.toLocaleString('en')} events with default caches; "A against B" is the time of A divided by that of B:`;
  const unitOf = ({ unit }) => (unit === 'ratio' ? '' : ` ${unit}`);
  const cells = (row) => [
    row.name,
    `${figure(row.target)}${unitOf(row)}`,
    `${figure(row.median)}${unitOf(row)}${isMet(row) ? '' : ' (missed)'}`,
    middle(row),
  ];
  return [about, table(['what', 'at most', 'measured', 'middle half'], rows.map(cells))].join('\n\n');
}
