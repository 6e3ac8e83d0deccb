import { once } from 'node:events';
import { createServer } from 'node:net';
import { type Test, test } from 'tap';
import type { LecternError } from '../../../src/base/errors.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { postgresSource } from '../../../src/source/postgres/postgres.js';
import type { PostgresSpec } from '../../../src/source/postgres/postgres-address.js';
import { until } from '../../waiting/until.js';
import { collect } from '../collect.js';
import { eventsTable, skip, startServer } from './server.js';

type Spec = Omit<PostgresSpec, 'kind'>;

const TYPES = `CREATE TYPE pair AS (a int, b json);
  CREATE TABLE kinds (n int PRIMARY KEY, t text, j json, jb jsonb, list json[], p pair, ts timestamptz, tz timestamp, d date, num numeric, big int8,
    f float8, b bytea, arr int[], flag bool, nothing text);
  INSERT INTO kinds VALUES
    (1, e'a\\nb\\t"c"\\\\ \\u00fc \\u0001\\u0002 \\U0001F600', e'{\\n "x" :\\r\\n [1,\\n2]}', '{"y": 1}', array[e'{"k":\\n"v"}'::json], (1, e'[\\n1]'),
     '2026-09-14T08:00:00+02', '2026-09-14T08:00', '2026-09-14', 1.50, 9007199254740993, 0.1, '\\x00ff', '{1,null}', true, null),
    (2, '', null, null, null, null, 'infinity', '-infinity', null, 'NaN', null, 'Infinity', null, null, false, null);`;

