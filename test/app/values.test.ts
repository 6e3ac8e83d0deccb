/**
 * Each metric agrees with its name: every kind of event happens a different number of times, so that no two
 * metrics can be confused. Inside, because events of every kind are made without loads and threads.
 */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { test } from 'tap';
import { Exposition } from '../../src/app/exposition.js';
import type { ServingKeys } from '../../src/app/serving.js';
import { Activity } from '../../src/app/timetable-events.js';
import { PIPELINED_WAITING_MAX, REQUESTS_IN_FLIGHT_MAX } from '../../src/base/limits.js';
import { TOKEN_FAILURES } from '../../src/base/metrics/cells.js';
import { Meter } from '../../src/base/metrics/meter.js';
import { startSampling } from '../../src/base/metrics/sampling.js';
import type { RequestHandler } from '../../src/http/handler.js';
import type { ConnectionBounds } from '../../src/http/server/connections.js';
import { HttpServer } from '../../src/http/server/server.js';
import { hs256, SECRET, signed } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { viewsOf } from '../http/harness.js';
import { MemorySource, startService } from '../refresh/built.js';
import { until } from '../waiting/until.js';
import { parseMetrics, scrape, total } from './scrape.js';
import { get } from './threads.js';

const RECORDS = Array.from({ length: 40 }, (_, n) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: new Date(Date.UTC(2024, 8, 2, n)).toISOString(),
  endTime: new Date(Date.UTC(2024, 8, 2, n + 1)).toISOString(),
  studyGroup: n % 2 === 0 ? 'A' : 'B',
}));
const OPTIONS = { port: 0, adminPort: 0, hs256Secret: SECRET } as const;
const nowSeconds = Math.floor(Date.now() / 1000);
const exp = nowSeconds + 3600;

/** The metrics of one meter, as in a scrape. */
async function expose(meter: Meter): Promise<ReadonlyMap<string, number>> {
  return parseMetrics(await expositionOf(meter).text());
}

function expositionOf(meter: Meter): Exposition {
  const fetched = { results: { changed: 3, unchanged: 20, failed: 5 }, ageMs: 1500 };
  const serving = {
    meters: [{ thread: 'main', meter }],
    condition: { isDraining: false, isOverloaded: true, threadsOverloaded: 2, refused: 30, overloads: 7 },
    isServing: true,
    keys: { areThere: true, fetched } as unknown as ServingKeys,
  };
  const observed = {
    serving,
    timetable: viewsOf(),
    activity: new Activity(),
    files: { counts: new Map([['rooms', { taken: 3, refused: 2 }]] as const), refused: ['rooms'] as const },
    losses: () => 0,
    channel: () => null,
    log: { info() {}, warn() {}, error() {}, linesDropped: () => 11 },
  };
  return new Exposition(observed, [], () => true);
}

test('token failures are counted by reason', async (t) => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keys = { keys: [{ ...rsa.publicKey.export({ format: 'jwk' }), kid: 'known' }] };
  const service = await startService({
    ...OPTIONS,
    source: new MemorySource(RECORDS),
    jwks: join(testFolder(t, { 'keys.json': JSON.stringify(keys) }), 'keys.json'),
    issuer: 'https://issuer.example',
    audience: 'timetable',
    tokenType: 'at+jwt',
  });
  t.teardown(() => service.close());
  await service.ready;
  const header = { alg: 'HS256', typ: 'at+jwt' };
  const claims = { iss: 'https://issuer.example', aud: 'timetable', sub: 'alice', client_id: 'a', exp };
  const all = { ...claims, iat: nowSeconds, jti: '1' };
  const tokenOf = (more: object): string => hs256({ ...all, ...more }, { header });
  const bad: Record<string, string | null> = {
    missing: null,
    malformed: 'a.b.c',
    algorithm: hs256(all, { header: { ...header, alg: 'HS384' } }),
    type: hs256(all, { header: { alg: 'HS256', typ: 'JWT' } }),
    'no-key': signed(all, rsa.privateKey, { alg: 'RS256', kid: 'other', typ: 'at+jwt' } as never),
    signature: hs256(all, { header, secret: 'another secret of thirty-two bytes' }),
    expired: tokenOf({ exp: nowSeconds - 3600 }),
    'not-yet-valid': tokenOf({ nbf: exp }),
    issuer: tokenOf({ iss: 'https://another.example' }),
    audience: tokenOf({ aud: 'another' }),
    claims: tokenOf({ sub: 1 }),
  };
  const ask = (token: string | null): Promise<{ status: number }> =>
    get(`${service.baseUrl}/schedule`, token === null ? {} : { authorization: `Bearer ${token}` });
  t.equal((await ask(tokenOf({}))).status, 200, 'a good one');
  for (const [n, token] of Object.values(bad).entries()) {
    for (let asked = 0; asked <= n; asked++) await ask(token);
  }
  const metrics = await scrape(service.adminAddress?.origin ?? '');
  for (const [n, reason] of Object.keys(bad).entries()) {
    t.equal(metrics.get(`lectern_token_failures_total{reason="${reason}"}`), n + 1, reason);
  }
  t.strictSame([...Object.keys(bad), 'unavailable'].sort(), [...TOKEN_FAILURES].sort());

  const without = await startService({
    ...OPTIONS,
    hs256Secret: undefined,
    source: new MemorySource(RECORDS),
    // No process listens there.
    jwks: 'http://127.0.0.1:1/keys',
  });
  t.teardown(() => without.close());
  await without.ready;
  const token = signed(all, rsa.privateKey, { alg: 'RS256', kid: 'known' });
  const answer = await get(`${without.baseUrl}/schedule`, { authorization: `Bearer ${token}` });
  t.equal(answer.status, 503);
  const others = await scrape(without.adminAddress?.origin ?? '');
  t.equal(others.get('lectern_token_failures_total{reason="unavailable"}'), 1);
  t.equal(total(others, 'lectern_token_failures_total'), 1);
});

