import { test } from 'tap';
import type { TimetableEvent } from '../../src/index.js';
import { runExample } from './run-example.js';

const ANNA = { headers: { 'X-API-Key': 'key-of-anna' } };
const JANITOR = { headers: { 'X-API-Key': 'key-of-the-janitor' } };

async function eventsOf(response: Response): Promise<TimetableEvent[]> {
  return (await response.json()) as TimetableEvent[];
}

for (const name of ['express.mjs', 'fastify.mjs']) {
  test(name, async (t) => {
    const { schedule, end } = await runExample(name);
    await t.test(
      "events are read under a mount path, behind the application's own authentication",
      async (t) => {
        t.match(schedule, /^http:\/\/127\.0\.0\.1:\d+\/timetable\/schedule$/, 'its address is one line');

        const filtered = await fetch(`${schedule}?studyGroup=BIO-1D&startTime=2026-09-21T00:00:00Z`, ANNA);
        t.equal(filtered.status, 200);
        const events = await eventsOf(filtered);
        t.ok(events.length > 0 && events.length < 136, `${events.length} events`);
        t.ok(
          events.every(({ studyGroup, endTime }) => studyGroup === 'BIO-1D' && endTime > '2026-09-21'),
          'all of the group and in the window',
        );

        const all = await fetch(`${schedule}/all?format=msgpack`, ANNA);
        t.equal(all.headers.get('content-type'), 'application/vnd.msgpack');
        t.equal(all.headers.get('x-total-count'), '10000');
        const tagged = { headers: { ...ANNA.headers, 'If-None-Match': all.headers.get('etag') ?? '' } };
        t.equal((await fetch(`${schedule}/all?format=msgpack`, tagged)).status, 304);

        t.equal((await fetch(schedule)).status, 401, 'nobody gets in without a key');
        t.equal((await fetch(new URL('/', schedule))).status, 200, 'the application has pages of its own');
        t.equal((await fetch(schedule, { ...ANNA, method: 'DELETE' })).status, 405);
        t.equal((await fetch(schedule, { ...ANNA, method: 'HEAD' })).headers.get('x-total-count'), '10000');
      },
    );

    await t.test("the personal timetable belongs to the application's user", async (t) => {
      const personal = await fetch(`${schedule}/personal`, ANNA);
      t.equal(personal.headers.get('x-total-count'), '136');
      t.ok((await eventsOf(personal)).every((event) => event.studyGroup === 'BIO-1D'));
      t.equal(
        (await fetch(`${schedule}/personal`, JANITOR)).status,
        403,
        'a user without events of their own',
      );
      t.equal((await fetch(`${schedule}?limit=1`, JANITOR)).status, 200, 'who may read all the same');
    });

    await t.test('following the next links reads everything once', async (t) => {
      const seen: string[] = [];
      let next: string | undefined = '/timetable/schedule?studyGroup=BIO-1D&limit=50';
      while (next !== undefined && seen.length < 1000) {
        t.ok(next.startsWith('/timetable/schedule?'), next);
        const page: Response = await fetch(new URL(next, schedule), ANNA);
        seen.push(...(await eventsOf(page)).map((event) => event.id));
        next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
      }
      t.equal(seen.length, 136);
      t.equal(new Set(seen).size, 136);
    });

    await t.test('an unknown path gets 404 with the path of the timetable', async (t) => {
      for (const path of ['/timetable/nothing', '/timetable/schedule/nothing', '/timetable/health']) {
        const response = await fetch(new URL(path, schedule), ANNA);
        t.equal(response.status, 404, path);
        t.equal(response.headers.get('content-type'), 'application/problem+json');
        t.match(await response.json(), {
          code: 'not-found',
          instance: path,
          detail: / at \/timetable\/schedule\./,
        });
      }
      for (const path of ['/nothing', '/schedule', '/api/v1/schedule']) {
        const response = await fetch(new URL(path, schedule), ANNA);
        t.equal(response.status, 404, path);
        t.not(response.headers.get('content-type'), 'application/problem+json', 'an answer of the framework');
      }
    });
    t.strictSame(await end(), { code: 0, stderr: '' }, 'ends by itself when it is asked to');
  });
}
