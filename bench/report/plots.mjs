/** The plots of one run. */
import { figure, PEER_WORKLOADS, SECOND_ROW } from '../rows.mjs';
import { median } from '../statistics.mjs';
import { serversOf } from './results.mjs';
import {
  decades,
  document,
  element,
  legend,
  line,
  linear,
  logarithmic,
  steps,
  symbol,
  text,
  tickLabel,
  xAxis,
  yAxis,
} from './svg.mjs';
import { labelOf } from './table.mjs';

const WIDTH = 860;
const ROW_HEIGHT = 30;
const TOP = 52;
/** Where names of workloads end. */
const LABELS = 410;
const FLOOR = 'bare node:http';

/** Ratio to the floor of each workload, with its spread and its target. */
function ratios(results) {
  const rows = results.rows.filter(({ group }) => group === 'workload');
  const bottom = TOP + rows.length * ROW_HEIGHT;
  const ticks = steps(Math.max(...rows.flatMap(({ q3, target }) => [q3, target])) * 1.02);
  const scale = linear(0, ticks.at(-1), LABELS, WIDTH - 60);
  const parts = rows.flatMap((row, n) => {
    const y = TOP + n * ROW_HEIGHT + ROW_HEIGHT / 2;
    const target = scale(row.target);
    return [
      text(LABELS - 10, y + 4, labelOf(row), 'end'),
      element('rect', {
        x: scale(0),
        y: y - 8,
        width: scale(row.median) - scale(0),
        height: 16,
        class: 'f1',
      }),
      line(scale(row.q1), y, scale(row.q3), y, 'mark', { 'stroke-width': '2' }),
      line(target, y - 12, target, y + 12, 's2', { 'stroke-width': '3' }),
      text(Math.max(scale(row.q3), target) + 8, y + 4, figure(row.median)),
    ];
  });
  return document(
    {
      title: 'Server processor time per request as a ratio to bare node:http',
      description:
        'Bars are medians, thin lines the middle half of all rounds, upright marks what is allowed at most. ' +
        rows.map((row) => `${labelOf(row)}: ${figure(row.median)}, at most ${figure(row.target)}`).join('; '),
      width: WIDTH,
      height: bottom + 76,
    },
    [
      ...xAxis({ ticks, scale, top: TOP, bottom, name: 'ratio to the floor' }),
      ...parts,
      element('rect', { x: LABELS, y: bottom + 52, width: 18, height: 12, class: 'f1' }),
      text(LABELS + 24, bottom + 63, 'median'),
      line(LABELS + 94, bottom + 58, LABELS + 116, bottom + 58, 'mark', { 'stroke-width': '2' }),
      text(LABELS + 122, bottom + 63, 'middle half'),
      line(LABELS + 220, bottom + 48, LABELS + 220, bottom + 68, 's2', { 'stroke-width': '3' }),
      text(LABELS + 230, bottom + 63, 'at most'),
    ],
  );
}

/** What is compared with others, for the same answers to the same requests. */
const COST = {
  field: 'cpuMicros',
  unit: 'µs',
  title: 'Server processor time per request, the same answers',
  axis: 'µs per request, logarithmic',
};
const THROUGHPUT = {
  field: 'perSecond',
  unit: 'a second',
  title: 'Requests per second, the same answers, load on the same machine',
  axis: 'requests per second, logarithmic',
};

/** One figure of everybody, the best first. */
function peers(results, { field, unit, title, axis }) {
  const costs = PEER_WORKLOADS.map(
    (workload) =>
      new Map(
        serversOf(results, workload, 'medium').map(({ name, rounds }) => [
          name === 'floor' ? FLOOR : name,
          median(rounds[field]),
        ]),
      ),
  );
  const direction = field === 'perSecond' ? -1 : 1;
  const names = [...costs[0]].sort(([, a], [, b]) => direction * (a - b)).map(([name]) => name);
  const ticks = decades(costs.flatMap((each) => [...each.values()]));
  const bottom = TOP + 26 + names.length * ROW_HEIGHT;
  const scale = logarithmic(ticks[0], ticks.at(-1), 220, WIDTH - 40);
  const parts = names.flatMap((name, n) => {
    const y = TOP + 26 + n * ROW_HEIGHT + ROW_HEIGHT / 2;
    const marks = costs.flatMap((each, w) => (each.has(name) ? [symbol(w, scale(each.get(name)), y)] : []));
    return [
      text(210, y + 4, name, 'end'),
      line(scale(ticks[0]), y, scale(ticks.at(-1)), y, 'grid'),
      ...marks,
    ];
  });
  return document(
    {
      title,
      description: `On a logarithmic axis. ${names
        .map((name) => `${name}: ${costs.map((each) => figure(each.get(name))).join(', ')} ${unit}`)
        .join('; ')}, for ${PEER_WORKLOADS.join(', ')}`,
      width: WIDTH,
      height: bottom + 56,
    },
    [
      ...xAxis({ ticks, scale, top: TOP + 26, bottom, name: axis }),
      ...legend(PEER_WORKLOADS, 220, TOP + 6, 190),
      ...parts,
    ],
  );
}

