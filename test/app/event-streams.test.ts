/** Event streams on several serving threads, in a handler, and as browsers' clients read them. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { StreamClient } from '../http/live-views.js';
import { MemorySource, openTimetable, startService } from '../refresh/built.js';
import { until } from '../waiting/until.js';

const THREADS = 3;
const PATH = '/api/v1/schedule/changes';
const HEADERS = {
  Authorization: `Bearer ${hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600 })}`,
};

const record = (title: string): object => ({
  id: '00000000-0000-4000-8000-000000000001',
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T10:00:00Z',
  title,
});

test(`${THREADS} threads send every publication to all streams, within one bound on streams`, async (t) => {
  const source = new MemorySource([record('first')]);
  const service = await startService({
    source,
    port: 0,
    hs256Secret: SECRET,
    workers: THREADS,
    streamsMax: 10 * THREADS,
    adminPort: 0,
  });
  t.teardown(() => service.close());
  await service.ready;
  const { port } = service.address;
  const streams = Array.from({ length: 2 * THREADS }, () => new StreamClient(port, PATH, HEADERS));
  const begun = await Promise.all(streams.map((stream) => stream.count(1, 'version')));
  t.equal(new Set(begun.map(([message]) => message?.id)).size, 1, 'all threads have one version');
  for (const title of ['second', 'third']) {
    source.replace([record(title)]);
    await service.timetable.refresh();
  }
  for (const stream of streams) {
    const messages = await stream.count(2);
    t.match(messages[0]?.data, { changed: [{ title: 'second' }] });
    t.match(messages[1]?.data, { changed: [{ title: 'third' }] });
    t.equal(messages[1]?.id, service.timetable.view?.version);
  }
  const metrics = `${service.adminAddress?.origin}/metrics`;
  const open = async (): Promise<string | undefined> =>
    /^lectern_event_streams_open (\d+)$/m.exec(await (await fetch(metrics)).text())?.[1];
  // Counts are sampled from time to time.
  await until(open, (seen) => seen === String(streams.length));
  // Each thread has a third of them, rounded up.
  const more = await Promise.all(
    Array.from({ length: 10 * THREADS + THREADS }, async () => {
      const stream = new StreamClient(port, PATH, HEADERS);
      streams.push(stream);
      return (await stream.head).statusCode;
    }),
  );
  t.ok(more.includes(503), 'some are too many');
  await Promise.all([service.close(), ...streams.map(({ ended }) => ended)]);
  t.pass('closing ends all streams');
});

test('a handler in another server has streams that end with the timetable', async (t) => {
  const source = new MemorySource([record('first')]);
  const timetable = openTimetable({ source });
  const server = createServer(timetable.handler({ streamsMax: 1 }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  await timetable.ready;
  const { port } = server.address() as AddressInfo;
  const stream = new StreamClient(port, PATH, {});
  await stream.count(1, 'version');
  const second = new StreamClient(port, PATH, {});
  t.equal((await second.head).statusCode, 503);
  source.replace([record('second')]);
  t.match(await stream.count(1), [{ data: { changed: [{ title: 'second' }] } }]);
  await Promise.all([timetable.close(), stream.ended]);
  t.equal((await stream.head).complete, true);
});
