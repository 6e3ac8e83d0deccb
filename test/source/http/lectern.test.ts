import { request as ask } from 'node:http';
import { test } from 'tap';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { httpSource } from '../../../src/source/http.js';
import type { Source } from '../../../src/source/source.js';
import { withOwnRules } from '../../../src/source/spec.js';
import { MemorySource, openTimetable, startService } from '../../refresh/built.js';
import { until } from '../../waiting/until.js';
import { collect, failureOf, isUnchanged } from '../collect.js';
import { startUpstream } from './upstream.js';

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const EVENTS = Array.from({ length: 25 }, (_, n) => ({
  id: uuid(n),
  time: `2024-09-02T08:${String(n).padStart(2, '0')}:00.000Z`,
  endTime: '2024-09-02T10:00:00.000Z',
  title: null,
  roomId: null,
  courseId: null,
  studyGroup: null,
  lecturer: n % 2 === 0 ? 'Lovelace, Ada' : null,
  type: 'LEC',
  groupId: null,
}));

test('another Lectern is a source', async (t) => {
  const service = await startService({ source: EVENTS, port: 0, dev: true });
  t.teardown(() => service.close());
  await service.ready;
  const login = await fetch(`${service.baseUrl}/login`);
  const { access_token: token } = (await login.json()) as { access_token: string };
  const at = (query: string, authorization = `Bearer ${token}`): Source =>
    httpSource({ kind: 'http', url: `${service.baseUrl}/schedule/all${query}`, headers: { authorization } });

  for (const query of ['', '?format=msgpack']) {
    const read = await collect(at(query));
    t.same(
      read.records.map(({ value }) => value),
      EVENTS,
      query,
    );
    t.ok(await isUnchanged(at(query), read.summary.version), 'which says when nothing changed');
  }

  const paged = await collect(at('?limit=10'));
  t.same(
    paged.records.map(({ value }) => value),
    EVENTS,
    'page by page',
  );
  t.equal(paged.summary.version, null);

  const { image } = await loadImage(withOwnRules(at(''), { lecturerIds: { 'Lovelace, Ada': uuid(99) } }), {
    identifiers: 'uuid',
  });
  t.equal(image.summary.events, EVENTS.length);
  t.equal(
    image.fields.lecturerId.codes.filter((code) => code === 0).length,
    13,
    'with what it does not give',
  );

  t.match(await failureOf(collect(at('', 'Bearer wrong'))), {
    code: 'source-unreadable',
    message: 'the answer is 401 Unauthorized; expected 200',
  });
});

test('a timetable asks another Lectern for all events, and only when it refreshes', async (t) => {
  const source = new MemorySource(EVENTS);
  const first = await startService({ source, port: 0, dev: true });
  t.teardown(() => first.close());
  await first.ready;
  const login = (await (await fetch(`${first.baseUrl}/login`)).json()) as { access_token: string };
  const proxy = await startUpstream(t, ({ url, headers }, response) => {
    const forward = ask(new URL(url ?? '', first.baseUrl), { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    response.on('close', () => forward.destroy());
    forward.on('error', () => response.destroy()).end();
  });
  const second = openTimetable({
    source: {
      kind: 'http',
      url: `${proxy.origin}/api/v1/schedule/all`,
      headers: { authorization: `Bearer ${login.access_token}` },
    },
    refreshSeconds: 3600,
    gate: false,
  });
  t.teardown(() => second.close());
  await second.ready;
  t.equal((await second.refresh()).result, 'unchanged');
  source.apply({ upsert: [{ ...EVENTS[0], title: 'changed' }], remove: [uuid(24)] });
  await until(
    () => first.timetable.all().total,
    (total) => total === EVENTS.length - 1,
  );
  t.equal((await second.refresh()).result, 'published');
  t.strictSame(second.all().events, first.timetable.all().events);
  t.strictSame(proxy.paths, Array(3).fill('/api/v1/schedule/all'));
});
