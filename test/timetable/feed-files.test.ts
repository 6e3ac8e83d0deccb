/** Feeds served by the library: with files that change meanwhile, and with several threads. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import type { FeedServingOptions, ServeOptions } from '../../src/index.js';
import { openTimetable } from '../../src/index.js';
import { hs256, SECRET } from '../auth/tokens.js';

const EVENTS = ['A', 'B'].map((studyGroup, n) => ({
  id: `00000000-0000-4000-8000-00000000000${n}`,
  time: `2026-10-05T0${n + 1}:00:00Z`,
  endTime: `2026-10-05T0${n + 2}:00:00Z`,
  studyGroup,
}));

class Folder {
  readonly path: string = mkdtempSync(join(tmpdir(), 'lectern-feeds-'));

  of(name: string): string {
    return join(this.path, name);
  }

  /** At once, as editors and Kubernetes do it. */
  write(name: string, content: string): string {
    writeFileSync(this.of(`${name}.new`), content);
    renameSync(this.of(`${name}.new`), this.of(name));
    return this.of(name);
  }
}

function newSecret(): string {
  return randomBytes(32).toString('hex');
}

async function open(
  t: Test,
  options: Pick<ServeOptions, 'workers'> & { feed: FeedServingOptions; enrolmentsFile?: string },
) {
  const { workers, feed, enrolmentsFile } = options;
  const logged: string[] = [];
  const line = (fields: object, message: string) => void logged.push(JSON.stringify({ ...fields, message }));
  const timetable = openTimetable({ source: EVENTS });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const auth = { hs256Secret: SECRET, enrolmentsFile };
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

/** What so many new connections get: with several threads, each of them is asked. */
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

/** Within a second of the change every thread answers so. */
async function becomes(t: Test, address: string, expected: string, what: string): Promise<void> {
  const untilMs = performance.now() + 1000;
  let found: readonly string[] = [];
  do {
    await delay(50);
    found = await answers(address);
  } while (found.join() !== expected && performance.now() < untilMs);
  t.same(found, [expected], what);
}

/** A change that is not taken up. */
async function stays(t: Test, address: string, expected: string, what: string): Promise<void> {
  await delay(600);
  t.same(await answers(address), [expected], what);
}

function newFolder(t: Test): Folder {
  const folder = new Folder();
  t.teardown(() => rmSync(folder.path, { recursive: true }));
  return folder;
}

for (const workers of [1, 3]) {
  test(`revocations, secrets and enrolments are taken up within a second, workers ${workers}`, async (t) => {
    const folder = newFolder(t);
    const feed = {
      secretFile: folder.write('secret', newSecret()),
      revocationsFile: folder.write('revoked.json', '{}'),
    };
    const enrolmentsFile = folder.write('enrolments.json', '{"alice": {"studyGroup": ["A"]}}');
    const { addressOf } = await open(t, { workers, feed, enrolmentsFile });
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

test('what is bad or missing is refused: what was read before stays', async (t) => {
  const folder = newFolder(t);
  const revoked = JSON.stringify({ bob: '2100-01-01T00:00:00Z' });
  const feed = {
    secretFile: folder.write('secret', newSecret()),
    revocationsFile: folder.write('revoked.json', revoked),
  };
  const enrolmentsFile = folder.write('enrolments.json', '{"alice": {"studyGroup": ["A", "B"]}}');
  const { logged, addressOf } = await open(t, { workers: 1, feed, enrolmentsFile });
  const alice = await addressOf('alice', 'for=personal');
  const bob = await addressOf('bob', 'studyGroup=B');
  folder.write('enrolments.json', '{"alice": {"studyGroup": "A"}}');
  folder.write('secret', 'short');
  for (const content of [revoked.slice(0, -1), '{"bob": "yesterday"}', '[]']) {
    folder.write('revoked.json', content);
    await stays(t, bob, '404', content);
  }
  rmSync(folder.of('revoked.json'));
  await stays(t, bob, '404', 'no file');
  t.same(await answers(alice), ['200,A,B']);
  const text = logged.join('\n');
  t.match(text, /"reason":"enrolment map [^\n]+"message":"enrolments not read: the old ones stay"/);
  t.match(text, /entry 1 is not a time: [^\n]+"message":"feed revocations not read: the old ones stay"/);
  const short = /it has 5 bytes; a feed needs at least 32[^\n]+"feed secrets not read: the old ones stay"/;
  t.match(text, short);
  t.notMatch(text, 'bob', 'no subject of the revocations');
  t.notMatch(text, '"short', 'no secret');
  folder.write('revoked.json', '{}');
  await becomes(t, bob, '200,B', 'a good file is taken up again');
  t.match(logged.join('\n'), '"message":"feed revocations read anew"');
});

test('a rotation by files', async (t) => {
  const folder = newFolder(t);
  const first = newSecret();
  const feed = {
    secretFile: folder.write('secret', first),
    secretPreviousFile: folder.write('previous', newSecret()),
  };
  const { addressOf } = await open(t, { workers: 1, feed });
  const address = await addressOf('alice', 'studyGroup=A');
  folder.write('previous', first);
  folder.write('secret', newSecret());
  await stays(t, address, '200,A', 'signed with the previous secret');
  folder.write('previous', newSecret());
  await becomes(t, address, '404', 'signed with a secret that is gone');
});

test('options of feeds', async (t) => {
  const timetable = openTimetable({ source: EVENTS });
  t.teardown(() => timetable.close());
  const auth = { hs256Secret: SECRET };
  const secret = newSecret();
  const invalid = { code: 'option-invalid' };
  await t.rejects(timetable.serve({ port: 0, auth, feed: {} }), { code: 'key-missing' });
  await t.rejects(timetable.serve({ port: 0, auth, feed: { secret: 'short' } }), invalid);
  await t.rejects(timetable.serve({ port: 0, auth, feed: { secret, days: 0 } }), invalid);
  await t.rejects(timetable.serve({ port: 0, auth, feed: { secret, revocations: { bob: 'now' } } }), invalid);
  await t.rejects(timetable.serve({ port: 0, auth, feed: { secret }, publicUrl: 'x' }), invalid);
  t.throws(() => timetable.handler({ feed: { secret } }), {
    ...invalid,
    message: 'handler() takes feed only with auth, which says who asks',
  });
  t.throws(() => timetable.handler({ auth, feed: { secretFile: 'x' } }), {
    ...invalid,
    message: 'handler() reads no file: give secret in place of secretFile',
  });
});

test('an embedded handler has feeds, too', async (t) => {
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
    t.same(await answers(`http://127.0.0.1:${port}${path}`), [expected]);
  }
});
