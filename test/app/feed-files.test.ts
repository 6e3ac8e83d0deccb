/** Feeds served by the library: with files that change, and with several threads. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type Test, test } from 'tap';
import type { FeedServingOptions, ServeOptions } from '../../src/index.js';
import { openTimetable } from '../../src/index.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { Folder } from '../base/files/folder.js';
import { until } from '../waiting/until.js';

const EVENTS = ['A', 'B'].map((studyGroup, n) => ({
  id: `00000000-0000-4000-8000-00000000000${n}`,
  time: `2026-10-05T0${n + 1}:00:00Z`,
  endTime: `2026-10-05T0${n + 2}:00:00Z`,
  studyGroup,
}));

function newSecret(): string {
  return randomBytes(32).toString('hex');
}

async function open(
  t: Test,
  options: Pick<ServeOptions, 'workers'> & { feed: FeedServingOptions; enrolments?: string },
) {
  const { workers, feed, enrolments } = options;
  const logged: string[] = [];
  const line = (fields: object, message: string) => {
    // Others tell of overload.
    if ('file' in fields) logged.push(JSON.stringify({ ...fields, message }));
  };
  const timetable = openTimetable({ source: EVENTS });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const auth = { hs256Secret: SECRET, enrolments };
  const log = { info: line, warn: line, error: line };
  const server = await timetable.serve({ port: 0, workers, auth, feed, log });
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const addressOf = async (sub: string, query: string): Promise<string> => {
    const reply = await fetch(`${server.address.origin}/api/v1/schedule/feed?${query}`, {
      headers: { Authorization: `Bearer ${hs256({ sub, exp })}` },
    });
    t.equal(reply.status, 200, query);
    const issued = (await reply.json()) as { url: string };
    return issued.url.replace(/\.\w+$/, '.json');
  };
  return { logged, addressOf };
}

/** The answers on several new connections, enough to reach each thread. */
async function answers(address: string): Promise<readonly string[]> {
  const found = new Set<string>();
  const ask = async (): Promise<void> => {
    const reply = await fetch(address, { headers: { Connection: 'close' } });
    const events = reply.status === 200 ? ((await reply.json()) as { studyGroup: string }[]) : [];
    if (reply.status !== 200) await reply.body?.cancel();
    found.add([reply.status, ...events.map((event) => event.studyGroup)].join());
  };
  await Promise.all(Array.from({ length: 16 }, ask));
  return [...found];
}

async function becomes(t: Test, address: string, expected: string, what: string): Promise<void> {
  const found = await until(
    () => answers(address),
    (seen) => seen.join() === expected,
  );
  t.same(found, [expected], what);
}

/** Waits until the log has this number of lines. */
async function told(logged: readonly string[], lines: number): Promise<void> {
  await until(
    () => logged,
    (seen) => seen.length >= lines,
  );
}

function keyIdOf(address: string): string {
  return (address.split('/').at(-1) as string).slice(0, 4);
}

for (const workers of [1, 3]) {
  test(`changed revocations, secrets and enrolments take effect, workers ${workers}`, async (t) => {
    const folder = new Folder(t);
    const feed = {
      secretFile: folder.write('secret', newSecret()),
      revocations: folder.write('revoked.json', '{}'),
    };
    const enrolments = folder.write('enrolments.json', '{"alice": {"studyGroup": ["A"]}}');
    const { addressOf } = await open(t, { workers, feed, enrolments });
    const alice = await addressOf('alice', 'for=personal');
    const bob = await addressOf('bob', 'studyGroup=B');
    t.same(await answers(alice), ['200,A']);
    t.same(await answers(bob), ['200,B']);
    folder.write('enrolments.json', '{"alice": {"studyGroup": ["A", "B"]}}');
    await becomes(t, alice, '200,A,B', 'enrolled in more');
    folder.write('revoked.json', JSON.stringify({ bob: new Date(Date.now() + 1000).toISOString() }));
    await becomes(t, bob, '404', 'revoked');
    t.same(await answers(alice), ['200,A,B']);
    folder.write('secret', newSecret());
    await becomes(t, alice, '404', 'another secret');
    t.same(await answers(await addressOf('alice', 'studyGroup=A')), ['200,A']);
  });
}

test('a bad or missing file is refused, and the earlier content stays', async (t) => {
  const folder = new Folder(t);
  const revoked = JSON.stringify({ bob: '2100-01-01T00:00:00Z' });
  const feed = {
    secretFile: folder.write('secret', newSecret()),
    revocations: folder.write('revoked.json', revoked),
  };
  const enrolments = folder.write('enrolments.json', '{"alice": {"studyGroup": ["A", "B"]}}');
  const { logged, addressOf } = await open(t, { workers: 1, feed, enrolments });
  const alice = await addressOf('alice', 'for=personal');
  const bob = await addressOf('bob', 'studyGroup=B');
  folder.write('enrolments.json', '{"alice": {"studyGroup": "A"}}');
  folder.write('secret', 'short');
  await told(logged, 2);
  for (const [n, content] of [revoked.slice(0, -1), '{"bob": "yesterday"}', '[]'].entries()) {
    folder.write('revoked.json', content);
    await told(logged, 3 + n);
    t.same(await answers(bob), ['404'], content);
  }
  rmSync(folder.of('revoked.json'));
  await told(logged, 6);
  t.same(await answers(bob), ['404'], 'no file');
  t.same(await answers(alice), ['200,A,B']);
  const text = logged.join('\n');
  t.match(text, /"reason":"enrolment map [^\n]+"message":"enrolments not read: the earlier ones stay"/);
  t.match(text, /entry 1 is not a time: [^\n]+"message":"feed revocations not read: the earlier ones stay"/);
  const short =
    /it has 5 bytes; a feed secret needs at least 32[^\n]+"feed secrets not read: the earlier ones stay"/;
  t.match(text, short);
  t.notMatch(text, 'bob', 'no subject of the revocations');
  t.notMatch(text, '"short', 'no secret');
  folder.write('revoked.json', '{}');
  await becomes(t, bob, '200,B', 'a good file is taken up again');
  t.match(logged.join('\n'), '"message":"feed revocations read again"');
});

test('feed secrets are rotated by replacing the file', async (t) => {
  const folder = new Folder(t);
  const first = newSecret();
  const feed = { secretFile: folder.write('secret', first) };
  const { logged, addressOf } = await open(t, { workers: 1, feed });
  const address = await addressOf('alice', 'studyGroup=A');
  const second = newSecret();
  folder.write('secret', `${second}\n${first}\n`);
  await told(logged, 1);
  t.same(await answers(address), ['200,A'], 'signed with the earlier secret');
  t.not(keyIdOf(await addressOf('alice', 'studyGroup=A')), keyIdOf(address), 'new ones have the new secret');
  folder.write('secret', second);
  await becomes(t, address, '404', 'signed with a secret that is gone');
});
