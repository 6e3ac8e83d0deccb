/**
 * Which rows of a query a change concerns: for generated queries and changes, every row that differs afterwards is among
 * them. This is asked of the plan itself, because a timetable would also be right if all rows were read each time.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { Database } from '../../../src/source/postgres/database.js';
import { describeRows } from '../../../src/source/postgres/described-rows.js';
import { type FollowPlan, planFollowing } from '../../../src/source/postgres/follow-plan.js';
import { concernedKeys } from '../../../src/source/postgres/follower.js';
import { parsePostgresAddress } from '../../../src/source/postgres/postgres-address.js';
import { size } from '../../hard/size.js';
import { skip, startServer } from './server.js';

const TABLES = `
CREATE TABLE buildings (nr integer PRIMARY KEY, name text);
CREATE TABLE rooms (nr integer PRIMARY KEY, name text, building integer, open boolean);
CREATE TABLE courses (code varchar(10) PRIMARY KEY, name text);
CREATE TABLE teams (nr integer PRIMARY KEY, name text);
CREATE TABLE teachers (nr integer PRIMARY KEY, name text);
CREATE TABLE lessons (nr integer PRIMARY KEY, name text, room integer, course varchar(10), starts integer);
CREATE TABLE terms (nr integer PRIMARY KEY, first integer, last integer);
CREATE TABLE lesson_teams (lesson integer, team integer, PRIMARY KEY (lesson, team));
CREATE TABLE lesson_teachers (nr integer PRIMARY KEY, lesson integer, teacher integer);
ALTER TABLE terms REPLICA IDENTITY FULL; ALTER TABLE lesson_teachers REPLICA IDENTITY FULL;
CREATE PUBLICATION lectern FOR ALL TABLES;`;

type Value = string | number | boolean | null;
type Row = Readonly<Record<string, Value>>;
type Data = Readonly<Record<string, readonly Row[]>>;

const small = fc.integer({ min: 1, max: 4 });
const maybe = fc.option(small, { freq: 5 });
const name = fc.constantFrom('a', 'b', 'c');
/** Columns of each table; the first ones are the key. */
const COLUMNS: Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<Value>>>>> = {
  buildings: { nr: small, name },
  rooms: { nr: small, name, building: maybe, open: fc.boolean() },
  courses: { code: name, name },
  teams: { nr: small, name },
  teachers: { nr: small, name },
  lessons: { nr: fc.integer({ min: 1, max: 8 }), name, room: maybe, course: fc.option(name), starts: small },
  terms: { nr: small, first: small, last: maybe },
  lesson_teams: { lesson: fc.integer({ min: 1, max: 8 }), team: small },
  lesson_teachers: {
    nr: fc.integer({ min: 1, max: 8 }),
    lesson: fc.integer({ min: 1, max: 8 }),
    teacher: maybe,
  },
};
const keyOf = (table: string, row: Row): string =>
  JSON.stringify(table === 'lesson_teams' ? Object.values(row) : Object.values(row)[0]);

const rows = fc.record(
  Object.fromEntries(
    Object.entries(COLUMNS).map(([table, columns]) => [
      table,
      fc.uniqueArray(fc.record(columns), {
        minLength: 2,
        maxLength: 8,
        size: 'max',
        selector: (row) => keyOf(table, row as Row),
      }),
    ]),
  ),
) as unknown as fc.Arbitrary<Data>;

/** Removed, changed and added rows of some tables. */
const changed = (before: Data): fc.Arbitrary<Data> =>
  fc
    .tuple(
      rows,
      fc.array(fc.tuple(fc.constantFrom(...Object.keys(COLUMNS)), fc.nat(7)), { minLength: 1, maxLength: 4 }),
    )
    .map(([other, places]) => {
      const after: Record<string, readonly Row[]> = { ...before };
      for (const [table, at] of places) {
        const [added] = (other[table] ?? []).slice(at % Math.max(1, other[table]?.length ?? 1));
        const old = after[table] ?? [];
        const kept = old.filter(
          (row, n) => n !== at && (added === undefined || keyOf(table, row) !== keyOf(table, added)),
        );
        after[table] = added === undefined ? kept : [...kept, added];
      }
      return after;
    });

