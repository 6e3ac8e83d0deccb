/**
 * The cost of several serving threads: memory compared with one thread, and server processor time per
 * request. `--help` lists the options.
 *
 * Memory is the resident set of the process, when it is ready and under load with full caches. Each thread
 * has a share of the caches, so each number of threads gets equally many requests per thread. Processor time
 * covers the whole process, in rounds where the numbers of threads take turns.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provenanceOf } from '../../scripts/provenance.mjs';
import { Program, startServer } from '../measure.mjs';
import { readOptions } from '../options.mjs';
import { MEASURED, textOf } from '../results-file.mjs';
import { runOnce } from '../rounds.mjs';
import { rowOf } from '../rows.mjs';
import { SECRET } from '../session.mjs';
import { readEvents, Sets } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { workloadsOf } from '../workloads.mjs';

const RESULTS = fileURLToPath(new URL('../results/workers.json', import.meta.url));
const HELP = `npm run bench:workers -- [options]

  --quick         shows that the bench works: a small set, one round
  --events <n>    events of the generated set, 1,000,000 by default
  --source <file> a set of your own, in place of the generated set
  --launches <n>  number of process starts, 3 by default
  --rounds <n>    rounds of each measurement with the same processes, 5 by default
  --amount <n>    requests of one round of one server, 40,000 by default
  --json <file>   file for the results; a run without options writes bench/results/workers.json
`;
const given = readOptions(HELP, {
  quick: { type: 'boolean', default: false },
  events: { type: 'string' },
  launches: { type: 'string' },
  rounds: { type: 'string' },
  amount: { type: 'string' },
  source: { type: 'string' },
  json: { type: 'string' },
});
const settings = {
  events: Number(given.events ?? (given.quick ? 10_000 : 1_000_000)),
  launches: Number(given.launches ?? (given.quick ? 2 : 3)),
  rounds: Number(given.rounds ?? (given.quick ? 1 : 5)),
  /** Requests of one round of one server. */
  amount: Number(given.amount ?? (given.quick ? 1000 : 40_000)),
  /** Each thread's caches are full by then. */
  requestsPerThread: given.quick ? 1000 : 250_000,
  requests: given.quick ? 5_000 : 200_000,
  connections: 64,
};
if (given.source !== undefined && !existsSync(given.source)) {
  process.stderr.write(`--source ${given.source}: there is no such file\n`);
  process.exit(2);
}
const isWhole = Object.keys(given).every((name) => name === 'quick') && !given.quick;
/** Two workloads: the first is always answered from the cache, the second never. */
const WORKLOADS = ['hot URL', 'filter + window'];
const MEMORY_WORKERS = [1, 2, 4];
const MEMORY_RATIO_MAX = 1.25;
const CPU_RATIO_MAX = 1.1;
/** By then the memory that only loading needs is free again. */
const SETTLE_MS = given.quick ? 100 : 5000;
const MB = 1_000_000;

function startThreads(source, workers) {
  return startServer('./servers/lectern.mjs', source, SECRET, JSON.stringify({ workers }));
}

const contestantOf = (server) => ({
  name: 'Lectern',
  server,
  as: 'these',
  connections: settings.connections,
});

/** In each round every server has its turn; the first round warms up and does not count. */
async function takeTurns(servers, requests) {
  await load.ask({ requests, as: 'these' }, 'taken');
  const results = servers.map(() => []);
  for (let round = -1; round < settings.rounds; round++) {
    const all = [...servers.entries()];
    for (const [n, server] of round % 2 === 0 ? all : all.toReversed()) {
      const result = await runOnce(load, contestantOf(server), settings.amount);
      if (round >= 0) results[n].push(result);
    }
  }
  return results;
}

async function residentBytes(server) {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return (await server.program.ask('usage', 'usage')).rssBytes;
}

