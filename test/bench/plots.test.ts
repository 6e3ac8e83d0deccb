/** The plots are readable: no label overlaps another or a mark, and Lectern has its own colour and place. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';

interface Box {
  readonly what: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

interface Plot {
  readonly file: string;
  readonly svg: string;
}

const at = (path: string): URL => new URL(`../../bench/${path}`, import.meta.url);
const { plotsOf } = (await import(at('report/plots.mjs').href)) as {
  plotsOf(results: unknown): readonly Plot[];
};
const results: unknown = JSON.parse(readFileSync(fileURLToPath(at('results/node20.json')), 'utf8'));
const plots = plotsOf(results);
const plotOf = (file: string): string => plots.find((plot) => plot.file === file)?.svg ?? '';

/** Wider than the average of system fonts, as a share of the font size. */
const CHARACTER_WIDTH = 0.56;
const FONT_SIZE = 13;
const TITLE_SIZE = 15;

/** The attributes and the content of every element with a name. */
function elements(svg: string, name: string): { attributes: Map<string, string>; content: string }[] {
  return [...svg.matchAll(new RegExp(`<${name} ([^>]*?)(?:/>|>(.*?)</${name}>)`, 'g'))].map(
    ([, list, content]) => ({
      attributes: new Map(
        [...(list ?? '').matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key ?? '', value ?? '']),
      ),
      content: content ?? '',
    }),
  );
}

function numberOf(attributes: Map<string, string>, name: string): number {
  const value = Number(attributes.get(name));
  if (!Number.isFinite(value)) throw new Error(`${name}: ${attributes.get(name)}`);
  return value;
}

function labelBoxes(svg: string): Box[] {
  return elements(svg, 'text').map(({ attributes, content }) => {
    const what = content.replace(/&\w+;/g, '&');
    const size = attributes.get('class') === 'title' ? TITLE_SIZE : FONT_SIZE;
    const width = what.length * size * CHARACTER_WIDTH;
    const [x, y] = [numberOf(attributes, 'x'), numberOf(attributes, 'y')];
    const shares = new Map([
      ['start', 0],
      ['middle', 0.5],
      ['end', 1],
    ]);
    const before = width * (shares.get(attributes.get('text-anchor') ?? 'start') ?? 0);
    const [ascent, descent] = [size * 0.75, size * 0.2];
    // A rotated label runs upwards.
    if (attributes.has('transform')) {
      return { what, left: x - ascent, right: x + descent, top: y - width + before, bottom: y + before };
    }
    return { what, left: x - before, right: x - before + width, top: y - ascent, bottom: y + descent };
  });
}

/** Marks of figures and targets. Lines of the grid and axes may be crossed, so they do not count. */
function markBoxes(svg: string): Box[] {
  const isMark = (attributes: Map<string, string>) =>
    /\b(?:f-|s-|mark|hollow)/.test(attributes.get('class') ?? '');
  const marksOf = (name: string) => elements(svg, name).filter(({ attributes }) => isMark(attributes));
  const boxOf = (what: string, points: readonly (readonly [number, number])[]): Box => ({
    what,
    left: Math.min(...points.map(([x]) => x)),
    right: Math.max(...points.map(([x]) => x)),
    top: Math.min(...points.map(([, y]) => y)),
    bottom: Math.max(...points.map(([, y]) => y)),
  });
  const pointsOf = (attributes: Map<string, string>) =>
    (attributes.get('points') ?? '').split(' ').map((point) => {
      const [x, y] = point.split(',').map(Number);
      return [x ?? Number.NaN, y ?? Number.NaN] as const;
    });
  return [
    ...marksOf('circle').map(({ attributes: a }) => {
      const [x, y, r] = [numberOf(a, 'cx'), numberOf(a, 'cy'), numberOf(a, 'r')];
      return boxOf('circle', [
        [x - r, y - r],
        [x + r, y + r],
      ]);
    }),
    ...marksOf('rect').map(({ attributes: a }) => {
      const [x, y] = [numberOf(a, 'x'), numberOf(a, 'y')];
      return boxOf('rect', [
        [x, y],
        [x + numberOf(a, 'width'), y + numberOf(a, 'height')],
      ]);
    }),
    ...marksOf('line').map(({ attributes: a }) =>
      boxOf('line', [
        [numberOf(a, 'x1'), numberOf(a, 'y1')],
        [numberOf(a, 'x2'), numberOf(a, 'y2')],
      ]),
    ),
    ...marksOf('polygon').map(({ attributes }) => boxOf('polygon', pointsOf(attributes))),
    ...marksOf('polyline').flatMap(({ attributes }) => {
      const points = pointsOf(attributes);
      return points
        .slice(1)
        .flatMap((point, n) => piecesOf(points[n] ?? point, point).map((piece) => boxOf('curve', piece)));
    }),
  ];
}

