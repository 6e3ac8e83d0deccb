/** The output in development mode. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { get } from '../app/threads.js';
import { lectern, start } from './lectern.js';
import { withoutWaiting } from './run-here.js';

test('development mode logs requests with --access-log', async (t) => {
  const running = start(['serve', 'fixtures/demo.ndjson.gz', '--dev', '--port', '0', '--access-log', '1']);
  const origin = /at (http:\/\/[^/]+)/.exec(await running.printed('A new token'))?.[1] ?? '';
  t.equal((await get(`${origin}/health`)).status, 200);
  running.child.kill('SIGTERM');
  t.match((await running.ended).stderr, /"method":"GET","route":"\/health","status":200/);
});

test('a misspelt variable causes a warning that repeats nothing of its value', async (t) => {
  const running = start(['serve', 'fixtures/demo.ndjson.gz', '--dev', '--port', '0'], {
    LECTERN_ISUER: 'hidden',
    LECTERN_SOMETHING_ELSE_ALTOGETHER: 'hidden',
    LECTERN_SERVICE_HOST: 'hidden',
    LECTERN_API_PORT_80_TCP_ADDR: 'hidden',
    LECTERN_LOG_LEVEL: 'error',
  });
  await running.printed('A new token');
  running.child.kill('SIGTERM');
  const { stderr } = await running.ended;
  t.equal(
    withoutWaiting(stderr),
    'warning: the variable "LECTERN_ISUER" is not one of Lectern\'s, and has no effect: did you mean LECTERN_ISSUER?\n' +
      'warning: the variable "LECTERN_SOMETHING_ELSE_ALTOGETHER" is not one of Lectern\'s, and has no effect\n',
  );
  const production = await lectern(['serve', 'fixtures/demo.ndjson.gz'], { env: { LECTERN_PROT: '0' } });
  const [line = ''] = production.stderr.split('\n');
  t.match(JSON.parse(line), { level: 40, msg: 'unknown variable', reason: /did you mean LECTERN_PORT\?$/ });
  const argv = ['serve', 'http://127.0.0.1:1/events.ndjson'];
  const header = ['--header', 'Authorization: Bearer env:LECTERN_UPSTREAM_TOKEN'];
  for (const [more, warnings] of [
    [header, 0],
    [[], 1],
  ] as const) {
    const { stderr } = await lectern([...argv, ...more], { env: { LECTERN_UPSTREAM_TOKEN: 'x' } });
    t.equal(stderr.split('unknown variable').length - 1, warnings, 'a header may refer to a variable');
  }
});

test('settings that may make a timetable stale cause a warning', async (t) => {
  const argv = ['serve', 'fixtures/demo.ndjson.gz', '--port', '0', '--stale-seconds-max', '3600'];
  const warned =
    /^warning: --stale-seconds-max without --refresh-seconds: .* until SIGHUP or POST \/refresh\n$/;
  for (const [more, expected] of [
    [[], warned],
    [['--refresh-seconds', '60'], /^$/],
  ] as const) {
    const running = start([...argv, '--dev', ...more]);
    await running.printed('A new token');
    running.child.kill('SIGTERM');
    t.match(withoutWaiting((await running.ended).stderr), expected);
  }
  const production = start(argv, { LECTERN_HS256_SECRET: 'a secret of 32 bytes or more, of a test' });
  t.equal((await production.ready()).events, 10_000);
  production.child.kill('SIGTERM');
  const { stderr } = await production.ended;
  const lines = withoutWaiting(stderr)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  t.match(
    lines.filter((line) => 'level' in line && line.level === 40),
    [{ msg: 'answers will become 503', reason: /503/ }],
  );
});

test('a changed file or a requested load is reported in a plain line', async (t) => {
  const event = (n: number): string =>
    `{"id":"00000000-0000-4000-8000-00000000000${n}","time":"2026-09-14T08:00:00Z","endTime":"2026-09-14T09:00:00Z"}\n`;
  const source = join(t.testdir({ 'a.ndjson': event(1) }), 'a.ndjson');
  const running = start(['serve', source, '--dev', '--port', '0']);
  await running.printed('A new token');
  writeFileSync(source, event(1) + event(2));
  await running.printed('\nloaded again: 2 events\n');
  running.child.kill('SIGHUP');
  await running.printed('\nloaded again: 2 events, unchanged\n');
  running.child.kill('SIGTERM');
  t.match((await running.ended).stdout, /unchanged\n$/);
});

test('of regular loads, only a change and the end of a failure are reported', async (t) => {
  const event = (n: number): string =>
    `{"id":"00000000-0000-4000-8000-00000000000${n}","time":"2026-09-14T08:00:00Z","endTime":"2026-09-14T09:00:00Z"}\n`;
  const source = join(t.testdir({ 'a.ndjson': event(1) }), 'a.ndjson');
  const argv = ['serve', source, '--dev', '--port', '0', '--watch', 'off', '--refresh-seconds', '3600'];
  const admin = ['--admin-port', '0', '--admin-token-file', join(t.testdirName, 'token')];
  writeFileSync(join(t.testdirName, 'token'), 'a-token-of-more-than-22-characters');
  const running = start([...argv, ...admin]);
  const printed = await running.printed('A new token');
  const origin = /Admin listener: (http:\/\/\S+)/.exec(printed)?.[1] ?? '';
  const authorization = 'Bearer a-token-of-more-than-22-characters';
  const load = async (): Promise<unknown> => {
    const answer = await fetch(`${origin}/refresh`, { method: 'POST', headers: { authorization } });
    return ((await answer.json()) as { outcome: unknown }).outcome;
  };
  t.equal(await load(), 'unchanged');
  writeFileSync(source, 'nonsense');
  t.equal(await load(), 'failed');
  writeFileSync(source, event(1));
  t.equal(await load(), 'unchanged');
  t.equal(await load(), 'unchanged');
  writeFileSync(source, event(1) + event(2));
  t.equal(await load(), 'published');
  await running.printed('loaded again: 2 events\n');
  running.child.kill('SIGTERM');
  const { stdout } = await running.ended;
  t.match(stdout, /\nloaded again: 1 event, unchanged\nloaded again: 2 events\n$/);
  t.equal(stdout.split('loaded again').length - 1, 2, 'and nothing else');
});
