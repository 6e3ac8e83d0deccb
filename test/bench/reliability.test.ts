/** The figures in docs/reliability.md and docs/security.md agree with the newest files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { RESULTS, recordFigure } from '../hard/figures.mjs';
import {
  cellOf,
  DOCUMENTS,
  type Figure,
  placesIn,
  readFigures,
  withFigures,
} from '../hard/report/document.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEXTS = DOCUMENTS.map((name) => readFileSync(join(ROOT, name), 'utf8'));
/** The names of figures that tests record: `recordFigure('name'` in scripts, and the second argument of `told` in tests. */
const RECORDED = /recordFigure\(\s*'([a-z0-9-]+)'/g;

const FIGURE: Figure = {
  measured: '11 MiB more',
  date: '2024-09-02T08:00:00.000Z',
  commit: '0123456789abcdef',
  isChanged: false,
  node: 'v20.20.2',
  machine: { cores: 2 },
};

test('the documents agree with the newest results; npm run hard:report updates them', async (t) => {
  const figures = readFigures(RESULTS);
  t.strictSame(withFigures(TEXTS, figures), TEXTS);
  const places = TEXTS.flatMap(placesIn);
  t.ok(places.length >= 25, `${places.length} places`);
  t.equal(new Set(places).size, places.length, 'each once');
  const texts = sourcesOf('test').map((file) => readFileSync(file, 'utf8'));
  const named = new Set(texts.flatMap((text) => [...text.matchAll(RECORDED)].map(([, name]) => name)));
  const unknown = places.filter(
    (place) => !named.has(place) && !texts.some((text) => text.includes(`'${place}'`)),
  );
  t.strictSame(unknown, [], 'each is recorded by a test');
});

function sourcesOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|mjs)$/.test(name) && !name.includes('reliability.test'))
    .map((name) => join(ROOT, folder, name));
}

test('figures are inserted at their markers, and no other text changes', async (t) => {
  const text =
    '| a | <!-- figure: one -->by hand<!-- end --> |\n| b | <!-- figure: two -->7 MiB<!-- end --> |\n';
  t.strictSame(withFigures([text], new Map()), [text]);
  const cell = '11 MiB more (2024-09-02, 0123456, Node 20.20.2, 2 cores)';
  t.equal(cellOf(FIGURE), cell);
  const other = 'no table';
  const once = withFigures([other, text], new Map([['one', FIGURE]]));
  t.strictSame(once, [other, text.replace('by hand', cell)]);
  t.strictSame(withFigures(once, new Map([['one', FIGURE]])), once, 'and again');
  t.strictSame(withFigures(once, new Map([['one', { ...FIGURE, measured: '12 MiB', isChanged: true }]])), [
    other,
    text.replace('by hand', '12 MiB (2024-09-02, 0123456 with changes, Node 20.20.2, 2 cores)'),
  ]);
  t.throws(() => withFigures([text], new Map([['three', FIGURE]])), /three has 0 places/);
  t.throws(() => withFigures([text, text], new Map([['one', FIGURE]])), /one has 2 places/);
});

test('figures are written and read, and malformed ones are refused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-figures-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  t.equal(readFigures(join(folder, 'none')).size, 0);
  recordFigure('one', '11 MiB more', { grownMib: 11 }, folder);
  t.match(readFigures(folder).get('one'), {
    measured: '11 MiB more',
    date: /^\d{4}-/,
    commit: /./,
    node: process.version,
    machine: { cores: /\d/ },
    details: { grownMib: 11 },
  });
  t.throws(() => recordFigure('Two', 'x', {}, folder), /is not named/);
  t.throws(() => recordFigure('two', 'a | b', {}, folder), /no text for a table/);
  writeFileSync(join(folder, 'two.json'), '{');
  t.throws(() => readFigures(folder), /two\.json is not JSON/);
  writeFileSync(join(folder, 'two.json'), JSON.stringify({ ...FIGURE, commit: '' }));
  t.throws(() => readFigures(folder), /two\.json has no "commit"/);
});
