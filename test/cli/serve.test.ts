import { join } from 'node:path';
import { SignJWT } from 'jose';
import { test } from 'tap';
import { lectern, start, startNode } from './lectern.js';
import { runHere, withoutWaiting } from './run-here.js';

const DEMO = 'fixtures/demo.ndjson.gz';
const SECRET = 'this-is-a-secret-of-more-than-thirty-two-bytes';

test('development mode prints the address and a working curl line, and ends quietly', async (t) => {
  const { child, ended, printed } = start(['serve', DEMO, '--dev', '--port', '0', '--admin-port', '0']);
  const text = await printed('A new token');
  t.match(
    text,
    /^Lectern serves fixtures\/demo\.ndjson\.gz at http:\/\/127\.0\.0\.1:\d+\/api\/v1 \(development\)$/m,
  );
  t.match(text, /^10,000 events, loaded in [\d,.]+ ms, [\d.]+ MB in memory$/m);
  t.notMatch(text, /left out/);
  const admin = /^Admin listener: (http:\S+) /m.exec(text)?.[1] ?? '';
  t.equal((await fetch(`${admin}/ready`)).status, 200);
  const curl = /curl -H '([^:']+): ([^']+)' '([^']+)'/.exec(text);
  const response = await fetch(curl?.[3] ?? '', { headers: { [curl?.[1] ?? '']: curl?.[2] ?? '' } });
  t.equal(response.status, 200);
  const events = (await response.json()) as { studyGroup: string }[];
  t.equal(events.length, 3);
  const docs = /^Documentation: (\S+)$/m.exec(text)?.[1] ?? '';
  const page = await fetch(docs);
  t.equal(page.status, 200);
  t.match(page.headers.get('content-type'), /text\/html/);

  child.kill('SIGTERM');
  const outcome = await ended;
  t.match(
    { code: outcome.code, signal: outcome.signal, stderr: withoutWaiting(outcome.stderr) },
    { code: 0, signal: null, stderr: '' },
  );
});

