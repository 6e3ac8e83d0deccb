/** Rooms come from a query of a database. */
import { test } from 'tap';
import { openHere } from '../../app/open-here.js';
import { skip, startServer } from './server.js';

const LESSON = {
  id: '11111111-0000-4000-8000-000000000001',
  time: '2026-09-14T08:00:00Z',
  endTime: '2026-09-14T09:00:00Z',
};
const MORNING = { by: 'room', startTime: '2026-09-14T08:00:00Z', endTime: '2026-09-14T09:00:00Z' } as const;

test('rooms come from a query, are read again, and keep their last good state', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(
    `CREATE TABLE halls (nr int PRIMARY KEY, label text, seats int); INSERT INTO halls VALUES (1, 'Hall', 200), (2, 'Lab', 30)`,
  );
  const query = 'SELECT nr AS id, label AS name, seats AS capacity FROM halls';
  const open = (given: Parameters<typeof openHere>[0]) => {
    const timetable = openHere({ ...('source' in given && { identifiers: 'any' }), ...given });
    t.teardown(() => timetable.close());
    return timetable;
  };
  const records = [{ ...LESSON, roomId: '1' }];
  const timetable = open({ source: records, rooms: { kind: 'postgres', url: server.url(), query } });
  await timetable.ready;
  const names = (): unknown[] => timetable.free(MORNING).free.map(({ name }) => name);
  t.strictSame(names(), ['Lab'], 'the hall is occupied');
  await server.sql(
    `UPDATE halls SET label = 'Laboratory' WHERE nr = 2; INSERT INTO halls VALUES (3, 'Studio', 9)`,
  );
  await timetable.reload();
  t.strictSame(names(), ['Laboratory', 'Studio']);
  const told: string[] = [];
  timetable.on('error', ({ message }) => told.push(message));
  await server.sql('ALTER TABLE halls RENAME label TO title');
  await timetable.reload();
  t.match(told, [/the rooms of postgres:.* cannot be used: .*column "label" does not exist/]);
  t.strictSame(names(), ['Laboratory', 'Studio']);

  const refused = open({
    source: records,
    rooms: { kind: 'postgres', url: server.url(), query: 'SELECT 1 AS nr' },
  });
  await t.rejects(refused.ready, { code: 'rooms-unusable', message: /it has no id/ });
  t.throws(() => open({ source: records, rooms: { kind: 'postgres', url: server.url() } }), {
    message: /a PostgreSQL source needs table or query/,
  });

  const described = open({
    timetable: {
      identifiers: 'any',
      rooms: {
        from: server.url(),
        query: 'SELECT nr, title FROM halls',
        fields: { id: 'nr', name: 'title' },
      },
      sources: [
        { from: server.url(), query: `SELECT '${LESSON.id}' AS id, now() AS time, now() AS "endTime"` },
      ],
    },
  } as never);
  await described.ready;
  t.strictSame(
    described.free(MORNING).free.map(({ name }) => name),
    ['Hall', 'Laboratory', 'Studio'],
  );
  t.throws(
    () =>
      open({
        timetable: { rooms: { from: 'rooms.csv', query: 'SELECT 1' }, sources: [{ from: 'a.csv' }] },
      } as never),
    { message: /rooms: table and query need a PostgreSQL address/ },
  );
});
