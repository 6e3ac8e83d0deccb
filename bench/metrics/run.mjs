/**
 * The cost of counting: alone in one thread, and as server processor time per request with and without the
 * admin listener. Two servers without it show the noise.
 *
 *     npm run bench:metrics -- [--quick] [--events 100000] [--rounds 15] [--amount 8000] [--json <file>]
 *
 * Three processes take turns within each round.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CELL, routeNumber } from '../../dist/metrics/cells.js';
import { Meter } from '../../dist/metrics/meter.js';
import { conditional } from '../answers.mjs';
import { Program, startServer } from '../measure.mjs';
import { readOptions } from '../options.mjs';
import { runOnce } from '../rounds.mjs';
import { readEvents, Sets } from '../sets.mjs';
import { spreadOf } from '../statistics.mjs';
import { workloadsOf } from '../workloads.mjs';

const HELP = `npm run bench:metrics -- [options]

  --quick         shows that the bench works: a small set, short rounds
  --events <n>    events of the generated set, 100,000 by default
  --rounds <n>    rounds of each measurement, 15 by default
  --amount <n>    requests of one round of one server, 8,000 by default
  --json <file>   file for the results
`;
const given = readOptions(HELP, {
  quick: { type: 'boolean', default: false },
  events: { type: 'string' },
  rounds: { type: 'string' },
  amount: { type: 'string' },
  json: { type: 'string' },
});
const settings = {
  events: Number(given.events ?? (given.quick ? 10_000 : 100_000)),
  rounds: Number(given.rounds ?? (given.quick ? 2 : 15)),
  // The same for all servers, because the requests of a round share the cost of its connections.
  amount: Number(given.amount ?? (given.quick ? 500 : 8_000)),
  warmUp: given.quick ? 1_000 : 40_000,
  requests: given.quick ? 5_000 : 50_000,
  connections: 64,
};
const SECRET = 'a secret for the bench, of 32 bytes or more';
const COUNTED = 300_000;
const NAMES = ['without', 'without again', 'with metrics'];
const WORKLOADS = /^(?:hot URL|filter \+ window|304)$/;

/** Processor time to count one request, alone, in nanoseconds: the least of several runs. */
function countingNs() {
  const meter = new Meter();
  const runs = Array.from({ length: 9 }, () => {
    const before = process.cpuUsage();
    for (let n = 0; n < COUNTED; n++) {
      const beganMs = performance.now();
      meter.add(CELL.tokenHits);
      meter.add(CELL.answerHits);
      meter.answered(routeNumber('/schedule/changes'), 200, 5200, performance.now() - beganMs);
    }
    const { user, system } = process.cpuUsage(before);
    return ((user + system) * 1000) / COUNTED;
  });
  return spreadOf(runs);
}

const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-'));
const load = Program.start('./load.mjs');
const servers = [];
try {
  const counting = countingNs();
  const ns = ({ median, min, max }) => `${median.toFixed(0)} ns (${min.toFixed(0)} to ${max.toFixed(0)})`;
  console.log(`counting one request, by itself: ${ns(counting)}`);
  const source = await new Sets(folder, { medium: settings.events }).file('medium');
  const workloads = workloadsOf(readEvents(source), {
    secret: SECRET,
    count: settings.requests,
    seed: 1,
  });
  for (const options of [{}, {}, { adminPort: 0 }])
    servers.push(await startServer('./servers/lectern.mjs', source, SECRET, JSON.stringify(options)));
  const rows = [];
  for (const { name, requests: made, expect304 } of workloads.filter(({ name }) => WORKLOADS.test(name))) {
    const requests = expect304 ? await conditional(servers[0].port, made) : made;
    await load.ask({ requests, as: name }, 'taken');
    const contestants = servers.map((server, n) => ({
      name: NAMES[n],
      server,
      as: name,
      connections: settings.connections,
      expect304,
    }));
    const rounds = contestants.map(() => []);
    for (const contestant of contestants) await runOnce(load, contestant, settings.warmUp);
    for (let round = 0; round < settings.rounds; round++) {
      // Forward and backward order, so that a steady trend favours no server.
      const order = round % 2 === 0 ? contestants : contestants.toReversed();
      for (const contestant of order) {
        rounds[contestants.indexOf(contestant)].push(await runOnce(load, contestant, settings.amount));
      }
    }
    const [without, again, counting] = rounds;
    const ratios = (runs) => spreadOf(runs.map((each, round) => each.cpuMicros / without[round].cpuMicros));
    const least = (runs) => Math.min(...runs.map((each) => each.cpuMicros));
    const row = {
      workload: name,
      least: [without, again, counting].map(least),
      micros: spreadOf(without.map((each) => each.cpuMicros)),
      counting: ratios(counting),
      noise: ratios(again),
    };
    rows.push(row);
    const show = ({ median, q1, q3 }) => `${median.toFixed(3)} (${q1.toFixed(3)} to ${q3.toFixed(3)})`;
    console.log(
      `${name.padEnd(18)} ${row.micros.median.toFixed(1)} µs; with metrics ${show(row.counting)} times; ` +
        `without again ${show(row.noise)}; least of all rounds: ` +
        `${row.least.map((each) => each.toFixed(1)).join(', ')} µs without, without again, with`,
    );
  }
  const results = {
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version },
    settings,
    countingNs: counting,
    rows,
  };
  if (given.json !== undefined) writeFileSync(given.json, `${JSON.stringify(results, null, 2)}\n`);
} finally {
  for (const { program } of servers) await program.end();
  await load.end();
  rmSync(folder, { recursive: true, force: true });
}
