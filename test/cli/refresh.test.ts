import { renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { hs256 } from '../auth/tokens.js';
import { HARD } from '../hard/size.js';
import { timeForAFault, until } from '../waiting/until.js';
import { start } from './lectern.js';
import { assertOneLine } from './run-here.js';

/** A busy machine is slower. */

function lines(count: number, title: string): string {
  return Array.from({ length: count }, (_, i) =>
    JSON.stringify({
      id: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
      time: '2026-09-14T08:00:00Z',
      endTime: '2026-09-14T09:00:00Z',
      title,
      studyGroup: 'G1',
    }),
  ).join('\n');
}

interface Health {
  readonly status: string;
  readonly snapshot: { readonly events: number; readonly origin: string } | null;
  readonly source: { readonly state: string; readonly lastError: string | null };
}

/** Requests /health until it is as expected. */
function healthWhen(origin: string, wanted: (health: Health) => boolean): Promise<Health> {
  return until(async () => (await (await fetch(`${origin}/health`)).json()) as Health, wanted);
}

test('serve follows its file, refuses broken data, loads on request, and starts from disk', async (t) => {
  const folder = t.testdir({ 'a.ndjson': lines(10, 'first') });
  const source = join(folder, 'a.ndjson');
  const snapshot = join(folder, 'snapshot');
  const put = (text: string): void => {
    writeFileSync(join(folder, 'new'), text);
    renameSync(join(folder, 'new'), source);
  };
  const options = ['--dev', '--port', '0', '--snapshot-file', snapshot];

  const first = start(['serve', source, ...options, '--log-level', 'info']);
  const origin = /at (http:\/\/[^/]+)/.exec(await first.printed('A new token'))?.[1] ?? '';
  put(lines(12, 'second'));
  t.equal((await healthWhen(origin, ({ snapshot }) => snapshot?.events === 12)).status, 'ok');

  put(lines(2, 'third'));
  const refused = await healthWhen(origin, ({ source }) => source.state === 'refused');
  t.match(refused, { status: 'degraded', snapshot: { events: 12 }, source: { lastError: /83\.3 % fewer/ } });
  first.child.kill('SIGHUP');
  await timeForAFault(300);
  t.equal((await healthWhen(origin, () => true)).snapshot?.events, 12, 'SIGHUP does not get past the gate');
  first.child.kill('SIGUSR2');
  t.match(await healthWhen(origin, ({ snapshot }) => snapshot?.events === 2), {
    status: 'ok',
    source: { state: 'loaded', lastError: null },
  });
  first.child.kill('SIGTERM');
  const outcome = await first.ended;
  t.equal(outcome.code, 0);
  t.match(outcome.stderr, /"added":2,"changed":10,"removed":0,"msg":"timetable published"/);
  t.match(outcome.stderr, /"msg":"timetable refused"/);
  // The same file again: nothing is loaded, and the output says why.
  t.match(
    outcome.stderr,
    /"signal":"SIGHUP","result":"refused","reason":"[^"]*83\.3 % fewer[^"]*","msg":"load on request ended"/,
  );
  t.match(
    outcome.stderr,
    /"signal":"SIGUSR2","result":"published","reason":null,"msg":"load on request ended"/,
  );

  const second = start(['serve', source, ...options]);
  const again = await second.printed('A new token');
  t.match(again, /^2 events, read from a snapshot file/m);
  second.child.kill('SIGTERM');
  t.equal((await second.ended).code, 0);

  const pinned = start(['serve', '--pin', snapshot, '--dev', '--port', '0']);
  t.match(await pinned.printed('A new token'), /^2 events, read from a snapshot file/m);
  pinned.child.kill('SIGTERM');
  t.equal((await pinned.ended).code, 0);

  const damaged = join(folder, 'damaged');
  writeFileSync(damaged, 'LECTERN and then something else');
  const failed = await start(['serve', '--pin', damaged, '--dev', '--port', '0']).ended;
  assertOneLine(t, failed, 1, /cannot be used: /, 'damaged');
});

test('an empty first load gives one clear line, unless empty timetables are allowed', async (t) => {
  const folder = t.testdir({ 'empty.json': '[]', 'none.ndjson': '{"id":"not-a-uuid"}\n{"id":"neither"}\n' });
  const refused = await start(['serve', join(folder, 'none.ndjson'), '--dev', '--port', '0']).ended;
  assertOneLine(
    t,
    refused,
    1,
    /none\.ndjson was refused: it has no events: all 2 records were rejected, the first at line 1: id is .*--identifiers derived.*lectern inspect/,
    'refused',
  );
  const empty = start([
    'serve',
    join(folder, 'empty.json'),
    '--dev',
    '--port',
    '0',
    '--shrink-percent-max',
    '100',
  ]);
  t.match(await empty.printed('A new token'), /^0 events/m);
  empty.child.kill('SIGTERM');
  t.equal((await empty.ended).code, 0);
});

test('SIGHUP takes up a secret file that looks unchanged, and keeps the secret when the file is bad', async (t) => {
  const [one, other] = ['1', '2'].map((digit) => digit.repeat(64)) as [string, string];
  const folder = t.testdir({ 'a.ndjson': lines(3, 'first'), secret: one });
  const path = join(folder, 'secret');
  /** The watch compares size and time, so only the signal can show this change. */
  const put = (text: string): void => {
    writeFileSync(path, text);
    utimesSync(path, 1_700_000_000, 1_700_000_000);
  };
  put(one);
  const options = ['--port', '0', '--hs256-secret-file', path, '--log-level', 'info'];
  const running = start(['serve', join(folder, 'a.ndjson'), ...options]);
  const { url } = await running.ready();
  const statusWith = async (secret: string): Promise<number> => {
    const token = hs256({ sub: 'a', exp: 4_000_000_000 }, { secret });
    return (await fetch(`${url}/schedule`, { headers: { Authorization: `Bearer ${token}` } })).status;
  };
  t.strictSame([await statusWith(one), await statusWith(other)], [200, 401]);
  put(other);
  await timeForAFault(1500);
  t.strictSame([await statusWith(one), await statusWith(other)], [200, 401], 'no watch sees it');
  running.child.kill('SIGHUP');
  const beganMs = performance.now();
  await until(
    () => statusWith(other),
    (seen) => seen === 200,
  );
  const tookMs = performance.now() - beganMs;
  if (HARD) t.ok(tookMs < 1000, `taken up after ${Math.round(tookMs)} ms`);
  t.equal(await statusWith(one), 401);
  put('too short'.padEnd(64).trimEnd());
  running.child.kill('SIGHUP');
  await timeForAFault(500);
  t.strictSame([await statusWith(one), await statusWith(other)], [401, 200], 'a bad file changes nothing');
  running.child.kill('SIGTERM');
  const { stderr } = await running.ended;
  t.match(stderr, path, 'the log names the file');
  for (const secret of [one, other, 'too short']) t.notOk(stderr.includes(secret), 'no secret in the log');
});
