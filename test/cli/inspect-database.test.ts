/** The commands that inspect proposes for a database run when they are pasted into a shell. */
import { spawnSync } from 'node:child_process';
import { type Test, test } from 'tap';
import { skip, startServer } from '../source/postgres/server.js';
import { start } from './lectern.js';
import { runHere } from './run-here.js';

// Servers start slowly on a busy machine.
const PASSWORD = 'a-word-that-no-message-shows';
const ROWS = 40;

const TABLES = `
  CREATE TABLE lessons (lesson_no integer PRIMARY KEY, course_code char(8) NOT NULL, starts timestamptz NOT NULL,
    ends timestamptz NOT NULL, room char(6), teacher text, subject varchar(80));
  INSERT INTO lessons SELECT n, 'M' || n % 3, t, t + '90 minutes', 'A' || n % 4, 'T. ' || n % 5, 'Algebra'
    FROM generate_series(1, ${ROWS}) n, LATERAL (SELECT '2026-09-14T08:00Z'::timestamptz + n * interval '1 day' AS t) s;
  CREATE VIEW lesson_list AS SELECT * FROM lessons;
  CREATE TABLE numbers (nr bigint PRIMARY KEY, start_time timestamptz, end_time timestamptz, room_id integer, study_group integer);
  INSERT INTO numbers SELECT lesson_no, starts, ends, lesson_no % 4, lesson_no % 3 FROM lessons;
  CREATE TABLE pairs (lesson integer REFERENCES lessons, team varchar(10), PRIMARY KEY (lesson, team));
  INSERT INTO pairs SELECT n, team FROM generate_series(1, ${ROWS / 2}) n, unnest(ARRAY['T1', 'T2']) team;
  CREATE TABLE local_times (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), day date, begins time, ends time, title text);
  INSERT INTO local_times (day, begins, ends, title) SELECT starts::date, '08:00', '09:30', subject FROM lessons;
  CREATE TABLE "it's" (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), von timestamptz, bis timestamptz);
  INSERT INTO "it's" (von, bis) SELECT starts, ends FROM lessons;
`;

/** The arguments of the proposed command, as a shell reads them. */
function pasted(t: Test, stdout: string): string[] {
  const [, command = ''] = /^ {2}(lectern serve .*)$/m.exec(stdout) ?? [];
  const script = `lectern() { printf '%s\\0' "$@"; }; ${command}`;
  const { stdout: words, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  t.equal(status, 0, command);
  return words.split('\0').slice(0, -1);
}

test('the command that inspect proposes for a database runs when it is pasted', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end), { auth: 'scram-sha-256' });
  await server.sql(`ALTER ROLE postgres PASSWORD '${PASSWORD}'; ${TABLES}`);
  const env = { PGPASSWORD: PASSWORD };
  const joined = `SELECT l.*, p.lesson, p.team FROM lessons l JOIN pairs p ON p.lesson = l.lesson_no`;
  const cases: readonly (readonly [rows: readonly string[], has: RegExp, hasNot: RegExp | null])[] = [
    [['--table', 'lessons'], /--map id=lesson_no .*--identifiers derived/, null],
    [['--table', 'lessons', '--identifiers', 'any'], /--map id=lesson_no .*--identifiers any/, /derived/],
    [['--table', 'lessons', '--map', 'title=room'], /--map id=lesson_no .*--map title=room/, /title=subject/],
    [['--table', 'lesson_list'], /--identifiers derived/, /--map id=/],
    [['--table', 'numbers'], /--map id=nr .*--identifiers any/, /studyGroup/],
    [['--query', joined], /--map id='\{lesson\}\/\{team\}'/, null],
    [['--table', 'local_times'], /--map time='\{day\} \{begins\}' .*--time-zone/, /identifiers/],
    [['--table', `"it's"`], /--map time=von --map endTime=bis/, /identifiers/],
  ];
  for (const [rows, has, hasNot] of cases) {
    await t.test(rows.join(' '), async (t) => {
      const argv = ['inspect', server.url(), ...rows];
      const { stdout, stderr } = await runHere(t, argv, env);
      t.match(stdout, has);
      if (hasNot !== null) t.notMatch(/^ {2}lectern serve .*/m.exec(stdout)?.[0], hasNot);
      t.notMatch(stdout + stderr, PASSWORD);
      const [, ...words] = pasted(t, stdout).filter((word) => word !== '--dev');
      const served = await runHere(t, ['inspect', ...words, '--json'], env);
      t.match(JSON.parse(served.stdout), { summary: { events: ROWS, rejected: 0 }, proposal: null });
      if (rows[1] === 'lessons') t.notMatch(served.stdout, /M[0-2] +"/, 'char(n) has no padding');
    });
  }

  await t.test('the command serves; a password of the address is asked for in a note', async (t) => {
    const full = server.url().replace('@', `:${PASSWORD}@`);
    const { stdout } = await runHere(t, ['inspect', full, '--table', 'lessons']);
    t.match(stdout, /the password of the address is not shown: give it as PGPASSWORD/);
    const service = start([...pasted(t, stdout), '--port', '0'], { PGPASSWORD: PASSWORD });
    const greeting = await service.printed(`${ROWS} events`);
    t.match(greeting, `${ROWS} events, loaded in`);
    service.child.kill('SIGTERM');
    t.equal((await service.ended).code, 0);
  });

  await t.test('rejected rows are named by their ids with every value of --identifiers', async (t) => {
    await server.sql('UPDATE numbers SET end_time = $1 WHERE nr = 7', ['2020-01-01T00:00:00Z']);
    const map = ['--map', 'id=nr', '--map', 'time=start_time', '--map', 'endTime=end_time'];
    for (const identifiers of ['any', 'derived']) {
      const argv = ['inspect', server.url(), '--table', 'numbers', ...map, '--identifiers', identifiers];
      const { stdout } = await runHere(t, argv, env);
      t.match(stdout, /^ {4}record with id "7": endTime/m, identifiers);
    }
    const wrong = ['inspect', server.url(), '--table', 'numbers', ...map, '--json'];
    const { stdout } = await runHere(t, wrong, env);
    t.match(JSON.parse(stdout).summary.rejections[0], { position: { id: /^\d+$/ }, field: 'id' });
  });
});