test('open connections are counted, and closed ones by reason', async (t) => {
  const bounds: ConnectionBounds = {
    lookMs: 20,
    readerWindowMs: 300,
    readerBytesMin: 64 * 1024,
    idleMsMax: 10_000,
    lingerMsMax: 100,
  };
  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const meter = new Meter();
  const large = Buffer.alloc(64 * 1024 * 1024);
  async function listen(handler: RequestHandler, more: Partial<ConnectionBounds>, connectionsMax?: number) {
    const server = new HttpServer(handler, { connectionsMax, bounds: { ...bounds, ...more }, meter });
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    t.teardown(() => server.close({ deadlineMs: 0 }));
    return {
      server,
      async open(bytes: string): Promise<Socket> {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        await once(socket, 'connect');
        socket.write(bytes);
        return socket;
      },
    };
  }
  const quick = await listen((_req, res) => res.end('x'), { idleMsMax: 200 });
  for (let n = 0; n < 2; n++) await quick.open('\r\n');
  const slow = await listen((_req, res) => res.end(large), {});
  (await slow.open(request)).pause();
  const never = await listen(() => {}, {});
  for (let n = 0; n < 3; n++) {
    await never.open(request.repeat(REQUESTS_IN_FLIGHT_MAX + PIPELINED_WAITING_MAX + 1));
  }
  // The last test, because it counts all open connections.
  const full = await listen((_req, res) => res.end('x'), {}, 5);
  for (let n = 0; n < 5; n++) await once(await full.open(request), 'data');
  for (let n = 0; n < 4; n++) (await full.open('')).resume();
  await until(() => full.server.counts.dropped === 4 && never.server.counts.flooded === 3);
  await until(() => quick.server.counts.silent === 2 && slow.server.counts.slowReaders === 1);
  const metrics = await expose(meter);
  t.equal(metrics.get('lectern_connections_open'), 5);
  const cut = (reason: string) => metrics.get(`lectern_connections_cut_total{reason="${reason}"}`);
  t.strictSame(['slow-reader', 'silent', 'flooded', 'too-many'].map(cut), [1, 2, 3, 4]);
});

