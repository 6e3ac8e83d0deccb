import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { openTimetable, type Timetable } from '../../../src/index.js';
import { timeForAFault, until } from '../../waiting/until.js';
import { eventsTable, skip, startServer } from './server.js';

const untilThere = (timetable: Timetable, events: number): Promise<number | undefined> =>
  until(
    () => timetable.summary?.events,
    (seen) => seen === events,
  );

test('notices cause loads, even after the connection was lost, and beside a file', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(eventsTable('events', 30));
  const folder = mkdtempSync(join(tmpdir(), 'lectern-listen-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'more.ndjson');
  writeFileSync(
    path,
    '{"id":"2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417","time":"2026-09-14T08:00:00Z","endTime":"2026-09-14T09:00:00Z"}\n',
  );
  const database = {
    kind: 'postgres',
    url: server.url(),
    table: 'events',
    listen: 'Time"table',
    versionQuery: 'SELECT count(*) FROM events',
  } as const;
  const timetable = openTimetable({
    source: { kind: 'merged', specs: [database, { kind: 'file', path }] },
    buildOn: 'here',
    gate: false,
  });
  t.teardown(() => timetable.close());
  const results: string[] = [];
  timetable.on('loaded', ({ result }) => results.push(result));
  t.equal((await timetable.ready).events, 31);
  const notify = (statement: string): Promise<unknown> => server.sql(`${statement}; NOTIFY "Time""table"`);
  const listens = async (): Promise<void> => {
    const asked = "SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'";
    await until(
      () => server.sql(asked),
      (seen) => seen.length > 0,
    );
  };
  await listens();
  await notify(`DELETE FROM events WHERE title = 'Lesson 1'`);
  t.equal(await untilThere(timetable, 30), 30);
  const before = results.length;
  await notify('SELECT 1');
  await until(
    () => results.length,
    (seen) => seen > before,
  );
  t.equal(results.at(-1), 'unchanged', 'the version query gave the same');
  await server.sql(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lectern'",
  );
  await server.sql(`DELETE FROM events WHERE title = 'Lesson 2'`);
  t.equal(await untilThere(timetable, 29), 29, 'a notice may have been lost meanwhile');
  await listens();
  await notify(`DELETE FROM events WHERE title = 'Lesson 3'`);
  t.equal(await untilThere(timetable, 28), 28);
  await server.stop('fast');
  await timeForAFault(500);
  t.equal(timetable.summary?.events, 28, 'the last good rows stay');
  await server.start();
  await server.sql(`DELETE FROM events WHERE title = 'Lesson 4'`);
  t.equal(await untilThere(timetable, 27), 27);
});
