/** The log of a whole session: one line for each event, and nothing about queries or users. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { start } from '../cli/lectern.js';
import { SLOW } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { bearer, serve, setUp } from '../http/harness.js';
import { get } from './threads.js';

const ADMIN_TOKEN = 'admin-token-that-nobody-knows';
const GROUP = 'A-group-that-tells-who-asks';
const SUBJECT = 'somebody@example.org';
const EVENT = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T09:00:00Z',
  studyGroup: GROUP,
};

interface Line {
  readonly msg: string;
  readonly [field: string]: unknown;
}

for (const workers of SLOW ? ['1', '2'] : ['2']) {
  test(`${workers} serving threads write the access log`, async (t) => {
    const folder = t.testdir({
      'events.ndjson': `${JSON.stringify(EVENT)}\n`,
      token: ADMIN_TOKEN,
    });
    const running = start(
      [
        'serve',
        join(folder, 'events.ndjson'),
        ...['--port', '0', '--admin-port', '0', '--workers', workers],
        ...['--admin-token-file', join(folder, 'token'), '--watch', 'off'],
        ...[
          '--access-log',
          '1',
          '--log-level',
          'debug',
          '--cors-origin',
          'https://a.example,https://b.example',
        ],
      ],
      { LECTERN_HS256_SECRET: SECRET },
    );
    const ready = await running.ready();
    t.equal(ready.events, 1);
    let log = '';
    running.child.stderr?.on('data', (text: string) => {
      log += text;
    });
    const lines = async (): Promise<Line[]> =>
      log
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Line);
    const base = ready.url;
    const token = hs256({ sub: SUBJECT, studyGroup: GROUP, exp: Math.floor(Date.now() / 1000) + 3600 });
    const bad = hs256({ sub: SUBJECT, exp: 1 });
    const headers = { authorization: `Bearer ${token}`, origin: 'https://a.example' };
    const asked: [string, Record<string, string>, number][] = [
      [`/schedule?studyGroup=${GROUP}&startTime=2024-09-02T00:00:00Z`, headers, 200],
      [`/schedule?studygroup=${GROUP}`, headers, 400],
      ['/schedule/personal', headers, 200],
      [`/schedule?studyGroup=${GROUP}`, { authorization: `Bearer ${bad}` }, 401],
      [`/nowhere/${GROUP}?token=${token}`, headers, 404],
    ];
    for (const [path, fields, status] of asked)
      t.equal((await get(base + path, fields)).status, status, path);
    // A refused set twice, and a failing load twice; each time the log has the reason.
    const { admin = '' } = ready;
    const load = async (): Promise<unknown> => {
      const authorization = `Bearer ${ADMIN_TOKEN}`;
      const response = await fetch(`${admin}/refresh`, { method: 'POST', headers: { authorization } });
      return ((await response.json()) as { outcome: unknown }).outcome;
    };
    const events = join(folder, 'events.ndjson');
    writeFileSync(events, '{}\n{}\n');
    t.equal(await load(), 'refused');
    t.equal(await load(), 'refused', 'the same again, too');
    writeFileSync(events, '{}\n'.repeat(3));
    t.equal(await load(), 'refused');
    rmSync(events);
    t.equal(await load(), 'failed');
    t.equal(await load(), 'failed');
    running.child.kill('SIGTERM');
    const { code, stderr } = await running.ended;
    t.equal(code, 0);
    log = stderr;
    const all = await lines();
    const secrets = { SECRET, ADMIN_TOKEN, GROUP, SUBJECT, token, bad, time: '2024-09-02T' };
    for (const [name, text] of Object.entries(secrets)) t.notOk(stderr.includes(text), name);
    const named = (msg: string): Line[] => all.filter((line) => line.msg === msg);
    t.strictSame(
      ['listening', 'timetable published', 'closing', 'closed'].map((msg) => named(msg).length),
      [1, 1, 1, 1],
    );
    // On a busy machine the first load may take long.
    const faults = all.filter(
      ({ level, msg }) => Number(level) > 30 && msg !== 'still waiting for the source',
    );
    t.match(
      faults,
      [
        { level: 40, msg: 'fields without values', fields: Array },
        { level: 40, msg: 'timetable refused', events: 0, rejected: 2, reason: String },
        { level: 40, msg: 'timetable refused', events: 0, rejected: 3, reason: String },
        { level: 50, msg: 'timetable not loaded', reason: /events\.ndjson/ },
      ],
      'one line for each new reason, in their order',
    );
    t.equal(faults.length, 4);
    t.equal(named('loading on request').length, 5);
    t.match(named('listening')[0], { address: /^http/, admin: /^http:\/\/127\.0\.0\.1:\d+$/, level: 30 });
    t.strictSame(
      // Lines of several threads come in any order.
      named('request')
        .map(({ method, route, status }) => `${method} ${route} ${status}`)
        .sort(),
      [
        'GET /schedule 200',
        'GET /schedule 400',
        'GET /schedule 401',
        'GET /schedule/personal 200',
        'GET none 404',
      ],
    );
    for (const line of named('request')) {
      t.ok(typeof line.durationMs === 'number' && line.durationMs > 0 && typeof line.bytes === 'number');
      t.strictSame(
        Object.keys(line).filter((key) => !['level', 'time', 'msg'].includes(key)),
        ['method', 'route', 'status', 'durationMs', 'bytes'],
      );
    }
  });
}

fastTest('the configured share of requests is logged, by default none', async (t) => {
  const random = Math.random;
  let n = 0;
  Math.random = () => (n++ % 10) / 10;
  t.teardown(() => {
    Math.random = random;
  });
  for (const [accessLog, expected] of [
    [0, 0],
    [0.3, 12],
    [1, 40],
  ] as const) {
    const { handler, logged } = setUp({ accessLog });
    const { send } = await serve(t, handler);
    for (let asked = 0; asked < 40; asked++) await send('/api/v1/schedule', { headers: bearer() });
    t.equal(logged.length, expected, `${accessLog}`);
  }
});

fastTest('requests refused before routing are logged, with their resource', async (t) => {
  const page = 'https://timetable.example.org';
  const { handler, logged } = setUp({ accessLog: 1, corsOrigins: [page] });
  const { send, raw } = await serve(t, handler);
  const preflight = { origin: page, 'access-control-request-method': 'GET' };
  await send('/api/v1/schedule', { method: 'OPTIONS', headers: preflight });
  await send('/api/v1/schedule/all', { headers: { expect: 'something' } });
  await raw('GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx');
  await raw('GET /api/v1/schedule/types HTTP/1.1\r\n\r\n');
  const repeated = 'Authorization: Bearer a\r\nAuthorization: Bearer b\r\n';
  await raw(`GET /api/v1/schedule/changes HTTP/1.1\r\nHost: a\r\n${repeated}\r\n`);
  await send('/api/v1/nowhere', { method: 'OPTIONS', headers: preflight });
  const lines = logged.map(({ fields }) => {
    const { method, route, status } = fields as Record<string, unknown>;
    return `${method} ${route} ${status}`;
  });
  t.strictSame(lines, [
    'OPTIONS /schedule 204',
    'GET /schedule/all 417',
    'GET /schedule 400',
    'GET /schedule/types 400',
    'GET /schedule/changes 400',
    'OPTIONS none 204',
  ]);
});
