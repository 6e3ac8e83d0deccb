/** Options for rotations and for credentials of sources that contradict each other. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'tap';
import { start } from './lectern.js';
import { runHere } from './run-here.js';

const ADDRESS = ['serve', 'http://127.0.0.1:9/', '--dev'];
const ID = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const HIDDEN = 'a value that no message shows';

const CASES: readonly (readonly [argv: readonly string[], message: RegExp])[] = [
  [
    [...ADDRESS, '--header', `https://other.example X-Key: ${HIDDEN}`],
    /header X-Key is for https:\/\/other\.example, but no source has this origin; expected one of http:\/\/127/,
  ],
];

test('credential options without effect are refused', async (t) => {
  for (const [argv, message] of CASES) {
    const { code, stderr } = await runHere(t, [...argv]);
    t.equal(code, 2, message.source);
    t.match(stderr, message);
    t.notMatch(stderr, HIDDEN);
  }
});

test('inspect, explain and export send header fields to addresses', async (t) => {
  const body = `${JSON.stringify({ id: ID, time: '2026-01-01T08:00:00Z', endTime: '2026-01-01T09:00:00Z', title: 'Algebra' })}\n`;
  const keys: unknown[] = [];
  const server = createServer((req, res) => {
    keys.push(req.headers['x-key']);
    res.writeHead(req.headers['x-key'] === HIDDEN ? 200 : 401, { 'Content-Type': 'application/x-ndjson' });
    res.end(req.headers['x-key'] === HIDDEN ? body : '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/events`;
  const commands = [
    ['inspect', url],
    ['explain', url, 'limit=1'],
    ['export', url, '--format', 'ndjson'],
  ];
  for (const argv of commands) {
    const found = await runHere(t, [...argv, '--header', 'X-Key: env:SOURCE_KEY'], { SOURCE_KEY: HIDDEN });
    t.equal(found.code, 0, argv.join(' '));
    t.notMatch(found.stdout + found.stderr, HIDDEN);
    const refused = await runHere(t, [...argv, '--header', 'X-Key: wrong']);
    t.equal(refused.code, 1, `${argv[0]} with a wrong key`);
  }
  t.ok(keys.includes(HIDDEN));
});

test('a secret in the query of an address gets a warning, and nothing shows it', async (t) => {
  const server = createServer((_req, res) => {
    res.writeHead(500);
    res.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/z.ics?user=ada&access_token=hidden-4711`;
  const file = join(t.testdir({ 'timetable.yaml': `sources: [{ from: '${url}' }]` }), 'timetable.yaml');
  for (const argv of [
    ['serve', url, '--port', '0', '--dev'],
    ['serve', file, '--port', '0', '--dev'],
    ['inspect', url],
    ['inspect', file],
    ['export', file, '--format', 'csv'],
  ]) {
    const { stdout, stderr, code } = await runHere(t, argv);
    t.equal(code, 1, argv.join(' '));
    t.notMatch(stdout + stderr, /hidden-4711/);
    t.match(stderr, /user=…&access_token=…/);
    // In development, `serve` has no log for warnings of a file.
    if (argv.includes(file) !== (argv[0] === 'serve'))
      t.match(stderr, /the query of the address holds a secret \(access_token\)/);
  }
});

test('neither /health nor the log shows secrets of a source that fails', async (t) => {
  let isGood = true;
  const server = createServer((_req, res) => {
    res.writeHead(isGood ? 200 : 500, { 'Content-Type': 'text/csv' });
    res.end('id,time,endTime,title\n1,2026-10-05T08:00:00Z,2026-10-05T09:00:00Z,Algebra\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/z.csv?access_token=hidden-4711`;
  const path = join(
    t.testdir({
      'timetable.yaml': `sources:
  - from: http://127.0.0.1:${port}/z.csv?access_token=hidden-4711
    headers: { X-Key: hidden-4712 }
    identifiers: any
`,
    }),
    'timetable.yaml',
  );
  for (const source of [[path], [url, '--identifiers', 'any']]) {
    isGood = true;
    const running = start(['serve', ...source, '--dev', '--port', '0', '--log-level', 'debug']);
    const shown = await running.printed('Documentation: ');
    const [, base = ''] = / at (\S+) \(development/.exec(shown) ?? [];
    isGood = false;
    running.child.kill('SIGHUP');
    let health = '';
    while (!health.includes('the answer is 500'))
      health = await (await fetch(new URL('/health', base))).text();
    running.child.kill('SIGTERM');
    const { stdout, stderr } = await running.ended;
    t.match(stderr, /the answer is 500/, 'the log says what failed');
    t.notMatch(health + stdout + stderr, /hidden-471/);
  }
});

test('a header field without an address is refused', async (t) => {
  for (const command of ['inspect', 'export']) {
    const source = [command, 'nowhere.ndjson', ...(command === 'export' ? ['--format', 'csv'] : [])];
    const { code, stderr } = await runHere(t, [...source, '--header', `X-Key: ${HIDDEN}`]);
    t.equal(code, 2, command);
    t.match(stderr, /header X-Key has no effect, as no source is an http\(s\) address/);
    t.notMatch(stderr, HIDDEN);
  }
});
