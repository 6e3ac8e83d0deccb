/** The cost of clients that do not read their answers: figures of docs/reliability.md, with fewer clients in short runs. */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { until } from '../waiting/until.js';
import { startChangedService } from './changed-service.js';
import {
  latencyP99Ms,
  type ServiceProcess,
  startClients,
  startWarmService,
  timetableFile,
  told,
  watchMax,
} from './http-service.js';
import { HARD, size } from './size.js';

const EVENTS = 100_000;
const STALLED = size(60, 500);
const TIMEOUT = { timeout: 170_000 };
const MSGPACK = '/api/v1/schedule/all?format=msgpack';

const teardowns: (() => unknown)[] = [];
const source = await timetableFile((end) => teardowns.push(end), EVENTS);

async function untilSockets(service: ServiceProcess, count: number, timeoutMs: number): Promise<void> {
  const beganMs = performance.now();
  while (service.sockets() > count) {
    if (performance.now() - beganMs > timeoutMs) break;
    // Each look reads /proc, so there are pauses between them.
    await delay(50);
  }
}

const MIB_MAX = 50;
const CLOSED_MS_MAX = 35_000;

/** Measures clients that request an answer and do not read it. */
async function stall(
  t: Test,
  service: ServiceProcess,
  path: string | undefined,
  figure: string,
): Promise<void> {
  const before = service.rssMib();
  const sockets = service.sockets();
  const rss = watchMax(service.rssMib);
  const beganMs = performance.now();
  const clients = startClients((end) => t.teardown(end), 'stalled', service, STALLED, path);
  await clients.next();
  const openedAtMs = performance.now();
  // The system has accepted them; the service accepts them a moment later.
  await until(
    () => service.sockets(),
    (seen) => seen >= sockets + STALLED,
  );
  const p99 = await latencyP99Ms(service, 2000);
  await untilSockets(service, sockets, CLOSED_MS_MAX + 5000);
  const closedMs = performance.now() - openedAtMs;
  const grown = rss.stop() - before;
  t.ok(grown <= MIB_MAX, `${grown.toFixed(1)} MiB more`);
  t.ok(closedMs <= CLOSED_MS_MAX, `all closed after ${closedMs.toFixed(0)} ms`);
  t.ok(service.sockets() <= sockets, 'no descriptor is left');
  t.comment(
    told(
      `${grown.toFixed(1)} MiB more, opened in ${((openedAtMs - beganMs) / 1000).toFixed(1)} s and closed after ${(closedMs / 1000).toFixed(1)} s; p99 of others ${p99.toFixed(1)} ms meanwhile`,
      figure,
    ),
  );
}

const KINDS = [
  ['JSON', 'readers-json', undefined, []],
  ['MessagePack', 'readers-msgpack', MSGPACK, []],
  ['JSON, two serving threads', 'readers-json-threads', undefined, ['--workers', '2']],
] as const;
// Each takes half a minute.
for (const [name, figure, path, options] of KINDS.slice(HARD ? 0 : 1)) {
  test(
    `${STALLED} clients request /schedule/all of ${EVENTS} events and do not read it: ${name}`,
    TIMEOUT,
    async (t) => {
      const service = await startWarmService((end) => t.teardown(end), source, options);
      await stall(t, service, path, figure);
    },
  );
}

/** All titles, then every second: changed events form one run, or are scattered. */
const CHANGES = [1, 2];
const CHANGED_KINDS = [
  ['JSON', 'readers-changes-json', 'json', 0, []],
  ['JSON, every second event', 'readers-changes-scattered', 'json', 1, []],
  ['MessagePack', 'readers-changes-msgpack', 'msgpack', 0, []],
  ['MessagePack, two serving threads', 'readers-changes-threads', 'msgpack', 0, ['--workers', '2']],
] as const;
for (const [name, figure, format, since, options] of CHANGED_KINDS.slice(HARD ? 0 : 3)) {
  test(
    `${STALLED} clients request /schedule/changes of ${EVENTS} events and do not read it: ${name}`,
    TIMEOUT,
    async (t) => {
      const { service, past } = await startChangedService((end) => t.teardown(end), EVENTS, CHANGES, options);
      await stall(t, service, `/api/v1/schedule/changes?since=${past[since]}&format=${format}`, figure);
    },
  );
}

for (const [name, figure, path] of [
  ['JSON', 'pipelined-json', undefined],
  ['MessagePack', 'pipelined-msgpack', MSGPACK],
] as const) {
  test(`one connection pipelines 1,000 requests for /schedule/all: ${name}`, TIMEOUT, async (t) => {
    const service = await startWarmService((end) => t.teardown(end), source);
    const before = service.rssMib();
    const rss = watchMax(service.rssMib, 20);
    const clients = startClients((end) => t.teardown(end), 'pipelined', service, 1000, path);
    await clients.next();
    // The clients have filled the buffers.
    await delay(2000);
    const p99 = await latencyP99Ms(service, 1000);
    const outcome = await clients.next();
    const grown = rss.stop() - before;
    t.ok(grown <= 50, `${grown.toFixed(1)} MiB more`);
    t.match(outcome, { closed: true });
    t.comment(told(`${grown.toFixed(1)} MiB more; p99 of others ${p99.toFixed(1)} ms meanwhile`, figure));
  });
}

test('a client that reads /schedule/all steadily gets all of it', TIMEOUT, async (t) => {
  const service = await startWarmService((end) => t.teardown(end), source);
  const clients = startClients((end) => t.teardown(end), 'steady', service, size(2048, 512));
  const beganMs = performance.now();
  const { bytes, total } = await clients.next();
  t.ok(Number(total) > 30_000_000, `${total} bytes`);
  t.equal(bytes, total);
  const seconds = (performance.now() - beganMs) / 1000;
  t.comment(
    told(
      `${bytes === total ? 'all of it' : `${bytes} of ${total} bytes`}, ${seconds.toFixed(0)} s`,
      'reader-steady',
    ),
  );
});

test('the timetable is removed', TIMEOUT, async (t) => {
  t.equal(existsSync(source), true);
  for (const end of teardowns) end();
  t.equal(existsSync(source), false);
});
