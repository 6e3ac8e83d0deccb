import { test } from 'tap';
import type { TimetableEvent } from '../../src/index.js';
import { eventsTable, skip, startServer } from '../source/postgres/server.js';
import { until } from '../waiting/until.js';
import { runExample } from './run-example.js';

test('postgres-express.mjs serves a committed change', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(`${eventsTable('events', 50)} CREATE PUBLICATION lectern FOR TABLE events`);
  const { schedule, end } = await runExample('postgres-express.mjs', { DATABASE_URL: server.url() });
  try {
    t.match(schedule, /^http:\/\/127\.0\.0\.1:\d+\/timetable\/schedule$/, 'its address is one line');
    t.equal((await fetch(schedule)).headers.get('x-total-count'), '50');
    await server.sql(`UPDATE events SET "studyGroup" = 'moved' WHERE id = md5('event1')::uuid`);
    const found = await until(
      async () => (await (await fetch(`${schedule}?studyGroup=moved`)).json()) as TimetableEvent[],
      (seen) => seen.length > 0,
    );
    t.match(found, [{ title: 'Lesson 1', studyGroup: 'moved' }]);
  } finally {
    t.strictSame(await end(), { code: 0, stderr: '' }, 'ends by itself when it is asked to');
  }
  // The server notices the end of the program a moment later.
  await until(
    () => server.sql('SELECT FROM pg_replication_slots'),
    (slots) => slots.length === 0,
  );
});

test('postgres-express.mjs without an address says what is missing', async (t) => {
  await t.rejects(runExample('postgres-express.mjs'), { message: /DATABASE_URL is not set/ });
});
