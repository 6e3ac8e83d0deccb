/** A Lectern whose source is another one: it follows each publication, through restarts of either. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { MemorySource, openTimetable, type Timetable, type TimetableOptions } from '../../src/index.js';
import { UPSTREAM_CHANGES_BYTES_MAX } from '../../src/limits.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { size } from '../hard/size.js';
import { until } from '../waiting/until.js';

const PUBLICATIONS = size(60, 500);
const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const record = (n: number, title: string, more: object = {}): object => ({
  id: idOf(n),
  time: new Date(Date.UTC(2024, 8, 2, 8) + (n % 40) * 3_600_000).toISOString(),
  endTime: new Date(Date.UTC(2024, 8, 2, 10) + (n % 40) * 3_600_000).toISOString(),
  title,
  studyGroup: `G${n % 7}`,
  ...more,
});

const AUTHORIZATION = `Bearer ${hs256({ sub: 'chained', exp: Math.floor(Date.now() / 1000) + 3600 })}`;
const ALLOW_ALL = { gate: false, buildOn: 'here' } as const;

async function serve(timetable: Timetable, port: number): Promise<number> {
  const { address } = await timetable.serve({ port, auth: { hs256Secret: SECRET }, overloadMs: 0 });
  return address.port;
}

/** Paths of the requests that reach the first service. */
function following(port: number, options: Partial<TimetableOptions> = {}): Timetable {
  const url = `http://127.0.0.1:${port}/api/v1/schedule/all`;
  const source = { kind: 'http', url, headers: { Authorization: AUTHORIZATION } } as const;
  return openTimetable({ ...ALLOW_ALL, refreshSeconds: 1, source, ...options });
}

async function reaches(timetable: Timetable, id: string | undefined): Promise<void> {
  await until(
    () => timetable.summary?.id,
    (seen) => seen === id,
  );
}

async function tagOf(port: number, path: string): Promise<string | null> {
  const headers = { Authorization: AUTHORIZATION };
  return (await fetch(`http://127.0.0.1:${port}/api/v1${path}`, { headers })).headers.get('etag');
}