test('look-ups and bytes of the caches are counted', async (t) => {
  const service = await startService({ ...OPTIONS, source: new MemorySource(RECORDS) });
  t.teardown(() => service.close());
  await service.ready;
  const admin = service.adminAddress?.origin ?? '';
  const headers = { authorization: `Bearer ${hs256({ sub: 'alice', exp })}` };
  const caches = async (): Promise<Record<string, number | undefined>> => {
    const metrics = await scrape(admin);
    const lookups = (cache: string, result: string) =>
      metrics.get(`lectern_cache_lookups_total{cache="${cache}",result="${result}"}`);
    return {
      answerHits: lookups('answers', 'hit'),
      answerMisses: lookups('answers', 'miss'),
      answerBytes: metrics.get('lectern_cache_bytes{cache="answers"}'),
      rowHits: lookups('rows', 'hit'),
      rowMisses: lookups('rows', 'miss'),
      rowBytes: metrics.get('lectern_cache_bytes{cache="rows"}'),
    };
  };
  const rows = () => service.timetable.view?.rowCache;
  // Each is requested once: answers are not kept, but from some time on the rows of the group are.
  for (let n = 0; n < 12; n++) {
    const window = `startTime=2024-09-02T00:00:${String(n).padStart(2, '0')}Z`;
    await get(`${service.baseUrl}/schedule?studyGroup=A&${window}`, headers);
  }
  const before = await caches();
  t.match(before, { answerHits: 0, answerMisses: 12, answerBytes: 0 });
  t.equal(before.rowHits, rows()?.hits);
  t.equal(before.rowMisses, rows()?.misses);
  t.equal(before.rowBytes, rows()?.bytes);
  t.not(before.rowHits, before.rowMisses, `${before.rowHits} found, ${before.rowMisses} not`);
  t.ok(Number(before.rowBytes) > 1000);
  // One target is requested repeatedly: kept from the second time on, without looking up rows.
  for (let n = 0; n < 6; n++) await get(`${service.baseUrl}/schedule/types`, headers);
  const after = await caches();
  t.match(after, { ...before, answerHits: 4, answerMisses: 14, answerBytes: Number });
  t.ok(Number(after.answerBytes) > 0 && after.answerBytes !== after.rowBytes);
});

test('event loop delays and heap sizes are reported', async (t) => {
  const meter = new Meter();
  const stop = startSampling(meter);
  t.teardown(stop);
  function block(ms: number): void {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs);
  }
  // Of 150 measurements the worst 2 % are late, and one of these is very late.
  await new Promise<void>((resolve) => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks++;
      if (ticks === 40 || ticks === 80 || ticks === 120) block(150);
      if (ticks === 100) block(900);
      if (ticks < 150) return;
      clearInterval(timer);
      resolve();
    }, 20);
  });
  meter.sample();
  const { used_heap_size: used, total_heap_size: allocated } = getHeapStatistics();
  const metrics = await expose(meter);
  const lag = (part: string): number =>
    metrics.get(`nodejs_eventloop_lag_${part}seconds{thread="main"}`) ?? Number.NaN;
  const [half, most, worst] = ['p50_', 'p99_', 'max_'].map(lag) as [number, number, number];
  t.ok(half >= 0 && half < 0.05, `half of them ${half} s`);
  t.ok(most > 0.08 && most < worst, `of a hundred ninety-nine ${most} s`);
  t.ok(worst > 0.8 && worst < 5, `the worst ${worst} s`);
  const heap = (state: string): number => metrics.get(`nodejs_heap_size_${state}_bytes{thread="main"}`) ?? -1;
  t.ok(Math.abs(heap('used') - used) < 0.2 * used, `${heap('used')} of ${used}`);
  t.ok(Math.abs(heap('total') - allocated) < 0.2 * allocated, `${heap('total')} of ${allocated}`);
  t.ok(heap('used') < heap('total'));
  const [least, mean, deviation, ninety] = ['min_', 'mean_', 'stddev_', 'p90_'].map(lag) as [
    number,
    number,
    number,
    number,
  ];
  t.ok(least >= 0 && least <= half, `the least ${least} s`);
  t.ok(mean > half && mean < most, `on average ${mean} s`);
  t.ok(deviation > 0.03 && deviation < worst, `deviation ${deviation} s`);
  t.ok(ninety >= half && ninety <= most, `of ten nine ${ninety} s`);
  const loop = (state: string): number =>
    metrics.get(`lectern_event_loop_seconds_total{thread="main",state="${state}"}`) ?? -1;
  t.ok(loop('active') > 1.3 && loop('idle') > 1, `${loop('active')} s active, ${loop('idle')} s idle`);
});

test('overloads and dropped log lines are counted', async (t) => {
  const metrics = await expose(new Meter());
  t.equal(metrics.get('lectern_overloaded_threads'), 2);
  t.equal(metrics.get('lectern_overload_refusals_total'), 30);
  t.equal(metrics.get('lectern_overloads_total'), 7);
  t.equal(metrics.get('lectern_log_lines_dropped_total'), 11);
});

test('the current event loop lag is reported', async (t) => {
  const meter = new Meter();
  const stop = startSampling(meter);
  t.teardown(stop);
  meter.sample();
  const endMs = performance.now() + 120;
  while (performance.now() < endMs);
  await new Promise((resolve) => setImmediate(resolve));
  const lag = (await expose(meter)).get('nodejs_eventloop_lag_seconds{thread="main"}') ?? -1;
  t.ok(lag >= 0.12 && lag < 5, `${lag} s`);
});