const join = fc.constantFrom('JOIN', 'LEFT JOIN');
const pieces = fc.array(
  fc.oneof(
    fc
      .tuple(
        join,
        fc.constantFrom(
          'rooms {} ON {}.nr = l.room',
          'rooms {} ON {}.nr = l.room AND {}.open',
          'courses {} ON {}.code = l.course',
          'rooms {} ON {}.nr = coalesce(l.room, 1)',
          '{}.last: terms {} ON l.starts >= {}.first AND {}.nr = 1',
          '{}.last: terms {} ON {}.nr = 2',
          '{}b.team: terms {} ON true LEFT JOIN lesson_teams {}b ON {}b.lesson = l.nr AND {}b.team = {}.nr',
          '{}b.n: terms {} ON true JOIN LATERAL (SELECT count(*) AS n FROM lesson_teams lt WHERE lt.lesson = l.nr AND lt.team = {}.nr) {}b ON true',
          '(SELECT r.nr, b.name FROM rooms r LEFT JOIN buildings b ON b.nr = r.building) {} ON {}.nr = l.room',
          '(SELECT r.nr, b.name FROM rooms r JOIN buildings b ON b.nr = r.building WHERE r.open) {} ON {}.nr = l.room',
          `(SELECT lt.lesson, string_agg(t.name, ',' ORDER BY t.nr) AS name FROM lesson_teams lt JOIN teams t ON t.nr = lt.team GROUP BY lt.lesson) {} ON {}.lesson = l.nr`,
          `(SELECT lt.lesson, count(*)::text AS name FROM lesson_teams lt GROUP BY 1 HAVING count(*) > 1) {} ON {}.lesson = l.nr`,
          `LATERAL (SELECT x.name FROM lesson_teachers lk LEFT JOIN teachers x ON x.nr = lk.teacher WHERE lk.lesson = l.nr ORDER BY lk.nr LIMIT 1) {} ON true`,
          `LATERAL (SELECT count(x.name)::text AS name FROM lesson_teachers lk LEFT JOIN teachers x ON x.nr = lk.teacher WHERE lk.lesson = l.nr) {} ON true`,
          `LATERAL (SELECT string_agg(o.name, ',' ORDER BY o.nr) AS name FROM lessons o WHERE o.room = l.room AND o.nr <> l.nr) {} ON true`,
          '(SELECT DISTINCT ON (lesson) lesson, teacher::text AS name FROM lesson_teachers ORDER BY lesson, nr) {} ON {}.lesson = l.nr',
          '(SELECT max(name) AS name FROM buildings) {} ON true',
        ),
      )
      .map(([how, what]) => {
        const [, column = '{}.name', sql = what] = /^([^ ]+): (.*)$/s.exec(what) ?? [];
        return { join: `${how} ${sql}`, column };
      }),
    fc
      .constantFrom(
        `(SELECT string_agg(t.name, ',' ORDER BY t.nr) FROM lesson_teams lt JOIN teams t ON t.nr = lt.team WHERE lt.lesson = l.nr)`,
        `(SELECT r.name FROM rooms r WHERE r.nr = l.room)`,
        `(SELECT b.name FROM rooms r LEFT JOIN buildings b ON b.nr = r.building WHERE r.nr = l.room)`,
        '(SELECT max(name) FROM teachers)',
      )
      .map((value) => ({ value })),
    fc
      .constantFrom(
        'EXISTS (SELECT FROM lesson_teams e JOIN teams t ON t.nr = e.team WHERE e.lesson = l.nr)',
        `NOT EXISTS (SELECT FROM lesson_teachers e LEFT JOIN teachers t ON t.nr = e.teacher WHERE e.lesson = l.nr AND t.name = 'a')`,
        'NOT EXISTS (SELECT FROM rooms e WHERE e.nr = l.room AND NOT e.open)',
        'l.nr IN (SELECT lesson FROM lesson_teams)',
        'l.nr NOT IN (SELECT lesson FROM lesson_teams)',
        `l.name <> 'c'`,
        'l.room IN (SELECT nr FROM rooms WHERE open)',
      )
      .map((filter) => ({ filter })),
  ),
  { maxLength: 4 },
);
type Piece = {
  readonly join?: string;
  readonly column?: string;
  readonly value?: string;
  readonly filter?: string;
};