/** Counts requests on their way to another port. */
async function counting(t: Test, target: () => number) {
  const counts = { all: 0, changes: 0, streams: 0 };
  const proxy = createServer(async (req, res) => {
    const isStream = req.headers.accept === 'text/event-stream';
    if (isStream) counts.streams++;
    else if (req.url?.includes('/schedule/all')) counts.all++;
    else counts.changes++;
    const abort = new AbortController();
    res.on('close', () => abort.abort());
    try {
      const headers = Object.entries(req.headers).filter(
        ([name]) => !['host', 'connection', 'accept-encoding'].includes(name),
      ) as [string, string][];
      const answer = await fetch(`http://127.0.0.1:${target()}${req.url}`, { headers, signal: abort.signal });
      res.writeHead(answer.status, Object.fromEntries(answer.headers));
      res.flushHeaders();
      for await (const chunk of answer.body ?? []) res.write(chunk);
      res.end();
    } catch {
      res.destroy();
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { port: (proxy.address() as AddressInfo).port, counts };
}

test('changes arrive by the stream, and only they are read', async (t) => {
  const source = new MemorySource(Array.from({ length: 100 }, (_, n) => record(n, 'first')));
  const first = openTimetable({ ...ALLOW_ALL, source });
  t.teardown(() => first.close());
  await first.ready;
  const port = await serve(first, 0);
  const { port: proxied, counts } = await counting(t, () => port);
  // Regular refreshes would not run within this test.
  const second = following(proxied, { refreshSeconds: 3600 });
  t.teardown(() => second.close());
  await second.ready;
  const otherPort = await serve(second, 0);
  await until(
    () => counts,
    ({ streams, changes }) => streams > 0 && changes > 0,
  );
  for (let n = 0; n < 10; n++) {
    source.apply({ upsert: [record(n, `change ${n}`), record(200 + n, 'new')], remove: [idOf(50 + n)] });
    await first.refresh();
    await reaches(second, first.summary?.id);
    t.strictSame(second.all().events, first.all().events);
  }
  for (const path of ['/schedule/all', '/schedule?studyGroup=G1', '/schedule/types']) {
    t.ok(await tagOf(port, path));
    t.equal(await tagOf(otherPort, path), await tagOf(port, path), path);
  }
  t.equal(counts.all, 1, 'everything was read once');
  t.ok(counts.changes >= 10);
  t.equal(second.status, 'ok');
  // Too many to be read as changes.
  const many = Math.ceil(UPSTREAM_CHANGES_BYTES_MAX / 900);
  source.replace(Array.from({ length: many }, (_, n) => record(n, 'x'.repeat(700))));
  await first.refresh();
  await reaches(second, first.summary?.id);
  t.equal(counts.all, 2, 'everything was read');
});

test('an upstream other than Lectern is read whole, with conditional requests', async (t) => {
  const asked: string[] = [];
  let title = 'first';
  const server = createServer((req, res) => {
    asked.push(`${req.url} ${req.headers['if-none-match'] ?? ''}`);
    if (req.url !== '/schedule/all') res.writeHead(404).end();
    else if (req.headers['if-none-match'] === `"${title}"`) res.writeHead(304).end();
    else res.writeHead(200, { ETag: `"${title}"` }).end(JSON.stringify([record(1, title)]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schedule/all`;
  const timetable = openTimetable({ ...ALLOW_ALL, source: { kind: 'http', url }, refreshSeconds: 0 });
  await timetable.ready;
  t.equal((await timetable.refresh()).result, 'unchanged');
  title = 'second';
  t.equal((await timetable.refresh()).result, 'published');
  t.match(timetable.all().events, [{ title: 'second' }]);
  const loads = asked.filter((each) => each.startsWith('/schedule/all'));
  t.strictSame(loads, ['/schedule/all ', '/schedule/all "first"', '/schedule/all "first"']);
  await timetable.close();
  server.closeAllConnections();
  server.close();
});

/** A gateway in front of a Lectern: answers requests for changes with `status`, and passes everything on with its key only. */
async function gateway(
  t: Test,
  port: number,
  status: number | null,
): Promise<{ port: number; paths: string[] }> {
  const paths: string[] = [];
  const proxy = createServer(async (req, res) => {
    const url = new URL(req.url ?? '', `http://127.0.0.1:${port}`);
    paths.push(`${url.pathname}${url.search}`);
    const isRefused = url.searchParams.get('key') !== 'a b';
    url.searchParams.delete('key');
    if (isRefused || (status !== null && url.pathname.endsWith('/changes'))) {
      res.writeHead(isRefused ? 403 : (status as number)).end();
      return;
    }
    const { authorization = '', accept = '', 'if-none-match': tag } = req.headers;
    const headers = { authorization, accept, ...(tag === undefined ? {} : { 'if-none-match': tag }) };
    const answer = await fetch(url, { headers });
    const body = Buffer.from(await answer.arrayBuffer());
    res.writeHead(answer.status, {
      'content-length': body.length,
      'content-type': answer.headers.get('content-type') ?? '',
      'lectern-version': answer.headers.get('lectern-version') ?? '',
      etag: answer.headers.get('etag') ?? '',
    });
    res.end(body);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { port: (proxy.address() as AddressInfo).port, paths };
}

async function firstWith(t: Test): Promise<{ source: MemorySource; first: Timetable; port: number }> {
  const source = new MemorySource([record(1, 'one'), record(2, 'two'), record(3, 'three')]);
  const first = openTimetable({ ...ALLOW_ALL, source });
  t.teardown(() => first.close());
  await first.ready;
  return { source, first, port: await serve(first, 0) };
}

test('every representation of another Lectern stays equal to a whole load after a change', async (t) => {
  const { source, first, port } = await firstWith(t);
  const headers = { Authorization: AUTHORIZATION };
  for (const [query, more, rules] of [
    ['', {}, {}],
    ['?format=ndjson', {}, {}],
    ['?format=msgpack', {}, {}],
    ['?format=csv', {}, {}],
    ['?format=ics', {}, { identifiers: 'derived' }],
    ['', { Accept: 'text/calendar' }, { identifiers: 'derived' }],
    ['', {}, { fieldMap: { id: 'course-{id}' }, identifiers: 'any' }],
  ] as const) {
    const url = `http://127.0.0.1:${port}/api/v1/schedule/all${query}`;
    const options = {
      ...ALLOW_ALL,
      ...rules,
      source: { kind: 'http', url, headers: { ...headers, ...more } },
      watch: false,
      refreshSeconds: 0,
    } as const;
    const second = openTimetable(options);
    await second.ready;
    source.apply({ upsert: [record(1, `one ${query} ${Math.random()}`)], remove: [idOf(3)] });
    await first.refresh();
    t.equal((await second.refresh()).result, 'published', query);
    const whole = openTimetable(options);
    await whole.ready;
    t.strictSame(second.all().events, whole.all().events, `${query} ${JSON.stringify([more, rules])}`);
    t.equal(second.all().total, 2);
    await Promise.all([second.close(), whole.close()]);
    source.apply({ upsert: [record(3, 'three')] });
    await first.refresh();
  }
});

test('parameters of a gateway are kept, and everything is read if the gateway refuses the changes', async (t) => {
  const { source, first, port } = await firstWith(t);
  for (const status of [null, 401, 403, 404]) {
    const proxied = await gateway(t, port, status);
    const url = `http://127.0.0.1:${proxied.port}/api/v1/schedule/all?key=a%20b`;
    const upstream = { kind: 'http', url, headers: { Authorization: AUTHORIZATION } } as const;
    const second = openTimetable({ ...ALLOW_ALL, source: upstream, watch: false, refreshSeconds: 0 });
    await second.ready;
    source.apply({ upsert: [record(1, `behind a gateway with ${status}`)] });
    await first.refresh();
    t.equal((await second.refresh()).result, 'published', `${status}`);
    t.strictSame(second.all().events, first.all().events);
    const asked = proxied.paths.filter((path) => path.includes('/changes'));
    t.ok(asked.length > 0 && asked.every((path) => path.includes('?key=a%20b&since=')), asked.join());
    const whole = proxied.paths.filter((path) => path.includes('/all'));
    t.equal(whole.length > 1, status !== null, 'everything is read again only where the changes are refused');
    await second.close();
  }
});

test(`a chain stays right over ${PUBLICATIONS} publications and restarts of either side`, async (t) => {
  const folder = t.testdir();
  const records = new Map(Array.from({ length: 150 }, (_, n) => [n, record(n, 'first')]));
  let source = new MemorySource([...records.values()], 'the first');
  const openFirst = async (port: number): Promise<readonly [Timetable, number]> => {
    source = new MemorySource([...records.values()], 'the first');
    const timetable = openTimetable({ ...ALLOW_ALL, source, snapshotFile: `${folder}/first` });
    await timetable.ready;
    // The file may be older than the source.
    await timetable.refresh();
    return [timetable, await serve(timetable, port)];
  };
  let [first, port] = await openFirst(0);
  const { port: proxied, counts } = await counting(t, () => port);
  const openSecond = async (): Promise<Timetable> => {
    const timetable = following(proxied, { snapshotFile: `${folder}/second` });
    await timetable.ready;
    return timetable;
  };
  let second = await openSecond();
  let publications = 0;
  let restarts = 0;
  let mismatches = 0;
  const lags: number[] = [];
  const steps = fc.sample(
    fc.record({
      upserts: fc.array(fc.tuple(fc.nat(299), fc.string({ maxLength: 8 })), { minLength: 1, maxLength: 6 }),
      removals: fc.array(fc.nat(299), { maxLength: 3 }),
      restart: fc.constantFrom('none', ...Array.from({ length: 18 }, () => 'none'), 'first', 'second'),
    }),
    { seed: 57, numRuns: PUBLICATIONS },
  );
  for (const [n, { upserts, removals, restart }] of steps.entries()) {
    const before = first.summary?.id;
    for (const id of removals) records.delete(id);
    for (const [id, title] of upserts) records.set(id, record(id, `${title} ${n}`));
    const gone = removals.filter((id) => !records.has(id)).map(idOf);
    if (restart === 'first') {
      restarts++;
      await first.close();
      [first, port] = await openFirst(0);
    } else {
      const upsert = [...new Set(upserts.map(([id]) => id))].map((id) => records.get(id) as object);
      source.apply({ upsert, remove: gone });
      if (restart === 'second') {
        restarts++;
        await second.close();
        await first.refresh();
        second = await openSecond();
      } else await first.refresh();
    }
    const beganMs = performance.now();
    if (first.summary?.id !== before) publications++;
    await reaches(second, first.summary?.id);
    if (restart === 'none') lags.push(performance.now() - beganMs);
    if (JSON.stringify(second.all().events) !== JSON.stringify(first.all().events)) mismatches++;
    if (first.all().total !== records.size) mismatches++;
  }
  lags.sort((a, b) => a - b);
  t.equal(mismatches, 0);
  t.ok(publications >= 0.9 * PUBLICATIONS, `${publications} publications`);
  t.ok(restarts >= PUBLICATIONS / 25, `${restarts} restarts`);
  const shown = [lags[lags.length >> 1], lags.at(-1)].map((ms) => Math.round(ms ?? 0)).join(' and ');
  t.comment(`${publications} publications, ${restarts} restarts; median and longest lag ${shown} ms`);
  t.ok(counts.all <= restarts, `everything was read ${counts.all} times`);
  await Promise.all([first.close(), second.close()]);
});
