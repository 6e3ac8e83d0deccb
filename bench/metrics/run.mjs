/**
 * What counting costs: server processor time per request with the admin listener against without, and, to show what of that is
 * noise, without against without.
 *
 *     npm run bench:metrics -- [--quick] [--events 100000] [--rounds 15] [--amount 8000] [--json <file>]
 *
 * Three processes take turns within each round.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { conditional } from '../answers.mjs';
import { Program, startServer } from '../measure.mjs';
import { runOnce } from '../rounds.mjs';
import { spreadOf } from '../statistics.mjs';
import { workloadsOf } from '../workloads.mjs';

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    events: { type: 'string' },
    rounds: { type: 'string' },
    amount: { type: 'string' },
    json: { type: 'string' },
  },
});
const settings = {
  events: Number(given.events ?? (given.quick ? 10_000 : 100_000)),
  rounds: Number(given.rounds ?? (given.quick ? 2 : 15)),
  // The same for all, as what a connection costs is shared by the requests of a round.
  amount: Number(given.amount ?? (given.quick ? 500 : 8_000)),
  warmUp: given.quick ? 1_000 : 40_000,
  requests: given.quick ? 5_000 : 50_000,
  connections: 64,
};
const SECRET = 'a secret for the bench, of 32 bytes or more';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NAMES = ['without', 'without again', 'with metrics'];
const WORKLOADS = /^(?:hot URL|filter \+ window|304)$/;

async function generate(file) {
  const argv = ['generate', '--events', String(settings.events), '--seed', '7'];
  const child = execFile(process.execPath, [join(ROOT, 'dist/cli.js'), ...argv], { maxBuffer: 2 ** 33 });
  await once(child.stdout.pipe(createWriteStream(file)), 'finish');
}

async function readEvents(file) {
  const events = [];
  for await (const line of createInterface({ input: createReadStream(file) })) events.push(JSON.parse(line));
  return events;
}

const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-'));
const load = Program.start('./load.mjs');
const servers = [];
try {
  const source = join(folder, 'events.ndjson');
  await generate(source);
  const workloads = workloadsOf(await readEvents(source), {
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
      // There and back again, so that what grows or falls steadily favours nobody.
      const order = round % 2 === 0 ? contestants : contestants.toReversed();
      for (const contestant of order) {
        rounds[contestants.indexOf(contestant)].push(await runOnce(load, contestant, settings.amount));
      }
    }
    const [without, again, counting] = rounds;
    const ratios = (runs) => spreadOf(runs.map((each, round) => each.cpuMicros / without[round].cpuMicros));
    const row = {
      workload: name,
      micros: spreadOf(without.map((each) => each.cpuMicros)),
      counting: ratios(counting),
      noise: ratios(again),
    };
    rows.push(row);
    const show = ({ median, q1, q3 }) => `${median.toFixed(3)} (${q1.toFixed(3)} to ${q3.toFixed(3)})`;
    console.log(
      `${name.padEnd(18)} ${row.micros.median.toFixed(1)} µs; with metrics ${show(row.counting)} times; ` +
        `without again ${show(row.noise)}`,
    );
  }
  const results = {
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version },
    settings,
    rows,
  };
  if (given.json !== undefined) writeFileSync(given.json, `${JSON.stringify(results, null, 2)}\n`);
} finally {
  for (const { program } of servers) await program.end();
  await load.end();
  rmSync(folder, { recursive: true, force: true });
}
