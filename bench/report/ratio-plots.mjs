/** Plots of Lectern's ratio to the floor. */
import { figure, isMet, SECOND_ROW } from '../rows.mjs';
import { LECTERN_LOOK } from './servers.mjs';
import {
  decades,
  document,
  element,
  legend,
  legendOfLine,
  legendOfSymbol,
  line,
  linear,
  logarithmic,
  steps,
  symbol,
  text,
  xAxis,
  yAxis,
} from './svg.mjs';
import { labelOf } from './table.mjs';

const WIDTH = 860;
const SPREAD = { 'stroke-width': '2' };
const FLOOR_LINE = { 'stroke-width': '2' };
const LIMIT_LINE = { 'stroke-width': '2', 'stroke-dasharray': '6 4' };
const FLOOR_NAME = '1.0: bare node:http';

const ROW_HEIGHT = 30;
const ROWS_TOP = 76;
/** The right ends of workload names, axis and columns of figures. */
const [NAMES_END, AXIS_END, MEASURED_END, LIMIT_END] = [418, 702, 772, 844];

/**
 * Each workload with its spread and its target. Figures have their own columns, so that no mark looks like
 * the label of one.
 */
export function ratioPlot(results) {
  const rows = results.rows.filter(({ group }) => group === 'workload');
  const bottom = ROWS_TOP + rows.length * ROW_HEIGHT;
  const ticks = steps(Math.max(1, ...rows.flatMap(({ q3, target }) => [q3, target])) * 1.02);
  const scale = linear(0, ticks.at(-1), NAMES_END, AXIS_END);
  const parts = rows.flatMap((row, n) => {
    const y = ROWS_TOP + n * ROW_HEIGHT + ROW_HEIGHT / 2;
    const limit = scale(row.target);
    return [
      text(NAMES_END - 10, y + 4, labelOf(row), 'end'),
      element('rect', {
        x: scale(0),
        y: y - 8,
        width: scale(row.median) - scale(0),
        height: 16,
        class: 'f-lectern',
      }),
      line(scale(row.q1), y, scale(row.q3), y, 'mark', SPREAD),
      line(limit, y - 11, limit, y + 11, 's-target', { 'stroke-width': '3' }),
      text(MEASURED_END, y + 4, figure(row.median), 'end', isMet(row) ? {} : { class: 'bold' }),
      text(LIMIT_END, y + 4, figure(row.target), 'end'),
    ];
  });
  const legendTop = bottom + 62;
  return document(
    {
      title: 'Server processor time per request as a ratio to bare node:http',
      description:
        'Bars are medians, thin lines the middle half of all rounds, upright marks the targets. ' +
        rows.map((row) => `${labelOf(row)}: ${figure(row.median)}, target ${figure(row.target)}`).join('; '),
      width: WIDTH,
      height: legendTop + 22,
    },
    [
      ...legend(
        [
          { name: 'Lectern, median', draw: (x, y) => bar(x, y) },
          legendOfLine('middle half of all rounds', 'mark', SPREAD),
          { name: 'target', draw: (x, y) => line(x, y - 9, x, y + 9, 's-target', { 'stroke-width': '3' }) },
        ],
        NAMES_END - 150,
        legendTop,
      ),
      text(MEASURED_END, ROWS_TOP - 10, 'measured', 'end', { class: 'head' }),
      text(LIMIT_END, ROWS_TOP - 10, 'target', 'end', { class: 'head' }),
      ...xAxis({ ticks, scale, top: ROWS_TOP, bottom, name: 'ratio to the floor; bold: beyond the target' }),
      ...parts,
      line(scale(1), ROWS_TOP - 4, scale(1), bottom, 'mark', FLOOR_LINE),
      text(scale(1), ROWS_TOP - 10, FLOOR_NAME, 'middle', { class: 'head' }),
    ],
  );
}

const bar = (x, y) => element('rect', { x: x - 12, y: y - 6, width: 24, height: 12, class: 'f-lectern' });

