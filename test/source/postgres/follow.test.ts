import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import type { IdentifierMode } from '../../../src/base/model/event.js';
import type { FieldMap } from '../../../src/base/model/read-rules.js';
import type { Timetable } from '../../../src/index.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { Database } from '../../../src/source/postgres/database.js';
import { describeRows, jsonOf } from '../../../src/source/postgres/described-rows.js';
import { postgresSource } from '../../../src/source/postgres/postgres.js';
import { type PostgresSpec, parsePostgresAddress } from '../../../src/source/postgres/postgres-address.js';
import { openHere } from '../../app/open-here.js';
import { SLOW } from '../../hard/size.js';
import { timeForAFault, until } from '../../waiting/until.js';
import { eventsTable, skip, startServer, type TestServer } from './server.js';

const WAIT_MS_MAX = 60_000;

interface Rules {
  readonly identifiers: IdentifierMode;
  readonly fieldMap?: FieldMap;
}

interface Followed {
  readonly timetable: Timetable;
  readonly told: string[];
  /** Waits until the timetable equals a load of the whole table. */
  rests(): Promise<void>;
}

function follow(
  t: Test,
  server: TestServer,
  spec: Partial<PostgresSpec>,
  rules: Rules = { identifiers: 'uuid' },
): Followed {
  const source = { kind: 'postgres', url: server.url(), table: 'events', ...spec } as const;
  const timetable = openHere({
    source: { ...source, follow: true },
    ...rules,
    gate: false,
  });
  const told: string[] = [];
  timetable.on('error', ({ message }) => told.push(message));
  timetable.on('published', ({ changes }) =>
    told.push(changes === null ? 'first' : JSON.stringify(Object.values(changes))),
  );
  t.teardown(() => timetable.close());
  timetable.ready.catch(() => {});
  return {
    timetable,
    told,
    async rests() {
      const beganMs = performance.now();
      for (;;) {
        const { image } = await loadImage(postgresSource(source), rules);
        for (let tries = 0; tries < 20; tries++) {
          if (timetable.summary?.id === image.summary.id && timetable.source.state === 'loaded') return;
          // The load above may be of an earlier state, so it is repeated now and then.
          await delay(20);
        }
        if (performance.now() - beganMs > WAIT_MS_MAX)
          throw new Error(`not equal after ${WAIT_MS_MAX / 1000} s: ${told.slice(-3)}`);
      }
    },
  };
}

const slotsOf = async (server: TestServer): Promise<number> =>
  (await server.sql('SELECT FROM pg_replication_slots')).length;

async function untilNoSlot(server: TestServer): Promise<number> {
  await until(
    () => slotsOf(server),
    (seen) => seen === 0,
  );
  return slotsOf(server);
}