test('a PostgreSQL database as a source', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end), { auth: 'scram-sha-256' });
  await server.sql(eventsTable('events', 2000));
  await server.sql(
    `${TYPES}
    CREATE SCHEMA school; CREATE TABLE school."Odd name" AS SELECT * FROM events LIMIT 10; CREATE TABLE empty AS SELECT * FROM events LIMIT 0;
    CREATE VIEW lectures AS SELECT * FROM events WHERE type = 'LEC' ORDER BY "time";
    CREATE TABLE lessons AS SELECT id AS lesson_id, "time" AT TIME ZONE 'UTC' AS begins, "endTime" AT TIME ZONE 'UTC' AS ends, title AS subject,
      json_build_object('name', lecturer) AS who FROM events LIMIT 20;
    CREATE ROLE reader LOGIN PASSWORD 'the word of the reader'; GRANT SELECT ON events, lectures, kinds TO reader;`,
  );
  await server.sql("ALTER ROLE postgres PASSWORD 'pg'");
  const url = `postgres://postgres:pg@127.0.0.1:${server.port}/postgres`;
  /** Rows need not be events, as for `inspect`. */
  const read = (spec: Partial<Spec>, options = {}) =>
    collect(postgresSource({ kind: 'postgres', url, ...spec }), { onRecord: () => true, ...options });
  const fails = async (t: Test, spec: Partial<Spec>, expected: RegExp, options = {}): Promise<void> => {
    const error = (await read(spec, options).then(
      () => null,
      (problem) => problem,
    )) as LecternError | null;
    t.match(error?.message, expected);
    t.notMatch(error?.message, /\n/, 'one line');
    t.notMatch(error?.message, /pg@|:pg|wrong word|the word of the reader/, 'no password');
  };

  await t.test('a table, a view and a query are read', async (t) => {
    const table = await read({ table: 'events' });
    t.equal(table.records.length, 2000);
    t.match(table.summary, { format: 'postgresql', version: null });
    t.equal((await read({ table: 'lectures' })).records.length, 666);
    t.equal((await read({ table: 'school."Odd name"' })).records.length, 10);
    t.equal((await read({ query: 'SELECT * FROM events WHERE "roomId" IS NULL -- none' })).records.length, 0);
    t.equal((await read({ table: 'empty' })).records.length, 0);
    t.strictSame((await read({ query: "SELECT 'x' AS title, 1 AS n;" })).records, [
      { position: { record: 1 }, value: { title: 'x', n: 1 } },
    ]);
  });

  await t.test('as JSON, every type is written as by row_to_json, on one line', async (t) => {
    const { records } = await read({ table: 'kinds' });
    const expected = await server.sql<{ row: object }>(
      'SELECT row_to_json(t.*)::jsonb AS row FROM kinds t ORDER BY n',
    );
    t.equal(records.length, 2);
    const exact = records.map(({ value }) => value as Record<string, unknown>);
    // jsonb reads the same text.
    t.strictSame(
      exact,
      expected.map(({ row }) => row),
    );
    t.match(exact[0], {
      j: { x: [1, 2] },
      list: [{ k: 'v' }],
      p: { a: 1, b: [1] },
      b: '\\x00ff',
      arr: [1, null],
    });
  });

  await t.test('undecoded rows make the same image as decoded ones', async (t) => {
    const rules = { identifiers: 'uuid' } as const;
    const source = postgresSource({ kind: 'postgres', url, table: 'events' });
    const undecoded = await loadImage(source, rules);
    let decoded = 0;
    const slow = await loadImage(source, rules, { onRecord: () => ++decoded > 0 });
    t.equal(decoded, 2000);
    t.equal(undecoded.image.summary.events, 2000);
    t.equal(undecoded.image.summary.id, slow.image.summary.id);
  });

  await t.test('a field map works with templates, paths and a time zone', async (t) => {
    const fieldMap = {
      id: 'lesson_id',
      time: 'begins',
      endTime: 'ends',
      title: '{subject}!',
      lecturer: 'who.name',
    };
    const rules = { identifiers: 'uuid', timeZone: 'UTC', fieldMap } as const;
    const { image } = await loadImage(postgresSource({ kind: 'postgres', url, table: 'lessons' }), rules);
    const plain = await loadImage(
      postgresSource({
        kind: 'postgres',
        url,
        query: `SELECT lesson_id AS id, begins AS "time", ends AS "endTime", subject || '!' AS title, who->>'name' AS lecturer FROM lessons`,
      }),
      { identifiers: 'uuid', timeZone: 'UTC' },
    );
    t.equal(image.summary.events, 20);
    t.equal(image.summary.id, plain.image.summary.id);
  });

  await t.test('a map that only renames becomes SQL, with the same result as the slow way', async (t) => {
    await server.sql(`CREATE TABLE named AS SELECT id AS "the id", "time" AS start, "endTime", title AS type, type AS title, lecturer AS "Who ""is"" it",
      "roomId" AS extra, "studyGroup" AS id FROM events LIMIT 100`);
    const fieldMap = {
      id: 'the id',
      time: 'start',
      title: 'type',
      type: 'title',
      lecturer: 'Who "is" it',
      roomId: 'extra',
      studyGroup: 'id',
    };
    const rules = { identifiers: 'uuid', fieldMap } as const;
    const source = postgresSource({ kind: 'postgres', url, table: 'named' });
    let decoded = 0;
    const fast = await loadImage(source, rules);
    const slow = await loadImage(source, rules, { onRecord: () => ++decoded > 0 });
    t.equal(decoded, 100);
    t.equal(fast.image.summary.events, 100);
    t.equal(fast.image.summary.id, slow.image.summary.id);
    t.strictSame(fast.image.summary.unserved, slow.image.summary.unserved);
    t.ok(fast.source.bytesRead < slow.source.bytesRead + 1);
    // One column for two fields, a field whose column another field uses, and a column that is not a field.
    for (const map of [
      { ...fieldMap, courseId: 'extra' },
      { id: 'the id', time: 'start', lecturer: 'title' },
    ]) {
      const again = { identifiers: 'uuid', fieldMap: map } as const;
      const [one, other] = [
        await loadImage(source, again),
        await loadImage(source, again, { onRecord: () => true }),
      ];
      t.equal(one.image.summary.id, other.image.summary.id);
      t.strictSame(one.image.summary.unserved, other.image.summary.unserved);
    }
  });

  await t.test('missing columns are reported', async (t) => {
    const rules = { identifiers: 'uuid' } as const;
    const uuid = { rules, onRecord: undefined };
    await fails(
      t,
      { table: 'lessons' },
      /\(lessons\) has no column "id" and "time" and "endTime": name the column, as --map id=.*The columns are "lesson_id", "begins"/,
      uuid,
    );
    await fails(
      t,
      { table: 'lessons' },
      /a column that does not exist: "subjekt" \(for title; did you mean "subject"\?\)\. The columns are "lesson_id"/,
      { rules: { ...rules, fieldMap: { title: 'subjekt' } } },
    );
    await fails(
      t,
      { query: 'SELECT nosuch FROM events' },
      /cannot read .*\(query\): the server says: column "nosuch" does not exist/,
    );
  });

  await t.test('a version query prevents needless reads', async (t) => {
    const spec = { table: 'events', versionQuery: 'SELECT max(title), count(*) FROM events' };
    const first = await read(spec);
    t.match(first.summary.version, /^[\w-]{22}$/);
    const source = postgresSource({ kind: 'postgres', url, ...spec });
    const previous = first.summary.version;
    const load = () => source.load({ row() {}, fault() {} }, { previous });
    t.equal(await load(), 'not-modified');
    await server.sql("INSERT INTO events VALUES (md5('new')::uuid, now(), now())");
    t.match(await load(), { version: /./ });
    t.not((await read(spec)).summary.version, previous);
    await fails(t, { ...spec, versionQuery: 'SELECT nosuch()' }, /function nosuch\(\) does not exist/);
  });

  await t.test('passwords come from a file, a variable or a password file', async (t) => {
    const { mkdtempSync, rmSync, writeFileSync, chmodSync } = await import('node:fs');
    const folder = mkdtempSync('/tmp/lectern-password-');
    t.teardown(() => rmSync(folder, { recursive: true }));
    const bare = `postgres://reader@127.0.0.1:${server.port}/postgres`;
    await fails(t, { url: bare, table: 'events' }, /asks for a password for "reader"; give it as PGPASSWORD/);
    await fails(
      t,
      { url: bare.replace('@', ':wrong word@'), table: 'events' },
      /refuses the password of "reader"/,
    );
    const file = `${folder}/secret`;
    const withFile = bare.replace('@', `:${encodeURIComponent(`file:${file}`)}@`);
    await fails(t, { url: withFile, table: 'events' }, /the password file .*: there is no such file/);
    writeFileSync(file, 'the word of the reader\n');
    t.equal((await read({ url: withFile, table: 'lectures' })).records.length, 666);
    const passfile = `${folder}/pgpass`;
    writeFileSync(passfile, `127.0.0.1:*:*:reader:the word of the reader\n`);
    chmodSync(passfile, 0o644);
    await fails(
      t,
      { url: `${bare}?passfile=${passfile}`, table: 'events' },
      /other users may read it; run chmod 600/,
    );
    chmodSync(passfile, 0o600);
    t.equal((await read({ url: `${bare}?passfile=${passfile}`, table: 'lectures' })).records.length, 666);
  });

  await t.test('a failure gives one clear sentence', async (t) => {
    const at = (place: string): string => `postgres://postgres:pg@${place}`;
    await fails(
      t,
      { url: at(`127.0.0.1:${server.port}/nosuch`), table: 'events' },
      /there is no database "nosuch" on 127\.0\.0\.1/,
    );
    await fails(t, { url: at('127.0.0.1:1/x'), table: 'events' }, /nothing listens there: 127\.0\.0\.1:1/);
    await fails(
      t,
      { url: at('no.such.host.invalid/x'), table: 'events' },
      /the host "no\.such\.host\.invalid" is not known/,
    );
    await fails(
      t,
      { url: `${url}?sslmode=require`, table: 'events' },
      /does not speak TLS, but sslmode requires it/,
    );
    await fails(
      t,
      { url: `${url}?target_session_attrs=standby`, table: 'events' },
      /it is not a standby server/,
    );
    await fails(
      t,
      { table: 'event' },
      /there is no table "event"; did you mean "events"\? \(this user can read empty, events, kinds/,
    );
    await fails(t, { table: 'no-table' }, /there is no table|invalid name syntax|syntax/);
    await fails(t, { query: 'SELEC 1' }, /the server says: syntax error at or near "1"/);
    await fails(t, { query: 'DELETE FROM events RETURNING *' }, /the server says/);
    await fails(t, { query: "SELECT nextval('s') FROM (SELECT 1) x" }, /relation "s" does not exist/);
    await fails(t, { query: 'SELECT 1/(n-2) FROM kinds' }, /division by zero/);
    await fails(
      t,
      { url: `${url}?options=-c%20statement_timeout%3D30ms`, query: 'SELECT pg_sleep(5)' },
      /it exceeded statement_timeout/,
    );
    const reader = `postgres://reader:the%20word%20of%20the%20reader@127.0.0.1:${server.port}/postgres`;
    await fails(
      t,
      { url: reader, table: 'lessons' },
      /a privilege is missing; the server says: permission denied for table lessons/,
    );
    await fails(
      t,
      { url: `postgres://postgres:pg@127.0.0.1:1,127.0.0.1:${server.port}/postgres`, table: 'nosuch' },
      /there is no table "nosuch"/,
    );
  });

  await t.test('a connection that hangs is given up, before and within the answer', async (t) => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    t.teardown(() => silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    await fails(
      t,
      { url: `postgres://u@127.0.0.1:${port}/x`, table: 'events', headersMsMax: 200 },
      /was not ready in time: nothing came for 0\.2 s/,
    );
    await fails(
      t,
      { url: `postgres://u@127.0.0.1:${port}/x?connect_timeout=1`, table: 'events' },
      /was not ready in time/,
    );
    await fails(t, { query: 'SELECT pg_sleep(20)', headersMsMax: 400 }, /nothing came for/);
    const slow =
      "SELECT repeat('x', 100000) AS t, pg_sleep(CASE WHEN n < 40 THEN 0 ELSE 20 END) FROM generate_series(1, 50) n";
    await fails(t, { query: slow, idleMsMax: 400 }, /nothing came for 0\.4 s, after \d+ bytes/);
    await fails(
      t,
      { query: "SELECT repeat('x', 100000), pg_sleep(0.02) FROM generate_series(1, 500)", totalMsMax: 500 },
      /not read whole within 0\.5 s/,
    );
    const controller = new AbortController();
    // While the query sleeps.
    setTimeout(() => controller.abort(new Error('enough')), 200);
    await t.rejects(read({ query: 'SELECT pg_sleep(20)' }, { signal: controller.signal }), {
      message: 'enough',
    });
  });

  await t.test('a server that stops during COPY fails the load', async (t) => {
    const query = "SELECT repeat('x', 10000) AS t, pg_sleep(0.001) FROM generate_series(1, 5000)";
    // Backends of earlier tests can still be copying.
    const copying = () =>
      server.sql(`SELECT FROM pg_stat_progress_copy JOIN pg_stat_activity USING (pid)
        WHERE tuples_processed > 20 AND query LIKE '%pg_sleep(0.001)%'`);
    const reading = fails(
      t,
      { query },
      /the connection was lost|connection was reset|closed the connection|the server was shut down/,
    );
    await until(copying, (seen) => seen.length > 0);
    await server.stop('fast');
    await reading;
    await server.start();
    const again = fails(
      t,
      { query },
      /the connection was lost|the server crashed|connection was reset|closed the connection/,
    );
    await until(copying, (seen) => seen.length > 0);
    await server.stop('immediate');
    await again;
    await fails(t, { table: 'events' }, /nothing listens there/);
    await server.start();
  });

  await t.test(
    'a server that is not PostgreSQL, or a pooler that refuses a parameter, is reported',
    async (t) => {
      const answers = (bytes: Buffer): Promise<number> =>
        new Promise((resolve) => {
          const listener = createServer((socket) => {
            socket.on('error', () => {});
            socket.once('data', () => socket.end(bytes));
          }).listen(0, '127.0.0.1', () => resolve((listener.address() as { port: number }).port));
          t.teardown(() => listener.close());
        });
      const http = await answers(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'));
      await fails(
        t,
        { url: `postgres://u@127.0.0.1:${http}/x`, table: 'events' },
        /127\.0\.0\.1:\d+ (does not speak PostgreSQL|closed the connection)/,
      );
      const text = 'SFATAL\0C08P01\0Munsupported startup parameter: options\0\0';
      const head = Buffer.from([0x45, 0, 0, 0, text.length + 4]);
      const pooler = await answers(Buffer.concat([head, Buffer.from(text)]));
      await fails(
        t,
        { url: `postgres://u@127.0.0.1:${pooler}/x?sslmode=disable`, table: 'events' },
        /it may be a pooler such as PgBouncer/,
      );
    },
  );
});