/** The resident set of a process with this many threads. */
async function measureMemory(source, requests, workers) {
  const server = await startThreads(source, workers);
  const readyBytes = await residentBytes(server);
  await load.ask({ requests, as: 'these' }, 'taken');
  await runOnce(load, contestantOf(server), settings.requestsPerThread * workers);
  const loadedBytes = await residentBytes(server);
  await server.program.end();
  return { workers, readyBytes, loadedBytes };
}

/** Each launch has its own processes, because two processes of one program differ by a tenth and more. */
async function memoryRows(source, requests) {
  const found = new Map(MEMORY_WORKERS.map((workers) => [workers, []]));
  for (let launch = 1; launch <= settings.launches; launch++) {
    for (const workers of MEMORY_WORKERS) {
      const each = await measureMemory(source, requests, workers);
      found.get(workers).push(each);
      console.log(
        `launch ${launch} of ${settings.launches}: ${workers} threads: ${mb(each.readyBytes)} MB when ready, ${mb(each.loadedBytes)} after load`,
      );
    }
  }
  const one = found.get(1);
  return MEMORY_WORKERS.flatMap((workers) =>
    [
      ['memory when ready', 'readyBytes'],
      ['memory after load', 'loadedBytes'],
    ].map(([name, field]) => {
      const bytes = found.get(workers).map((each) => each[field]);
      const ratios = bytes.map((each, launch) => each / one[launch][field]);
      const target = workers === 4 ? MEMORY_RATIO_MAX : null;
      return rowOf({ name, workers, target }, ratios, { bytes: median(bytes) });
    }),
  );
}

const mb = (bytes) => Math.round(bytes / MB);

/** Two threads compared with one, each launch with its own processes. */
async function cpuRows(source, workloads) {
  const found = workloads.map(() => ({ one: [], two: [] }));
  for (let launch = 1; launch <= settings.launches; launch++) {
    const servers = [await startThreads(source, 1), await startThreads(source, 2)];
    for (const [n, { name, requests }] of workloads.entries()) {
      const [one, two] = await takeTurns(servers, requests);
      found[n].one.push(...one);
      found[n].two.push(...two);
      const ratio = median(two.map((each, round) => each.cpuMicros / one[round].cpuMicros));
      console.log(
        `launch ${launch} of ${settings.launches}: ${name}: 2 threads against 1 ${ratio.toFixed(2)}`,
      );
    }
    for (const { program } of servers) await program.end();
  }
  return workloads.map(({ name }, n) => {
    const { one, two } = found[n];
    const ratios = two.map((each, round) => each.cpuMicros / one[round].cpuMicros);
    const middle = (field) => [one, two].map((runs) => median(runs.map((each) => each[field])));
    const row = rowOf({ name, workers: 2, target: CPU_RATIO_MAX }, ratios, {
      micros: middle('cpuMicros'),
      perSecond: middle('perSecond'),
    });
    console.log(
      `${name.padEnd(30)} 2 threads against 1: ${row.median.toFixed(2)} (${row.q1.toFixed(2)} to ${row.q3.toFixed(2)}) of the processor time; ` +
        `${row.detail.micros.map((each) => each.toFixed(1)).join(' → ')} µs, ${row.detail.perSecond.map(Math.round).join(' → ')}/s`,
    );
    return row;
  });
}

const about = provenanceOf(MEASURED, 'loadBefore');
const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-'));
const load = Program.start('./load.mjs');
try {
  const source = given.source ?? (await new Sets(folder, { large: settings.events }).file('large'));
  const all = workloadsOf(readEvents(source), { secret: SECRET, count: settings.requests, seed: 1 });
  const workloads = WORKLOADS.map((name) => all.find((each) => each.name === name));
  const memory = await memoryRows(source, workloads[1].requests);
  const cpu = await cpuRows(source, workloads);
  const file = given.json ?? (isWhole ? RESULTS : null);
  const text = textOf({ ...about, settings, memory, cpu, measurements: [] });
  if (file === null) console.log(text);
  else writeFileSync(file, text);
} finally {
  await load.end();
  rmSync(folder, { recursive: true, force: true });
}