/** The second row on sets of all sizes. */
function sizes(results) {
  const rows = results.rows.filter(({ group, name }) => group === 'workload' && name === SECOND_ROW);
  const series = [
    ['default caches', (set) => ['small', 'medium', 'large'].includes(set)],
    ['caches large enough', (set) => set.startsWith('large,')],
    ['other sets', (set) => !['small', 'medium', 'large'].includes(set) && !set.startsWith('large,')],
  ];
  const [left, right, bottom] = [76, WIDTH - 40, 330];
  const xTicks = decades(rows.map(({ detail }) => detail.setEvents));
  const x = logarithmic(xTicks[0] / 1.6, xTicks.at(-1) * 1.6, left, right);
  const yTicks = steps(Math.max(...rows.map(({ q3 }) => q3)) * 1.05);
  const y = linear(0, yTicks.at(-1), bottom, TOP + 30);
  const usual = rows
    .filter(({ set }) => series[0][1](set))
    .sort((a, b) => a.detail.setEvents - b.detail.setEvents);
  const points = usual.map((row) => `${x(row.detail.setEvents).toFixed(1)},${y(row.median).toFixed(1)}`);
  const [{ target }] = rows;
  const parts = rows.flatMap((row) => {
    const n = series.findIndex(([, has]) => has(row.set));
    const at = x(row.detail.setEvents);
    return [
      line(at, y(row.q1), at, y(row.q3), 'mark', { 'stroke-width': '2' }),
      symbol(n, at, y(row.median)),
      ...(n === 2 ? [text(at + 10, y(row.median) - 8, row.set)] : []),
    ];
  });
  return document(
    {
      title: `${SECOND_ROW}: cost against the number of events`,
      description: `Ratios to the floor, answers of as many events from every set. ${rows
        .map((row) => `${labelOf(row)}: ${figure(row.median)}`)
        .join('; ')}; at most ${figure(target)}`,
      width: WIDTH,
      height: bottom + 56,
    },
    [
      ...xAxis({ ticks: xTicks, scale: x, top: TOP + 30, bottom, name: 'events in the set, logarithmic' }),
      line(left, bottom, right, bottom, 'axis'),
      ...yAxis({ ticks: yTicks, scale: y, left, right, name: 'ratio to the floor' }),
      ...legend(
        series.map(([name]) => name),
        left + 10,
        TOP + 6,
        190,
      ),
      line(left, y(target), right, y(target), 's2', { 'stroke-width': '2', 'stroke-dasharray': '6 4' }),
      text(right - 4, y(target) - 6, `at most ${figure(target)}`, 'end'),
      element('polyline', { points: points.join(' '), class: 's0', 'stroke-width': '2' }),
      ...parts,
    ],
  );
}

/** How long clients wait, at full load. */
function latencies(results) {
  const all = serversOf(results, SECOND_ROW, 'medium');
  // With fewer connections there is less to wait for.
  const servers = all.filter(({ connections }) => connections === all[0].connections);
  const percentOf = (name) => Number(name.slice(1));
  const names = Object.keys(servers[0].rounds.latencyMs).filter((name) => percentOf(name) < 100);
  const rank = (percent) => 1 / (1 - percent / 100);
  const curves = servers.map(({ name, rounds }) => ({
    name: name === 'floor' ? FLOOR : name,
    points: names.map((p) => ({ percent: percentOf(p), ms: median(rounds.latencyMs[p]) })),
  }));
  const [left, right, bottom] = [76, WIDTH - 210, 390];
  const x = logarithmic(1, 1000, left, right);
  const yTicks = decades(curves.flatMap(({ points }) => points.map(({ ms }) => ms)));
  const y = logarithmic(yTicks[0], yTicks.at(-1), bottom, TOP);
  const byEnd = [...curves].sort((a, b) => a.points.at(-1).ms - b.points.at(-1).ms);
  const parts = curves.flatMap(({ name, points }, n) => {
    const list = points.map(({ percent, ms }) => [x(rank(percent)), y(ms)]);
    const labelY = TOP + 16 + (byEnd.length - 1 - byEnd.findIndex((curve) => curve.name === name)) * 22;
    return [
      element('polyline', {
        points: list.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(' '),
        class: `s${n}`,
        'stroke-width': '2',
      }),
      ...list.map(([px, py]) => symbol(n, px, py, 4)),
      symbol(n, right + 26, labelY),
      text(right + 38, labelY + 4, name),
    ];
  });
  return document(
    {
      title: `${SECOND_ROW}: latency with ${all[0].connections} connections at full load`,
      description: `Both axes are logarithmic. Medians, 99 and 99.9 percent: ${curves
        .map(({ name, points }) => {
          const of = (percent) => figure(points.find((point) => point.percent === percent).ms);
          return `${name} ${of(50)}, ${of(99)}, ${of(99.9)} ms`;
        })
        .join('; ')}`,
      width: WIDTH,
      height: bottom + 56,
    },
    [
      ...xAxis({
        ticks: [0, 50, 90, 99, 99.9].map(rank),
        scale: x,
        top: TOP,
        bottom,
        name: 'percent of requests answered within',
        label: (value) => tickLabel(Number((100 * (1 - 1 / value)).toFixed(1))),
      }),
      ...yAxis({ ticks: yTicks, scale: y, left, right, name: 'ms, logarithmic' }),
      ...parts,
    ],
  );
}

/**
 * @param {object} results
 * @returns {{ file: string, title: string, svg: string }[]}
 */
export function plotsOf(results) {
  return [
    { file: 'ratio.svg', title: 'Ratio to the floor of each workload', svg: ratios(results) },
    { file: 'peers.svg', title: 'Processor time per request against others', svg: peers(results, COST) },
    { file: 'throughput.svg', title: 'Requests per second against others', svg: peers(results, THROUGHPUT) },
    { file: 'sizes.svg', title: 'Cost against the number of events', svg: sizes(results) },
    { file: 'latency.svg', title: 'Distribution of latencies', svg: latencies(results) },
  ];
}
