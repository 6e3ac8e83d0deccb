/** The cost of many slow or idle connections: figures of docs/reliability.md, with fewer connections in short runs. */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import {
  type Clients,
  latencyP99Ms,
  startClients,
  startWarmService,
  timetableFile,
  told,
} from './http-service.js';
import { HARD, size } from './size.js';

const EVENTS = size(10_000, 100_000);
const SLOWLORIS = size(200, 1000);
const IDLE = size(1000, 10_000);
const LOAD_MS = size(2000, 9000);
/** In a short run other programs want the processor, too. */
const SLACK_MS = size(100, 5);
const TIMEOUT = { timeout: 170_000 };

const teardowns: (() => unknown)[] = [];
const source = await timetableFile((end) => teardowns.push(end), EVENTS);

test(`${SLOWLORIS} connections send header fields that never end`, TIMEOUT, async (t) => {
  for (const [figure, options] of [
    ['slowloris', []],
    ['slowloris-threads', ['--workers', '2']],
  ] as const) {
    const service = await startWarmService((end) => t.teardown(end), source, options);
    const usual = await latencyP99Ms(service, LOAD_MS);
    const clients: Clients = startClients((end) => t.teardown(end), 'slowloris', service, SLOWLORIS);
    await clients.next();
    const meanwhile = await latencyP99Ms(service, LOAD_MS);
    const outcome = await clients.next();
    const slowest = Number(outcome.slowestMs);
    t.match(outcome, { closed: SLOWLORIS, statuses: { 408: SLOWLORIS } });
    t.ok(slowest <= 12_000, `closed after ${slowest.toFixed(0)} ms`);
    // A percentile below the slack says more about the machine than about the service.
    t.ok(
      meanwhile <= Math.max(2 * usual, SLACK_MS),
      `p99 ${usual.toFixed(2)} ms, and meanwhile ${meanwhile.toFixed(2)}`,
    );
    t.comment(
      told(
        `closed after ${(slowest / 1000).toFixed(1)} s; p99 ${usual.toFixed(2)} ms before, ${meanwhile.toFixed(2)} ms meanwhile`,
        figure,
      ),
    );
    await clients.end();
  }
});

test(`${IDLE} connections stay idle`, TIMEOUT, async (t) => {
  const service = await startWarmService((end) => t.teardown(end), source);
  const usual = await latencyP99Ms(service, LOAD_MS);
  const before = service.rssMib();
  const clients = startClients((end) => t.teardown(end), 'idle', service, IDLE, '/api/v1/schedule?limit=1');
  await clients.next();
  // Memory of the connections settles.
  await delay(3000);
  const each = ((service.rssMib() - before) * 1024) / IDLE;
  const beside = await latencyP99Ms(service, LOAD_MS);
  t.ok(service.sockets() > IDLE, 'all are open');
  // In a short run with few connections, most of the growth is one step of the heap.
  t.ok(each <= (HARD ? 12 : 40), `${each.toFixed(1)} KiB each`);
  t.ok(beside <= usual + SLACK_MS, `p99 ${usual.toFixed(2)} ms, and beside them ${beside.toFixed(2)}`);
  t.comment(
    told(
      `${each.toFixed(1)} KiB each; p99 ${usual.toFixed(2)} ms before, ${beside.toFixed(2)} ms beside them`,
      'idle',
    ),
  );
});

test('the timetable is removed', TIMEOUT, async (t) => {
  t.equal(existsSync(source), true);
  for (const end of teardowns) end();
  t.equal(existsSync(source), false);
});
