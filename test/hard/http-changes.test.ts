/**
 * The cost of /schedule/changes after every title of a timetable has changed: figures of docs/reliability.md. Clients that do not read
 * it are in http-readers.test.ts.
 */
import t, { test } from 'tap';
import { type Asked, ask, cpuPerRequestMs, startChangedService } from './changed-service.js';
import { latencyP99Ms, type ServiceProcess, startBareSender, startClients, told } from './http-service.js';
import { HARD, size } from './size.js';

const EVENTS = size(50_000, 100_000);
const TIMEOUT = { timeout: 300_000 };
/** Most processor time of one such request. */
const CPU_MS_MAX = 0.1;
/**
 * The bound in the short form, which mostly runs cold code. Making the whole body takes a thousand times as
 * long.
 */
const SHORT_CPU_MS_MAX = 0.3;
const REQUESTS = size(50, 1000);
const LOOP_MS = size(1000, 5000);
/** In a short run beside other tests, the p99 of others may also be as long as a turn of the processor's scheduler or two. */
const SLACK_MS = size(25, 0);
/** Attempts at a measurement on a busy machine. */
const ATTEMPTS = 5;
/** All titles, then every hundredth, then every second: changed events form one run, or are scattered. */
const CHANGES = [1, 100, 2];

const TYPES = '/api/v1/schedule/types';
const changesPath = (since: string, format: string): string =>
  `/api/v1/schedule/changes?since=${since}&format=${format}`;

const teardown = (end: () => unknown): unknown => t.teardown(end);
const services = await Promise.all(
  ['1', '2'].map(async (workers) => {
    const argv = ['--workers', workers];
    return { workers, ...(await startChangedService(teardown, EVENTS, CHANGES, argv)) };
  }),
);

for (const { workers, service, past } of services) {
  test(`304, 406 and HEAD of /schedule/changes are cheap, ${workers} serving threads`, TIMEOUT, async (t) => {
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
        t.ok(whole.bytes > 150 * counted, `${whole.bytes} bytes`);
        const requests = {
          HEAD: [{ method: 'HEAD', path }, 200],
          304: [{ method: 'GET', path, headers: { 'If-None-Match': String(whole.headers.etag) } }, 304],
          406: [{ method: 'GET', path: path.replace(/&.*/, ''), headers: { Accept: 'image/png' } }, 406],
        } as const;
        // If other processes use the machine, every request costs more.
        const floorMs = await cpuPerRequestMs(service, { method: 'GET', path: TYPES }, REQUESTS);
        const allowedMs = HARD ? CPU_MS_MAX : Math.max(SHORT_CPU_MS_MAX, 5 * floorMs);
        for (const [name, [asked, status]] of Object.entries(requests)) {
          const answer = await ask(service, asked);
          t.equal(answer.status, status);
          if (status === 200) {
            t.equal(answer.headers['content-length'], String(whole.bytes));
            t.equal(answer.headers['x-total-count'], String(counted));
          }
          let ms = await cpuPerRequestMs(service, asked, REQUESTS);
          // Other processes only add.
          for (let attempt = 1; attempt < ATTEMPTS && ms > allowedMs; attempt++)
            ms = Math.min(ms, await cpuPerRequestMs(service, asked, REQUESTS));
          costs[name] = Math.max(costs[name] ?? 0, ms);
          t.ok(ms <= allowedMs, `${name} since ${counted} events, ${format}: ${ms.toFixed(3)} ms`);
        }
      }
    }
    const figures = Object.entries(costs).map(([name, ms]) => `${name} ${ms.toFixed(3)} ms`);
    t.comment(told(figures.join(', '), workers === '1' ? 'changes-cpu' : 'changes-cpu-threads'));
  });
}

/** The needed part of a test. */
interface Teardowns {
  teardown(end: () => unknown): unknown;
}

/** The p99 of other clients while one client repeats a request. */
async function besideMs(
  t: Teardowns,
  server: Pick<ServiceProcess, 'port'>,
  { method, path }: Asked,
): Promise<number> {
  const client = startClients((end) => t.teardown(end), 'looped', server, 1, path, method);
  await client.next();
  const ms = await latencyP99Ms(server, LOOP_MS);
  const { answers } = await client.next();
  await client.end();
  if (Number(answers) === 0) throw new Error(`${method} ${path} was not answered meanwhile`);
  return ms;
}

const mostMs = ({ aloneMs, bareMs }: { readonly aloneMs: number; readonly bareMs: number }): number =>
  Math.max(2 * aloneMs, bareMs, SLACK_MS);

const LOOPS = [
  ['HEAD', 'json'],
  ['GET', 'json'],
  ['HEAD', 'msgpack'],
  ['GET', 'msgpack'],
] as const;

test(
  'a client that repeats /schedule/changes delays others at most twofold, or no more than a bare server does',
  TIMEOUT,
  async (t) => {
    const [{ service, past }] = services as [(typeof services)[number]];
    const figures: string[] = [];
    for (const [method, format] of LOOPS) {
      for (const since of HARD ? [past[0], past.at(-1)] : [past[0]]) {
        const path = changesPath(since ?? '', format);
        const { bytes } = await ask(service, { method: 'GET', path });
        const bare = await startBareSender((end) => t.teardown(end), bytes);
        const seen = { aloneMs: 0, bareMs: 0, ms: 0 };
        for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
          seen.aloneMs = await latencyP99Ms(service, LOOP_MS);
          // Three processes share the machine: beside a bare server, too, others wait for the processor.
          seen.bareMs = await besideMs(t, bare, { method, path });
          seen.ms = await besideMs(t, service, { method, path });
          if (seen.ms <= mostMs(seen)) break;
        }
        const { aloneMs, bareMs, ms } = seen;
        const figure = `${method} ${format} ${ms.toFixed(1)} (alone ${aloneMs.toFixed(1)}, bare ${bareMs.toFixed(1)})`;
        t.ok(ms <= mostMs(seen), figure);
        figures.push(figure);
      }
    }
    t.comment(told(`p99 of others in ms: ${figures.join(', ')}`, 'changes-bystander'));
  },
);
