/**
 * The cost of changing a record, and the time until the change is served.
 *
 *     npm run bench:live [-- --events 100000 --large 1000000 --runs 3 --only single,rate,requests,large,memory,database,follow]
 *
 * Every run has its own process on the built package. Processor time is that of the whole process. Figures
 * are medians, with the smallest and the largest in parentheses.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateFile } from '../generate.mjs';
import { readOptions } from '../options.mjs';
import { printRow as row } from '../targets.mjs';

const HELP = `npm run bench:live -- [options]

  --events <n>    events of the usual set, 100,000 by default
  --large <n>     events of the large set, 1,000,000 by default
  --runs <n>      processes for each measurement, 3 by default
  --only <names>  measurements, separated by commas: single, rate, requests, large, memory, database, follow; all by default
  --database <url>  an empty PostgreSQL database with wal_level logical, for database and follow, which are otherwise left out
`;
const settings = readOptions(HELP, {
  events: { type: 'string', default: '100000' },
  large: { type: 'string', default: '1000000' },
  runs: { type: 'string', default: '3' },
  only: { type: 'string', default: 'single,rate,requests,large,memory,database,follow' },
  database: { type: 'string' },
});
const runs = Number(settings.runs);
/** Reading more rows than these must take no more memory. */
const FEWER_ROWS = '200000';
const only = new Set(settings.only.split(','));
const folder = mkdtempSync(join(tmpdir(), 'lectern-live-'));
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

async function generate(events) {
  const file = join(folder, `${events}.ndjson`);
  await generateFile(file, { events: Number(events), seed: 7 });
  return file;
}

const measure = (file, scenario) => runProcess('changes.mjs', [file, scenario], scenario);
const ofDatabase = (table, scenario, ...more) =>
  runProcess('database.mjs', [settings.database, table, scenario, ...more], scenario);

