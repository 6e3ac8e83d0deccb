/** Feeds on the command line: output, and refused settings. */
import { test } from 'tap';
import { hs256, SECRET as TOKEN_SECRET } from '../auth/tokens.js';
import { start } from './lectern.js';
import { assertOneLine, runHere, SECRET } from './run-here.js';

test('no output contains a part of a feed address', async (t) => {
  const running = start(
    ['serve', 'fixtures/demo.ndjson.gz', '--port', '0', '--workers', '2', '--access-log', '1'],
    { LECTERN_HS256_SECRET: TOKEN_SECRET, LECTERN_FEED_SECRET: SECRET },
  );
  t.teardown(() => running.child.kill());
  const { url } = await running.ready();
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const headers = { Authorization: `Bearer ${hs256({ sub: 'alice', exp })}` };
  const issued = await fetch(`${url}/schedule/feed?studyGroup=BIO-1D`, { headers });
  const address = ((await issued.json()) as { url: string }).url.replace(/\.\w+$/, '.json');
  const [payload = '', mac = ''] = (address.split('/').at(-1) as string).split('.');
  for (const each of [
    address,
    `${address}x`,
    address.replace('/feeds/', '//feeds/'),
    address.replace('/feeds/', '/feeds/x/'),
    address.replace('/feeds/', '/feeds%2f'),
    address.replace('.json', ''),
    `${address}?${payload}`,
    `${address}/`,
    `${address}%`,
    `${address}${'x'.repeat(9000)}`,
  ]) {
    await (await fetch(each)).arrayBuffer();
    await (await fetch(each, { method: 'POST', body: mac })).arrayBuffer();
    await (await fetch(each, { headers: { Authorization: mac } })).arrayBuffer();
  }
  running.child.kill();
  const { stdout, stderr } = await running.ended;
  t.match(stderr, '"route":"/feeds","status":200');
  t.match(stderr, '"route":"/feeds","status":404');
  for (let at = 0; at + 8 <= payload.length; at += 8) {
    t.notMatch(stdout + stderr, payload.slice(at, at + 8));
  }
  t.notMatch(stdout + stderr, mac.slice(0, 8));
});

test('wrong feed settings are reported at the start', async (t) => {
  const env = { LECTERN_FEED_SECRET: SECRET };
  const cases: readonly (readonly [
    code: number,
    argv: string[],
    env: Record<string, string>,
    message: RegExp,
  ])[] = [
    [
      2,
      [],
      { LECTERN_FEED_SECRET: 'short-secret' },
      /LECTERN_FEED_SECRET is invalid: it has 12 bytes; a feed secret needs at least 32/,
    ],
    [
      2,
      [],
      { LECTERN_FEED_SECRET: `${'x'.repeat(32)}\nbase64:!` },
      /LECTERN_FEED_SECRET is invalid: in line 2, it begins with base64:/,
    ],
    [
      2,
      ['--feed-days', '3661'],
      env,
      /--feed-days \(LECTERN_FEED_DAYS\) is 3661: it must be a whole number from 1 to 3660/,
    ],
    [2, ['--feed-days', '0'], env, /from 1 to 3660/],
    [
      2,
      ['--feed-days', '10'],
      {},
      /--feed-days has no effect without LECTERN_FEED_SECRET or --feed-secret-file/,
    ],
    [2, ['--public-url', 'https://x.example'], {}, /--public-url has no effect without LECTERN_FEED_SECRET/],
    [2, ['--feed-secret-file', 'x'], env, /the feed secret is given twice/],
    [
      2,
      ['--public-url', 'timetable.example.org'],
      env,
      /--public-url \(LECTERN_PUBLIC_URL\) is "timetable.example.org": it must be an address/,
    ],
    [2, ['--public-url', 'https://x.example/?a'], env, /must not have a user, a query or a fragment/],
    [
      1,
      ['--feed-secret-file', 'no-such-file'],
      {},
      /the feed secret file no-such-file cannot be read: there is no such file/,
    ],
    [
      1,
      ['--feed-secret-file', '.nvmrc'],
      {},
      /the feed secret file .nvmrc is invalid: it has \d+ bytes; a feed secret needs at least 32/,
    ],
    [
      1,
      ['--feed-revocations', 'no-such-file'],
      env,
      /the feed revocations no-such-file cannot be read: there is no such file/,
    ],
    [
      1,
      ['--feed-revocations', 'package.json'],
      env,
      /the feed revocations package.json, entry 1 is not a time/,
    ],
    [1, ['--feed-revocations', 'LICENSE'], env, /the feed revocations LICENSE is not JSON: line 1, column 1/],
  ];
  for (const [code, argv, env, message] of cases) {
    const serve = ['serve', 'fixtures/demo.ndjson.gz', '--dev', '--port', '0', ...argv];
    assertOneLine(t, await runHere(t, serve, env), code, message, `${argv.join(' ')} ${Object.keys(env)}`);
  }
});
