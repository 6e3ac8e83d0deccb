/**
 * What /schedule/changes costs where every title of 100,000 events has changed: figures of RELIABILITY.md. Clients that do not read
 * it are in http-readers.test.ts.
 */
import { test } from 'tap';
import { ask, cpuPerRequestMs, startChangedService } from './changed-service.js';
import { latencyP99Ms, type ServiceProcess, startClients, told } from './http-service.js';
import { HARD, size } from './size.js';

const EVENTS = 100_000;
const TIMEOUT = { timeout: 300_000 };
/** What one such request may use of the processor. */
const CPU_MS_MAX = 0.1;
const REQUESTS = size(200, 1000);
/** All titles, then every hundredth, then every second: what has changed lies in one run, or is scattered. */
const CHANGES = [1, 100, 2];

const changesPath = (since: string, format: string): string =>
  `/api/v1/schedule/changes?since=${since}&format=${format}`;

for (const workers of ['1', '2']) {
  test(`304, 406 and HEAD of what has changed, ${workers} serving threads`, TIMEOUT, async (t) => {
    const { service, past } = await startChangedService((end) => t.teardown(end), EVENTS, CHANGES, [
      '--workers',
      workers,
    ]);
    const costs: Record<string, number> = {};
    for (const [since, counted] of [
      [past[0], EVENTS],
      [past[1], EVENTS / 2],
      [past[2], EVENTS / 2],
    ] as const) {
      for (const format of ['json', 'msgpack']) {
        const path = changesPath(since ?? '', format);
        const whole = await ask(service, { method: 'GET', path });
        t.equal(whole.status, 200);
        t.ok(whole.bytes > 10_000_000, `${whole.bytes} bytes`);
        const requests = {
          HEAD: [{ method: 'HEAD', path }, 200],
          304: [{ method: 'GET', path, headers: { 'If-None-Match': String(whole.headers.etag) } }, 304],
          406: [{ method: 'GET', path: path.replace(/&.*/, ''), headers: { Accept: 'image/png' } }, 406],
        } as const;
        for (const [name, [asked, status]] of Object.entries(requests)) {
          const answer = await ask(service, asked);
          t.equal(answer.status, status);
          if (status === 200) {
            t.equal(answer.headers['content-length'], String(whole.bytes));
            t.equal(answer.headers['x-total-count'], String(counted));
          }
          const ms = await cpuPerRequestMs(service, asked, REQUESTS);
          costs[name] = Math.max(costs[name] ?? 0, ms);
          t.ok(ms <= CPU_MS_MAX, `${name} since ${counted} events, ${format}: ${ms.toFixed(3)} ms`);
        }
      }
    }
    const figures = Object.entries(costs).map(([name, ms]) => `${name} ${ms.toFixed(3)} ms`);
    t.comment(told(figures.join(', '), workers === '1' ? 'changes-cpu' : 'changes-cpu-threads'));
  });
}

/** A test, as far as it is needed here. */
interface Teardowns {
  teardown(end: () => unknown): unknown;
}

/** Attempts for a ratio of two times of a machine that has other work. */
const ATTEMPTS = 5;

/** The 99th percentile of what others wait for, before and while one client repeats a request: of the first good attempt, or the last. */
async function besideLoop(
  t: Teardowns,
  service: ServiceProcess,
  path: string,
  method: string,
): Promise<{ readonly beforeMs: number; readonly besideMs: number; readonly answers: number }> {
  const forMs = size(2000, 5000);
  for (let attempt = 1; ; attempt++) {
    const beforeMs = await latencyP99Ms(service, forMs);
    const client = startClients((end) => t.teardown(end), 'looped', service, 1, path, method);
    await client.next();
    const besideMs = await latencyP99Ms(service, forMs);
    const { answers } = await client.next();
    await client.end();
    if (besideMs <= 2 * beforeMs || attempt === ATTEMPTS) {
      return { beforeMs, besideMs, answers: Number(answers) };
    }
  }
}

test(
  'others wait at most twice as long while one client repeats a request for what has changed',
  TIMEOUT,
  async (t) => {
    const { service, past } = await startChangedService((end) => t.teardown(end), EVENTS, CHANGES);
    for (const format of ['json', 'msgpack']) {
      for (const method of ['HEAD', 'GET']) {
        for (const [reach, since] of [
          ['one snapshot', past.at(-1)],
          ['three snapshots', past[0]],
        ] as const) {
          if (!HARD && reach === 'one snapshot') continue;
          const { beforeMs, besideMs, answers } = await besideLoop(
            t,
            service,
            changesPath(since ?? '', format),
            method,
          );
          t.ok(answers > 0, `${answers} answers`);
          t.ok(
            besideMs <= 2 * beforeMs,
            told(
              `${method} as ${format}, ${reach} back: p99 ${beforeMs.toFixed(2)} ms before, ${besideMs.toFixed(2)} ms beside it`,
            ),
          );
        }
      }
    }
  },
);
