/** docs/benchmarks.md, README.md and the plots agree with the newest results of the bench. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';

interface Row {
  readonly group: string;
  readonly name: string;
  readonly set: string;
  readonly median: number;
}

interface Results {
  readonly node: string;
  readonly rows: readonly Row[];
}

interface Plot {
  readonly file: string;
  readonly title: string;
  readonly svg: string;
}

interface ResultsModule {
  readResults(folder: string): Results[];
}

interface TableModule {
  reportOf(all: readonly Results[], plots: readonly Plot[]): string;
  headlineOf(results: Results, plots: readonly Plot[]): string;
  withReport(page: string, report: string, name?: string): string;
}

interface WorkersModule {
  readWorkers(folder: string): object;
  workersReportOf(results: object): string;
}

interface PlotsModule {
  plotsOf(results: Results): Plot[];
}

interface WorkloadsModule {
  readonly WORKLOADS: readonly { readonly name: string; readonly target: number }[];
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RESULTS = join(ROOT, 'bench/results');
const load = (path: string): Promise<unknown> => import(new URL(`../../bench/${path}`, import.meta.url).href);

const { readResults } = (await load('report/results.mjs')) as ResultsModule;
const { headlineOf, reportOf, withReport } = (await load('report/table.mjs')) as TableModule;
const { readWorkers, workersReportOf } = (await load('report/workers.mjs')) as WorkersModule;
const { plotsOf } = (await load('report/plots.mjs')) as PlotsModule;
const { WORKLOADS } = (await load('workloads.mjs')) as WorkloadsModule;

const page = readFileSync(join(ROOT, 'docs/benchmarks.md'), 'utf8');
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const all = readResults(RESULTS);
const first = all[0] as Results;
const HINT = 'npm run bench:report writes it';

test('docs/benchmarks.md agrees with the results', async (t) => {
  const report = reportOf(all, plotsOf(first));
  t.equal(withReport(page, report), page, HINT);
  for (const { name, median } of first.rows) {
    t.ok(report.includes(` ${name}`), name);
    t.type(median, 'number');
  }
});

test('README.md shows one plot and three figures of the results', async (t) => {
  const plots = plotsOf(first);
  const headline = headlineOf(first, plots);
  t.equal(withReport(readme, headline, 'headline'), readme, HINT);
  t.equal(plots.filter(({ file }) => headline.includes(file)).length, 1);
  t.equal(headline.match(/^- /gm)?.length, 3);
});

test('docs/benchmarks.md has the cost of several threads', async (t) => {
  const report = workersReportOf(readWorkers(RESULTS));
  t.equal(withReport(page, report, 'workers'), page, HINT);
  t.match(
    report,
    /\| memory after load \| 1\.25 with 4 \| [\d.]+ \(\d+ MB\), each launch [\d., ]+ \| [\d.]+ \(/,
  );
});

test('the test would notice a page with other figures', async (t) => {
  const rows = first.rows.map((row, n) => (n === 0 ? { ...row, median: row.median * 2 } : row));
  t.not(withReport(page, reportOf([{ ...first, rows }], plotsOf(first))), page);
  t.throws(() => withReport('# no markers', 'report'), /bench:begin/);
});

test('the plots show the results', async (t) => {
  const plots = plotsOf(first);
  t.ok(plots.length >= 4);
  for (const { file, title, svg } of plots) {
    t.equal(readFileSync(join(RESULTS, file), 'utf8'), svg, `${file}: ${HINT}`);
    t.match(svg, /<svg [^>]*role="img" aria-labelledby="title desc"/, 'it has a role and names');
    t.match(svg, /<title id="title">.+<\/title>/);
    t.match(svg, /<desc id="desc">.+<\/desc>/);
    t.match(svg, 'prefers-color-scheme:dark', 'it suits dark pages');
    t.notMatch(svg, /NaN|undefined|Infinity/);
    t.ok(page.includes(`![${title}](../bench/results/${file})`), `docs/benchmarks.md shows ${file}`);
  }
  const files = readdirSync(RESULTS).filter((name) => name.endsWith('.svg'));
  t.same(files.sort(), plots.map(({ file }) => file).sort(), 'there are no others');
});

test('every workload has a row', async (t) => {
  t.ok(WORKLOADS.length > 0);
  for (const results of all) {
    const names = results.rows.filter(({ group }) => group === 'workload').map(({ name }) => name);
    for (const { name } of WORKLOADS) t.ok(names.includes(name), `${results.node}: ${name}`);
  }
});

test('broken results are refused, with the reason', async (t) => {
  const source = readdirSync(RESULTS).find((name) => name === 'node20.json') ?? '';
  const good = JSON.parse(readFileSync(join(RESULTS, source), 'utf8')) as Results & {
    readonly settings: { readonly launches: number; readonly rounds: number };
  };
  const folder = mkdtempSync(join(tmpdir(), 'lectern-results-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const refused = (text: string, expected: RegExp) => {
    writeFileSync(join(folder, 'node20.json'), text);
    t.throws(() => readResults(folder), expected, String(expected));
  };
  t.throws(() => readResults(folder), /no results in/, 'none at all');
  cpSync(join(RESULTS, source), join(folder, 'node20.json'));
  t.doesNotThrow(() => readResults(folder), 'those that are good are taken');

  const { rows } = good;
  const withRow = (change: object) =>
    JSON.stringify({ ...good, rows: rows.map((row, n) => (n === 0 ? { ...row, ...change } : row)) });
  const json = JSON.stringify(good);
  refused(json.slice(0, json.length / 2), /node20\.json is not JSON/);
  refused(JSON.stringify({ ...good, rows: undefined }), /have no "rows"/);
  refused(JSON.stringify({ ...good, node: undefined }), /no version of Node/);
  refused(JSON.stringify({ ...good, rows: rows.slice(1) }), new RegExp(`lack rows: .*${rows[0]?.name}`));
  refused(
    JSON.stringify({ ...good, rows: rows.filter(({ group }) => !group.startsWith('peer')) }),
    /lack rows: peer/,
  );
  // Another version may have fewer results, but must have some.
  const other = (some: Results['rows']): void =>
    writeFileSync(join(folder, 'node24.json'), JSON.stringify({ ...good, node: 'v24.0.0', rows: some }));
  cpSync(join(RESULTS, source), join(folder, 'node20.json'));
  other(rows.slice(1, 2));
  t.equal(readResults(folder).length, 2);
  other([]);
  t.throws(() => readResults(folder), /v24\.0\.0 have no row/);
  rmSync(join(folder, 'node24.json'));
  refused(JSON.stringify({ ...good, settings: { ...good.settings, quick: true } }), /quick run/);
  const { launches, rounds } = good.settings;
  refused(withRow({ values: [1] }), new RegExp(`1 rounds instead of ${launches * rounds}`));
  refused(JSON.stringify({ ...good, settings: { ...good.settings, launches: undefined } }), /instead of NaN/);
  refused(withRow({ median: null }), /median null/);
  refused(withRow({ min: 1000 }), /a spread of 1000/);
  refused(withRow({ target: 0 }), /target 0/);
  refused(withRow({ detail: { micros: 0 } }), /micros 0/);
});
