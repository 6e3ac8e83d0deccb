import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { collect, sourceOf } from '../collect.js';
import { eventsTable, skip, startServer, type TestServer } from './server.js';

const DOCS = readFileSync(new URL('../../../docs/postgresql.md', import.meta.url), 'utf8');
/** Both statements that the documentation recommends. */
const OF_ROWS = 'SELECT count(*), sum(hashtextextended(ctid::text || xmin::text, 0)) FROM events';
const OF_COUNTER = 'SELECT n FROM events_version';
const COUNTER = /CREATE TABLE events_version[^`]*/.exec(DOCS)?.[0] ?? '';

function versionOf(server: TestServer, versionQuery: string): Promise<string | null> {
  const source = sourceOf({
    kind: 'postgres',
    url: server.url(),
    query: 'SELECT 1 AS n',
    versionQuery,
  });
  return collect(source, { onRecord: () => true }).then(({ summary }) => summary.version);
}

test('a version query', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(eventsTable('events', 50));

  await t.test('values that differ by less than a millisecond are different', async (t) => {
    const at = (time: string) => versionOf(server, `SELECT '${time}'::timestamptz AS changed`);
    t.not(await at('2026-09-14T08:00:00.123100Z'), await at('2026-09-14T08:00:00.123900Z'));
    await server.sql(
      "CREATE TABLE clock AS SELECT '2026-09-14T08:00:00.123100Z'::timestamptz AS at, 0.1::float8 AS f, 9007199254740993 AS n",
    );
    for (const change of ["at = at + interval '1 microsecond'", 'f = f + 1e-16', 'n = n + 1']) {
      const before = await versionOf(server, 'SELECT * FROM clock');
      t.equal(await versionOf(server, 'SELECT * FROM clock'), before);
      await server.sql(`UPDATE clock SET ${change}`);
      t.not(await versionOf(server, 'SELECT * FROM clock'), before, change);
    }
  });

  await t.test('statements that give no version are refused', async (t) => {
    for (const [text, problem] of [
      [
        'SELECT 1; SELECT 2',
        /the version query cannot be used: it has several statements; expected one SELECT/,
      ],
      ['COMMIT; SELECT 1', /several statements/],
      ['-- nothing', /it gives no columns; expected one SELECT/],
      ["SET work_mem = '4MB'", /it gives no columns/],
    ] as const)
      await t.rejects(versionOf(server, text), { code: 'source-unreadable', message: problem }, text);
    t.match(await versionOf(server, 'SELECT 1;'), /^[\w-]{22}$/, 'a semicolon at the end');
  });

  await t.test('the recommended statements see transactions that commit out of order', async (t) => {
    for (const text of [OF_ROWS, OF_COUNTER]) t.ok(DOCS.includes(text), `the documentation has: ${text}`);
    await server.sql(`ALTER TABLE events ADD changed_at timestamptz`);
    const [one, other] = [await server.connect(), await server.connect()];
    const change = (n: number): string =>
      `UPDATE events SET title = title || '!', changed_at = now() WHERE id = md5('event${n}')::uuid`;
    const misses: string[] = [];
    for (const versionQuery of [OF_ROWS, 'SELECT max(changed_at), count(*) FROM events']) {
      await one.query('BEGIN');
      await one.query(change(1));
      await other.query(change(2));
      const between = await versionOf(server, versionQuery);
      await one.query('COMMIT');
      if ((await versionOf(server, versionQuery)) === between) misses.push(versionQuery);
    }
    t.strictSame(
      misses,
      ['SELECT max(changed_at), count(*) FROM events'],
      'only the naive one misses a change',
    );
    await server.sql(`CREATE ROLE lectern; ${COUNTER}`);
    await one.query('BEGIN');
    await one.query(change(1));
    const before = await versionOf(server, OF_COUNTER);
    // It waits for the other transaction.
    const waiting = other.query(change(2));
    await one.query('COMMIT');
    await waiting;
    const seen = [before, await versionOf(server, OF_COUNTER)];
    await one.query('BEGIN');
    await one.query('SELECT now()');
    await other.query(change(2));
    seen.push(await versionOf(server, OF_COUNTER));
    await one.query(change(1));
    await one.query('COMMIT');
    seen.push(await versionOf(server, OF_COUNTER));
    t.equal(new Set(seen).size, seen.length, 'the counter differs after every commit');
    for (const versionQuery of [OF_ROWS, OF_COUNTER]) {
      for (const statement of [
        "DELETE FROM events WHERE id = md5('event3')::uuid",
        "INSERT INTO events VALUES (md5('event3')::uuid, now(), now())",
        "UPDATE events SET id = id WHERE id = md5('event4')::uuid",
        'TRUNCATE events',
      ]) {
        const before = await versionOf(server, versionQuery);
        t.equal(await versionOf(server, versionQuery), before);
        await server.sql(statement);
        t.not(await versionOf(server, versionQuery), before, `${statement}: ${versionQuery}`);
      }
      await server.sql(
        `${eventsTable('filled', 50)} INSERT INTO events SELECT * FROM filled; DROP TABLE filled`,
      );
    }
  });
});
