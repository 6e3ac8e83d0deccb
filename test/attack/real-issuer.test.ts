/** A real issuer is rotated, stopped and started under a service, without failures of good tokens. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { get, keptLog } from '../app/threads.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { MemorySource, startService } from '../refresh/built.js';
import { timeForAFault, until } from '../waiting/until.js';
import { leastGapMs } from './issuer.js';
import { createRealIssuer } from './real-issuer.js';

const COOLDOWN_MS = 1000;
const ROUNDS = size(1, 20);
const RECORDS = [
  {
    id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T09:00:00Z',
  },
];

/** Tokens of an unknown issuer, each with another kid. */
function forge(n: number): string {
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${part({ alg: 'EdDSA', typ: 'at+jwt', kid: `forged-${n}` })}.${part({ sub: 'x', exp: 4e9 })}`;
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`;
}

for (const [workers, figure] of [
  [1, 'real-issuer'],
  [3, 'real-issuer-threads'],
] as const) {
  test(`an issuer rotates its keys, stops and starts: ${workers} serving threads`, async (t) => {
    const issuer = await createRealIssuer();
    t.teardown(() => issuer.stop());
    await issuer.start('key 0');
    const first = await issuer.token();
    await issuer.stop();
    const { log, lines } = keptLog();
    const service = await startService(
      {
        source: new MemorySource(RECORDS),
        port: 0,
        workers,
        jwks: issuer.keysAddress,
        issuer: issuer.address,
        audience: 'timetable',
        tokenType: 'at+jwt',
        jwksRefreshSeconds: COOLDOWN_MS / 1000,
      },
      { log },
    );
    t.teardown(() => service.close());
    await service.ready;
    let forged = 0;
    const ask = async (token: string): Promise<number> =>
      (await get(`${service.baseUrl}/schedule`, { authorization: `Bearer ${token}` })).status;
    const attack = async (count: number): Promise<number[]> => {
      const statuses = new Set<number>();
      for (let n = 0; n < count; n++) statuses.add(await ask(forge(forged++)));
      return [...statuses];
    };

    t.equal(await ask(first), 503, 'it was started before the issuer');
    t.same(await attack(20), [503]);
    await issuer.start('key 0');
    await until(
      () => ask(first),
      (seen) => seen !== 503,
    );
    t.equal(await ask(first), 200, 'it has recovered by itself');

    const failed: number[] = [];
    let valid = 0;
    const use = async (token: string): Promise<void> => {
      // Each request has its own connection, so that every thread gets some.
      for (let n = 0; n < workers * 2; n++) {
        const status = await ask(token);
        valid++;
        if (status !== 200) failed.push(status);
      }
    };
    for (let round = 0; round < ROUNDS; round++) {
      const [old, next] = [`key ${round}`, `key ${round + 1}`];
      const before = await Promise.all(Array.from({ length: 60 }, () => issuer.token()));
      const wanted = before.values();
      const wantNext = async (): Promise<void> => use(wanted.next().value ?? before[0] ?? '');
      await use(before[0] ?? '');

      await issuer.stop();
      await issuer.start(next, old);
      // The keys may be fetched again only after the cooldown.
      await delay(COOLDOWN_MS * 1.2);
      const rotated = await issuer.token();
      t.match(Buffer.from(rotated.split('.')[0] ?? '', 'base64url').toString(), next);
      await Promise.all([use(rotated), use(rotated), wantNext()]);

      await issuer.stop();
      const untilMs = performance.now() + COOLDOWN_MS * size(2.2, 5);
      const statuses = new Set<number>();
      while (performance.now() < untilMs) {
        await wantNext();
        await use(rotated);
        for (const status of await attack(5)) statuses.add(status);
      }
      t.ok(
        [...statuses].every((status) => status === 401 || status === 503),
        `forged: ${[...statuses].join()}`,
      );

      await issuer.start(next);
      await timeForAFault(COOLDOWN_MS * 2.2);
      await use(await issuer.token());
      await use(rotated);
      // The key that was withdrawn is not accepted any more.
      await until(
        () => ask(before[1] ?? ''),
        (seen) => seen === 401,
      );
    }
    t.same(failed, [], `${valid} valid requests`);
    // The issuer notes when requests arrive. On a busy machine some arrive late, and the next then seems too early.
    const lastedMs = (issuer.askedMs.at(-1) ?? 0) - (issuer.askedMs[0] ?? 0);
    const most = 2 + lastedMs / (COOLDOWN_MS * 0.9);
    t.ok(issuer.askedMs.length <= most, `${issuer.askedMs.length} fetches in ${Math.round(lastedMs)} ms`);
    if (HARD) t.ok(leastGapMs(issuer.askedMs) > COOLDOWN_MS * 0.9);
    if (HARD) {
      recordFigure(
        figure,
        `${failed.length} of ${valid} good requests failed in ${ROUNDS} rounds; ${issuer.askedMs.length} fetches, never two within ${leastGapMs(issuer.askedMs).toFixed(0)} ms with a cooldown of ${COOLDOWN_MS} ms`,
      );
    }
    const messages = lines.map(({ message }) => message);
    t.ok(messages.filter((message) => message === 'cannot fetch the key set').length <= 1 + ROUNDS * 2);
    t.ok(messages.includes('key set can be fetched again'));
    t.notMatch(JSON.stringify(lines), /"n":|eyJ/, 'neither keys nor tokens are logged');
  });
}

test('an access token for another purpose is refused', async (t) => {
  const issuer = await createRealIssuer();
  t.teardown(() => issuer.stop());
  await issuer.start('key');
  const token = await issuer.token();
  for (const [options, status] of [
    [{ issuer: issuer.address, audience: 'timetable' }, 200],
    [{ issuer: issuer.address, audience: 'other' }, 401],
    [{ issuer: `${issuer.address}/`, audience: 'timetable' }, 401],
  ] as const) {
    const service = await startService({
      source: new MemorySource(RECORDS),
      port: 0,
      jwks: issuer.keysAddress,
      tokenType: 'at+jwt',
      ...options,
    });
    await service.ready;
    const answer = await get(`${service.baseUrl}/schedule`, { authorization: `Bearer ${token}` });
    t.equal(answer.status, status);
    await service.close();
  }
});
