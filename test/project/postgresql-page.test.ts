/** The statements and commands of docs/postgresql.md run in their order against a real server. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { type Test, test } from 'tap';
import { start } from '../cli/lectern.js';
import { runHere } from '../cli/run-here.js';
import { skip, startServer } from '../source/postgres/server.js';
import { until } from '../waiting/until.js';

const PAGE = readFileSync(new URL('../../docs/postgresql.md', import.meta.url), 'utf8');
const ADDRESS = 'postgres://lectern@db.example.org/school';
/** Events of each served command, in the order of the page. */
const EVENTS = [3, 2, 3, 1];

function blocks(language: string): string[] {
  return [...PAGE.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, tag]) => tag === language)
    .map(([, , text]) => text as string);
}

/** The words of a command, as a shell splits them. */
function wordsOf(command: string): string[] {
  const script = `lectern() { printf '%s\\0' "$@"; }; ${command}`;
  return spawnSync('bash', ['-c', script], { encoding: 'utf8' }).stdout.split('\0').slice(0, -1);
}

/** A shown line, in which … stands for any text. */
function patternOf(line: string): RegExp {
  const parts = line.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'm');
}

/** The statement of the page that renames a room changes what the service answers. */
async function showRenamedRoom(t: Test, greeting: string, client: pg.Client): Promise<void> {
  const [, token] = /Bearer (\S+?)'/.exec(greeting) ?? [];
  const [, origin] = /'(http:[^']*?)\/schedule/.exec(greeting) ?? [];
  const rooms = async (): Promise<string> =>
    (await fetch(`${origin}/schedule/rooms`, { headers: { authorization: `Bearer ${token}` } })).text();
  t.match(await rooms(), 'A 101');
  const [, statement = ''] = /Now `(UPDATE rooms [^`]*)`/.exec(PAGE) ?? [];
  await client.query(statement);
  await until(rooms, (seen) => seen.includes('A 102') && !seen.includes('A 101'));
}

test('the page on PostgreSQL', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql('CREATE DATABASE school');
  const client = new pg.Client(server.url('school'));
  client.on('error', () => {});
  await client.connect();
  t.teardown(() => client.end().catch(() => {}));
  const local = (text: string): string => text.replaceAll(ADDRESS, server.url('school', 'lectern'));

  await t.test('its statements run', async (t) => {
    t.ok(blocks('sql').length > 4);
    for (const block of blocks('sql')) await client.query(block);
    await client.query(`INSERT INTO events (id, "time", "endTime") VALUES (gen_random_uuid(), now(), now())`);
    const inTable = [...PAGE.matchAll(/^\| .* \| `((?:CREATE PUBLICATION|ALTER ROLE)[^`]*)` \|$/gm)];
    t.equal(inTable.length, 2);
    for (const [, statement = ''] of inTable) await client.query(statement);
  });

  await t.test('its commands print and serve what the page says', async (t) => {
    const commands = blocks('console').flatMap((block) =>
      block
        .split(/^\$ /m)
        .slice(1)
        .filter((text) => text.startsWith('lectern ')),
    );
    const served: number[] = [];
    for (const text of commands) {
      const [first = '', ...output] = local(text).trimEnd().split('\n');
      if (first.startsWith('lectern inspect')) {
        const { stdout } = await runHere(t, wordsOf(first));
        for (const line of output.filter((each) => each !== '…')) t.match(stdout, patternOf(line));
        continue;
      }
      const service = start([...wordsOf(local(text)), '--port', '0']);
      const greeting = await service.printed(', loaded in');
      served.push(Number(/^([\d,]+) events?, loaded/m.exec(greeting)?.[1]));
      if (text.includes('lesson_groups') && text.includes('--follow'))
        await showRenamedRoom(t, greeting, client);
      service.child.kill('SIGTERM');
      t.equal((await service.ended).code, 0, first);
    }
    t.strictSame(served, EVENTS);
  });

  await t.test('local times that come twice or not at all are read as the page says', async (t) => {
    const rows = [...PAGE.matchAll(/^\| ([\d-]+ [\d:]+), which .* \| (\S+Z) \| (\S+Z) \|$/gm)];
    t.equal(rows.length, 2);
    for (const [, time = '', ours = '', theirs = ''] of rows) {
      const query = `SELECT '${time}'::timestamp AS time, ('${time}'::timestamp AT TIME ZONE 'Europe/Berlin') AS "endTime",
        md5('x')::uuid AS id`;
      const argv = [
        'export',
        server.url(),
        '--query',
        query,
        '--time-zone',
        'Europe/Berlin',
        '--format',
        'ndjson',
      ];
      const { stdout } = await runHere(t, argv);
      const found = JSON.parse(stdout) as { readonly time: string; readonly endTime: string };
      const expected = [ours, theirs].map((each) => each.replace('Z', '.000Z'));
      t.strictSame([found.time, found.endTime], expected, time);
    }
  });
});
