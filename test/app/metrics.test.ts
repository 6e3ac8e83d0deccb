/** /metrics reports every kind of event, on any number of threads. */

import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { ROOT } from '../cli/lectern.js';
import { openFleet } from '../fleet/fleet.js';
import { MemorySource, openTimetable, startService } from '../refresh/built.js';
import { until } from '../waiting/until.js';
import { scrape, total } from './scrape.js';
import { get, watchThreads } from './threads.js';

const RECORDS = Array.from({ length: 20 }, (_, n) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: new Date(Date.UTC(2024, 8, 2, 8 + n)).toISOString(),
  endTime: new Date(Date.UTC(2024, 8, 2, 9 + n)).toISOString(),
  studyGroup: n % 2 === 0 ? 'A' : 'B',
}));

const exp = Math.floor(Date.now() / 1000) + 3600;
const headers = { authorization: `Bearer ${hs256({ sub: 'alice', studyGroup: 'A', exp })}` };
const OPTIONS = { port: 0, adminPort: 0, hs256Secret: SECRET, dev: false } as const;

for (const workers of [1, 2]) {
  test(`requests are counted by route and status: ${workers} serving threads`, async (t) => {
    const source = new MemorySource(RECORDS);
    const service = await startService({ ...OPTIONS, source, workers });
    t.teardown(() => service.close());
    await service.ready;
    const admin = service.adminAddress?.origin ?? '';
    const ask = async (path: string, fields: Record<string, string> = {}): Promise<number> =>
      (await get(service.baseUrl + path, fields)).status;
    // Sent on separate connections, so that several threads get requests.
    for (let n = 0; n < 30; n++) t.equal(await ask('/schedule?studyGroup=A', headers), 200);
    for (let n = 0; n < 4; n++) t.equal(await ask('/schedule/personal', headers), 200);
    t.equal(await ask('/schedule?limit=0', headers), 400);
    t.equal(await ask('/schedule'), 401);
    t.equal(await ask('/schedule', { authorization: 'Bearer a.b.c' }), 401);
    const expired = hs256({ sub: 'alice', exp: exp - 7200 });
    t.equal(await ask('/schedule', { authorization: `Bearer ${expired}` }), 401);
    t.equal(await ask('/no/such/path/as-this', headers), 404);
    const bytes = (await get(`${service.baseUrl}/schedule/types`, headers)).body.length;
    // A thread counts an answer after handing it to the system, so the answer may arrive before it is counted.
    let metrics = await scrape(admin);
    while (total(metrics, 'lectern_http_requests_total') < 40) metrics = await scrape(admin);

    const requests = (route: string, status: number): number =>
      total(metrics, 'lectern_http_requests_total', `route="${route}"`, `status="${status}"`);
    t.equal(requests('/schedule', 200), 30);
    t.equal(requests('/schedule/personal', 200), 4);
    t.equal(requests('/schedule', 400), 1);
    t.equal(requests('/schedule', 401), 3);
    t.equal(requests('none', 404), 1);
    t.equal(total(metrics, 'lectern_http_requests_total'), 40);
    t.equal(total(metrics, 'lectern_http_response_bytes_total', 'route="/schedule/types"'), bytes);
    t.equal(total(metrics, 'lectern_http_request_duration_seconds_count'), 40);
    t.equal(
      total(metrics, 'lectern_http_request_duration_seconds_bucket', 'route="/schedule"', 'le="+Inf"'),
      34,
    );
    const sum = total(metrics, 'lectern_http_request_duration_seconds_sum', 'route="/schedule"');
    t.ok(sum > 0 && sum < 10, `${sum} s`);
    t.equal(total(metrics, 'lectern_token_failures_total', 'reason="missing"'), 1);
    t.equal(total(metrics, 'lectern_token_failures_total', 'reason="malformed"'), 1);
    t.equal(total(metrics, 'lectern_token_failures_total', 'reason="expired"'), 1);
    const misses = total(metrics, 'lectern_token_cache_lookups_total', 'result="miss"');
    // The first token on each thread, and two tokens that were never valid.
    t.ok(misses >= 3 && misses <= 2 + workers, `${misses} misses`);
    t.equal(total(metrics, 'lectern_token_cache_lookups_total'), 38);
    t.equal(metrics.get('lectern_ready'), 1);
    t.equal(metrics.get('lectern_snapshot_events'), 20);
    const id = service.timetable.summary?.id;
    t.equal(metrics.get(`lectern_snapshot_info{id="${id}",origin="source"}`), 1);
    t.equal(metrics.get('lectern_reloads_total{result="published"}'), 1);
    t.ok((metrics.get('process_resident_memory_bytes') ?? 0) > 1e7);
    t.ok((metrics.get('lectern_snapshot_age_seconds') ?? -1) >= 0);
    const threads = workers === 1 ? ['main'] : ['1', '2', 'main'];
    for (const thread of threads) {
      t.ok(metrics.has(`lectern_event_loop_seconds_total{thread="${thread}",state="active"}`), thread);
      // Each thread reports once a second.
      const heap = `nodejs_heap_size_used_bytes{thread="${thread}"}`;
      await until(async () => ((await scrape(admin)).get(heap) ?? 0) > 1e6);
    }
    const text = (await get(`${admin}/metrics`)).body.toString();
    t.notMatch(text, /as-this|alice|limit=0|eyJ/, 'nothing that a client wrote');
  });
}

