/**
 * What several serving threads cost: memory against one thread, and server processor time per request.
 *
 *     npm run bench:workers -- [--quick] [--events 1000000] [--rounds 7] [--amount 40000] [--source <file>] [--json <file>]
 *
 * Memory is the resident set of the process, once it is ready and again after the same load, with all that is then cached.
 * Processor time is that of the whole process, over rounds in which each number of threads has its turn.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program, startServer } from '../measure.mjs';
import { readOptions } from '../options.mjs';
import { runOnce } from '../rounds.mjs';
import { readEvents, Sets } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { workloadsOf } from '../workloads.mjs';

const HELP = `npm run bench:workers -- [options]

  --quick         see whether everything works: a small set, one round
  --events <n>    events of the generated set, 1,000,000 by default
  --source <file> a set of your own instead
  --rounds <n>    rounds of each measurement, 7 by default
  --amount <n>    requests of one round of one server, 40,000 by default
  --json <file>   where the results go
`;
const given = readOptions(HELP, {
  quick: { type: 'boolean', default: false },
  events: { type: 'string' },
  rounds: { type: 'string' },
  amount: { type: 'string' },
  source: { type: 'string' },
  json: { type: 'string' },
});
const settings = {
  events: Number(given.events ?? (given.quick ? 10_000 : 1_000_000)),
  rounds: Number(given.rounds ?? (given.quick ? 1 : 7)),
  /** Requests of one round of one server. */
  amount: Number(given.amount ?? (given.quick ? 1000 : 40_000)),
  requests: given.quick ? 5_000 : 200_000,
  connections: 64,
};
const SECRET = 'a secret for the bench, of 32 bytes or more';
/** Of those, the workloads that are measured: one that is never answered from memory, and one that is. */
const WORKLOADS = /^(?:hot URL|filter \+ window)$/;
const MEMORY_WORKERS = [1, 2, 4];
const MB = 1_000_000;

function startThreads(source, workers) {
  return startServer('./servers/lectern.mjs', source, SECRET, JSON.stringify({ workers }));
}

/** Rounds in which each server has its turn; the first round warms up and does not count. */
async function takeTurns(servers, requests, rounds) {
  await load.ask({ requests, as: 'these' }, 'taken');
  const results = servers.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (const [n, server] of servers.entries()) {
      const contestant = { name: 'Lectern', server, as: 'these', connections: settings.connections };
      const result = await runOnce(load, contestant, settings.amount);
      if (round >= 0) results[n].push(result);
    }
  }
  return results;
}

const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-'));
const load = Program.start('./load.mjs');
try {
  const source = given.source ?? (await new Sets(folder, { large: settings.events }).file('large'));
  const all = workloadsOf(readEvents(source), { secret: SECRET, count: settings.requests, seed: 1 });
  const workloads = all.filter(({ name }) => WORKLOADS.test(name));
  if (workloads.length === 0) throw new Error(`no workload of ${all.map(({ name }) => name).join(', ')}`);

  const memory = [];
  const readyRss = async (server) => {
    // What was only needed for loading has gone back by then.
    await new Promise((resolve) => setTimeout(resolve, 3000));
    return (await server.program.ask('usage', 'usage')).rssBytes;
  };
  for (const workers of MEMORY_WORKERS) {
    const server = await startThreads(source, workers);
    const ready = await readyRss(server);
    const { requests } = workloads.at(-1);
    await takeTurns([server], requests, 2);
    const { rssBytes: loaded } = await server.program.ask('usage', 'usage');
    memory.push({ workers, ready, loaded });
    await server.program.end();
    const [one] = memory;
    console.log(
      `${workers} threads: ${Math.round(ready / MB)} MB when ready (${(ready / one.ready).toFixed(2)}), ` +
        `${Math.round(loaded / MB)} MB after load (${(loaded / one.loaded).toFixed(2)})`,
    );
  }

  const servers = [await startThreads(source, 1), await startThreads(source, 2)];
  const rows = [];
  for (const { name, requests } of workloads) {
    const [one, two] = await takeTurns(servers, requests, settings.rounds);
    const ratios = two.map((each, round) => each.cpuMicros / one[round].cpuMicros);
    const row = {
      workload: name,
      ratio: median(ratios),
      ratioMin: Math.min(...ratios),
      ratioMax: Math.max(...ratios),
      micros: [one, two].map((runs) => median(runs.map((each) => each.cpuMicros))),
      perSecond: [one, two].map((runs) => median(runs.map((each) => each.perSecond))),
    };
    rows.push(row);
    console.log(
      `${name.padEnd(30)} 2 threads against 1: ${row.ratio.toFixed(2)} (${row.ratioMin.toFixed(2)} to ${row.ratioMax.toFixed(2)}) of the processor time; ` +
        `${row.micros.map((each) => each.toFixed(1)).join(' → ')} µs, ${row.perSecond.map(Math.round).join(' → ')}/s`,
    );
  }
  for (const { program } of servers) await program.end();
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  const results = { machine, settings, memory, rows };
  if (given.json === undefined) console.log(JSON.stringify(results));
  else writeFileSync(given.json, `${JSON.stringify(results, null, 2)}\n`);
} finally {
  await load.end();
  rmSync(folder, { recursive: true, force: true });
}
