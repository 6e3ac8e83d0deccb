/**
 * npm run soak -- [--minutes 20] [--events 20000] [--workers 1] [--seed 1]
 *
 * Everything at once for any time: good clients, clients that do not read or write, nonsense, floods, bad
 * tokens, a timetable that is replaced (sometimes by garbage), rotating keys and an issuer that stops.
 * Overload control, log, admin listener and scrapes run as in production. Every minute all clients leave, and
 * the memory of the service is recorded after a full collection, with an unused timetable. With clients
 * present, the varying number of snapshots being read would hide a leak. In a run of less than five minutes
 * the rude clients stay. The run fails if
 *
 * - a good request failed. Refusals with 503 `overloaded` and Retry-After are allowed, because the clients
 *   send more than can be answered. They are counted, and must not outnumber the answers; - a bad request
 *   succeeded, any other request got 5xx, or the admin listener did not answer; - descriptors leaked: there
 *   are more after all clients left than before they came; - memory grew over the second half of the time,
 *   see judge.mjs. If a limit may be exceeded by chance, the run is undecided, exits with 2 instead of 1, and
 *   says how long a run has to be.
 *
 * A run of 20 minutes or more leaves its figure for `npm run hard:report`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generateEvents } from '../../bench/generate.mjs';
import { recordFigure } from '../hard/figures.mjs';
import { Clients, questionsOf } from './clients.mjs';
import { Issuer } from './issuer.mjs';
import { judgeMemory, LOOKS_MIN } from './judge.mjs';

const MB = 1_000_000;
const LONG_MINUTES = 5;
/** Every measurement sees a new timetable. */
const CYCLE_SECONDS = { short: 2, long: 6 };
/** They ask without pauses. */
const GOOD_CLIENTS = { short: 4, long: 12 };
/** In a long run, memory is measured only when all cycles are in the same phase and long waits are over. */
const CYCLES_PER_LOOK = { short: 1, long: 10 };
/** Measurements follow accepted versions: a version after a refused one is loaded later, before or after the measurement. */
const CYCLE_OF_LOOK = { short: 0, long: 2 };
/** A run on a busy machine continues until it has enough looks, for at most this many times its minutes. */
const LENGTH_FACTOR_MAX = 5;
/** Figures of shorter runs are not published. */
const PUBLISHED_MINUTES_MIN = 20;
const IDLE_LOOKS = 5;
const IDLE_LOOK_MS = 400;
/** Also waits until a running reload is over. */
const LEAVING_WAIT_MS = 5000;
/** Until the service has closed abandoned connections: those without requests are closed after at most 90 s. */
const DESCRIPTORS_WAIT_MS = 100_000;

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
const isLong = minutes >= LONG_MINUTES;
const length = isLong ? 'long' : 'short';
const cycleMs = CYCLE_SECONDS[length] * 1000;

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
/** In turn: all events, all except a few, all with other titles, and data that the gate or the reader must refuse. */
const VERSIONS = [
  textOf(events),
  textOf(events.filter((_, n) => n % 50 !== 0)),
  textOf(events.map((event, n) => (n % 3 === 0 ? { ...event, title: `Moved ${n}` } : event))),
  textOf(events.slice(0, 10)),
  'this is no timetable\n',
];
function replaceTimetable(text) {
  writeFileSync(`${source}.new`, text);
  renameSync(`${source}.new`, source);
}
replaceTimetable(VERSIONS[0]);

const issuer = new Issuer();
const jwks = await issuer.start();
const options = {
  source,
  jwks,
  jwksRefreshSeconds: 1,
  dev: false,
  port: 0,
  workers: Number(values.workers),
  snapshotFile: join(folder, 'snapshot'),
  adminPort: 0,
  accessLog: 0.1,
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
    const other = new AbortController();
    const either = [
      once(server, 'message', { signal: other.signal }),
      once(server, 'exit', { signal: other.signal }).then(() => [{ kind }]),
    ];
    const [message] = await Promise.race(either);
    other.abort();
    await Promise.allSettled(either);
    if (message.kind === kind && ended === null) return message;
  }
};
const { url, admin } = await messageOf('ready');

async function lookAtService() {
  server.send('look');
  return messageOf('look');
}

/**
 * A timetable with only one requested event, except that rude clients continue in a short run. Structures built for
 * queries depend on the queries since the last replacement, and would hide leaks: they take 0.9 MB of the heap.
 */
async function publishForLook(n) {
  replaceTimetable(textOf([{ ...events[0], title: `Look ${n}` }, ...events.slice(1)]));
  server.send('refresh');
  const { events: served } = await messageOf('refresh');
  if (served !== events.length) throw new Error(`${served} events are served, not ${events.length}`);
  // Answers of the previous timetable are kept until the first request for this one.
  await askOnce('/schedule?limit=1', tokenOf());
}

async function askOnce(path, token) {
  const headers = { authorization: `Bearer ${token}` };
  const [res] = await once(get(`${url}${path}`, { agent: false, headers }), 'response');
  await once(res.resume(), 'close');
  if (res.statusCode !== 200) throw new Error(`${path} was answered with ${res.statusCode}`);
}