test('heaps of threads that load and patch are shown while these threads run', async (t) => {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  async function* records(): AsyncGenerator<object> {
    yield* RECORDS;
    await finished;
  }
  const source = new MemorySource(records());
  const service = await startService({ ...OPTIONS, source });
  t.teardown(() => service.close());
  const seen = (thread: string): Promise<number> =>
    until(
      async () => {
        const metrics = await scrape(service.adminAddress?.origin ?? '');
        const [used = 0, total = 0, external = -1] = [
          'heap_size_used',
          'heap_size_total',
          'external_memory',
        ].map((name) => metrics.get(`nodejs_${name}_bytes{thread="${thread}"}`));
        return used > 0 && used <= total && external >= 0 ? used : 0;
      },
      (used) => used > 0,
    );
  t.ok((await seen('load')) > 1e6, 'the load is under way');
  finish();
  await service.ready;
  source.apply({ remove: ['00000000-0000-4000-8000-000000000003'] });
  t.ok((await seen('patch')) > 1e6, 'the thread of patches waits for the next one');
  // The thread of the load has ended.
  await until(
    async () =>
      !(await scrape(service.adminAddress?.origin ?? '')).has('nodejs_heap_size_used_bytes{thread="load"}'),
  );
});

test('docs/operations.md has every metric, and no others', async (t) => {
  const service = await startService({
    ...OPTIONS,
    source: new MemorySource(RECORDS),
    // No process listens there.
    jwks: 'http://127.0.0.1:1/keys',
    rooms: `${testFolder(t, { 'rooms.json': '[]' })}/rooms.json`,
  });
  t.teardown(() => service.close());
  await service.ready;
  await get(`${service.baseUrl}/schedule`, headers);
  const fleet = await openFleet(t, 'folder');
  const publishing = await fleet.publisher(new MemorySource(RECORDS), { admin: { port: 0 } });
  await publishing.announced;
  const replica = fleet.replica();
  await replica.ready;
  const server = await replica.serve({ port: 0, dev: true, admin: { port: 0 } });
  const texts: string[] = [];
  for (const each of [service.adminAddress, server.adminAddress, publishing.adminAddress])
    texts.push((await get(`${each?.origin}/metrics`)).body.toString());
  const text = texts.join('\n');
  const shown = new Map(
    [...text.matchAll(/^# TYPE (\S+) (?:counter|gauge|histogram)$/gm)].map(([, name = '']) => [name, '']),
  );
  for (const [, name = '', labels = ''] of text.matchAll(
    /^((?:lectern|nodejs|process)_[a-z0-9_]+?)(?:_bucket|_sum|_count)?(?:\{([^}]*)\})? /gm,
  )) {
    const names = [...labels.matchAll(/([a-z]+)="/g)].map(([, label]) => `\`${label}\``);
    if (shown.get(name) === '') shown.set(name, names.filter((label) => label !== '`le`').join(', '));
  }
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const rows = [
    ...page.matchAll(/^\| (`(?:lectern|nodejs|process)_[a-z0-9_`, ]+`) \| ([^|]*?) ?\|/gm),
  ].flatMap(([, names = '', labels = '']) =>
    names.split(', ').map((name) => [name.slice(1, -1), labels] as const),
  );
  t.strictSame(new Map(rows), shown);
});

test('reloads and refusals are counted by outcome', async (t) => {
  const source = new MemorySource(RECORDS);
  const service = await startService({ ...OPTIONS, source, watch: false });
  t.teardown(() => service.close());
  await service.ready;
  const admin = service.adminAddress?.origin ?? '';
  source.replace(RECORDS.slice(0, 3));
  await service.timetable.refresh();
  source.replace([]);
  await service.timetable.refresh();
  source.replace([...RECORDS.slice(0, 19), RECORDS[0] as (typeof RECORDS)[number]]);
  await service.timetable.refresh();
  await service.timetable.refresh();
  const metrics = await scrape(admin);
  t.equal(metrics.get('lectern_reloads_total{result="published"}'), 2);
  t.equal(metrics.get('lectern_reloads_total{result="refused"}'), 2);
  t.equal(metrics.get('lectern_reloads_total{result="unchanged"}'), 1);
  t.equal(metrics.get('lectern_reloads_total{result="failed"}'), 0);
  t.equal(metrics.get('lectern_gate_refusals_total{reason="shrunk"}'), 1);
  t.equal(metrics.get('lectern_gate_refusals_total{reason="empty"}'), 1);
  t.equal(metrics.get('lectern_snapshot_events'), 19);
  t.equal(metrics.get('lectern_snapshot_rejected_records{code="duplicate-id"}'), 1);
  t.equal(metrics.get('lectern_snapshot_rejected_records{code="overridden"}'), 0, 'each code is there');
  t.equal(total(metrics, 'lectern_snapshot_rejected_records'), 1);
});

test('counts never fall during scrapes under load, even when a thread is lost', async (t) => {
  const threads = watchThreads(t);
  const source = new MemorySource(RECORDS);
  const service = await startService({ ...OPTIONS, source, workers: 2 });
  t.teardown(() => service.close());
  await service.ready;
  const admin = service.adminAddress?.origin ?? '';
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  let isOver = false;
  let answered = 0;
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      // The request fails if its thread was lost: the client tries again.
      const answer = await get(`${service.baseUrl}/schedule?studyGroup=A`, headers, agent).catch(() => null);
      if (answer?.status === 200) answered++;
    }
  });
  const name = 'lectern_http_requests_total{route="/schedule",status="200"}';
  let last = 0;
  for (let n = 0; n < 12; n++) {
    const count = (await scrape(admin)).get(name) ?? 0;
    t.ok(count >= last, `${count} after ${last}`);
    last = count;
    if (n === 4) await threads[0]?.terminate();
    const before = answered;
    await until(() => answered > before + 50);
  }
  isOver = true;
  await Promise.all(clients);
  agent.destroy();
  const metrics = await scrape(admin);
  const count = metrics.get(name) ?? 0;
  // Answers in transit when the thread was lost were counted but did not arrive; the last may have been sent uncounted.
  t.ok(count >= answered - 1 && count <= answered + 8, `${count} counted, ${answered} arrived`);
  t.equal(metrics.get('lectern_threads_lost_total'), 1);
});

test('overload counts cover all threads and stay when a thread is lost', async (t) => {
  const threads = watchThreads(t);
  const service = await startService({ ...OPTIONS, source: new MemorySource(RECORDS), workers: 2 });
  t.teardown(() => service.close());
  await service.ready;
  const admin = service.adminAddress?.origin ?? '';
  // Reported by threads once a second.
  const tell = (
    thread: Worker | undefined,
    isOverloaded: boolean,
    refused: number,
    overloads: number,
  ): void => {
    thread?.emit('message', { kind: 'load', load: { isOverloaded, refused, overloads } });
  };
  const overload = async (): Promise<unknown[]> => {
    const metrics = await scrape(admin);
    return ['overload_refusals_total', 'overloads_total', 'overloaded_threads', 'threads_lost_total'].map(
      (name) => metrics.get(`lectern_${name}`),
    );
  };
  t.strictSame(await overload(), [0, 0, 0, 0]);
  tell(threads[0], true, 70, 2);
  tell(threads[1], false, 5, 1);
  t.strictSame(await overload(), [75, 3, 1, 0]);
  t.match(service.condition, { isOverloaded: false, refused: 75, overloads: 3 });
  const [lost, other] = threads;
  await lost?.terminate();
  t.strictSame(await overload(), [75, 3, 0, 1]);
  const isReplaced = (): boolean => threads.some((thread) => thread !== other);
  await until(isReplaced);
  tell(
    threads.find((thread) => thread !== other),
    true,
    4,
    1,
  );
  t.strictSame(await overload(), [79, 4, 1, 1], 'the one that took its place counts on');
  tell(other, true, 8, 2);
  t.strictSame(await overload(), [82, 5, 2, 1]);
  t.equal(service.condition.isOverloaded, true);
});

test('servers of one timetable count every load since it was opened, and leave no listeners behind', async (t) => {
  const source = new MemorySource(RECORDS);
  const timetable = openTimetable({ source, watch: false });
  t.teardown(() => timetable.close());
  await timetable.ready;
  source.replace([]);
  await timetable.refresh();
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  const listeners = t.capture(timetable, 'on', timetable.on);
  const options = { auth: { hs256Secret: SECRET }, port: 0, admin: { port: 0 } };
  for (let n = 0; n < 12; n++) await (await timetable.serve(options)).close();
  const first = await timetable.serve(options);
  const admin = first.adminAddress?.origin ?? '';
  // The port of the timetable or of the admin listener is taken.
  const taken = { code: 'address-unavailable' };
  await t.rejects(timetable.serve({ ...options, port: first.address.port }), taken);
  await t.rejects(timetable.serve({ ...options, admin: { port: first.adminAddress?.port ?? 0 } }), taken);
  t.strictSame(listeners(), []);
  t.strictSame(warnings, []);
  const second = await timetable.serve(options);
  await timetable.refresh({ force: true });
  for (const origin of [admin, second.adminAddress?.origin ?? '']) {
    const metrics = await scrape(origin);
    t.equal(metrics.get('lectern_reloads_total{result="published"}'), 2);
    t.equal(metrics.get('lectern_reloads_total{result="refused"}'), 1);
    t.equal(total(metrics, 'lectern_reloads_total'), 3);
    t.equal(metrics.get('lectern_gate_refusals_total{reason="empty"}'), 1);
  }
});

test('unreadable requests are counted with their bytes, without a duration', async (t) => {
  const service = await startService({ ...OPTIONS, source: new MemorySource(RECORDS) });
  t.teardown(() => service.close());
  await service.ready;
  let bytes = 0;
  for (const text of [
    'nonsense\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET / HTTP/7.3\r\n\r\n',
  ]) {
    const answer = await converse(service.address.port, text);
    const { length = '' } = /\r\nContent-Length: (?<length>\d+)\r\n/.exec(answer)?.groups ?? {};
    t.equal(answer.length - answer.indexOf('\r\n\r\n') - 4, Number(length), answer.slice(0, 30));
    bytes += Number(length);
  }
  const metrics = await scrape(service.adminAddress?.origin ?? '');
  const route = 'route="unreadable"';
  t.equal(metrics.get(`lectern_http_requests_total{${route},status="400"}`), 1);
  t.equal(metrics.get(`lectern_http_requests_total{${route},status="405"}`), 1);
  t.equal(metrics.get(`lectern_http_requests_total{${route},status="505"}`), 1);
  t.equal(metrics.get(`lectern_http_response_bytes_total{${route}}`), bytes);
  t.equal(total(metrics, 'lectern_http_request_duration_seconds_count', route), 0);
});

/** All bytes received on a connection until it is closed. */
function converse(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}
