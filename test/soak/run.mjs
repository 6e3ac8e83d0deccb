/**
 * npm run soak -- [--minutes 20] [--events 20000] [--workers 1] [--seed 1]
 *
 * Everything at once for as long as one likes: good clients, clients that do not read or write, nonsense, floods, bad tokens, a
 * timetable that is replaced (sometimes by garbage), keys that rotate and an issuer that goes away. Every few seconds the
 * clients pause, and what the service holds after a full collection is written down. It fails where a good request failed,
 * a bad one was let in, anything was answered with 5xx, descriptors were gained, or the heap grew over the second half of
 * the time by more than a MiB an hour.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generateEvents } from '../../dist/generate/events.js';
import { Clients, questionsOf } from './clients.mjs';
import { Issuer } from './issuer.mjs';
import { slopeOf } from './slope.mjs';

const MIB = 1024 * 1024;
const HEAP_MIB_PER_HOUR_MAX = 1;
/** Between two looks; the timetable is replaced in each. */
const CYCLE_SECONDS = 6;
/** Connections that slow readers and writers hold come and go; what is gained for good is more than that. */
const DESCRIPTORS_TOLERANCE = 4;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    events: { type: 'string', default: '20000' },
    workers: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
});
const minutes = Number(values.minutes);
const eventsCount = Number(values.events);
if (!(minutes > 0) || !(eventsCount > 0)) throw new Error('minutes and events are positive numbers');

/** Mulberry32: small, seeded, and good enough to choose with. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = randomOf(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'lectern-soak-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const source = join(folder, 'events.ndjson');
const events = [...generateEvents({ events: eventsCount, seed: Number(values.seed) })];
const textOf = (some) => some.map((event) => `${JSON.stringify(event)}\n`).join('');
/** In turn: all, all but a few, all with other titles, and what the gate or the reader must refuse. */
const VERSIONS = [
  textOf(events),
  textOf(events.filter((_, n) => n % 50 !== 0)),
  textOf(events.map((event, n) => (n % 3 === 0 ? { ...event, title: `Moved ${n}` } : event))),
  textOf(events.slice(0, 10)),
  'this is no timetable\n',
];
function replaceTimetable(n) {
  writeFileSync(`${source}.new`, VERSIONS[n % VERSIONS.length]);
  renameSync(`${source}.new`, source);
}
replaceTimetable(0);

const issuer = new Issuer();
const jwks = await issuer.start();
const options = {
  source,
  jwks,
  jwksCooldownSeconds: 1,
  jwksRefreshSeconds: 5,
  mode: 'production',
  port: 0,
  workers: Number(values.workers),
  snapshotFile: join(folder, 'snapshot'),
  // More is asked for than can be answered, and a refusal would hide what an answer leaves behind.
  overloadMs: 0,
};
const server = fork(fileURLToPath(new URL('./server.mjs', import.meta.url)), [JSON.stringify(options)], {
  execArgv: ['--expose-gc'],
  stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
});
let ended = null;
server.once('exit', (code, signal) => {
  ended = `the service ended with ${code ?? signal}`;
});
const messageOf = async (kind) => {
  for (;;) {
    if (ended !== null) throw new Error(ended);
    const [message] = await Promise.race([
      once(server, 'message'),
      once(server, 'exit').then(() => [{ kind }]),
    ]);
    if (message.kind === kind && ended === null) return message;
  }
};
const { url } = await messageOf('ready');

const clients = new Clients(url, random);
const users = Array.from({ length: 500 }, (_, n) => ({
  sub: `user-${n}`,
  studyGroup: events[n % events.length].studyGroup ?? 'none',
}));
let tokens = [];
const renewTokens = () => {
  tokens = users.map((user) => issuer.token({ ...user, jti: String(random()) }));
};
renewTokens();
const tokenOf = () => tokens[Math.floor(random() * tokens.length)];
clients.good(12, questionsOf(events, random), tokenOf);
clients.bad((n) => issuer.badTokens(n));
clients.rude(tokenOf);

const looks = [];
const beganMs = Date.now();
for (let cycle = 0; Date.now() - beganMs < minutes * 60_000; cycle++) {
  await delay((CYCLE_SECONDS * 1000) / 2);
  replaceTimetable(cycle);
  if (cycle % 5 === 1) issuer.away = true;
  if (cycle % 5 === 3) issuer.away = false;
  // As issuers do it: a new key is published while tokens are still signed with the one before.
  if (cycle % 5 === 4) issuer.rotate();
  if (cycle % 5 === 0) renewTokens();
  await delay((CYCLE_SECONDS * 1000) / 2);
  // Of the same phase of everything that goes in circles.
  if (cycle % VERSIONS.length !== 0) continue;
  const goOn = clients.pause();
  await delay(1000);
  server.send('look');
  const look = await messageOf('look');
  goOn();
  looks.push({ hours: (Date.now() - beganMs) / 3_600_000, ...look });
  const mib = (bytes) => (bytes / MIB).toFixed(1);
  process.stdout.write(
    `${((Date.now() - beganMs) / 60_000).toFixed(1)} min: heap ${mib(look.heapUsed)} MiB, buffers ${mib(look.arrayBuffers)}, resident ${mib(look.rss)}, ${look.descriptors} descriptors, ${JSON.stringify(clients.counts.good)}\n`,
  );
}
clients.stop();
server.kill('SIGTERM');
const [code] = ended === null ? await once(server, 'exit') : [ended];
await issuer.stop();

const half = looks.slice(Math.floor(looks.length / 2));
const slope = (field) => slopeOf(half.map((look) => ({ x: look.hours, y: look[field] / MIB })));
const heapSlope = half.length < 3 ? 0 : slope('heapUsed');
const gained =
  looks.length < 2 ? 0 : looks.at(-1).descriptors - looks[Math.floor(looks.length / 2)].descriptors;
const faults = [];
for (const [kind, statuses] of Object.entries(clients.counts)) {
  for (const [status, count] of Object.entries(statuses)) {
    const isGood = kind === 'good';
    // Whether a key that nobody knows is a new one cannot be told while the issuer is away.
    if (kind === 'bad token' && status === '503') continue;
    if (status === 'open') faults.push(`${count} of "${kind}" were not closed`);
    if (Number(status) >= 500) faults.push(`${count} answers of ${status} (${kind})`);
    else if (isGood && !['200', '304'].includes(status)) faults.push(`${count} good requests got ${status}`);
    else if ((kind.includes('token') || kind === 'bad query') && ['200', '304'].includes(status))
      faults.push(`${count} of "${kind}" were let in`);
  }
}
if (code !== 0) faults.push(`the service ended with ${code}`);
if (looks.length >= 6 && heapSlope > HEAP_MIB_PER_HOUR_MAX)
  faults.push(`the heap grows by ${heapSlope.toFixed(2)} MiB an hour`);
if (gained > DESCRIPTORS_TOLERANCE) faults.push(`${gained} descriptors were gained`);
const summary = {
  minutes,
  looks: looks.length,
  heapMibPerHour: half.length < 3 ? null : Number(heapSlope.toFixed(3)),
  residentMibPerHour: half.length < 3 ? null : Number(slope('rss').toFixed(1)),
  descriptorsGained: gained,
  keySetFetches: issuer.asked,
  counts: clients.counts,
  faults,
};
process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ ...summary, looks }, null, 2)}\n`);
process.exit(faults.length === 0 ? 0 : 1);
