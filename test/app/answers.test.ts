/** Several threads answer like one. */
import { test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { SLOW } from '../hard/size.js';
import { slowTest } from '../hard/slow-test.js';
import { MemorySource, startService } from '../refresh/built.js';
import { startLoad } from '../refresh/clients.js';
import { get } from './threads.js';

const EVENTS = 300;
const THREADS = SLOW ? 3 : 2;

/** Generation g: every title says so. */
function generation(g: number): object[] {
  return Array.from({ length: EVENTS + (g % 5) }, (_, n) => ({
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    time: new Date(Date.UTC(2024, 8, 2, 8) + Math.floor(n / 4) * 3_600_000).toISOString(),
    endTime: new Date(Date.UTC(2024, 8, 2, 10) + Math.floor(n / 4) * 3_600_000).toISOString(),
    title: `generation ${g}`,
    studyGroup: n % 2 === 0 ? 'A' : 'B',
    type: n % 3 === 0 ? 'Lab' : 'Lecture',
    roomId: `2c3c9bfd-5da4-5a45-8bdb-00000000000${n % 4}`,
  }));
}

const token = (claims: object = {}): string =>
  hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600, ...claims });

const PATHS: readonly string[] = [
  '/schedule?studyGroup=A',
  '/schedule?studyGroup=A&type=Lab&startTime=2024-09-02T09:00:00Z&limit=5',
  '/schedule?studyGroup=B&format=msgpack',
  '/schedule?nonsense=1',
  '/schedule/personal',
  '/schedule/all',
  '/schedule/all?limit=7',
  '/schedule/types',
  '/schedule/conflicts?by=room',
  '/schedule/changes?since=nothing',
  '/nothing',
  '/docs/openapi.json',
];

test(`${THREADS} threads answer like one`, async (t) => {
  const source = () => new MemorySource(generation(0));
  const options = { port: 0, hs256Secret: SECRET, dev: true } as const;
  const one = await startService({ ...options, source: source() });
  const several = await startService({ ...options, source: source(), workers: THREADS });
  t.teardown(() => Promise.all([one.close(), several.close()]));
  await Promise.all([one.ready, several.ready]);
  t.equal(one.workers, 1);
  t.equal(several.workers, THREADS);
  const headers = { authorization: `Bearer ${token({ studyGroup: 'A' })}` };
  for (const path of PATHS) {
    const expected = await get(one.baseUrl + path, headers);
    // Each on its own connection, so that several threads get requests.
    const answers = await Promise.all(
      Array.from({ length: 3 * THREADS }, () => get(several.baseUrl + path, headers)),
    );
    for (const answer of answers) {
      t.equal(answer.status, expected.status, path);
      t.ok(answer.body.equals(expected.body), `${path}: the body`);
      const [version, expectedVersion] = [answer, expected].map((each) => each.headers['lectern-version']);
      // Each service numbers its publications.
      t.equal(String(version).split('.')[1], String(expectedVersion).split('.')[1], `${path}: the version`);
      // Each service published at a time of its own.
      const ofService = { date: '', 'lectern-version': '', 'last-modified': '' };
      t.strictSame(
        { ...answer.headers, ...ofService },
        { ...expected.headers, ...ofService },
        `${path}: the header fields`,
      );
    }
  }
  t.equal((await get(`${several.baseUrl}/schedule`)).status, 401);
});

test('a test token of one thread is valid on the others, and every thread knows the state of the source', async (t) => {
  let fails = false;
  const source = {
    name: 'a source that can fail',
    load: async () => {
      if (fails) throw new Error('it is broken');
      return { records: generation(0), version: null };
    },
  };
  const service = await startService({ source, port: 0, dev: true, workers: THREADS });
  t.teardown(() => service.close());
  await service.ready;
  const login = await get(`${service.baseUrl}/login`);
  const { access_token } = JSON.parse(login.body.toString()) as { access_token: string };
  const example = await service.example();
  for (let n = 0; n < 3 * THREADS; n++) {
    const headers = { authorization: `Bearer ${n % 2 === 0 ? access_token : example?.token}` };
    t.equal((await get(`${service.baseUrl}/schedule/personal`, headers)).status, 200);
  }
  const health = async (): Promise<object[]> =>
    Promise.all(
      Array.from({ length: 3 * THREADS }, async () => {
        const { status, body } = await get(`${service.address.origin}/health`);
        return { status, ...(JSON.parse(body.toString()) as object) };
      }),
    );
  const { id } = service.timetable.summary ?? { id: '' };
  for (const each of await health()) {
    t.match(each, { status: 'ok', snapshot: { id, events: EVENTS, origin: 'source' } });
    t.match(each, { source: { state: 'loaded', lastSuccess: /Z$/, lastError: null } });
  }
  fails = true;
  await service.timetable.refresh();
  for (const each of await health()) {
    t.match(each, { status: 'degraded', source: { state: 'failed', lastError: /it is broken/ } });
  }
});

slowTest(
  'all threads take replacements under load: nothing fails, and every answer is of one snapshot',
  async (t) => {
    const source = new MemorySource(generation(0));
    const service = await startService({ source, port: 0, hs256Secret: SECRET, workers: THREADS });
    t.teardown(() => service.close());
    await service.ready;
    const { timetable, baseUrl } = service;
    const first = timetable.summary?.id ?? '';
    const headers = { authorization: `Bearer ${token()}` };
    const urls = ['/schedule?studyGroup=A', '/schedule/all', '/schedule/conflicts?limit=3'].map(
      (path) => baseUrl + path,
    );
    const tags = new Map<string, string>();
    const load = startLoad(urls, headers, 12, ({ status, headers, text }, url) => {
      if (status !== 200) return `${url}: ${status} ${text}`;
      const titles = [...new Set(text.match(/generation \d+/g))];
      if (titles.length !== 1) return `${url}: events of ${titles.length} generations`;
      const snapshot = /^W\/"([\w-]{22})/.exec(String(headers.etag))?.[1] ?? '';
      const title = tags.get(snapshot) ?? titles[0] ?? '';
      tags.set(snapshot, title);
      return title === titles[0] ? null : `${url}: ${title} and ${titles[0]} under one tag`;
    });
    for (let g = 1; g <= 5; g++) {
      source.replace(generation(g));
      await timetable.refresh();
      // After the refresh every thread answers from its result.
      const all = await Promise.all(
        Array.from({ length: 3 * THREADS }, () => get(`${baseUrl}/schedule?limit=1`, headers)),
      );
      for (const { body } of all) t.match(body.toString(), `"generation ${g}"`);
      const since = await Promise.all(
        Array.from({ length: 3 * THREADS }, () => get(`${baseUrl}/schedule/changes?since=${first}`, headers)),
      );
      for (const { status, body } of since) {
        t.equal(status, 200);
        const { added, changed } = JSON.parse(body.toString()) as { added: object[]; changed: object[] };
        t.strictSame([added.length, changed.length], [g % 5, EVENTS]);
      }
    }
    const { answers, problems } = await load.stop();
    t.strictSame(problems, []);
    t.ok(answers > 50, `${answers} answers looked at`);
    t.ok(tags.size > 2, `${tags.size} snapshots were seen`);
  },
);
