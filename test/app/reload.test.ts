/**
 * Every file that is read again is changed under load: good requests succeed, bad ones fail, and changes take
 * effect within a second.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { hs256, signed } from '../auth/tokens.js';
import { HARD, size } from '../hard/size.js';
import { MemorySource, startService } from '../refresh/built.js';
import { until } from '../waiting/until.js';
import { scrape, total } from './scrape.js';
import { get, keptLog } from './threads.js';

const ROUNDS = size(2, 10);
const TAKEN_UP_MS_MAX = 1000;
/** Checks are slower on a busy machine, so the limit adds the time of this many checks. */
const CHECKS = 5;
const NEW_CONNECTIONS = 6;
/** Kinds of files; each is damaged once a round. */
const KINDS = 7;

const EVENTS = ['A', 'B'].map((studyGroup, n) => ({
  id: `event ${n}`,
  time: `2026-10-05T0${n + 1}:00:00Z`,
  endTime: `2026-10-05T0${n + 2}:00:00Z`,
  studyGroup,
}));
const FREE = '/schedule/free?by=room&startTime=2026-10-05T08:00:00Z&endTime=2026-10-05T09:00:00Z';
const EXP = 4_000_000_000;

/** The secrets, tokens and texts that are valid from one change to the second change after it. */
class Generation {
  readonly number: number;
  readonly secret: string = randomBytes(32).toString('hex');
  readonly feedSecret: string = randomBytes(32).toString('hex');
  readonly adminToken: string = randomBytes(32).toString('hex');
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  constructor(number: number) {
    this.number = number;
  }

  get jwk(): object {
    return { ...this.#keys.publicKey.export({ format: 'jwk' }), kid: String(this.number) };
  }

  tokens(sub = 'alice'): readonly string[] {
    const { secret } = this;
    const header = { alg: 'ES256', kid: String(this.number) };
    return [hs256({ sub, exp: EXP }, { secret }), signed({ sub, exp: EXP }, this.#keys.privateKey, header)];
  }
}

class Files {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'lectern-reload-'));

  of(name: string): string {
    return join(this.folder, name);
  }

  /** Replaces the file in one step, as editors and Kubernetes do. */
  #write(name: string, content: string): void {
    writeFileSync(this.of(`${name}.new`), content);
    renameSync(this.of(`${name}.new`), this.of(name));
  }

  take(now: Generation, before: Generation): void {
    this.#write('secret', `${now.secret}\n${before.secret}\n`);
    this.#write('keys.json', JSON.stringify({ keys: [now.jwk, before.jwk] }));
    this.#write('feed-secret', `${now.feedSecret}\n${before.feedSecret}\n`);
    this.#write('admin-token', now.adminToken);
    this.#write('rooms.json', JSON.stringify([{ id: `room ${now.number}` }]));
    const groups = now.number % 2 === 0 ? ['A'] : ['A', 'B'];
    this.#write('enrolments.json', JSON.stringify({ alice: { studyGroup: groups } }));
    this.#write('revoked.json', JSON.stringify({ [`user ${now.number}`]: '2100-01-01T00:00:00Z' }));
  }

  spoil(): void {
    for (const name of ['secret', 'feed-secret', 'admin-token']) this.#write(name, 'short');
    for (const name of ['keys.json', 'rooms.json', 'revoked.json']) this.#write(name, '{"keys": [');
    this.#write('enrolments.json', '{"alice": {"studyGroup": "B"}}');
  }
}

async function start(t: Test, files: Files) {
  const { log, lines } = keptLog();
  const auth = {
    hs256SecretFile: files.of('secret'),
    jwks: files.of('keys.json'),
    enrolments: files.of('enrolments.json'),
  };
  const feed = {
    secretFile: files.of('feed-secret'),
    revocations: files.of('revoked.json'),
  };
  const service = await startService(
    {
      ...auth,
      source: new MemorySource(EVENTS),
      identifiers: 'any',
      port: 0,
      workers: 3,
      adminPort: 0,
      adminTokenFile: files.of('admin-token'),
      rooms: files.of('rooms.json'),
      feedSecretFile: feed.secretFile,
      feedRevocations: feed.revocations,
    },
    { log },
  );
  t.teardown(() => service.close());
  await service.ready;
  // The same timetable inside another server.
  const embedding = createServer(service.timetable.handler({ auth, feed, log }));
  embedding.listen(0, '127.0.0.1');
  await once(embedding, 'listening');
  t.teardown(() => embedding.close());
  const embedded = `http://127.0.0.1:${(embedding.address() as AddressInfo).port}/api/v1`;
  return { bases: [service.baseUrl, embedded], admin: service.adminAddress?.origin ?? '', lines };
}

const statusOf = async (url: string, token?: string): Promise<number> =>
  (await get(url, token === undefined ? {} : { authorization: `Bearer ${token}` })).status;

async function feedOf(base: string, token: string): Promise<string> {
  const { body } = await get(`${base}/schedule/feed?studyGroup=A`, { authorization: `Bearer ${token}` });
  return (JSON.parse(body.toString()) as { url: string }).url;
}

