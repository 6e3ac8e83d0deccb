/** The token cache with more tokens and spellings than it holds, and with tokens that it must refuse. */
import { createHmac } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'tap';
import { Authenticator } from '../../src/auth/authenticator.js';
import { createClaimTable } from '../../src/auth/identity.js';
import { createSecretKeySet } from '../../src/auth/key-set.js';
import { TokenCache } from '../../src/auth/token-cache.js';
import { createVerifier } from '../../src/auth/verifier.js';
import { TOKEN_CACHE_ENTRIES_MAX, TOKEN_CACHE_TTL_MS_MAX } from '../../src/base/limits.js';
import { base64url, goodClaims, hs256, NOW_MS, NOW_SECONDS, SECRET } from '../auth/tokens.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { setUp } from './issuer.js';

const TOKENS = size(100_000, 1_000_000);
/** Each is verified in full, which takes a hundred times as long. */
const VERIFIED = size(5000, 1_000_000);
const MIB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapMib(): number {
  collect();
  return process.memoryUsage().heapUsed / MIB;
}

/** Uses only rounds in which the cache was full. */
function heapsOf(rounds: readonly number[]): string {
  return `heap ${Math.min(...rounds).toFixed(1)} to ${Math.max(...rounds).toFixed(1)} MiB once it was full`;
}

function authenticatorOf(now: () => number, cacheEntriesMax = TOKEN_CACHE_ENTRIES_MAX) {
  return new Authenticator({
    verifier: createVerifier({ keySets: [createSecretKeySet(Buffer.from(SECRET))], now }),
    table: createClaimTable(),
    enrolments: null,
    mode: 'uuid',
    now,
    cacheEntriesMax,
  });
}

test(`${TOKENS} different tokens stay within the bounds of entries and memory`, async (t) => {
  const user = { usableFromMs: Number.NEGATIVE_INFINITY, usableUntilMs: Number.POSITIVE_INFINITY };
  const cache = new TokenCache<typeof user>();
  let largest = 0;
  const rounds: number[] = [];
  for (let n = 0; n < TOKENS; n++) {
    cache.set(`token ${n}`, { ...user });
    if (n % 3 === 0) cache.get(`token ${n - 5000}`);
    if (cache.size > largest) largest = cache.size;
    if ((n + 1) % (TOKENS / 10) === 0) rounds.push(heapMib());
  }
  t.ok(largest <= TOKEN_CACHE_ENTRIES_MAX, `${largest} entries`);
  t.ok(largest > TOKEN_CACHE_ENTRIES_MAX / 2, 'and it is made use of');
  const [first = 0, ...later] = rounds.slice(2);
  // The heap varies between one and two full generations.
  t.ok(Math.max(...later) - first < 8, `heap in MiB: ${rounds.map((mib) => mib.toFixed(1)).join(', ')}`);
  if (HARD) {
    recordFigure(
      'token-cache',
      `at most ${largest} of ${TOKENS} entries, ${TOKEN_CACHE_ENTRIES_MAX} are allowed; ${heapsOf(rounds.slice(2))}`,
      { rounds },
    );
  }
});

test(`${VERIFIED} tokens verified one after another take at most the memory that the cache may have`, async (t) => {
  const authenticator = authenticatorOf(() => NOW_MS, 1000);
  const rounds: number[] = [];
  for (let n = 0; n < VERIFIED; n++) {
    const { outcome } = await authenticator.verify(hs256(goodClaims({ n })));
    if (outcome !== 'ok') t.fail(outcome);
    if ((n + 1) % (VERIFIED / 10) === 0) rounds.push(heapMib());
  }
  const [first = 0, ...later] = rounds.slice(4);
  t.ok(Math.max(...later) - first < 4, `heap in MiB: ${rounds.map((mib) => mib.toFixed(1)).join(', ')}`);
  t.ok(authenticator.lookup(hs256(goodClaims({ n: VERIFIED - 1 }))), 'the last is remembered');
  if (HARD)
    recordFigure('token-cache-verified', `${VERIFIED} verified; ${heapsOf(rounds.slice(4))}`, { rounds });
  t.equal(authenticator.lookup(hs256(goodClaims({ n: 0 }))), undefined, 'the first is not');
});

