/** The output in development mode. Inside for the lines about later loads, which need no service. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import type { Timetable } from '../../src/app/timetable-interface.js';
import { tellReloads, unknownVariables } from '../../src/cli/serve-messages.js';
import type { LoadResult } from '../../src/refresh/keeper.js';
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
  const headers = { Authorization: 'Bearer env:LECTERN_UPSTREAM_TOKEN' };
  t.strictSame(unknownVariables({ LECTERN_UPSTREAM_TOKEN: 'x' }, { sourceHeaders: headers }), []);
  t.equal(unknownVariables({ LECTERN_UPSTREAM_TOKEN: 'x' }, {}).length, 1);
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

  const lines: string[] = [];
  let listener: (event: { readonly result: LoadResult }) => void = () => {};
  const timetable = {
    summary: { events: 1 },
    on: (_: string, added: typeof listener) => {
      listener = added;
    },
  };
  tellReloads(timetable as unknown as Timetable, true, (line) => lines.push(line));
  for (const result of ['unchanged', 'failed', 'unchanged', 'unchanged', 'refused', 'published'] as const) {
    listener({ result });
  }
  t.strictSame(lines, ['loaded again: 1 event, unchanged\n', 'loaded again: 1 event\n']);
});
