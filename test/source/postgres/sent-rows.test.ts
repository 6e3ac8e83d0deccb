import { test } from 'tap';
import { FIELDS } from '../../../src/base/model/fields.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { isSameImage, type SnapshotImage } from '../../../src/snapshot/image.js';
import { postgresSource } from '../../../src/source/postgres/postgres.js';
import { SLOW } from '../../hard/size.js';
import { fastTest } from '../../hard/slow-test.js';
import { eventsTable, skip, startServer } from './server.js';

fastTest('every type gives the same events as its JSON', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(eventsTable('events', 2000));
  const url = server.url();
  await server.sql(`CREATE TABLE empty AS SELECT * FROM events LIMIT 0; CREATE VIEW lectures AS SELECT * FROM events WHERE type = 'LEC';
    CREATE TABLE kinds (n int, ts timestamptz, tz timestamp, j json); INSERT INTO kinds VALUES (1, now(), now(), '{"a": 1}')`);
  await server.sql(`CREATE TYPE sort AS ENUM ('LEC', 'Ü "x"'); CREATE DOMAIN code AS varchar(20);
      CREATE TABLE typed AS SELECT id, CASE n % 9 WHEN 0 THEN 'infinity' WHEN 1 THEN '0044-03-15 BC' WHEN 2 THEN '12000-01-01'
          WHEN 3 THEN '1600-01-01T01:02:03.4567899Z' WHEN 4 THEN '9999-12-31T23:59:59.9999Z' ELSE "time" END::timestamptz AS "time",
        CASE n % 11 WHEN 0 THEN null WHEN 1 THEN 'infinity' ELSE "endTime" + interval '0.000999 s' END AS "endTime",
        CASE n % 5 WHEN 0 THEN e'a "b" \\\\ \\u0041\t\u0001 U0001F600' WHEN 1 THEN '' WHEN 2 THEN repeat('long ', 500) ELSE title END AS title,
        CASE n % 3 WHEN 0 THEN "roomId" END AS "roomId", "courseId"::text, "studyGroup"::code, lecturer::char(30), (ARRAY['LEC', 'Ü "x"'])[n % 2 + 1]::sort AS type,
        n AS "__proto__", repeat('x', 1500000 * (n % 700 = 0)::int) AS large, '{"a": [1]}'::json AS "Größe"
      FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM events) e ORDER BY n`);
  for (const table of ['typed', 'events', 'lectures', 'kinds', 'empty']) {
    const rules = { identifiers: 'any' } as const;
    const query =
      table === 'kinds' ? 'SELECT n AS id, tz AS "time", ts AS "endTime", j AS title FROM kinds' : undefined;
    const source = postgresSource({
      kind: 'postgres',
      url,
      ...(query === undefined ? { table } : { query }),
    });
    const hashSeed = [3, 4] as unknown as SnapshotImage['hashSeed'];
    const fast = await loadImage(source, rules, { hashSeed });
    const large = table === 'typed' ? 1_048_576 : Number.POSITIVE_INFINITY;
    const slow = await loadImage(source, rules, { hashSeed, onRecord: () => true });
    // One row takes about the same bytes in both forms.
    if (!['kinds', 'empty'].includes(table)) t.ok(fast.source.bytesRead < slow.source.bytesRead, table);
    t.ok(slow.image.summary.events > 0 || ['kinds', 'empty'].includes(table), table);
    const codesOf = ({ image }: typeof fast) =>
      image.summary.rejections.map(({ code, position, field }) => ({ code, position, field }));
    if (large === Number.POSITIVE_INFINITY) {
      t.ok(isSameImage(fast.image, slow.image), table);
      t.strictSame(codesOf(fast), codesOf(slow));
      t.strictSame(fast.image.summary.unserved, slow.image.summary.unserved);
      continue;
    }
    // A row whose other columns are too long is served: they are not sent.
    const tooLarge = codesOf(slow).filter(({ code }) => code === 'record-too-large');
    t.equal(tooLarge.length, 2);
    t.equal(fast.image.summary.events, slow.image.summary.events + 2);
  }
  await server.sql(
    `CREATE TABLE plans AS SELECT 'a' AS id, 1 AS day, '09:00'::time AS start, '10:30'::time AS until, ARRAY[1, 3] AS weeks`,
  );
  const when = { day: 'day', start: 'start', end: 'until', weeks: 'weeks', dayOne: 'monday' } as const;
  const terms = { autumn: { firstDay: '2026-09-28', weeks: 3 } };
  const plans = postgresSource({ kind: 'postgres', url, table: 'plans' });
  const { image } = await loadImage(plans, { identifiers: 'any', timeZone: 'UTC', when, terms });
  t.match(image.summary, { events: 2, rejected: 0 }, 'weekdays and arrays of weeks');
  const wrong = { identifiers: 'any', timeZone: 'UTC', when: { ...when, day: 'dya' }, terms } as const;
  await t.rejects(loadImage(plans, wrong), { message: /"dya" \(for when\.day; did you mean "day"\?\)/ });
});

