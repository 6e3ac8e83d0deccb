/** If a table cannot be followed, the message has statements. PostgreSQL accepts them, and then the table is followed. */
import { test } from 'tap';
import type { ReadRules } from '../../../src/base/model/read-rules.js';
import { Database } from '../../../src/source/postgres/database.js';
import { describeRows } from '../../../src/source/postgres/described-rows.js';
import { planFollowing } from '../../../src/source/postgres/follow-plan.js';
import { parsePostgresAddress } from '../../../src/source/postgres/postgres-address.js';
import { skip, startServer } from './server.js';

const COLUMNS = '"time" timestamptz NOT NULL, "endTime" timestamptz NOT NULL, title text';
const RANGE = "FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')";

/** For each table: SQL, and the statements and options of the messages in their order. */
const CASES: Readonly<Record<string, readonly [sql: string, told: readonly string[]]>> = {
  'a publication with the usual name exists': [
    `CREATE TABLE a (id uuid PRIMARY KEY, ${COLUMNS}); CREATE TABLE b (id int); CREATE PUBLICATION lectern FOR TABLE b`,
    ['ALTER PUBLICATION lectern ADD TABLE public.a'],
  ],
  'it leaves out changes': [
    `CREATE TABLE a (id uuid PRIMARY KEY, ${COLUMNS}); CREATE PUBLICATION lectern FOR TABLE a WITH (publish = 'insert');
      CREATE PUBLICATION lectern_2 WITH (publish = 'insert')`,
    ['CREATE PUBLICATION lectern_3 FOR TABLE public.a'],
  ],
  'it leaves out rows': [
    `CREATE TABLE a (id uuid PRIMARY KEY, ${COLUMNS}); CREATE PUBLICATION lectern FOR TABLE a WHERE (id IS NOT NULL)`,
    ['CREATE PUBLICATION lectern_2 FOR TABLE public.a'],
  ],
  'partitions by time, without a unique id': [
    `CREATE TABLE a (id uuid NOT NULL, ${COLUMNS}) PARTITION BY RANGE ("time"); CREATE TABLE a1 PARTITION OF a ${RANGE}`,
    [
      'ALTER TABLE public.a ADD UNIQUE ("id", "time")',
      "--map 'id={id}/{time}' --identifiers derived",
      'ALTER TABLE public.a1 REPLICA IDENTITY FULL',
      'CREATE PUBLICATION lectern FOR TABLE public.a',
    ],
  ],
  'partitions by time, with a primary key': [
    `CREATE TABLE a (id uuid, ${COLUMNS}, PRIMARY KEY (id, "time")) PARTITION BY RANGE ("time");
      CREATE TABLE a1 PARTITION OF a ${RANGE} PARTITION BY LIST ("time"); CREATE TABLE a2 PARTITION OF a1 DEFAULT`,
    ["--map 'id={id}/{time}' --identifiers derived", 'CREATE PUBLICATION lectern FOR TABLE public.a'],
  ],
  'no partition yet': [
    `CREATE TABLE a (id uuid PRIMARY KEY, ${COLUMNS}) PARTITION BY LIST (id); CREATE PUBLICATION lectern FOR TABLE a`,
    [],
  ],
  'no partition yet, and all tables published': [
    `CREATE TABLE a (id uuid PRIMARY KEY, ${COLUMNS}) PARTITION BY LIST (id); CREATE PUBLICATION every FOR ALL TABLES`,
    [],
  ],
  'not logged': [
    `CREATE UNLOGGED TABLE a (id uuid PRIMARY KEY, ${COLUMNS})`,
    ['ALTER TABLE public.a SET LOGGED', 'CREATE PUBLICATION lectern FOR TABLE public.a'],
  ],
  'a unique index that includes other columns': [
    `CREATE TABLE a (id uuid NOT NULL, ${COLUMNS}, PRIMARY KEY (id) INCLUDE (title)); CREATE PUBLICATION lectern FOR TABLE a`,
    [],
  ],
  'a primary key that only includes the id': [
    `CREATE TABLE a (id uuid UNIQUE, n int, ${COLUMNS}, PRIMARY KEY (n) INCLUDE (id)); CREATE PUBLICATION lectern FOR TABLE a`,
    ['ALTER TABLE public.a REPLICA IDENTITY FULL'],
  ],
};

test('messages have the statements that make a table fit for following', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  const open = async (): Promise<Database> => {
    const database = await Database.open(parsePostgresAddress(server.url()), {
      name: 'a',
      answerMsMax: 30_000,
    });
    t.teardown(() => database.close());
    return database;
  };
  const problemOf = async (database: Database, rules: ReadRules): Promise<string | null> => {
    const rows = await describeRows(database, { table: 'a' }, 'a');
    return planFollowing(database, rows, rules, 'a').then(
      () => null,
      (error: Error) => error.message,
    );
  };
  const clear = 'DROP TABLE IF EXISTS a, b; DROP PUBLICATION IF EXISTS lectern, lectern_2, lectern_3, every';

  for (const [name, [sql, expected]] of Object.entries(CASES)) {
    await t.test(name, async (t) => {
      const database = await open();
      await server.sql(clear);
      await server.sql(sql);
      const told: string[] = [];
      let rules: ReadRules = { identifiers: 'uuid' };
      for (;;) {
        const problem = await problemOf(database, rules);
        if (problem === null) break;
        const [, statement] = /run(?: as its owner)?: ([^;]*);/.exec(problem) ?? [];
        const [options, id] = /--map 'id=([^']*)' --identifiers derived/.exec(problem) ?? [];
        if (statement !== undefined) {
          await server.sql(statement);
          told.push(statement);
        }
        if (options !== undefined) {
          rules = { identifiers: 'derived', fieldMap: { id: id as string } };
          told.push(options);
        }
        if (statement === undefined && options === undefined) throw new Error(problem);
      }
      t.strictSame(told, expected);
    });
  }

  await t.test('where no statement helps, other ways are named', async (t) => {
    for (const [sql, problem] of [
      [
        `CREATE TABLE a (id uuid NOT NULL, ${COLUMNS}) PARTITION BY RANGE (date_part('year', "endTime" AT TIME ZONE 'UTC'))`,
        /is not unique, and PostgreSQL has no unique constraints for tables that are partitioned by an expression; use --refresh-seconds/,
      ],
      [
        `CREATE TABLE a (id uuid NOT NULL, ${COLUMNS}) PARTITION BY RANGE ("time"); CREATE EXTENSION IF NOT EXISTS file_fdw;
          CREATE SERVER IF NOT EXISTS files FOREIGN DATA WRAPPER file_fdw; CREATE FOREIGN TABLE a1 PARTITION OF a ${RANGE} SERVER files OPTIONS (filename '/dev/null')`,
        /its partition public\.a1 is a foreign table, whose changes are not reported; use --refresh-seconds/,
      ],
    ] as const) {
      await server.sql(clear);
      await server.sql(sql);
      t.match(await problemOf(await open(), { identifiers: 'uuid' }), problem);
    }
  });
});