test('metrics for Node dashboards agree with the figures of the process', async (t) => {
  const held = Buffer.alloc(32 * 2 ** 20, 1);
  const meter = new Meter();
  t.teardown(startSampling(meter));
  meter.sample();
  const before = process.cpuUsage();
  const metrics = await expose(meter);
  const after = process.cpuUsage();
  const value = (name: string): number => metrics.get(name) ?? Number.NaN;
  // Rounded, because a number of microseconds does not always survive the way through seconds.
  const microseconds = (name: string): number => Math.round(value(name) * 1e6);
  const user = microseconds('process_cpu_user_seconds_total');
  const system = microseconds('process_cpu_system_seconds_total');
  t.ok(user >= before.user && user <= after.user, `${user} µs`);
  t.ok(system >= before.system && system <= after.system, `${system} µs`);
  const both = microseconds('process_cpu_seconds_total');
  t.ok(both >= before.user + before.system && both <= after.user + after.system, 'both together');
  t.ok(both >= user + system, 'no less than its parts');
  // Threads of earlier tests may end meanwhile and give memory back.
  const rss = process.memoryUsage.rss();
  const resident = value('process_resident_memory_bytes');
  t.ok(resident > rss / 2 && resident < rss * 2, `${resident} of ${rss} bytes`);
  t.ok(value('nodejs_external_memory_bytes{thread="main"}') >= held.length);
  t.ok(Math.abs(value('process_start_time_seconds') - (Date.now() / 1000 - process.uptime())) < 2);
  const [major, minor, patch] = process.versions.node.split('.');
  const labels = `version="${process.version}",major="${major}",minor="${minor}",patch="${patch}"`;
  t.equal(metrics.get(`nodejs_version_info{${labels}}`), 1);
});

test('open files are counted', { skip: process.platform !== 'linux' && 'Linux only' }, async (t) => {
  const count = async (): Promise<number> => (await expose(new Meter())).get('process_open_fds') ?? -1;
  const before = await count();
  const files = await Promise.all(Array.from({ length: 20 }, () => open(fileURLToPath(import.meta.url))));
  t.equal(await count(), before + 20);
  await Promise.all(files.map((file) => file.close()));
  t.ok(((await expose(new Meter())).get('process_max_fds') ?? 0) >= before);
});

test('simultaneous scrapes count nothing twice', async (t) => {
  const exposition = expositionOf(new Meter());
  const texts = await Promise.all(Array.from({ length: 5 }, () => exposition.text()));
  for (const text of texts) {
    const metrics = parseMetrics(text);
    t.equal(metrics.get('lectern_overloads_total'), 7);
    t.ok((metrics.get('process_open_fds') ?? 0) < 1000);
  }
});

test('the age of the key set and the outcomes of its fetches are reported', async (t) => {
  const metrics = await expose(new Meter());
  t.equal(metrics.get('lectern_key_set_age_seconds'), 1.5);
  t.equal(metrics.get('lectern_key_set_fetches_total{result="changed"}'), 3);
  t.equal(metrics.get('lectern_key_set_fetches_total{result="unchanged"}'), 20);
  t.equal(metrics.get('lectern_key_set_fetches_total{result="failed"}'), 5);

  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let isThere = false;
  const issuer = createServer((_req, res) => {
    res.statusCode = isThere ? 200 : 500;
    res.end(JSON.stringify({ keys: [rsa.publicKey.export({ format: 'jwk' })] }));
  });
  issuer.listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  t.teardown(() => issuer.close());
  const service = await startService({
    ...OPTIONS,
    source: new MemorySource(RECORDS),
    jwks: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/`,
    jwksRefreshSeconds: 1,
    workers: 2,
  });
  t.teardown(() => service.close());
  await service.ready;
  const keySet = async (): Promise<readonly [age: number | undefined, failed: number, changed: number]> => {
    const metrics = await scrape(service.adminAddress?.origin ?? '');
    const fetches = (result: string) =>
      metrics.get(`lectern_key_set_fetches_total{result="${result}"}`) ?? Number.NaN;
    return [metrics.get('lectern_key_set_age_seconds'), fetches('failed'), fetches('changed')];
  };
  await until(async () => (await keySet())[1] > 0);
  t.match(await keySet(), [Number.NaN, Number, 0], 'no age before the first that went well');
  isThere = true;
  await until(async () => (await keySet())[2] === 1);
  const [age = -1] = await keySet();
  t.ok(age >= 0 && age < 60, `${age} s`);

  const without = await startService({ ...OPTIONS, source: new MemorySource(RECORDS) });
  t.teardown(() => without.close());
  const { body } = await get(`${without.adminAddress?.origin}/metrics`);
  t.notMatch(body.toString(), 'key_set', 'nothing where no keys are fetched');
});
