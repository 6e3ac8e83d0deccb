/**
 * The cost of counting: alone in one thread, and as server processor time per request with and without the admin
 * listener. Two servers without it show the noise. Three processes take turns within each round.
 *
 *     npm run bench:metrics -- [--rounds <n>] [--seconds <s>] [--quick] [--json <file>]
 */
import { writeFileSync } from 'node:fs';
import { CELL, routeNumber } from '../../dist/base/metrics/cells.js';
import { Meter } from '../../dist/base/metrics/meter.js';
import { provenanceOf } from '../../scripts/provenance.mjs';
import { conditional } from '../answers.mjs';
import { MEASURED, textOf } from '../results-file.mjs';
import { rowOf, tellEnd } from '../rows.mjs';
import { SECRET, Session } from '../session.mjs';
import { readEvents } from '../sets.mjs';
import { settingsOf } from '../settings.mjs';
import { workloadsOf } from '../workloads.mjs';

const COUNTED = 300_000;
const COUNTING_RUNS = 9;
const REQUESTS = 50_000;
const SERVERS = [
  { name: 'without', options: {} },
  { name: 'without again', options: {} },
  { name: 'with metrics', options: { adminPort: 0 } },
];
const WORKLOADS = ['hot URL', 'filter + window', '304'];

/** Processor time to count one request, alone, in nanoseconds, in several runs. */
function countingNs() {
  const meter = new Meter();
  return Array.from({ length: COUNTING_RUNS }, () => {
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
}

const isQuick = process.argv.includes('--quick');
const usual = isQuick ? [] : ['--rounds', '15', '--seconds', '0.3'];
const given = settingsOf(['--launches', '1', '--no-peers', ...usual, ...process.argv.slice(2)]);
const settings = isQuick ? given : { ...given, requests: REQUESTS };
const about = provenanceOf(MEASURED, 'loadBefore');
const session = new Session(settings);
const add = (name, unit, values) =>
  session.add(rowOf({ group: 'counting', name, set: 'medium', unit, target: null }, values));
try {
  add('counting one request, alone', 'ns', countingNs());
  const source = await session.sets.file('medium');
  const { requests: count, seed, connections } = settings;
  const workloads = workloadsOf(readEvents(source), { secret: SECRET, count, seed });
  const servers = [];
  for (const { options } of SERVERS) servers.push(await session.startLectern(source, options));
  for (const name of WORKLOADS) {
    const { requests, expect304 } = workloads.find((each) => each.name === name);
    await session.give(name, expect304 ? await conditional(servers[0].port, requests) : requests);
    const contestants = SERVERS.map((each, n) => {
      return { name: each.name, server: servers[n], as: name, connections, expect304 };
    });
    const rounds = await session.measure({ name, set: 'medium' }, contestants);
    const [without, ...others] = SERVERS.map((each) => rounds.get(each.name));
    for (const [n, runs] of others.entries()) {
      const ratios = runs.map(({ cpuMicros }, round) => cpuMicros / without[round].cpuMicros);
      add(`${name}, ${SERVERS[n + 1].name} against without`, 'ratio', ratios);
    }
  }
} finally {
  await session.end();
}
session.say(tellEnd(session.rows, isQuick, Math.round(performance.now() / 1000)));
if (settings.json !== undefined) {
  const { rows, measurements } = session;
  writeFileSync(settings.json, textOf({ ...about, settings, rows, measurements }));
}
