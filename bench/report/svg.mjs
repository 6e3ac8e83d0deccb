/** Parts of plots, as SVG that can be read on light and dark pages. */

const FONT = "font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif";

/**
 * Colours by meaning, one for light pages and one for dark. No other server has Lectern's colour. All can be
 * told apart without seeing red or green.
 */
const COLOURS = {
  lectern: ['#0b62c4', '#62a8ff'],
  floor: ['#5b6470', '#a3acb8'],
  target: ['#c25700', '#ffa057'],
  a: ['#9a6b00', '#e0b13c'],
  b: ['#7a3fb5', '#c497f5'],
  c: ['#00796b', '#4cc9b5'],
  d: ['#a3195b', '#ff7fb6'],
  e: ['#5d4037', '#c9a796'],
  f: ['#2e7d32', '#81c784'],
};

function style() {
  const colours = (n) =>
    Object.entries(COLOURS)
      .map(([name, pair]) => `.f-${name}{fill:${pair[n]}}.s-${name}{stroke:${pair[n]};fill:none}`)
      .join('');
  const theme = (back, ink, faint) =>
    `.back,.hollow[class]{fill:${back}}text,.f-ink{fill:${ink}}.grid{stroke:${faint}}.axis,.mark{stroke:${ink}}`;
  return (
    `<style>text{${FONT};font-size:13px}.title{font-size:15px;font-weight:600}.bold{font-weight:700}.head{font-size:12px}.grid,.axis{stroke-width:1}` +
    `${theme('#ffffff', '#1f2328', '#d5dae0')}${colours(0)}` +
    `@media (prefers-color-scheme:dark){${theme('#0d1117', '#e6edf3', '#363d47')}${colours(1)}}</style>`
  );
}

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (content) => String(content).replace(/[&<>"]/g, (character) => ESCAPES[character]);

/** One decimal is a tenth of a pixel. */
const at = (value) => String(Math.round(value * 10) / 10);

/** @param {Record<string, string | number>} attributes numbers are coordinates */
export function element(name, attributes, content = '') {
  const list = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? at(value) : escaped(value)}"`,
  );
  return content === '' ? `<${name}${list.join('')}/>` : `<${name}${list.join('')}>${content}</${name}>`;
}

/** @param {'start' | 'middle' | 'end'} [anchor] */
export function text(x, y, content, anchor = 'start', more = {}) {
  return element('text', { x, y, 'text-anchor': anchor, ...more }, escaped(content));
}

export function line(x1, y1, x2, y2, className, more = {}) {
  return element('line', { x1, y1, x2, y2, class: className, ...more });
}

/**
 * A whole plot.
 *
 * @param {{ title: string, description: string, width: number, height: number }} about the description says
 * in words what the plot shows
 * @param {string[]} parts
 */
export function document({ title, description, width, height }, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="desc">${escaped(description)}</desc>`,
    style(),
    element('rect', { class: 'back', width, height }),
    text(16, 26, title, 'start', { class: 'title' }),
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** @returns {(value: number) => number} from [from, to] to pixels */
export function linear(from, to, start, end) {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

/** Like {@link linear}, but each power of ten has the same length. */
export function logarithmic(from, to, start, end) {
  const scale = linear(Math.log10(from), Math.log10(to), start, end);
  return (value) => scale(Math.log10(value));
}

/** The powers of ten around all values. */
export function decades(values) {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.ceil(Math.log10(Math.max(...values)));
  return Array.from({ length: Math.max(1, last - first) + 1 }, (_, n) => 10 ** (first + n));
}

/** Round steps from 0 to beyond the value, five to ten of them. */
export function steps(most) {
  const rough = most / 8;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, n) => Number((n * step).toPrecision(6)));
}

/** A number on an axis. */
export function tickLabel(value) {
  return value.toLocaleString('en', { maximumFractionDigits: 3 });
}

/** Ticks, grid and name of a horizontal axis at the bottom. */
export function xAxis({ ticks, scale, top, bottom, name, label = tickLabel }) {
  const [left, right] = [scale(ticks[0]), scale(ticks.at(-1))];
  return [
    ...ticks.map((tick) => line(scale(tick), top, scale(tick), bottom, 'grid')),
    line(left, bottom, right, bottom, 'axis'),
    ...ticks.map((tick) => text(scale(tick), bottom + 18, label(tick), 'middle')),
    text((left + right) / 2, bottom + 38, name, 'middle'),
  ];
}

/** Ticks, grid and name of a vertical axis on the left. */
export function yAxis({ ticks, scale, left, right, name, label = tickLabel }) {
  const [bottom, top] = [scale(ticks[0]), scale(ticks.at(-1))];
  const middle = (top + bottom) / 2;
  return [
    ...ticks.map((tick) => line(left, scale(tick), right, scale(tick), 'grid')),
    line(left, top, left, bottom, 'axis'),
    ...ticks.map((tick) => text(left - 8, scale(tick) + 4, label(tick), 'end')),
    text(18, middle, name, 'middle', { transform: `rotate(-90 18 ${at(middle)})` }),
  ];
}

const SHAPES = {
  circle: (x, y, size, more) => element('circle', { cx: x, cy: y, r: size, ...more }),
  square: (x, y, size, more) =>
    element('rect', { x: x - size, y: y - size, width: 2 * size, height: 2 * size, ...more }),
  triangle: (x, y, size, more) => {
    const corners = [
      [x, y - size],
      [x + size, y + size],
      [x - size, y + size],
    ];
    return element('polygon', {
      points: corners.map(([px, py]) => `${at(px)},${at(py)}`).join(' '),
      ...more,
    });
  },
};

/**
 * A mark in the plot. Series differ in shape as well as in colour.
 *
 * @param {{ shape: 'circle' | 'square' | 'triangle', colour: string, isHollow?: boolean }} look
 */
export function symbol({ shape, colour, isHollow = false }, x, y, size = 5) {
  const more = isHollow ? { class: `hollow s-${colour}`, 'stroke-width': '2' } : { class: `f-${colour}` };
  return SHAPES[shape](x, y, size, more);
}

/** Width for a text of the legend in the widest system font. */
const CHARACTER_WIDTH = 7.5;

/**
 * A legend from left to right; each entry is as wide as its name.
 *
 * @param {{ name: string, draw: (x: number, y: number) => string }[]} entries `draw` makes a sign, 24 wide,
 * around a point
 */
export function legend(entries, left, y) {
  let x = left;
  return entries.flatMap(({ name, draw }) => {
    const parts = [draw(x + 12, y), text(x + 30, y + 4, name)];
    x += 30 + name.length * CHARACTER_WIDTH + 14;
    return parts;
  });
}

/** An entry of a legend for marks. */
export const legendOfSymbol = (name, look) => ({ name, draw: (x, y) => symbol(look, x, y) });

/** An entry of a legend for a line. */
export function legendOfLine(name, className, more = {}) {
  return { name, draw: (x, y) => line(x - 12, y, x + 12, y, className, more) };
}
