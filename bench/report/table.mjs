/** The results as Markdown. */
import { figure, isMet, PEER_WORKLOADS, SECOND_ROW } from '../rows.mjs';
import { median } from '../statistics.mjs';
import { majorOf } from './results.mjs';

const line = (cells) => `| ${cells.join(' | ')} |`;
export const table = (head, rows) =>
  [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
const count = (value) => Math.round(value).toLocaleString('en');

const atMost = ({ target, unit }) =>
  target === null ? '' : `${figure(target)}${unit === 'µs' ? ' µs' : ''}`;

export function measured(row, found = row) {
  const unit = found.unit === 'µs' ? ' µs' : '';
  return `${figure(found.median)}${unit}${isMet({ ...found, target: row.target }) === false ? ' (missed)' : ''}`;
}

export const middle = ({ q1, q3 }) => `${figure(q1)} to ${figure(q3)}`;

/** Rounds are listed launch by launch. */
function mediansOfLaunches({ values }, { launches, rounds }) {
  return Array.from({ length: launches }, (_, launch) =>
    median(values.slice(launch * rounds, (launch + 1) * rounds)),
  );
}

/** A percentile of few requests is only the worst of them, so it is left out. */
function latenciesOf({ detail: { latencyMs, requestsPerRound } }) {
  return [
    ['p50', 1],
    ['p99', 100],
    ['p99.9', 1000],
  ].map(([p, requestsMin]) => (requestsPerRound < requestsMin ? '–' : figure(latencyMs[p])));
}

/** The same row of other results; undefined if they have none. */
function sameRow({ rows }, { group, name, set }) {
  return rows.find((row) => row.group === group && row.name === name && row.set === set);
}

/** The name of a row, with its set where another set has a row of this name. */
export function labelOf({ group, name, set, detail }) {
  if (group !== 'workload') return set.endsWith(' events') ? `${name}, ${set}` : name;
  if (set === 'medium') return name;
  const events = `${count(detail.setEvents)} events`;
  const kinds = { distinct: `${events}, each a slot of its own`, small: events, large: events };
  if (set.startsWith('large,')) return `${name}, ${events}, caches large enough`;
  return `${name}, ${kinds[set] ?? set}`;
}

/** One table of the versions of Node, with the rows that two of them have. @param {object[]} all results by version */
export function versionsOf(all) {
  const rows = all[0].rows.filter(
    (row) => !row.group.startsWith('peer') && all.slice(1).some((results) => sameRow(results, row)),
  );
  const cell = (found, row) => {
    if (found === undefined) return '';
    const micros = found.detail.micros === undefined ? '' : `, ${figure(found.detail.micros)} µs`;
    return `${measured(row, found)}${micros}`;
  };
  return [
    ...all.map(aboutVersion),
    table(
      ['what', 'at most', ...all.map((results) => `Node ${majorOf(results)}`)],
      rows.map((row) => [
        labelOf(row),
        atMost(row),
        ...all.map((results) => cell(sameRow(results, row), row)),
      ]),
    ),
  ].join('\n\n');
}

function workloads(results) {
  const rows = results.rows.filter(({ group }) => group === 'workload');
  return table(
    [
      'workload',
      'at most',
      'measured',
      'middle half',
      'each launch',
      'µs (floor)',
      'requests/s (floor)',
      'p50, p99, p99.9 in ms',
    ],
    rows.map((row) => {
      const { micros, floorMicros, perSecond, floorPerSecond } = row.detail;
      return [
        labelOf(row),
        figure(row.target),
        measured(row),
        middle(row),
        mediansOfLaunches(row, results.settings).map(figure).join(', '),
        `${figure(micros)} (${figure(floorMicros)})`,
        `${count(perSecond)} (${count(floorPerSecond)})`,
        latenciesOf(row).join(', '),
      ];
    }),
  );
}

function others(results) {
  const rows = results.rows.filter(({ group }) => ['size', 'token', 'load', 'memory'].includes(group));
  return table(
    ['what', 'at most', 'measured', 'middle half'],
    rows.map((row) => [labelOf(row), atMost(row), measured(row), row.values.length === 1 ? '' : middle(row)]),
  );
}

/** Latencies at fixed rates, as paragraphs; none if the results have no such rows. */
function latencies(results) {
  const rows = results.rows.filter(({ group }) => group === 'latency');
  if (rows.length === 0) return [];
  return [
    `Latency at fixed rates, as a ratio to the floor's at the same rate in the same round. A request's latency counts from ` +
      'the instant at which it is due, so waits count. The generator is `bench/open-loop.mjs`:',
    table(
      ['what', 'at most', 'measured', 'middle half', 'ms (floor)', 'requests/s'],
      rows.map((row) => [
        row.name,
        atMost(row),
        measured(row),
        middle(row),
        `${figure(row.detail.ms)} (${figure(row.detail.floorMs)})`,
        count(row.detail.perSecond),
      ]),
    ),
  ];
}

function peers(results) {
  const of = (workload) => results.rows.filter(({ group }) => group === `peer, ${workload}`);
  return table(
    [
      'peer',
      'at least',
      `times, ${SECOND_ROW}`,
      'middle half',
      'µs',
      'requests/s',
      ...PEER_WORKLOADS.slice(1),
    ],
    of(SECOND_ROW).map((row) => [
      row.name,
      row.target === null ? '' : count(row.target),
      measured(row),
      middle(row),
      figure(row.detail.micros),
      figure(row.detail.perSecond),
      ...PEER_WORKLOADS.slice(1).map((workload) => {
        const found = of(workload).find(({ name }) => name === row.name);
        return found === undefined ? '' : figure(found.median);
      }),
    ]),
  );
}

function about({ node, machine, commit, isChanged, date, settings }) {
  const { events, connections } = settings;
  return (
    `Node ${node.slice(1)}, ${machine.cpu}, ${machine.cores} cores, ${Math.round(machine.memoryBytes / 2 ** 30)} GiB, ` +
    `commit ${commit.slice(0, 10)}${isChanged ? ' with changes' : ''}, ${date.slice(0, 10)}: medians of ${roundsOf(settings)}, ` +
    `${connections} connections; ${count(events.medium)} events unless stated otherwise.`
  );
}

const roundsOf = ({ launches, rounds, roundSeconds }) =>
  `${launches * rounds} rounds of ${roundSeconds} s (${launches === 1 ? 'one launch' : `${launches} launches`} of all processes, one launch of peers)`;

const aboutVersion = ({ node, commit, date, settings }) =>
  `Node ${node.slice(1)}: commit ${commit.slice(0, 10)}, ${date.slice(0, 10)}, medians of ${roundsOf(settings)}.`;

/**
 * @param {object[]} all results by version of Node; the first is shown in full, the others by their medians
 * @param {{ file: string, title: string }[]} plots of the first, shown below the tables
 * @returns {string} Markdown
 */
export function reportOf(all, plots) {
  const [first] = all;
  return [
    about(first),
    'Server processor time per request, as a ratio to the floor of the same round:',
    workloads(first),
    ...latencies(first),
    'Other promises. The first request with a token is measured without the time of jose and of the floor. Large and small sets ' +
      'are asked the same questions, with equally many events in the answers. Memory is compared with the bytes of ' +
      '`/schedule/all`, the load with the processor time of `JSON.parse` alone:',
    others(first),
    'Processor time of other servers for the same answers to the same requests, as a multiple of that of Lectern:',
    peers(first),
    ...(all.length === 1 ? [] : ['On several versions of Node:', versionsOf(all)]),
    ...plots.map(({ file, title }) => `![${title}](../bench/results/${file})`),
  ].join('\n\n');
}

/**
 * The three figures that the README shows, below its plot.
 *
 * @param {object} results of the first version of Node
 * @param {{ file: string, title: string }[]} plots
 * @returns {string} Markdown
 */
export function headlineOf(results, plots) {
  const row = (group, name, set) => sameRow(results, { group, name, set });
  const request = row('workload', SECOND_ROW, 'medium');
  const database = row(`peer, ${SECOND_ROW}`, 'Fastify + better-sqlite3', 'medium');
  const memory = row('memory', 'memory before the first request', 'large');
  const { file, title } = plots.find((plot) => plot.file === 'peers.svg');
  const { events } = results.settings;
  return [
    `![${title}](bench/results/${file})`,
    [
      `- **Processor time:** a filtered window out of ${count(events.medium)} events takes ${figure(request.detail.micros)} µs, ` +
        `${figure(request.median)} times as much as bare node:http with a constant body.`,
      `- **Against a database:** Fastify + better-sqlite3 takes ${figure(database.median)} times as much processor time as ` +
        'Lectern for the same answers.',
      `- **Memory:** ${count(events.large)} events take ${count(memory.detail.rssBytes / 1e6)} MB before the first request, ` +
        `${figure(memory.median)} times the size of their JSON.`,
    ].join('\n'),
    `Measured with Node ${results.node.slice(1)} on ${results.machine.cores} cores, ${results.date.slice(0, 10)}.`,
  ].join('\n\n');
}

/**
 * @param {string} page
 * @param {string} report
 * @param {string} [name] of the markers
 * @returns {string} the page with the report between its markers
 */
export function withReport(page, report, name = 'bench') {
  const beginMark = `<!-- ${name}:begin -->`;
  const endMark = `<!-- ${name}:end -->`;
  const begin = page.indexOf(beginMark);
  const end = page.indexOf(endMark);
  if (begin === -1 || end < begin) throw new Error(`the page has no ${beginMark} before an ${endMark}`);
  return `${page.slice(0, begin + beginMark.length)}\n${report}\n${page.slice(end)}`;
}