/** A slanting line as short pieces, because its own box would be far too large. */
function piecesOf(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
): (readonly (readonly [number, number])[])[] {
  const count = 40;
  const point = (n: number): readonly [number, number] => [
    x1 + ((x2 - x1) * n) / count,
    y1 + ((y2 - y1) * n) / count,
  ];
  return Array.from({ length: count }, (_, n) => [point(n), point(n + 1)]);
}

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Describes every label that covers another, covers a mark, or lies beyond the edge. */
function faultsOf(svg: string): string[] {
  const labels = labelBoxes(svg);
  const marks = markBoxes(svg);
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? [];
  const page = { right: Number(width), bottom: Number(height) };
  return labels.flatMap((label, n) => [
    ...labels
      .slice(n + 1)
      .filter((other) => overlap(label, other))
      .map((other) => `"${label.what}" lies on "${other.what}"`),
    ...marks.filter((mark) => overlap(label, mark)).map((mark) => `"${label.what}" lies on a ${mark.what}`),
    ...(label.left < 0 || label.top < 0 || label.right > page.right || label.bottom > page.bottom
      ? [`"${label.what}" leaves the page`]
      : []),
  ]);
}

test('labels do not overlap labels or marks, and all are on the page', async (t) => {
  t.equal(plots.length, 5);
  for (const { file, svg } of plots) {
    t.ok(labelBoxes(svg).length >= 10, `${file} has labels`);
    t.ok(markBoxes(svg).length >= 5, `${file} has marks`);
    t.strictSame(faultsOf(svg), [], file);
  }
});

test('the test would notice overlapping labels', async (t) => {
  const svg = plotOf('sizes.svg');
  const label = /<text x="[\d.]+" y="[\d.]+" text-anchor="middle">rpi-fall-2024<\/text>/;
  t.match(svg, label);
  const [, x, y] =
    /<polygon points="([\d.]+),([\d.]+) [^"]*" class="hollow/.exec(svg.slice(svg.indexOf('<polyline'))) ?? [];
  const onMark = svg.replace(label, `<text x="${x}" y="${y}" text-anchor="middle">rpi-fall-2024</text>`);
  t.ok(faultsOf(onMark).includes('"rpi-fall-2024" lies on a polygon'));
  const onLabel = svg.replace(label, '<text x="76" y="56">rpi-fall-2024</text>');
  t.ok(faultsOf(onLabel).includes('"default caches" lies on "rpi-fall-2024"'));
  const outside = svg.replace(label, '<text x="840" y="470">rpi-fall-2024</text>');
  t.ok(faultsOf(outside).includes('"rpi-fall-2024" leaves the page'));
});

test('plots of ratios have a line at 1.0', async (t) => {
  const ratio = plotOf('ratio.svg');
  const tickOf = (svg: string, name: 'x' | 'y') => {
    const tick = elements(svg, 'text').find(({ content }) => content === '1');
    return numberOf(tick?.attributes ?? new Map(), name);
  };
  const upright = elements(ratio, 'line').filter(
    ({ attributes: a }) =>
      a.get('class') === 'mark' && numberOf(a, 'x1') === tickOf(ratio, 'x') && a.get('x1') === a.get('x2'),
  );
  t.equal(upright.length, 1);
  const sizes = plotOf('sizes.svg');
  const level = elements(sizes, 'line').filter(
    ({ attributes: a }) =>
      a.get('class') === 's-floor' &&
      a.get('y1') === a.get('y2') &&
      numberOf(a, 'y1') === tickOf(sizes, 'y') - 4,
  );
  t.equal(level.length, 1);
  for (const svg of [ratio, sizes]) t.match(svg, '>1.0: bare node:http</text>');
});

test('target figures stand in a column or in the legend, never beside a mark', async (t) => {
  const ratio = plotOf('ratio.svg');
  const figures = elements(ratio, 'text').filter(({ content }) => /^\d\.\d\d$/.test(content));
  const columns = new Set(figures.map(({ attributes }) => numberOf(attributes, 'x')));
  t.equal(columns.size, 2, 'measured and target');
  const rightmost = Math.max(...markBoxes(ratio).map(({ right }) => right));
  t.ok(Math.min(...columns) > rightmost + 30, 'right of all marks');
});

test('all plots have the same order, and Lectern has its own colour', async (t) => {
  const NAMES = [
    'bare node:http',
    'Lectern',
    'Fastify, constant body',
    'Fastify + better-sqlite3',
    'Fastify + PostgreSQL',
    'array filter',
    'json-server',
  ];
  const orderIn = (file: string) =>
    elements(plotOf(file), 'text')
      .filter(({ content }) => NAMES.includes(content))
      .sort((a, b) => numberOf(a.attributes, 'y') - numberOf(b.attributes, 'y'))
      .map(({ content }) => content);
  t.strictSame(orderIn('peers.svg'), NAMES);
  t.strictSame(orderIn('throughput.svg'), NAMES);
  t.strictSame(orderIn('latency.svg'), NAMES.slice(0, -1), 'json-server has fewer connections');
  for (const file of ['peers.svg', 'throughput.svg', 'latency.svg']) {
    const svg = plotOf(file);
    const label = elements(svg, 'text').find(({ content }) => content === 'Lectern');
    const rowY = numberOf(label?.attributes ?? new Map(), 'y') - 4;
    const own = elements(svg, 'circle').filter(
      ({ attributes: a }) => Math.abs(numberOf(a, 'cy') - rowY) < 15 && a.get('class') === 'f-lectern',
    );
    t.ok(own.length > 0, `${file}: Lectern's marks`);
  }
  // One colour means one server. Lectern has one curve, or one mark a workload in a row.
  t.equal(plotOf('latency.svg').match(/class="s-lectern"/g)?.length, 1);
  for (const file of ['peers.svg', 'throughput.svg'])
    t.equal(plotOf(file).match(/class="f-lectern"/g)?.length, 3);
});