/**
 * All points are Lectern's; the shape tells the set. `dodge` separates two points with the same number of
 * events, in pixels.
 */
const SERIES = [
  {
    name: 'default caches',
    has: (set) => ['small', 'medium', 'large'].includes(set),
    look: LECTERN_LOOK,
    dodge: 0,
  },
  {
    name: 'caches large enough',
    has: (set) => set.startsWith('large,'),
    look: { shape: 'square', colour: 'lectern', isHollow: true },
    dodge: 18,
  },
  {
    name: 'another set, as named',
    has: () => true,
    look: { shape: 'triangle', colour: 'lectern', isHollow: true },
    dodge: 18,
  },
];
const SET_LABELS = { distinct: 'each event a slot of its own' };

/** The second row for sets of all sizes. */
export function sizePlot(results) {
  const rows = results.rows.filter(({ group, name }) => group === 'workload' && name === SECOND_ROW);
  const [{ target }] = rows;
  const [left, right, top, bottom] = [76, WIDTH - 40, 96, 446];
  const xTicks = decades(rows.map(({ detail }) => detail.setEvents));
  const x = logarithmic(xTicks[0] / 1.6, xTicks.at(-1) * 1.6, left, right);
  const yTicks = steps(Math.max(target, ...rows.map(({ q3 }) => q3)) * 1.05);
  const y = linear(0, yTicks.at(-1), bottom, top);
  const counts = rows.map(({ detail }) => detail.setEvents);
  const points = rows.map((row) => {
    const series = SERIES.find(({ has }) => has(row.set));
    const isAlone = counts.indexOf(row.detail.setEvents) === counts.lastIndexOf(row.detail.setEvents);
    return { row, series, at: x(row.detail.setEvents) + (isAlone ? 0 : series.dodge), y: y(row.median) };
  });
  const usual = points.filter(({ series }) => series === SERIES[0]).sort((a, b) => a.at - b.at);
  return document(
    {
      title: `${SECOND_ROW}: cost against the number of events`,
      description: `Ratios to the floor, answers of as many events from every set. ${rows
        .map((row) => `${labelOf(row)}: ${figure(row.median)}`)
        .join('; ')}; target ${figure(target)}`,
      width: WIDTH,
      height: bottom + 56,
    },
    [
      ...xAxis({ ticks: xTicks, scale: x, top, bottom, name: 'events in the set, logarithmic' }),
      line(left, bottom, right, bottom, 'axis'),
      ...yAxis({ ticks: yTicks, scale: y, left, right, name: 'ratio to the floor' }),
      ...legend(
        SERIES.map(({ name, look }) => legendOfSymbol(name, look)),
        left,
        52,
      ),
      ...legend(
        [
          {
            name: 'middle half of all rounds',
            draw: (at, middle) => line(at, middle - 8, at, middle + 8, 'mark', SPREAD),
          },
          legendOfLine(FLOOR_NAME, 's-floor', FLOOR_LINE),
          legendOfLine(`target, at most ${figure(target)}`, 's-target', LIMIT_LINE),
        ],
        left,
        74,
      ),
      line(left, y(1), right, y(1), 's-floor', FLOOR_LINE),
      line(left, y(target), right, y(target), 's-target', LIMIT_LINE),
      element('polyline', {
        points: usual.map((point) => `${point.at.toFixed(1)},${point.y.toFixed(1)}`).join(' '),
        class: 's-lectern',
        'stroke-width': '2',
      }),
      ...points.flatMap(({ row, series, at, y: middle }) => [
        line(at, y(row.q1), at, y(row.q3), 'mark', SPREAD),
        symbol(series.look, at, middle),
        ...(series === SERIES[2] ? [setLabel(row, at, y)] : []),
      ]),
    ],
  );
}

/** Labels of cheap sets stand below their marks, labels of expensive ones above; the line of the usual sets runs between. */
function setLabel({ set, median, q1, q3, target }, at, y) {
  const place = median > target ? y(q3) - 10 : y(q1) + 20;
  return text(at, place, SET_LABELS[set] ?? set, 'middle');
}
