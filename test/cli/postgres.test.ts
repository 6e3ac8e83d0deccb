import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { openTimetable } from '../../src/index.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { writeKeys } from '../fleet/fleet.js';
import { eventsTable, skip, startServer } from '../source/postgres/server.js';
import { until } from '../waiting/until.js';
import { start } from './lectern.js';
import { runHere } from './run-here.js';

// Servers and publishers start slowly on a busy machine.
const PASSWORD = 'a-word-that-no-message-shows';

test('a database is used from the command line', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end), { auth: 'scram-sha-256' });
  await server.sql(`${eventsTable('events', 60)} CREATE TABLE lessons AS SELECT id AS lesson, "time" AS begins, "endTime" AS ends, title AS subject FROM events;
    ALTER ROLE postgres PASSWORD '${PASSWORD}'; CREATE PUBLICATION lectern FOR TABLE events;`);
  const folder = mkdtempSync(join(tmpdir(), 'lectern-cli-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const bare = server.url();
  const full = bare.replace('@', `:${PASSWORD}@`);

  await t.test('inspect counts the rows of a table and proposes a map where one is needed', async (t) => {
    const good = await runHere(t, ['inspect', full, '--table', 'events', '--json']);
    t.equal(good.code, 0);
    t.match(JSON.parse(good.stdout), {
      source: { format: 'postgresql' },
      summary: { events: 60, rejected: 0 },
    });
    const odd = await runHere(t, ['inspect', full, '--table', 'lessons']);
    t.equal(odd.code, 1);
    t.match(odd.stdout, `lectern serve ${bare} --table lessons --map`);
    t.notMatch(good.stdout + odd.stdout + odd.stderr, PASSWORD);
    const mapped = await runHere(t, [
      'inspect',
      full,
      '--table',
      'lessons',
      '--map',
      'id=lesson',
      '--map',
      'time=begins',
      '--map',
      'endTime=ends',
    ]);
    t.match(mapped.stdout, /events +60/);
  });

  await t.test('export writes the events of a query', async (t) => {
    const output = join(folder, 'out.csv');
    const argv = [
      'export',
      bare,
      '--query',
      `SELECT * FROM events WHERE "studyGroup" = 'G-1'`,
      '--output',
      output,
    ];
    const { code, stderr } = await runHere(t, argv.with(1, full));
    t.equal(code, 0, stderr);
    t.equal(readFileSync(output, 'utf8').trim().split('\r\n').length, 2);
    const refused = await runHere(t, argv);
    t.equal(refused.code, 1);
    t.match(refused.stderr, /asks for a password for "postgres"; give it as PGPASSWORD/);
    // Runs in a separate process, because threads keep the variables from their start.
    const allowed = await start(argv, { PGPASSWORD: PASSWORD }).ended;
    t.equal(allowed.code, 0, allowed.stderr);
  });

  await t.test('serve follows a table, writes its snapshot file, and shows no password', async (t) => {
    const service = start(
      [
        'serve',
        full,
        '--table',
        'events',
        '--follow',
        '--port',
        '0',
        '--snapshot-file',
        join(folder, 'image'),
        // Only following can show a change.
        '--refresh-seconds',
        '3600',
      ],
      { LECTERN_HS256_SECRET: SECRET },
    );
    const { events, url } = await service.ready();
    t.equal(events, 60);
    const titles = async (): Promise<string[]> => {
      const headers = { Authorization: `Bearer ${hs256({ sub: 'a', exp: 4_000_000_000 })}` };
      const list = await (await fetch(`${url}/schedule/all`, { headers })).json();
      return (list as { title: string }[]).map(({ title }) => title);
    };
    await server.sql('DELETE FROM events WHERE title = $1', ['Lesson 1']);
    await server.sql("UPDATE events SET title = 'followed' WHERE title = 'Lesson 2'");
    await until(titles, (seen) => seen.includes('followed'));
    t.equal((await titles()).length, 59);
    t.notOk((await titles()).includes('Lesson 1'));
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    t.equal(code, 0);
    t.notMatch(stderr, PASSWORD);
    t.match(stderr, `"source":"${bare} (events)"`);
    await until(
      () => server.sql('SELECT FROM pg_replication_slots'),
      (slots) => slots.length === 0,
    );
    const pinned = openTimetable({ source: [], pin: join(folder, 'image') });
    t.equal((await pinned.ready).events, 59, 'the snapshot file has the changes');
    await pinned.close();
  });
});

test('a database is published, also while it is followed', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(`${eventsTable('events', 60)} CREATE PUBLICATION lectern FOR TABLE events;`);
  const folder = t.testdir();
  const { publisherKey } = writeKeys(folder, 'publisher');
  const common = ['--to', join(folder, 'share'), '--publisher-key', publisherKey];
  for (const rows of [
    ['--table', 'events', '--follow'],
    ['--query', 'SELECT * FROM events'],
  ]) {
    const { code, stderr } = await start(['publish', server.url(), ...rows, ...common, '--once']).ended;
    rmSync(join(folder, 'share'), { recursive: true });
    t.equal(code, 0, stderr);
    t.match(stderr, /"events":60,.*"msg":"timetable announced"/);
  }
  const bare = await start(['publish', server.url(), ...common]).ended;
  t.equal(bare.code, 2);
  t.match(bare.stderr, /a PostgreSQL source needs --table or --query/);
});

test('a program sees the names of its options in faults of a database source', async (t) => {
  const at = { kind: 'postgres', url: 'postgres://u@127.0.0.1:1/x' } as const;
  t.throws(() => openTimetable({ source: at }), { message: /a PostgreSQL source needs table or query$/ });
  t.throws(() => openTimetable({ source: { ...at, table: 'a', query: 'b' } }), {
    message: /table and query are both given/,
  });
});

test('database settings without effect, or in conflict, are refused', async (t) => {
  const url = `postgres://u:${PASSWORD}@127.0.0.1:1/x`;
  for (const [argv, message] of [
    [[url], /a PostgreSQL source needs --table or --query/],
    [[url, '--table', 'a', '--query', 'SELECT 1'], /--table and --query are both given/],
    [['events.csv', '--table', 'a'], /--table has no effect, as no source is a PostgreSQL address/],
    [['timetable.yaml', '--follow'], /--follow has no effect with a timetable file, which says it itself/],
    [
      [url, 'events.csv', '--table', 'a', '--follow'],
      /--follow needs a table or query that is the only source; with several sources, give --refresh-seconds/,
    ],
    [[url, '--table', 'a', '--follow', '--watch', 'off'], /--follow has no effect with --watch off/],
    [[url, '--table', ''], /--table .* must not be empty/],
    [[`${url}?sslmod=x`, '--table', 'a'], /did you mean sslmode\?/],
  ] as const) {
    const { code, stderr, stdout } = await runHere(t, ['serve', '--dev', ...argv]);
    t.equal(code, 2, stderr);
    t.match(stderr, message);
    t.notMatch(stderr + stdout, PASSWORD);
  }
});