test('a table is followed', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  const prepare = (): Promise<unknown> =>
    server.sql(
      `DROP TABLE IF EXISTS events; DROP PUBLICATION IF EXISTS lectern; ${eventsTable('events', 300)} CREATE PUBLICATION lectern FOR TABLE events;`,
    );
  const event = (n: number): string => `id = md5('event${n}')::uuid`;

  await t.test('each kind of change is followed', async (t) => {
    await prepare();
    const { timetable, told, rests } = follow(t, server, {});
    await timetable.ready;
    t.equal(await slotsOf(server), 1);
    t.strictSame(await server.sql('SELECT temporary FROM pg_replication_slots'), [{ temporary: true }]);
    const after = async (statement: string, expected: string): Promise<void> => {
      const before = told.length;
      await server.sql(statement);
      await rests();
      t.strictSame(told.slice(before), [expected], statement);
    };
    await after(`UPDATE events SET title = 'changed' WHERE ${event(1)}`, '[0,1,0]');
    await after(`DELETE FROM events WHERE ${event(2)}`, '[0,0,1]');
    await after(
      `INSERT INTO events SELECT md5('added')::uuid, "time", "endTime" FROM events WHERE ${event(3)}`,
      '[1,0,0]',
    );
    await after(`UPDATE events SET id = md5('other')::uuid WHERE ${event(4)}`, '[1,0,1]');
    await after(`UPDATE events SET id = md5('x' || id)::uuid WHERE ${event(5)} OR ${event(6)}`, '[2,0,2]');
    await after(
      `BEGIN; UPDATE events SET title = 'a' WHERE ${event(7)}; UPDATE events SET title = 'b' WHERE ${event(8)}; COMMIT`,
      '[0,2,0]',
    );
    await after(
      `BEGIN; SAVEPOINT s; UPDATE events SET title = 'kept' WHERE ${event(9)}; RELEASE s; COMMIT`,
      '[0,1,0]',
    );
    // The stream leaves out a large value that did not change.
    await server.sql(
      `UPDATE events SET title = (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 30) n) WHERE ${event(10)}`,
    );
    await rests();
    await after(`UPDATE events SET type = 'LAB' WHERE ${event(10)}`, '[0,1,0]');
    await after('TRUNCATE events', '[0,0,300]');
    await after(`INSERT INTO events VALUES (md5('only')::uuid, now(), now())`, '[1,0,0]');
    await server.sql(`BEGIN; UPDATE events SET title = 'never'; ROLLBACK`);
    await timeForAFault(100);
    t.equal(timetable.find().events[0]?.title, null);
    await timetable.close();
    t.equal(await untilNoSlot(server), 0, 'no slot stays behind');
  });

  await t.test('a row with several values is followed as a whole', async (t) => {
    await server.sql(
      `DROP TABLE IF EXISTS events; DROP PUBLICATION IF EXISTS lectern;
       CREATE TABLE events (id int PRIMARY KEY, "time" timestamptz NOT NULL, "endTime" timestamptz NOT NULL, "studyGroup" text[], rooms text);
       INSERT INTO events SELECT n, '2026-09-01T08:00:00Z', '2026-09-01T09:30:00Z', ARRAY['G' || n, 'G' || n + 1], 'A, B' FROM generate_series(1, 5) n;
       CREATE PUBLICATION lectern FOR TABLE events;`,
    );
    const fieldMap: FieldMap = { roomId: { from: 'rooms', split: ',' } };
    const { timetable, told, rests } = follow(t, server, {}, { identifiers: 'any', fieldMap });
    t.equal((await timetable.ready).events, 20);
    const changes: readonly (readonly [statement: string, told: string])[] = [
      [`UPDATE events SET "studyGroup" = '{G1,X}' WHERE id = 1`, '[2,0,2]'],
      [`UPDATE events SET rooms = 'A' WHERE id = 2`, '[0,0,2]'],
      ['DELETE FROM events WHERE id = 3', '[0,0,4]'],
      ['UPDATE events SET id = 9 WHERE id = 4', '[4,0,4]'],
    ];
    for (const [statement, expected] of changes) {
      const before = told.length;
      await server.sql(statement);
      await rests();
      t.strictSame(told.slice(before), [expected], statement);
    }
    await timetable.close();
    await untilNoSlot(server);
  });

  if (SLOW)
    await t.test('a table is read again after it was altered', async (t) => {
      await prepare();
      const { timetable, told, rests } = follow(t, server, {});
      await timetable.ready;
      await server.sql(
        `ALTER TABLE events ADD COLUMN "courseName" text; UPDATE events SET "courseName" = 'Algebra' WHERE ${event(1)}`,
      );
      await rests();
      await server.sql(
        `ALTER TABLE events ALTER COLUMN title TYPE varchar(40); DELETE FROM events WHERE ${event(2)}`,
      );
      await rests();
      t.equal(await slotsOf(server), 1);
      await server.sql(`ALTER TABLE events DROP COLUMN "endTime"; UPDATE events SET title = 'x'`);
      await until(
        () => told.at(-1) ?? '',
        (seen) => /no column "endTime"/.test(seen),
      );
      t.equal(timetable.summary?.events, 299, 'the last good timetable stays');
      await server.sql(`ALTER TABLE events ADD COLUMN "endTime" timestamptz DEFAULT '2026-12-01T00:00:00Z'`);
      await rests();
      await timetable.close();
      t.equal(await untilNoSlot(server), 0);
    });

  if (SLOW)
    await t.test('rows are not taken as removed if the table is rewritten while they are read', async (t) => {
      await prepare();
      const { timetable, told, rests } = follow(t, server, {});
      await timetable.ready;
      const name = { name: 'events', answerMsMax: 5000 };
      const writer = await Database.open(parsePostgresAddress(server.url()), name);
      t.teardown(() => writer.close());
      const blocked = (): Promise<readonly object[]> =>
        server.sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      const again =
        'CREATE TEMP TABLE rows AS SELECT * FROM events; TRUNCATE events; INSERT INTO events SELECT * FROM rows; DROP TABLE rows;';
      const changes = [`UPDATE events SET title = now()::text WHERE ${event(1)};`, again];
      const rewrites = ['ALTER TABLE events ALTER COLUMN title TYPE varchar(60);', again];
      for (const change of changes) {
        for (const rewrite of rewrites) {
          // The load of the change begins before the rewrite, and waits for its end.
          await writer.query(`BEGIN; ${change} COMMIT; BEGIN; ${rewrite}`);
          await until(blocked, (seen) => seen.length > 0);
          await writer.query('COMMIT');
          await rests();
          await server.sql('ALTER TABLE events ALTER COLUMN title TYPE text');
          await rests();
        }
      }
      t.strictSame([...new Set(told.filter((each) => each.startsWith('[')))], ['[0,1,0]']);
      await timetable.close();
      t.equal(await untilNoSlot(server), 0);
    });

  await t.test('a read fails if a column was dropped after the rows were described', async (t) => {
    await prepare();
    const reader = await Database.open(parsePostgresAddress(server.url()), {
      name: 'events',
      answerMsMax: 5000,
    });
    t.teardown(() => reader.close());
    const rows = await describeRows(reader, { table: 'events' }, 'events');
    const read = (): Promise<readonly object[]> =>
      reader.query(`SELECT ${jsonOf(rows)} FROM (${rows.select}) t`);
    t.equal((await read()).length, 300);
    await server.sql('ALTER TABLE events DROP COLUMN "endTime"');
    await t.rejects(read(), /column "endTime" does not exist/);
  });

  await t.test(
    'partitions are followed, even those added later, under any publication of the root',
    async (t) => {
      for (const viaRoot of [false, true]) {
        await server.sql(`DROP TABLE IF EXISTS parts; DROP PUBLICATION IF EXISTS parts;
        CREATE TABLE parts (id uuid PRIMARY KEY, "time" timestamptz, "endTime" timestamptz, title text) PARTITION BY HASH (id);
        CREATE TABLE parts0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
        CREATE TABLE parts1 PARTITION OF parts FOR VALUES WITH (MODULUS 4, REMAINDER 1);
        CREATE PUBLICATION parts FOR TABLE parts WITH (publish_via_partition_root = ${viaRoot});
        INSERT INTO parts SELECT md5(n::text)::uuid, now(), now(), 'p' || n FROM generate_series(1, 50) n
          WHERE satisfies_hash_partition('parts'::regclass, 2, 0, md5(n::text)::uuid) OR satisfies_hash_partition('parts'::regclass, 4, 1, md5(n::text)::uuid);`);
        const { timetable, rests } = follow(t, server, { table: 'parts' });
        await timetable.ready;
        await server.sql("UPDATE parts SET title = 'changed ' || title");
        await rests();
        await server.sql(`CREATE TABLE parts3 PARTITION OF parts FOR VALUES WITH (MODULUS 4, REMAINDER 3);
        INSERT INTO parts SELECT md5(n::text)::uuid, now(), now(), 'q' || n FROM generate_series(51, 99) n ON CONFLICT DO NOTHING;`);
        await rests();
        await server.sql('DELETE FROM parts WHERE title LIKE $1', ['q%']);
        await rests();
        await timetable.close();
      }
      t.equal(await untilNoSlot(server), 0);
    },
  );

  if (SLOW)
    await t.test(
      'ids of several columns, other names or numbers, and derived ids are followed',
      async (t) => {
        await server.sql(`CREATE TABLE lessons (term char(20), "No." int, starts timestamptz, ends timestamptz, j json, PRIMARY KEY (term, "No."));
      INSERT INTO lessons SELECT 't' || n % 3, n, now(), now(), '{"a": 1}' FROM generate_series(1, 40) n; CREATE PUBLICATION lessons FOR TABLE lessons;
      CREATE TABLE numbers AS SELECT "No."::bigint AS id, starts AS "time", ends AS "endTime" FROM lessons; ALTER TABLE numbers ADD PRIMARY KEY (id);
      ALTER TABLE numbers REPLICA IDENTITY FULL; CREATE PUBLICATION numbers FOR TABLE numbers;`);
        const fieldMap = { id: '{term}-{No.}', time: 'starts', endTime: 'ends', title: 'term' };
        for (const identifiers of ['any', 'derived'] as const) {
          const two = follow(t, server, { table: 'lessons' }, { identifiers, fieldMap });
          const one = follow(t, server, { table: 'numbers' }, { identifiers });
          await Promise.all([two.timetable.ready, one.timetable.ready]);
          await server.sql(`UPDATE lessons SET term = 'new "x" \\ ' || "No." WHERE "No." < 5; DELETE FROM lessons WHERE "No." = (SELECT max("No.") FROM lessons);
        UPDATE numbers SET id = id + 100 WHERE id % 7 = 0; DELETE FROM numbers WHERE id = (SELECT min(id) FROM numbers);`);
          await Promise.all([two.rests(), one.rests()]);
          await Promise.all([two.timetable.close(), one.timetable.close()]);
        }
        t.equal(await untilNoSlot(server), 0);
      },
    );

  await t.test(
    'a query with joins is followed: every published timetable is one state of the database',
    async (t) => {
      await server.sql(`CREATE TABLE rooms (nr int PRIMARY KEY, name text); CREATE TABLE courses (code varchar(9) PRIMARY KEY, name text);
      CREATE TABLE teams (nr int PRIMARY KEY, code text);
      CREATE TABLE units (nr int PRIMARY KEY, starts timestamptz, subject text, room int, course varchar(9));
      CREATE TABLE unit_teams (unit int, team int, PRIMARY KEY (unit, team));
      INSERT INTO rooms SELECT n, '0' FROM generate_series(1, 6) n; INSERT INTO courses SELECT 'C' || n, '0' FROM generate_series(1, 3) n;
      INSERT INTO teams SELECT n, '0' FROM generate_series(1, 5) n; INSERT INTO unit_teams SELECT n, n % 5 + 1 FROM generate_series(1, 40) n;
      INSERT INTO units SELECT n, '2026-09-14T08:00Z'::timestamptz + n * interval '1 hour', '0', n % 6 + 1, 'C' || n % 3 + 1 FROM generate_series(1, 40) n;
      CREATE VIEW named AS SELECT u.*, r.name AS "roomName" FROM units u LEFT JOIN rooms r ON r.nr = u.room;
      CREATE PUBLICATION joined FOR TABLE rooms, courses, teams, units;`);
      const query = `SELECT ut.unit AS id, ut.team, u.starts AS "time", u.starts + interval '1 hour' AS "endTime", u.subject || ' ' || c.name || ' ' || t.code || ' ' || coalesce(u."roomName", '') AS title, u.course AS "courseId"
      FROM named u JOIN courses c ON c.code = u.course JOIN unit_teams ut ON ut.unit = u.nr JOIN teams t ON t.nr = ut.team`;
      const rules = { identifiers: 'any', fieldMap: { id: '{id}/{team}' } } as const;
      const early = follow(t, server, { table: undefined, query }, rules);
      const missing =
        /no publication has all the tables .*; run as its owner: \w+ PUBLICATION lectern .*TABLE public\.rooms, /;
      await t.rejects(early.timetable.ready, { message: missing });
      await early.timetable.close();
      await server.sql('ALTER PUBLICATION joined ADD TABLE unit_teams');
      const { timetable, told, rests } = follow(t, server, { table: undefined, query }, rules);
      await timetable.ready;
      t.strictSame(timetable.source.followed?.wholeReads, []);
      const after = async (statement: string, expected: string): Promise<void> => {
        const before = told.length;
        await server.sql(statement);
        await rests();
        t.strictSame(told.slice(before), [expected], statement);
      };
      await after(`UPDATE rooms SET name = 'new' WHERE nr = 1`, '[0,6,0]');
      await after('UPDATE units SET room = NULL WHERE nr = 6', '[0,1,0]');
      await after(`UPDATE rooms SET name = '0' WHERE nr = 1`, '[0,5,0]');
      await after('DELETE FROM unit_teams WHERE unit = 7; INSERT INTO unit_teams VALUES (8, 1)', '[1,0,1]');
      await after(`UPDATE unit_teams SET team = 2 WHERE unit = 8 AND team = 1`, '[1,0,1]');
      await after(`UPDATE courses SET code = 'X' WHERE code = 'C1'`, '[0,0,13]');
      await after(`UPDATE courses SET code = 'C1' WHERE code = 'X'`, '[13,0,0]');
      await after('TRUNCATE unit_teams', '[0,0,40]');
      await after('INSERT INTO unit_teams SELECT n, n % 5 + 1 FROM generate_series(1, 40) n', '[40,0,0]');
      await server.sql(
        'DELETE FROM rooms WHERE nr = 2; CREATE OR REPLACE VIEW named AS SELECT u.*, r.name AS "roomName" FROM units u JOIN rooms r ON r.nr = u.room',
      );
      await rests();
      await server.sql('UPDATE units SET room = 3 WHERE room IS NULL OR room = 2');

      // Each transaction changes all tables, so a timetable of two states would have two numbers in its titles.
      const titles = new Set<string>();
      timetable.on('published', () => {
        const seen = new Set(timetable.find().events.flatMap(({ title }) => title?.split(' ') ?? []));
        titles.add([...seen].join());
      });
      const writer = await server.connect();
      for (let n = 1; n <= 40; n++) {
        await writer.query(`BEGIN; UPDATE units SET subject = '${n}'; UPDATE rooms SET name = '${n}'; UPDATE courses SET name = '${n}';
        UPDATE unit_teams SET team = (team + ${n % 3}) % 5 + 1 WHERE unit % 5 = ${n % 5}; UPDATE teams SET code = '${n}'; COMMIT`);
      }
      await rests();
      t.strictSame(
        [...titles].filter((each) => each.includes(',')),
        [],
        'each timetable has one number',
      );
      t.ok(titles.has('40'));
      await timetable.close();
      t.equal(await untilNoSlot(server), 0);
    },
  );

  if (SLOW)
    await t.test('arrays of joined tables are followed: values come, go and change', async (t) => {
      await server.sql(`UPDATE teams SET code = 'T' || nr; DELETE FROM unit_teams WHERE unit > 9; INSERT INTO unit_teams SELECT n, 5 FROM generate_series(1, 9) n ON CONFLICT DO NOTHING;
      ALTER TABLE units ENABLE ROW LEVEL SECURITY`);
      const query = `SELECT u.nr AS id, u.starts AS "time", u.starts AS "endTime", u.room AS "roomId",
      (SELECT array_agg(t.code ORDER BY t.nr) FROM unit_teams ut JOIN teams t ON t.nr = ut.team WHERE ut.unit = u.nr) AS "studyGroup" FROM units u`;
      const { timetable, told, rests } = follow(
        t,
        server,
        { table: undefined, query },
        { identifiers: 'derived' },
      );
      await timetable.ready;
      t.strictSame(timetable.source.followed?.wholeReads, []);
      const events = timetable.summary?.events ?? 0;
      for (const statement of [
        'INSERT INTO unit_teams VALUES (10, 1), (10, 2)',
        'DELETE FROM unit_teams WHERE unit = 10 AND team = 1',
        'DELETE FROM unit_teams WHERE unit = 10',
        `UPDATE teams SET code = 'new' WHERE nr = 5`,
        'DELETE FROM units WHERE nr = 1',
      ]) {
        await server.sql(statement);
        await rests();
      }
      t.strictSame(told.slice(0, 4), ['first', '[2,0,1]', '[0,0,1]', '[1,0,1]']);
      t.match(told[4], /^\[(\d+),0,\1\]$/, 'another name is another event');
      t.ok((timetable.summary?.events ?? 0) < events);
      await timetable.close();
      const viewed = follow(
        t,
        server,
        { table: undefined, query: query.replace('units u', 'named u') },
        { identifiers: 'derived' },
      );
      await viewed.timetable.ready;
      t.strictSame(viewed.timetable.source.followed?.wholeReads, [
        'public.units: it has policies, and the query reads it through a view',
      ]);
      await viewed.timetable.close();
      t.equal(await untilNoSlot(server), 0);
    });

  if (SLOW)
    await t.test('a change of which the rows are not known causes a read of all rows', async (t) => {
      await server.sql(`CREATE TABLE halls (nr int PRIMARY KEY, name text); CREATE TABLE talks (id serial PRIMARY KEY, starts timestamptz, hall int);
      CREATE TABLE talkers (nr serial PRIMARY KEY, talk int, name text); CREATE TABLE notes (nr int PRIMARY KEY, note text);
      INSERT INTO halls VALUES (1, 'a'), (2, 'b'); INSERT INTO talks (starts, hall) SELECT now(), n % 2 + 1 FROM generate_series(1, 9) n;
      INSERT INTO talkers (talk, name) SELECT n, 'x' FROM generate_series(1, 9) n; INSERT INTO notes VALUES (1, 'old');
      CREATE FUNCTION note() RETURNS text STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT note FROM notes WHERE nr = 1); END';
      CREATE PUBLICATION talks FOR TABLE halls, talks, talkers, notes;`);
      const query = `SELECT t.id, t.starts AS "time", t.starts AS "endTime", h.name || note() AS title,
      (SELECT string_agg(k.name, ', ' ORDER BY k.nr) FROM talkers k WHERE k.talk = t.id) AS lecturer, t.hall AS "roomId"
      FROM talks t JOIN halls h ON h.nr = t.hall WHERE (SELECT count(*) FROM notes) > 0`;
      const unnamed = follow(t, server, { table: undefined, query }, { identifiers: 'any' });
      await t.rejects(unnamed.timetable.ready, {
        message: /it calls note\(\), which may read further tables; name these tables in followTables/,
      });
      await unnamed.timetable.close();
      const spec = { table: undefined, query, followTables: ['notes'] };
      const { timetable, told, rests } = follow(t, server, spec, { identifiers: 'any' });
      await timetable.ready;
      t.strictSame(timetable.source.followed?.wholeReads, [
        'public.talkers: its replica identity lacks columns of the join; run: ALTER TABLE public.talkers REPLICA IDENTITY FULL;',
        'public.notes: its join does not lead to the id in a known way',
      ]);
      for (const statement of [
        `UPDATE talkers SET name = 'y' WHERE talk = 3`,
        'DELETE FROM talkers WHERE talk = 4',
        `UPDATE notes SET note = 'new'`,
        `UPDATE halls SET name = 'c' WHERE nr = 1`,
      ]) {
        await server.sql(statement);
        await rests();
      }
      t.strictSame(told, ['first', '[0,1,0]', '[0,1,0]', '[0,9,0]', '[0,4,0]']);
      await timetable.close();
      t.equal(await untilNoSlot(server), 0);
    });

  await t.test('a change is kept until it is visible to other transactions', async (t) => {
    await prepare();
    const { timetable, rests } = follow(t, server, {});
    await timetable.ready;
    // The commit waits for a missing standby, and stays invisible meanwhile.
    await server.sql("ALTER SYSTEM SET synchronous_standby_names = 'none'");
    await server.sql('SELECT pg_reload_conf()');
    await until(
      async () =>
        (
          await server.sql(
            "SELECT FROM pg_settings WHERE name = 'synchronous_standby_names' AND setting = 'none'",
          )
        ).length,
    );
    const client = await server.connect();
    const committing = client.query(`UPDATE events SET title = 'late' WHERE ${event(1)}`);
    await timeForAFault(500);
    t.equal(
      timetable.find().events.find(({ title }) => title === 'late'),
      undefined,
      'it is not visible yet',
    );
    await server.sql('ALTER SYSTEM RESET synchronous_standby_names');
    await server.sql('SELECT pg_reload_conf()');
    await committing;
    await rests();
    t.ok(timetable.find().events.some(({ title }) => title === 'late'));
    await timetable.close();
  });

  await t.test('following survives killed connections and a server that stops or crashes', async (t) => {
    await prepare();
    const { timetable, told, rests } = follow(t, server, {});
    await timetable.ready;
    for (const kill of [
      () => server.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_replication'),
      () =>
        server.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lectern'",
        ),
      () => server.stop('fast').then(() => server.start()),
      () => server.stop('immediate').then(() => server.start()),
    ]) {
      await kill();
      await server.sql(`UPDATE events SET title = title || '!' WHERE ${event(1)}`);
      await rests();
    }
    const errors = told.filter((line) => line.startsWith('cannot'));
    t.ok(
      errors.every((line) =>
        /nothing listens there|the connection was|was shut down|starting or stopping/.test(line),
      ),
      errors.join('\n'),
    );
    t.equal(await slotsOf(server), 1);
    await timetable.close();
    t.equal(await untilNoSlot(server), 0);
  });

  if (SLOW)
    await t.test('a missing condition is reported with the statement that fixes it', async (t) => {
      await server.sql(`${eventsTable('bare', 5)} ALTER TABLE bare DROP CONSTRAINT bare_pkey; CREATE VIEW seen AS SELECT * FROM bare; CREATE MATERIALIZED VIEW stored AS SELECT * FROM bare;
      CREATE ROLE poor LOGIN; GRANT SELECT ON bare TO poor;`);
      const says = async (expected: RegExp, spec: Partial<PostgresSpec> = {}): Promise<void> => {
        const { timetable } = follow(t, server, { table: 'bare', ...spec });
        await t.rejects(timetable.ready, { message: expected });
        await timetable.close();
      };
      await says(/a deleted row of public\.bare would not show which one it was: .* is none/, {
        table: 'seen',
      });
      await says(
        /public\.stored is a materialized view, whose changes are not reported; use --refresh-seconds/,
        {
          table: 'stored',
        },
      );
      await says(
        /the column of the id \("id"\) is not unique; run: ALTER TABLE public\.bare ADD UNIQUE \("id"\);/,
      );
      await server.sql('ALTER TABLE bare ADD UNIQUE ("id")');
      await says(
        /the replica identity of the table is none; run: ALTER TABLE public\.bare REPLICA IDENTITY FULL;/,
      );
      await server.sql('ALTER TABLE bare REPLICA IDENTITY USING INDEX bare_id_key').catch(() => {});
      await server.sql(
        'ALTER TABLE bare ALTER id SET NOT NULL; ALTER TABLE bare REPLICA IDENTITY USING INDEX bare_id_key',
      );
      await says(
        /no publication has the table public\.bare; run as its owner: ALTER PUBLICATION lectern ADD TABLE public\.bare;/,
      );
      await server.sql("CREATE PUBLICATION half FOR TABLE bare WITH (publish = 'insert')");
      await says(/the publication "half" leaves out kinds of changes/);
      await server.sql(
        'CREATE PUBLICATION rows FOR TABLE bare WHERE (id IS NOT NULL); DROP PUBLICATION half',
      );
      await says(/the publication "rows" leaves out rows/);
      await server.sql(`CREATE PUBLICATION "It's ""all""" FOR TABLE bare`);
      await says(/"poor" may not replicate; run as a superuser: ALTER ROLE "poor" REPLICATION;/, {
        url: server.url('postgres', 'poor'),
      });
      await server.sql('ALTER ROLE poor REPLICATION');
      const { timetable, told, rests } = follow(t, server, {
        table: 'bare',
        url: server.url('postgres', 'poor'),
      });
      await timetable.ready;
      await server.sql("UPDATE bare SET title = 'seen'");
      await rests();
      await server.sql('ALTER ROLE poor NOREPLICATION');
      await server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'poor'");
      await until(
        () => told.at(-1) ?? '',
        (seen) => /must be superuser or replication role|permission denied/.test(seen),
      );
      t.notMatch(told.at(-1), /\n/, 'one sentence');
      t.equal(timetable.find({ limit: 1 }).events[0]?.title, 'seen', 'the last good timetable stays');
      await server.sql('ALTER ROLE poor REPLICATION');
      await server.sql("UPDATE bare SET title = 'seen again'");
      await rests();
      await timetable.close();
      server.set("wal_level = 'replica'");
      await server.stop('fast');
      await server.start();
      await says(
        /wal_level is replica, and following needs logical; run: ALTER SYSTEM SET wal_level = 'logical'; and restart/,
      );
    });
});