test('production takes settings from the environment, logs to standard error and has no development endpoints', async (t) => {
  const { child, ended, ready } = start(['serve', '-', '--port', '0'], {
    LECTERN_HS256_SECRET: SECRET,
    LECTERN_BASE_PATH: '/timetable',
    LECTERN_IDENTIFIERS: 'any',
    LECTERN_ISSUER: 'https://login.example.org/',
    LECTERN_CLAIM: 'studyGroup=groups,groupId=gid',
    LECTERN_UNKNOWN_PARAMETERS: 'ignore',
  });
  const records = [
    { id: 'a', time: '2026-09-14T08:00:00Z', endTime: '2026-09-14T09:00:00Z', studyGroup: 'G1' },
    { id: 'b', time: '2026-09-14T09:00:00Z', endTime: '2026-09-14T10:00:00Z', studyGroup: 'G2' },
    { id: 'c', time: '2026-02-30T08:00:00Z', endTime: '2026-09-14T09:00:00Z' },
    { id: 'a', time: '2026-09-14T08:00:00Z', endTime: '2026-09-14T09:00:00Z' },
  ];
  child.stdin?.end(records.map((record) => JSON.stringify(record)).join('\n'));
  const { url: base, events } = await ready();
  t.equal(events, 2);
  t.match(base, /\/timetable$/);

  const token = await new SignJWT({ sub: 'alice', groups: ['G2'] })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer('https://login.example.org/')
    .setExpirationTime('5 min')
    .sign(new TextEncoder().encode(SECRET));
  const response = await fetch(`${base}/schedule/personal?nonsense=1`, {
    headers: { authorization: `Bearer ${token}` },
  });
  t.equal(response.status, 200);
  t.match(await response.json(), [{ id: 'b' }]);
  t.equal((await fetch(`${base}/login`)).status, 404);

  child.kill('SIGINT');
  const outcome = await ended;
  t.equal(outcome.code, 0);
  for (const line of outcome.stderr.trim().split('\n')) t.type(JSON.parse(line).msg, 'string');
  t.match(outcome.stderr, /"listening"/);
  t.match(outcome.stderr, /"reasons":\["2 records left out:"," {2}1 malformed-time"," {4}line 3: time .*30/);
  t.match(outcome.stderr, /" {2}1 duplicate-id"," {4}line 4/);
  t.equal(outcome.stdout, '', 'everything is in the log');
  t.notOk(outcome.stderr.includes(SECRET) || outcome.stderr.includes(token), 'no secret, no token');
});

test('while the source is being read, requests get 503 and a signal ends the service', async (t) => {
  const { child, ended } = start(['serve', '-', '--dev', '--port', '0', '--log-level', 'info']);
  const origin = await new Promise<string>((resolve) => {
    child.stderr?.on('data', (text: string) => {
      const match = /"address":"([^"]+)"/.exec(text);
      if (match !== null) resolve(match[1] ?? '');
    });
  });
  t.equal((await fetch(`${origin}/health`)).status, 503);
  child.kill('SIGTERM');
  t.match(await ended, { code: 0, signal: null, stdout: '' });
});

test('a second signal ends the process at once, even with open connections', async (t) => {
  const script = `
    const { listenForSignals } = await import('./src/cli/signals.ts');
    setInterval(() => {}, 1000);
    const { first } = listenForSignals();
    console.log('listening');
    console.log('closing after ' + (await first));`;
  const { child, ended, printed } = startNode(['--input-type=module', '-e', script]);
  await printed('listening');
  child.kill('SIGINT');
  await printed('closing after SIGINT');
  child.kill('SIGTERM');
  t.match(await ended, { code: null, signal: 'SIGTERM', stderr: '' });
});

test('inspect prints the contents of a source, as text and as JSON', async (t) => {
  const input = [
    '{"id":"2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417","time":"2026-09-14T08:00:00Z","endTime":"2026-09-14T09:00:00Z","type":"LEC"}',
    'nonsense',
    '{"id":"x","time":"2026-09-14T08:00:00Z","endTime":"2026-09-14T09:00:00Z"}',
  ].join('\n');
  const folder = t.testdir({ few: input, many: `${input}${'\n{}'.repeat(25)}` });
  const text = await runHere(t, ['inspect', join(folder, 'few')]);
  t.match(text, { code: 0, stderr: '' });
  t.match(text.stdout, /^events +1$/m);
  t.match(text.stdout, /^type +1 +1 +0$/m);
  t.match(text.stdout, /^2 records left out:$/m);
  t.match(text.stdout, /^ {2}1 malformed-record\n {4}line 2: /m);
  const many = await runHere(t, ['inspect', join(folder, 'many')]);
  t.equal(many.stdout.split('line 3: ').length, 2, 'a record is listed once');
  t.match(many.stdout, /^ {4}line 3: id is "x"/m, 'a field is named once');
  t.match(many.stdout, /^ {2}25 missing-field\n( {4}line \d+: id is missing.*\n){3} {4}and 22 more$/m);
  t.match(many.stdout, /^ {2}\(--json lists them all\)$/m);
  const json = await lectern(['inspect', '-', '--json'], { input });
  t.match(JSON.parse(json.stdout), {
    source: { format: 'ndjson', gzipped: false },
    summary: {
      events: 1,
      rejected: 2,
      fields: [
        { name: 'title', values: 0, events: 0 },
        { name: 'roomId', values: 0, events: 0 },
      ],
    },
    conflicts: { merged: { room: 0 }, unmerged: { room: 0 } },
    columns: [
      { name: 'id', records: 2, form: 'text' },
      { name: 'time', records: 2, form: 'instant' },
    ],
    rejectionGroups: [
      { code: 'malformed-record', count: 1, samples: [{ position: { line: 2 } }] },
      { code: 'malformed-identifier', count: 1, samples: [{ position: { line: 3 } }] },
    ],
  });
});

test('explain prints the plan, with counts and timings', async (t) => {
  const outcome = await runHere(t, ['explain', DEMO, '/api/v1/schedule?studyGroup=INF-1A&type=LEC']);
  t.match(outcome, { code: 0, stderr: '' });
  t.match(outcome.stdout, /^LEAD studyGroup/m);
  t.match(outcome.stdout, /^\d+ events of 10,000, .* of JSON$/m);
  t.match(outcome.stdout, /^parse .* ms, plan .* ms, execute .* ms, encode .* ms$/m);
});

test('explain prints the plan of a directory', async (t) => {
  const outcome = await runHere(t, ['explain', DEMO, '/api/v1/schedule/lecturers?studyGroup=INF-1A&limit=2']);
  t.match(outcome, { code: 0, stderr: '' });
  t.match(
    outcome.stdout,
    /^LEAD studyGroup of 1 value: .*\nCOUNT \d+ lecturers by the codes of the events found$/m,
  );
  t.match(outcome.stdout, /^\d+ lecturers, 2 on this page, .* of JSON$/m);
});