async function runProcess(name, options, scenario) {
  const child = spawn(process.execPath, [here(name), ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`${scenario} ended with ${code}`);
  return JSON.parse(output);
}

async function times(file, scenario) {
  const results = [];
  for (let run = 0; run < runs; run++) results.push(await measure(file, scenario));
  return results;
}

function singleRows(name, results, [seen, cpu]) {
  const first = results.map(({ changes }) => changes[0]);
  const later = results.flatMap(({ changes }) => changes.slice(1));
  row(
    `${name}: apply to first answer, first change`,
    first.map((c) => c.seenMs),
    'ms',
    seen,
  );
  row(
    `${name}: processor time, first change`,
    first.map((c) => c.cpuMs / 1000),
    's',
    cpu,
  );
  row(
    `${name}: apply to first answer, later changes`,
    later.map((c) => c.seenMs),
    'ms',
    seen,
  );
  row(
    `${name}: processor time, later changes`,
    later.map((c) => c.cpuMs / 1000),
    's',
    cpu,
  );
}

/** Measures each way in turn, so that a busy machine is busy for all of them. */
async function databaseRows(name, events) {
  const table = `lectern_bench_${events}`;
  await ofDatabase(table, 'fill', await generate(events));
  const fewer = `lectern_bench_${FEWER_ROWS}`;
  await ofDatabase(fewer, 'fill', await generate(FEWER_ROWS));
  const results = { json: [], binary: [], load: [], read: [] };
  for (let run = 0; run < runs; run++)
    for (const way of Object.keys(results)) results[way].push(await ofDatabase(table, way));
  const ofFewer = [];
  for (let run = 0; run < runs; run++) ofFewer.push(await ofDatabase(fewer, 'read'));
  const { json, binary, load, read } = results;
  const seconds = (label, results, key = 'ms') =>
    row(
      `${name} in PostgreSQL: ${label}`,
      results.map((result) => result[key] / 1000),
      's',
      null,
    );
  const ratios = (floor) => load.map(({ ms }, run) => ms / floor[run].ms);
  seconds('COPY of JSON alone', json);
  seconds('COPY in the binary format alone', binary);
  seconds('until served', load);
  seconds('until served, processor time of the client', load, 'cpuMs');
  row(`${name} in PostgreSQL: until served, to COPY of JSON`, ratios(json), 'x', 1.5);
  row(`${name} in PostgreSQL: until served, to COPY in the binary format`, ratios(binary), 'x', null);
  const megabytes = (label, results, bytesOf) =>
    row(
      `${name} in PostgreSQL: ${label}`,
      results.map((r) => bytesOf(r) / 1e6),
      'MB',
      null,
    );
  megabytes('peak memory of the client', load, (r) => r.peakBytes);
  megabytes('the same without the image', load, (r) => r.peakBytes - r.imageBytes);
  megabytes('peak memory of reading alone', read, (r) => r.peakBytes);
  row(
    `${name} in PostgreSQL: reading alone, to ${FEWER_ROWS} rows`,
    read.map((r, run) => r.peakBytes / ofFewer[run].peakBytes),
    'x',
    1.2,
  );
}

async function followRows(name, events) {
  const table = `lectern_bench_${events}`;
  await ofDatabase(table, 'fill', await generate(events));
  const lagsMs = [];
  for (let run = 0; run < runs; run++) lagsMs.push(...(await ofDatabase(table, 'follow')).lagsMs);
  lagsMs.sort((a, b) => a - b);
  const quantile = (share) => lagsMs[Math.floor(share * (lagsMs.length - 1))];
  row(`${name} followed: commit to answer, median of ${lagsMs.length}`, [quantile(0.5)], 'ms', 200);
  row(`${name} followed: commit to answer, 99 %`, [quantile(0.99)], 'ms', 1000);
}

function stallRows(name, results) {
  row(
    `${name}: longest stall of the serving thread`,
    results.map((r) => r.longestMs),
    'ms',
    25,
  );
  row(
    `${name}: the same without waits for a processor`,
    results.map((r) => r.ownLongestMs),
    'ms',
    25,
  );
  row(
    `${name}: failed reads`,
    results.map((r) => r.failures),
    '',
    0,
  );
}

try {
  const load = loadavg()[0].toFixed(1);
  process.stdout.write(`Node ${process.version}, ${cpus().length} cores, load ${load}, ${runs} runs\n`);
  const usual = await generate(settings.events);
  const name = `${settings.events} events`;
  if (only.has('single')) singleRows(name, await times(usual, 'single'), [100, 0.12]);
  if (only.has('rate')) {
    const results = await times(usual, 'rate');
    const about = `${name}, 50 changes a second`;
    const seconds = (each) => results.map((r) => each(r) / 1000);
    row(
      `${about}: processor time of 10 s, in all`,
      seconds((r) => r.cpuMs),
      's',
      3,
    );
    row(
      `${about}: reads and records of the bench, which the time above contains`,
      seconds((r) => r.readsCpuMs),
      's',
      null,
    );
    row(
      `${about}: lag, median`,
      results.map((r) => r.p50),
      'ms',
      300,
    );
    row(
      `${about}: lag, 99 %`,
      results.map((r) => r.p99),
      'ms',
      800,
    );
    stallRows(about, results);
  }
  if (only.has('requests')) {
    const ratios = (await times(usual, 'requests')).flatMap((r) => r.ratios.map(({ ratio }) => ratio));
    row(`${name}: processor time of a read, after 10 changes to before`, ratios, '', 1.15);
  }
  const large = only.has('large') || only.has('memory') ? await generate(settings.large) : '';
  const largeName = `${settings.large} events`;
  if (only.has('large')) singleRows(largeName, await times(large, 'single'), [1000, 1]);
  if (only.has('memory')) {
    const results = await times(large, 'memory');
    row(
      `${largeName}: peak memory of patches`,
      results.map((r) => r.peakBytes / r.steadyBytes),
      'x',
      2.2,
    );
    row(
      `${largeName}: memory after them`,
      results.map((r) => r.afterBytes / r.steadyBytes),
      'x',
      1.3,
    );
    stallRows(largeName, results);
  }
  if (settings.database === undefined) {
    if (only.has('database') || only.has('follow'))
      process.stdout.write('Without --database, PostgreSQL is left out\n');
  } else {
    if (only.has('database')) await databaseRows(largeName, settings.large);
    if (only.has('follow')) await followRows(name, settings.events);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