test('only the canonical spelling of a good token is accepted', async (t) => {
  const authenticator = authenticatorOf(() => NOW_MS);
  const token = hs256(goodClaims());
  t.equal((await authenticator.verify(token)).outcome, 'ok');
  const spellings = [
    `${token}=`,
    `${token}==`,
    ` ${token}`,
    `${token}\n`,
    `${token}.`,
    token.replace('.', '..'),
    token.replace(/-|_/g, (c) => (c === '-' ? '+' : '/')).concat('='),
    ...Array.from({ length: 3 }, (_, n) => token.slice(0, -1) + nextCharacter(token.slice(-1), n + 1)),
  ];
  for (const spelling of spellings) {
    t.equal(authenticator.lookup(spelling), undefined);
    t.not((await authenticator.verify(spelling)).outcome, 'ok', JSON.stringify(spelling.slice(-6)));
    t.equal(authenticator.lookup(spelling), undefined, 'nothing of it is remembered');
  }
  t.ok(authenticator.lookup(token));
});

function nextCharacter(character: string, n: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return alphabet.charAt((alphabet.indexOf(character) + n) % 64);
}

test('equal claims with another signature are another token', async (t) => {
  const authenticator = authenticatorOf(() => NOW_MS);
  const input = `${base64url({ alg: 'HS256', a: 1 })}.${base64url(goodClaims())}`;
  const again = `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`;
  t.equal((await authenticator.verify(hs256(goodClaims()))).outcome, 'ok');
  t.equal(authenticator.lookup(again), undefined);
  t.equal((await authenticator.verify(again)).outcome, 'ok');
});

test("the cache agrees with a new verification in every second of a token's life", async (t) => {
  let nowMs = NOW_MS;
  const authenticator = authenticatorOf(() => nowMs);
  const fresh = createVerifier({ keySets: [createSecretKeySet(Buffer.from(SECRET))], now: () => nowMs });
  const tokens = [0, 1, 4.5, 30, 59, 60, 61, 3600].flatMap((seconds) => [
    hs256(goodClaims({ exp: NOW_SECONDS + seconds })),
    hs256(goodClaims({ exp: NOW_SECONDS + seconds + 30, nbf: NOW_SECONDS + seconds - 20 })),
  ]);
  let served = 0;
  let refused = 0;
  // Forward; then the clock is set back to a time before everything.
  const steps = [...Array.from({ length: 150 }, (_, n) => n * 1000 - 7), -3_600_000, -1000, 0, 500, 45_000];
  for (const stepMs of steps) {
    nowMs = NOW_MS + stepMs;
    for (const token of tokens) {
      const remembered = authenticator.lookup(token);
      const { outcome } = await fresh.verify(token);
      if (remembered !== undefined) {
        served++;
        if (outcome !== 'ok') t.fail(`served at ${stepMs} ms, ${outcome}`);
        if (stepMs >= 0 && nowMs - remembered.storedAtMs >= TOKEN_CACHE_TTL_MS_MAX) t.fail('too old');
      } else if (outcome !== 'ok') refused++;
      await authenticator.verify(token);
    }
  }
  t.ok(served > 500 && refused > 500, `${served} served from the cache, ${refused} refused`);
});

test('a token of a removed key is never accepted again', async (t) => {
  const { clock, issuer, start } = setUp({ cooldownMs: 1000, refreshMs: 5000 }, ['a', 'b']);
  const service = start();
  await clock.advance(0);
  let withdrawn = '';
  for (let round = 0; round < size(50, 1000); round++) {
    const [keep, drop] = [`k${round + 1}`, `k${round}`];
    issuer.publish(drop, keep);
    await clock.advance(5100);
    const [going, staying] = [issuer.token(drop), issuer.token(keep)];
    for (const token of [going, staying]) {
      if ((await service.ask(token)) !== 'ok') t.fail('not accepted while its key is published');
      if ((await service.ask(token)) !== 'remembered') t.fail('not remembered');
    }
    issuer.publish(keep);
    await clock.advance(5100);
    withdrawn = going;
    if ((await service.ask(withdrawn)) !== 'no-key') t.fail(`served in round ${round}`);
    if ((await service.ask(staying)) !== 'ok') t.fail('the key that stays is good');
  }
  t.equal(await service.ask(withdrawn), 'no-key');
});
