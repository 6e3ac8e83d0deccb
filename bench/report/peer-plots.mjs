/** Lectern, the floor and the peers side by side. */
import { figure, PEER_WORKLOADS, SECOND_ROW } from '../rows.mjs';
import { median } from '../statistics.mjs';
import { serversOf } from './results.mjs';
import { inPlotOrder } from './servers.mjs';
import {
  decades,
  document,
  element,
  legend,
  legendOfSymbol,
  line,
  logarithmic,
  symbol,
  text,
  tickLabel,
  xAxis,
  yAxis,
} from './svg.mjs';

const WIDTH = 860;
const ROW_HEIGHT = 42;
const ROWS_TOP = 78;
/** The right end of the server names. */
const NAMES_END = 220;
/** Each workload has its own height in a row, so that no mark covers another. */
const WORKLOAD_MARKS = [
  { shape: 'circle', lift: -11 },
  { shape: 'square', lift: 0 },
  { shape: 'triangle', lift: 11 },
];

/** The measures to compare, for equal answers to equal requests. */
export const COST = {
  field: 'cpuMicros',
  unit: 'µs',
  title: 'Server processor time per request, the same answers (less is better)',
  axis: 'µs per request, logarithmic',
};
export const THROUGHPUT = {
  field: 'perSecond',
  unit: 'a second',
  title: 'Requests per second, the same answers, load on the same machine (more is better)',
  axis: 'requests per second, logarithmic',
};

/** One figure of every server. Colours mean servers, shapes mean workloads. */
export function peerPlot(results, { field, unit, title, axis }) {
  const found = PEER_WORKLOADS.map((workload) => {
    const servers = inPlotOrder(serversOf(results, workload, 'medium'));
    return new Map(servers.map(({ label, server }) => [label, median(server.rounds[field])]));
  });
  const servers = inPlotOrder(serversOf(results, PEER_WORKLOADS[0], 'medium'));
  const ticks = decades(found.flatMap((each) => [...each.values()]));
  const bottom = ROWS_TOP + servers.length * ROW_HEIGHT;
  const scale = logarithmic(ticks[0], ticks.at(-1), NAMES_END, WIDTH - 40);
  const rows = servers.flatMap(({ label, look }, n) => {
    const y = ROWS_TOP + n * ROW_HEIGHT + ROW_HEIGHT / 2;
    const marks = found.flatMap((each, w) => {
      const { shape, lift } = WORKLOAD_MARKS[w];
      return each.has(label) ? [symbol({ ...look, shape }, scale(each.get(label)), y + lift)] : [];
    });
    const border = ROWS_TOP + n * ROW_HEIGHT;
    return [
      text(NAMES_END - 10, y + 4, label, 'end', label === 'Lectern' ? { class: 'bold' } : {}),
      line(scale(ticks[0]), border, scale(ticks.at(-1)), border, 'grid'),
      ...marks,
    ];
  });
  return document(
    {
      title,
      description: `On a logarithmic axis. ${servers
        .map(({ label }) => `${label}: ${found.map((each) => figure(each.get(label))).join(', ')} ${unit}`)
        .join('; ')}, for ${PEER_WORKLOADS.join(', ')}`,
      width: WIDTH,
      height: bottom + 56,
    },
    [
      ...xAxis({ ticks, scale, top: ROWS_TOP, bottom, name: axis }),
      ...legend(
        PEER_WORKLOADS.map((name, w) => legendOfSymbol(name, { ...WORKLOAD_MARKS[w], colour: 'ink' })),
        NAMES_END - 12,
        56,
      ),
      ...rows,
    ],
  );
}

/** Waiting time of clients at full load. */
export function latencyPlot(results) {
  const all = serversOf(results, SECOND_ROW, 'medium');
  // With fewer connections requests wait less.
  const servers = inPlotOrder(all.filter(({ connections }) => connections === all[0].connections));
  const percentOf = (name) => Number(name.slice(1));
  const names = Object.keys(servers[0].server.rounds.latencyMs).filter((name) => percentOf(name) < 100);
  const rank = (percent) => 1 / (1 - percent / 100);
  const curves = servers.map(({ label, look, server }) => ({
    label,
    look,
    points: names.map((p) => ({ percent: percentOf(p), ms: median(server.rounds.latencyMs[p]) })),
  }));
  const [left, right, top, bottom] = [76, WIDTH - 222, 52, 430];
  const x = logarithmic(1, 1000, left, right);
  const yTicks = decades(curves.flatMap(({ points }) => points.map(({ ms }) => ms)));
  const y = logarithmic(yTicks[0], yTicks.at(-1), bottom, top);
  const parts = curves.map(({ label, look, points }, n) => {
    const list = points.map(({ percent, ms }) => [x(rank(percent)), y(ms)]);
    const labelY = top + 16 + n * 24;
    const isOnTop = label === 'Lectern';
    const drawing = [
      element('polyline', {
        points: list.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(' '),
        class: `s-${look.colour}`,
        'stroke-width': isOnTop ? '3' : '2',
      }),
      ...list.map(([px, py]) => symbol(look, px, py, 4)),
      symbol(look, right + 26, labelY),
      text(right + 38, labelY + 4, label, 'start', isOnTop ? { class: 'bold' } : {}),
    ];
    return { isOnTop, drawing };
  });
  return document(
    {
      title: `${SECOND_ROW}: latency with ${all[0].connections} connections at full load`,
      description: `Both axes are logarithmic. Medians, 99 and 99.9 percent: ${curves
        .map(({ label, points }) => {
          const of = (percent) => figure(points.find((point) => point.percent === percent).ms);
          return `${label} ${of(50)}, ${of(99)}, ${of(99.9)} ms`;
        })
        .join('; ')}`,
      width: WIDTH,
      height: bottom + 56,
    },
    [
      ...xAxis({
        ticks: [0, 50, 90, 99, 99.9].map(rank),
        scale: x,
        top,
        bottom,
        name: 'percent of requests answered within',
        label: (value) => tickLabel(Number((100 * (1 - 1 / value)).toFixed(1))),
      }),
      ...yAxis({ ticks: yTicks, scale: y, left, right, name: 'ms, logarithmic' }),
      // Lectern's curve lies on top.
      ...parts.filter(({ isOnTop }) => !isOnTop).flatMap(({ drawing }) => drawing),
      ...parts.filter(({ isOnTop }) => isOnTop).flatMap(({ drawing }) => drawing),
    ],
  );
}
