/** Feeds as options of the library, and in a handler inside another server. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'tap';
import { openTimetable } from '../../src/index.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { until } from '../waiting/until.js';
import { keptLog } from './threads.js';

const EVENTS = ['A', 'B'].map((studyGroup, n) => ({
  id: `00000000-0000-4000-8000-00000000000${n}`,
  time: `2026-10-05T0${n + 1}:00:00Z`,
  endTime: `2026-10-05T0${n + 2}:00:00Z`,
  studyGroup,
}));

test('options of feeds are checked', async (t) => {
  const timetable = openTimetable({ source: EVENTS });
  t.teardown(() => timetable.close());
  const auth = { hs256Secret: SECRET };
  const secret = randomBytes(32);
  const invalid = { code: 'option-invalid' };
  await t.rejects(timetable.serve({ port: 0, auth, feed: {} }), { code: 'key-missing' });
  await t.rejects(timetable.serve({ port: 0, auth, feed: { secret: 'short' } }), invalid);
  await t.rejects(timetable.serve({ port: 0, auth, feed: { secret, days: 0 } }), invalid);
  await t.rejects(timetable.serve({ port: 0, auth, feed: { secret, revocations: { bob: 'now' } } }), invalid);
  await t.rejects(timetable.serve({ port: 0, auth, feed: { secret }, publicUrl: 'x' }), invalid);
  const publicUrl = 'https://timetable.example.org';
  const noFeeds = { ...invalid, message: 'publicUrl has no effect without feed: there are no feeds' };
  await t.rejects(timetable.serve({ port: 0, auth, publicUrl }), noFeeds);
  t.throws(() => timetable.handler({ auth, publicUrl }), noFeeds);
  t.throws(() => timetable.handler({ feed: { secret } }), {
    ...invalid,
    message: 'handler() takes feed only with auth, which identifies the user',
  });
  t.throws(() => timetable.handler({ auth, feed: { secretFile: 'x' } }), {
    code: 'key-invalid',
    message: 'the feed secret file x cannot be read: there is no such file',
  });
});

test('one secret for tokens and feeds is refused, however it is written', async (t) => {
  const timetable = openTimetable({ source: EVENTS });
  t.teardown(() => timetable.close());
  const [shared, other] = [randomBytes(32), randomBytes(32)];
  const [plain, wrapped] = [
    `base64:${shared.toString('base64')}`,
    `base64url:${shared.toString('base64url')}`,
  ];
  const folder = t.testdir({ tokens: plain, feeds: `${wrapped}\n` });
  const [hs256SecretFile, secretFile] = [join(folder, 'tokens'), join(folder, 'feeds')];
  const refused = {
    code: 'key-invalid',
    message:
      /^the feed secret and the HS256 secret are the same; expected two secrets: make a new feed secret/,
  };
  for (const [auth, feed] of [
    [{ hs256Secret: shared }, { secret: shared }],
    [{ hs256Secret: plain }, { secretFile }],
    [{ hs256SecretFile }, { secret: wrapped }],
    [{ hs256SecretFile }, { secretFile }],
  ] as const) {
    await t.rejects(timetable.serve({ port: 0, auth, feed }), refused);
    t.throws(() => timetable.handler({ auth, feed }), refused);
  }
  // The addresses that the shared secret has signed stay valid.
  const moved = await timetable.serve({
    port: 0,
    auth: { hs256SecretFile },
    feed: { secret: `base64:${other.toString('base64')}\n${plain}` },
  });
  await moved.close();
});

test('a shared secret is refused when a file changes, and the earlier one stays', async (t) => {
  const [shared, other] = ['s'.repeat(32), 'f'.repeat(32)];
  const folder = testFolder(t, { feeds: other });
  const secretFile = join(folder, 'feeds');
  const { log, lines } = keptLog();
  const timetable = openTimetable({ source: EVENTS });
  t.teardown(() => timetable.close());
  await timetable.serve({ port: 0, auth: { hs256Secret: shared }, feed: { secretFile }, log });
  for (const [content, level] of [
    [shared, 'warn'],
    [other, 'info'],
  ] as const) {
    const count = lines.length;
    writeFileSync(secretFile, content);
    await until(
      () => lines.length,
      (seen) => seen > count,
    );
    t.match(lines.at(-1), { level, fields: { file: secretFile } });
  }
  t.notMatch(JSON.stringify(lines), shared);
});

test('an embedded handler has feeds', async (t) => {
  const timetable = openTimetable({ source: EVENTS });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const auth = { hs256Secret: SECRET, enrolments: { alice: { studyGroup: ['B'] } } };
  const revocations = { bob: new Date(Date.now() + 60_000) };
  const feed = { secret: randomBytes(32), revocations: { bob: revocations.bob.toISOString() } };
  const handler = timetable.handler({
    basePath: '/',
    auth,
    feed,
    publicUrl: 'https://example.org/timetable',
  });
  const server = createServer(handler).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const exp = Math.floor(Date.now() / 1000) + 3600;
  for (const [sub, expected] of [
    ['alice', '200,B'],
    ['bob', '404'],
  ] as const) {
    const headers = { Authorization: `Bearer ${hs256({ sub, exp, studyGroup: sub === 'bob' ? 'A' : [] })}` };
    const issued = await fetch(`http://127.0.0.1:${port}/schedule/feed?for=personal`, { headers });
    const { url } = (await issued.json()) as { url: string };
    t.match(url, /^https:\/\/example\.org\/timetable\/feeds\//);
    const path = url.slice('https://example.org/timetable'.length).replace(/\.\w+$/, '.json');
    const reply = await fetch(`http://127.0.0.1:${port}${path}`);
    const events = reply.status === 200 ? ((await reply.json()) as { studyGroup: string }[]) : [];
    if (reply.status !== 200) await reply.body?.cancel();
    t.equal([reply.status, ...events.map((event) => event.studyGroup)].join(), expected);
  }
});