const query: fc.Arbitrary<string> = fc
  .tuple(
    pieces as fc.Arbitrary<Piece[]>,
    fc.constantFrom(
      'plain',
      'plain',
      'grouped',
      'teams',
      'distinct',
      'limit',
      'view of all',
      'window',
      'text',
      'outer',
    ),
  )
  .map(([list, form]) => {
    const joins = list.flatMap(({ join: each }, n) =>
      each === undefined ? [] : [each.replaceAll('{}', `j${n}`)],
    );
    const names = list.flatMap(({ column }, n) => column?.replaceAll('{}', `j${n}`) ?? []);
    const values = [...names, ...list.flatMap(({ value }) => value ?? [])].map(
      (value, n) => `${value} AS v${n}`,
    );
    const filters = list.flatMap(({ filter }) => filter ?? []);
    const from = `FROM lessons l ${joins.join(' ')}`;
    const where = filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`;
    const all = ['l.nr AS id', 'l.name', ...values].join(', ');
    switch (form) {
      case 'grouped':
        return `SELECT l.nr AS id, ${[...names.map((each, n) => `max(${each}) AS v${n}`), 'array_agg(gt.name ORDER BY gt.nr) AS teams'].join(', ')} ${from}
          LEFT JOIN lesson_teams g ON g.lesson = l.nr LEFT JOIN teams gt ON gt.nr = g.team ${where} GROUP BY l.nr`;
      case 'teams':
        return `SELECT ${['g.lesson AS id', 'g.team AS part', 'gt.name', ...values].join(', ')} ${from} JOIN lesson_teams g ON g.lesson = l.nr LEFT JOIN teams gt ON gt.nr = g.team ${where}`;
      case 'distinct':
        return `SELECT DISTINCT ${all} ${from} ${where}`;
      case 'limit':
        return `SELECT ${all} ${from} ${where} ORDER BY l.nr LIMIT 4`;
      case 'view of all':
        return `SELECT * FROM (SELECT ${all} ${from} ${where}) s`;
      case 'window':
        return `SELECT ${all}, row_number() OVER (ORDER BY l.nr) AS n ${from} ${where}`;
      case 'text':
        return `SELECT md5(l.nr || '/')::uuid AS id, ${['l.name', ...values].join(', ')} ${from} ${where}`;
      case 'outer':
        return `SELECT * FROM (SELECT l.nr AS id, b.name FROM buildings b LEFT JOIN rooms r ON r.building = b.nr AND r.open LEFT JOIN lessons l ON l.room = r.nr AND l.starts > 1) s WHERE id IS NOT NULL`;
      default:
        return `SELECT ${all} ${from} ${where}`;
    }
  });

const NONE: Data = Object.fromEntries(Object.keys(COLUMNS).map((table) => [table, []]));
const lesson = (nr: number): Row => ({ nr, name: 'a', room: nr, course: null, starts: 1 });
const room = (nr: number): Row => ({ nr, name: 'a', building: null, open: true });

/** Queries in which a way would be wrong: past a row that may be missing, and past a node that mixes rows. */
const EXAMPLES: [string, [Data, Data]][] = [
  [
    'SELECT l.nr AS id, b.team FROM lessons l JOIN terms a ON true LEFT JOIN lesson_teams b ON b.lesson = l.nr AND b.team = a.nr',
    [
      { ...NONE, lessons: [lesson(1)], terms: [{ nr: 1, first: 1, last: 1 }] },
      { ...NONE, lessons: [lesson(1)] },
    ],
  ],
  [
    'SELECT l.nr AS id, r.name FROM lessons l JOIN rooms r ON r.nr = l.room ORDER BY l.nr LIMIT 1',
    [
      { ...NONE, lessons: [lesson(1), lesson(2)], rooms: [room(1), room(2)] },
      { ...NONE, lessons: [lesson(1), lesson(2)], rooms: [room(2)] },
    ],
  ],
];

test('a change of any table concerns at least the rows of the query that differ afterwards', {
  skip,
}, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(TABLES);
  const database = await Database.open(parsePostgresAddress(server.url()), {
    name: 'query',
    answerMsMax: 30_000,
  });
  t.teardown(() => database.close());

  const put = async (before: Data, after: Data): Promise<void> => {
    const statements = Object.keys(COLUMNS).flatMap((table) => {
      if (before[table] === after[table]) return [];
      const texts = (after[table] ?? []).map(
        (row) =>
          `(${Object.values(row)
            .map((value) => (value === null ? 'NULL' : `'${value}'`))
            .join(', ')})`,
      );
      return [
        `DELETE FROM ${table}`,
        ...(texts.length === 0 ? [] : [`INSERT INTO ${table} VALUES ${texts.join(', ')}`]),
      ];
    });
    await database.query(['BEGIN', ...statements, 'COMMIT'].join('; '));
  };
  const answerOf = async (text: string, key: readonly string[]): Promise<Map<string, string[]>> => {
    const found = new Map<string, string[]>();
    for (const row of await database.query<Record<string, unknown>>(`SELECT * FROM (${text}) q`)) {
      const id = JSON.stringify(key.map((column) => String(row[column])));
      found.set(id, [...(found.get(id) ?? []), JSON.stringify(row)].sort());
    }
    return found;
  };
  /** What the stream reports of changed rows, as `[oid, …key]`. Null if a change concerns unknown rows. */
  const reportOf = async (plan: FollowPlan, before: Data, after: Data): Promise<string[] | null> => {
    const told: string[] = [];
    for (const table of Object.keys(COLUMNS)) {
      const rowsOf = (data: Data): Map<string, Row> =>
        new Map((data[table] ?? []).map((row) => [JSON.stringify(Object.values(row)), row]));
      const [old, now] = [rowsOf(before), rowsOf(after)];
      const differing = [
        ...[...old].filter(([text]) => !now.has(text)),
        ...[...now].filter(([text]) => !old.has(text)),
      ];
      if (differing.length === 0) continue;
      const [{ oid } = { oid: 0 }] = await database.query<{ oid: number }>(
        `SELECT $1::regclass::oid::int AS oid`,
        [table],
      );
      const columns = plan.keys.get(oid);
      if (columns === null) return null;
      if (columns === undefined) continue;
      for (const [, row] of differing)
        told.push(
          JSON.stringify([
            oid,
            ...columns.map((column) => (row[column] === null ? null : String(row[column]))),
          ]),
        );
    }
    return told;
  };

  const counts = { known: 0, whole: 0, concerned: 0, differing: 0, queries: 0 };
  await fc.assert(
    fc.asyncProperty(
      query,
      rows.chain((before) => fc.tuple(fc.constant(before), changed(before))),
      async (text, [before, after]) => {
        await put({}, before);
        const key = text.includes(' AS part') ? ['id', 'part'] : ['id'];
        const described = await describeRows(database, { query: text }, 'query');
        const fieldMap = { id: key.map((column) => `{${column}}`).join('/') };
        const plan = await planFollowing(database, described, { identifiers: 'any', fieldMap }, 'query');
        counts.queries++;
        const earlier = await answerOf(text, key);
        await put(before, after);
        const later = await answerOf(text, key);
        const told = await reportOf(plan, before, after);
        if (told === null) {
          counts.whole++;
          return;
        }
        counts.known++;
        const concerned = new Set(
          (await concernedKeys(database, plan, told))?.map((each) => JSON.stringify(each)),
        );
        const differing = [...new Set([...earlier.keys(), ...later.keys()])].filter(
          (id) => JSON.stringify(earlier.get(id)) !== JSON.stringify(later.get(id)),
        );
        counts.concerned += concerned.size;
        counts.differing += differing.length;
        for (const id of differing) {
          if (concerned.has(id)) continue;
          throw new Error(
            `${id} differs, and is not among ${[...concerned]}: ${text}\n${JSON.stringify([...plan.concerned])}`,
          );
        }
      },
    ),
    {
      numRuns: Number(process.env.RUNS ?? size(12, 3000, 400)),
      seed: Number(process.env.SEED ?? 20260914),
      examples: EXAMPLES,
    },
  );
  t.comment(JSON.stringify(counts));
  t.ok(counts.known > counts.whole, 'most changes are traced');
});