/** The memory before the first client, after the build thread has ended. */
async function descriptorsOfIdle() {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < IDLE_LOOKS; n++) {
    least = Math.min(least, (await lookAtService()).descriptors);
    await delay(IDLE_LOOK_MS);
  }
  return least;
}
const descriptorsBefore = await descriptorsOfIdle();
/** The first measurement with no more descriptors than before, or the last one within some time. */
async function lookWhenLeft(waitMs) {
  const endMs = Date.now() + waitMs;
  for (;;) {
    const look = await lookAtService();
    if (look.descriptors <= descriptorsBefore || Date.now() > endMs) return look;
    await delay(500);
  }
}

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
clients.good(GOOD_CLIENTS[length], questionsOf(events, random), tokenOf);
clients.bad((n) => issuer.badTokens(n));
clients.rude(tokenOf);
clients.watch(admin);

const looks = [];
const beganMs = Date.now();
const isOver = () => {
  const partOver = (Date.now() - beganMs) / (minutes * 60_000);
  return partOver >= (looks.length < 2 * LOOKS_MIN ? LENGTH_FACTOR_MAX : 1);
};
for (let cycle = 0; !isOver(); cycle++) {
  await delay(cycleMs / 2);
  replaceTimetable(VERSIONS[cycle % VERSIONS.length]);
  if (cycle % 5 === 1) issuer.away = true;
  if (cycle % 5 === 3) issuer.away = false;
  // As issuers do: a new key is published while the previous one still signs tokens.
  if (cycle % 5 === 4) issuer.rotate();
  if (cycle % 5 === 0) renewTokens();
  await delay(cycleMs / 2);
  if (cycle % CYCLES_PER_LOOK[length] !== CYCLE_OF_LOOK[length]) continue;
  const comeBack = await clients.leave({ rudeStay: !isLong });
  await delay(1000);
  await publishForLook(looks.length);
  const look = isLong ? await lookWhenLeft(LEAVING_WAIT_MS) : await lookAtService();
  comeBack();
  looks.push({ hours: (Date.now() - beganMs) / 3_600_000, ...look });
  const mb = (bytes) => (bytes / MB).toFixed(1);
  process.stdout.write(
    `${((Date.now() - beganMs) / 60_000).toFixed(1)} min: heap ${mb(look.heapUsed)} MB (without compiled code ${mb(look.heapWithoutCode)}), buffers ${mb(look.arrayBuffers)}, resident ${mb(look.rss)}, ${look.descriptors} descriptors, ${JSON.stringify(clients.counts.good)}\n`,
  );
}
clients.stop();
const descriptorsGained = (await lookWhenLeft(DESCRIPTORS_WAIT_MS)).descriptors - descriptorsBefore;
server.kill('SIGTERM');
const [code] = ended === null ? await once(server, 'exit') : [ended];
await issuer.stop();

const { faults: memoryFaults, undecided, figures: memory } = judgeMemory(looks, minutes);
const faults = [...memoryFaults];
for (const [kind, statuses] of Object.entries(clients.counts)) {
  for (const [status, count] of Object.entries(statuses)) {
    const isGood = kind === 'good';
    if (status === 'shed') continue;
    // While the issuer is unreachable, an unknown key may be new.
    if (kind === 'bad token' && status === '503') continue;
    if (status === 'open') faults.push(`${count} of "${kind}" were not closed`);
    if (Number(status) >= 500) faults.push(`${count} answers of ${status} (${kind})`);
    else if (isGood && !['200', '304'].includes(status)) faults.push(`${count} good requests got ${status}`);
    else if (kind.startsWith('/') && status !== '200') faults.push(`${count} of ${kind} got ${status}`);
    else if ((kind.includes('token') || kind === 'bad query') && ['200', '304'].includes(status))
      faults.push(`${count} of "${kind}" were let in`);
  }
}
const { good = {} } = clients.counts;
const goodAnswers = (good[200] ?? 0) + (good[304] ?? 0);
const shed = good.shed ?? 0;
if (shed > goodAnswers)
  faults.push(`${shed} good requests were refused for overload, more than were answered`);
if (code !== 0) faults.push(`the service ended with ${code}`);
if (descriptorsGained > 0) faults.push(`${descriptorsGained} descriptors were gained`);
const summary = {
  minutes,
  looks: looks.length,
  memory,
  descriptorsGained,
  shed,
  keySetFetches: issuer.asked,
  counts: clients.counts,
  faults,
  undecided,
};
process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ ...summary, looks }, null, 2)}\n`);
if (minutes >= PUBLISHED_MINUTES_MIN && memory.heapUsed !== undefined) {
  const { heapUsed, heapWithoutCode, rss } = memory;
  const verdict =
    faults.length > 0 ? `FAILED (${faults.length} faults)` : undecided.length > 0 ? 'UNDECIDED' : 'passed';
  const heaps = [heapUsed, heapWithoutCode];
  const canTell = heaps.every((heap) => heap.canTell);
  const minutesToTell = Math.max(...heaps.map((heap) => heap.minutesToTell));
  const growth = ({ mbPerHour, standardError }) =>
    `${mbPerHour.toFixed(2)} ± ${standardError.toFixed(2)} MB an hour`;
  recordFigure(
    'soak',
    `${minutes} minutes: ${verdict}; ${goodAnswers} answered, ${shed} more refused for overload, ${Math.max(0, descriptorsGained)} descriptors gained; heap ${growth(heapUsed)}, without compiled code ${growth(heapWithoutCode)}, resident ${growth(rss)} (standard errors); ${canTell ? 'long enough to tell' : `${minutesToTell} minutes would be needed to tell the heap's slopes from their limits`}`,
    summary,
  );
}
process.exit(faults.length > 0 ? 1 : undecided.length > 0 ? 2 : 0);