async function refresh(admin: string, token: string): Promise<number> {
  const reply = await fetch(`${admin}/refresh`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  await reply.body?.cancel();
  return reply.status;
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
}

test(`${ROUNDS} changes of every file under load, on three threads and in a handler`, async (t) => {
  const files = new Files();
  t.teardown(() => rmSync(files.folder, { recursive: true }));
  const generations = Array.from({ length: ROUNDS + 3 }, (_, n) => new Generation(n));
  const at = (n: number): Generation => generations[n] as Generation;
  /** Valid before and after a change; `present - 2` and older ones are invalid. */
  let present = 2;
  files.take(at(present), at(present - 1));
  const { bases, admin, lines } = await start(t, files);
  /** Feed addresses by base and generation. */
  const feeds = new Map<string, string>();
  const keyOf = (base: string, n: number): string => `${base} ${n}`;
  const addFeeds = async (): Promise<void> => {
    for (const base of bases)
      feeds.set(keyOf(base, present), await feedOf(base, at(present).tokens()[0] as string));
  };
  await addFeeds();

  let isOver = false;
  const failed: string[] = [];
  const accepted: string[] = [];
  let requests = 0;
  /** The generation that each client uses. */
  const asking: number[] = [];
  const client = async (base: string, n: number): Promise<void> => {
    while (!isOver) {
      const generation = present;
      asking[n] = generation;
      const [good, bad] = [at(generation), at(generation - 2)];
      for (const token of good.tokens()) {
        const status = await statusOf(`${base}/schedule?limit=1`, token);
        if (status !== 200) failed.push(`token of ${generation}: ${status}`);
      }
      for (const token of bad.tokens()) {
        const status = await statusOf(`${base}/schedule?limit=1`, token);
        if (status !== 401) accepted.push(`token of ${bad.number}: ${status}`);
      }
      const feed = await statusOf(feeds.get(keyOf(base, generation)) as string);
      if (feed !== 200) failed.push(`feed of ${generation}: ${feed}`);
      const old = feeds.get(keyOf(base, bad.number));
      if (old !== undefined && (await statusOf(old)) !== 404) accepted.push(`feed of ${bad.number}`);
      requests += 5;
    }
  };
  const clients = Promise.all(bases.flatMap((base, b) => [0, 1].map((n) => client(base, 2 * b + n))));

  /** Whether every thread has accepted everything. */
  const isTaken = async (now: Generation, gone: Generation): Promise<boolean> => {
    for (const base of bases) {
      const groups = now.number % 2 === 0 ? 1 : 2;
      const one = async (): Promise<boolean> => {
        for (const token of gone.tokens())
          if ((await statusOf(`${base}/schedule`, token)) !== 401) return false;
        for (const token of now.tokens()) {
          const { status, body } = await get(`${base}/schedule/personal`, {
            authorization: `Bearer ${token}`,
          });
          if (status !== 200 || JSON.parse(body.toString()).length !== groups) return false;
        }
        const [token = ''] = now.tokens(`user ${now.number}`);
        if ((await statusOf(await feedOf(base, token))) !== 404) return false;
        const { body } = await get(`${base}${FREE}`, { authorization: `Bearer ${token}` });
        return JSON.stringify(JSON.parse(body.toString())).includes(`"room ${now.number}"`);
      };
      const all = await Promise.all(Array.from({ length: NEW_CONNECTIONS }, one));
      const old = feeds.get(keyOf(base, gone.number));
      if (all.includes(false) || (old !== undefined && (await statusOf(old)) !== 404)) return false;
    }
    return (await refresh(admin, at(now.number - 1).adminToken)) === 401;
  };

  const tookMs: number[] = [];
  const checkMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const next = present + 1;
    const beforeMs = performance.now();
    t.ok(await isTaken(at(present), at(present - 2)), 'what is there');
    checkMs.push(performance.now() - beforeMs);
    const beganMs = performance.now();
    files.take(at(next), at(present));
    await until(() => isTaken(at(next), at(present - 1)));
    tookMs.push(performance.now() - beganMs);
    t.equal(await refresh(admin, at(next).adminToken), 200, 'the new admin token');
    present = next;
    await addFeeds();
    // A request of the previous generation could arrive after the next change.
    await until(
      () => asking,
      (seen) => seen.every((generation) => generation === present),
    );
    files.spoil();
    const refused = async () => total(await scrape(admin), 'lectern_files_refused');
    // The handler has its own files, but neither rooms nor an admin token.
    await until(refused, (seen) => seen >= KINDS + KINDS - 2);
    t.ok(await isTaken(at(present), at(present - 2)), 'what is bad changes nothing');
  }
  isOver = true;
  await clients;
  t.strictSame(failed, [], `good ones of ${requests}`);
  t.strictSame(accepted, [], `bad ones of ${requests}`);
  const shown = (all: readonly number[]): string => all.map((ms) => Math.round(ms)).join(', ');
  t.comment(`${requests} requests; taken up after ${shown(tookMs)} ms; a check takes ${shown(checkMs)} ms`);
  const limitMs = TAKEN_UP_MS_MAX + CHECKS * median(checkMs);
  if (HARD) t.ok(median(tookMs) <= limitMs, `taken up within ${Math.round(limitMs)} ms`);
  const metrics = await scrape(admin);
  t.ok(total(metrics, 'lectern_file_reloads_total', 'result="refused"') >= ROUNDS * (KINDS + KINDS - 2));
  const text = JSON.stringify(lines);
  for (const { secret, feedSecret, adminToken } of generations) {
    for (const hidden of [secret, feedSecret, adminToken])
      t.notOk(text.includes(hidden), 'no secret in the log');
  }
  t.notMatch(text, /alice|user \d/, 'no subject in the log');
  for (const name of [
    'secret',
    'keys.json',
    'feed-secret',
    'admin-token',
    'rooms.json',
    'revoked.json',
    'enrolments.json',
  ])
    t.ok(text.includes(files.of(name)), `the log names ${name}`);
});