test('every type in every field gives the same image as its JSON', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(
    `CREATE TYPE sort AS ENUM ('LEC', 'LAB'); CREATE DOMAIN code AS varchar(20); CREATE DOMAIN moment AS timestamptz`,
  );
  const hashSeed = [3, 4] as unknown as SnapshotImage['hashSeed'];
  const values = [
    ...["'2026-09-14T06:00:00.123456Z'::timestamptz", "'infinity'::timestamptz"],
    ...[
      "'2026-09-14T06:00'::timestamp",
      "'2026-09-14'::date",
      "'2026-09-14T06:00Z'::moment",
      "'08:00'::time",
    ],
    ...["'2F0E3B1C-0000-4000-8000-00000000000A'::uuid", "'2026-09-14T06:00:00Z'::text", "'LEC'::sort"],
    ...[
      "'LEC'::code",
      "'LEC'::varchar(9)",
      "'LEC'::char(9)",
      "'LEC'::name",
      `'LEC'::"char"`,
      "'Lec'::bpchar",
    ],
    ...[
      '7::int',
      '7::int8',
      '7.50::numeric',
      'true',
      "'{1}'::int[]",
      `'"LEC"'::json`,
      `'"LEC"'::jsonb`,
      "'x'::bytea",
    ],
    ...['null::text', 'null::timestamptz', 'null::uuid'],
  ];
  const usual = {
    id: "'a'::text",
    time: "'2026-01-01Z'::timestamptz",
    endTime: "'2026-12-31Z'::timestamptz",
  };
  const others = FIELDS.filter(({ required }) => !required).map(({ name }) => [name]);
  const single = FIELDS.map(({ name }) => [name]);
  const fieldsFor = (value: string): string[][] => {
    if (!SLOW) return [['time'], others.flat()];
    return /timestamptz|uuid/.test(value) ? single : [...single.slice(0, 3), others.flat()];
  };
  let binary = 0;
  for (const value of values) {
    for (const fields of fieldsFor(value)) {
      const given = { ...usual, ...Object.fromEntries(fields.map((field) => [field, value])) };
      const list = Object.entries(given).map(([name, of]) => `${of} AS "${name}"`);
      const source = postgresSource({
        kind: 'postgres',
        url: server.url(),
        query: `SELECT ${list.join(', ')}`,
      });
      const rules = { identifiers: 'any', timeZone: 'UTC' } as const;
      const fast = await loadImage(source, rules, { hashSeed });
      const slow = await loadImage(source, rules, { hashSeed, onRecord: () => true });
      t.ok(isSameImage(fast.image, slow.image), `${value} as ${fields}`);
      t.strictSame(
        fast.image.summary.rejections.map(({ code }) => code),
        slow.image.summary.rejections.map(({ code }) => code),
      );
      if (fast.source.bytesRead !== slow.source.bytesRead) binary++;
    }
  }
  t.ok(binary > (SLOW ? 50 : 12), `${binary} were read in the binary format`);
});
