/** The bound of simultaneous verifications, and sharing of one verification by equal tokens. */
import { generateKeyPairSync } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'tap';
import { Authenticator } from '../../src/auth/authenticator.js';
import { createClaimTable } from '../../src/auth/identity.js';
import { createPublicKeySet, createSecretKeySet } from '../../src/auth/key-set.js';
import { createVerifier, type Verification, type Verifier } from '../../src/auth/verifier.js';
import { KEY_TRIES_UNDER_WAY_MAX, KEY_WAITS_MAX, KEYS_TRIED_MAX } from '../../src/base/limits.js';
import { PLAN, setUp as setUpIssuer } from '../attack/issuer.js';
import { goodClaims, hs256, NOW_MS, SECRET, signed } from './tokens.js';

const KEYS = 3;
const pairs = Array.from({ length: KEYS }, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keySet = createPublicKeySet(
  { keys: pairs.map(({ publicKey }, n) => ({ ...publicKey.export({ format: 'jwk' }), kid: `k${n}` })) },
  'the keys',
);
const now = () => NOW_MS;

/** Tokens that no key has signed: tried with all keys, or with the key that they name. */
const forged = (n: number, kid?: string): string =>
  signed(goodClaims({ n }), stranger.privateKey, { alg: 'ES256', ...(kid === undefined ? {} : { kid }) });
const good = (n: number, key = n % KEYS): string =>
  signed(goodClaims({ n }), pairs[key]?.privateKey as never, { alg: 'ES256', kid: `k${key}` });

function count(verifications: readonly (Verification | { readonly outcome: string })[]): object {
  const counts: Record<string, number> = {};
  for (const { outcome } of verifications) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

test('the number of keys tried at a time is bounded; excess tokens are refused at once', async (t) => {
  const verifier = createVerifier({ keySets: [keySet], now, triesMax: 2 * KEYS });
  for (let round = 0; round < 3; round++) {
    const tokens = Array.from({ length: 10 }, (_, n) => forged(n));
    t.same(count(await Promise.all(tokens.map((token) => verifier.verify(token)))), {
      invalid: 2,
      overloaded: 8,
    });
    const named = Array.from({ length: 10 }, (_, n) => good(n));
    t.same(
      count(await Promise.all(named.map((token) => verifier.verify(token)))),
      { ok: 2 * KEYS, overloaded: 10 - 2 * KEYS },
      'one that names its key takes less',
    );
    // Every verification releases its keys, with any outcome.
    const odd = [
      forged(0, 'k1'),
      forged(1, 'no-such-key'),
      signed({ sub: 'a', exp: 1 }, pairs[0]?.privateKey as never, { alg: 'ES256' }),
    ];
    t.same(count(await Promise.all(odd.map((token) => verifier.verify(token)))), { invalid: 3 });
  }
  const filling = [verifier.verify(forged(20)), verifier.verify(forged(21))];
  let isTold = false;
  void verifier.verify(good(22)).then(({ outcome }) => {
    isTold = outcome === 'overloaded';
  });
  for (let n = 0; n < 10; n++) await Promise.resolve();
  t.equal(isTold, true, 'without waiting for anything');
  await Promise.all(filling);
  t.equal((await verifier.verify(good(23))).outcome, 'ok');
});

test('tokens that need one key are verified while tokens that need many are refused', async (t) => {
  const verifier = createVerifier({ keySets: [keySet], now, triesMax: 2 * KEYS + 1 });
  const flood = Array.from({ length: 5 }, (_, n) => verifier.verify(forged(n)));
  const named = verifier.verify(good(1));
  t.same(count(await Promise.all(flood)), { invalid: 2, overloaded: 3 });
  t.equal((await named).outcome, 'ok');
});

test('tokens that name no key are verified within the bounds, and so are all tokens that waited for keys', (t) => {
  t.ok(KEY_TRIES_UNDER_WAY_MAX >= 32 * KEYS_TRIED_MAX);
  t.ok(KEY_WAITS_MAX <= KEY_TRIES_UNDER_WAY_MAX);
  t.end();
});

function shared() {
  const seen: string[] = [];
  const inner = createVerifier({ keySets: [createSecretKeySet(Buffer.from(SECRET))], now });
  const verifier: Verifier = {
    verify(token) {
      seen.push(token);
      return inner.verify(token);
    },
  };
  const table = createClaimTable();
  return {
    seen,
    authenticator: new Authenticator({ verifier, table, enrolments: null, mode: 'uuid', now }),
  };
}

test('equal tokens that arrive together are verified once', async (t) => {
  const { seen, authenticator } = shared();
  const [alice, bob] = [hs256(goodClaims()), hs256(goodClaims({ sub: 'bob' }))];
  const bad = `${alice.slice(0, -4)}AAAA`;
  const asked = [alice, bob, bad].flatMap((token) => Array<string>(20).fill(token));
  const answers = await Promise.all(
    asked.map((token) => {
      t.equal(authenticator.lookup(token), undefined);
      return authenticator.verify(token);
    }),
  );
  t.same(seen, [alice, bob, bad]);
  t.same(
    answers.map((answer) => (answer.outcome === 'ok' ? answer.user.subject : answer.outcome)),
    ['alice', 'bob', 'invalid'].flatMap((name) => Array<string>(20).fill(name)),
  );
  t.equal((await authenticator.verify(bad)).outcome, 'invalid');
  t.equal(seen.length, 4, 'after the verification a bad token is verified again');
});

test('a verification that began before the keys changed is not shared with later requests', async (t) => {
  const { seen, authenticator } = shared();
  const token = hs256(goodClaims());
  const before = authenticator.verify(token);
  authenticator.clear();
  const after = authenticator.verify(token);
  t.not(after, before);
  t.equal(authenticator.verify(token), after, 'but the one that began then is');
  t.same(await before, await after, 'and the older one ends with its answer');
  t.equal((await after).outcome, 'ok');
  t.equal(seen.length, 2);
  t.ok(authenticator.lookup(token));
});

test('a verification with old keys that ends last takes the answer of the one with new keys', async (t) => {
  const inner = createVerifier({ keySets: [createSecretKeySet(Buffer.from(SECRET))], now });
  const releases: (() => void)[] = [];
  const verifier: Verifier = {
    async verify(token) {
      await new Promise<void>((resolve) => releases.push(resolve));
      return inner.verify(token);
    },
  };
  const authenticator = new Authenticator({
    verifier,
    table: createClaimTable(),
    enrolments: null,
    mode: 'uuid',
    now,
  });
  const token = hs256(goodClaims());
  const before = authenticator.verify(token);
  authenticator.clear();
  const after = authenticator.verify(token);
  releases[1]?.();
  t.equal((await after).outcome, 'ok');
  releases[0]?.();
  t.same(await before, await after);
  t.equal(releases.length, 2, 'nothing is verified a third time');
});

test('tokens that wait for keys are bounded, and do not delay other tokens', async (t) => {
  const { clock, issuer, start } = setUpIssuer({}, ['a']);
  const { ask } = start();
  t.equal(await ask(issuer.token('a')), 'ok');
  await clock.advance(PLAN.cooldownMs);
  issuer.publish('a', 'b');
  let answer = (): void => {};
  issuer.hold = new Promise((resolve) => {
    answer = resolve;
  });
  const outcomes: string[] = [];
  const waiting = Array.from({ length: KEY_WAITS_MAX + 50 }, (_, n) =>
    ask(issuer.token('b', { n })).then((outcome) => void outcomes.push(outcome)),
  );
  await turn();
  t.same(outcomes, Array<string>(50).fill('overloaded'), 'more than may wait are told at once');
  for (let n = 0; n < 20; n++) t.equal(await ask(issuer.token('a', { n })), 'ok', 'others do not wait');
  t.equal(outcomes.length, 50);
  answer();
  await Promise.all(waiting);
  t.same(outcomes.slice(50), Array<string>(KEY_WAITS_MAX).fill('ok'), 'all who waited are let in');
});
