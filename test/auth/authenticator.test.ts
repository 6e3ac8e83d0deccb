/**
 * What an authenticator remembers of a token. Inside, because answers do not show whether a token was verified
 * again.
 */
import { test } from 'tap';
import { Authenticator } from '../../src/auth/authenticator.js';
import { createDevelopmentIssuer } from '../../src/auth/development-issuer.js';
import { createClaimTable } from '../../src/auth/identity.js';
import { createSecretKeySet } from '../../src/auth/key-set.js';
import { createVerifier, type Verifier } from '../../src/auth/verifier.js';
import { goodClaims, hs256, NOW_MS, NOW_SECONDS, SECRET } from './tokens.js';

function setUp(start = NOW_MS, cacheEntriesMax?: number) {
  const clock = { nowMs: start, verified: 0 };
  const now = () => clock.nowMs;
  const inner = createVerifier({ keySets: [createSecretKeySet(Buffer.from(SECRET))], now });
  const verifier: Verifier = {
    verify(token) {
      clock.verified++;
      return inner.verify(token);
    },
  };
  const table = createClaimTable();
  return {
    clock,
    authenticator: new Authenticator({
      verifier,
      table,
      enrolments: null,
      mode: 'uuid',
      now,
      ...(cacheEntriesMax === undefined ? {} : { cacheEntriesMax }),
    }),
  };
}

test('a good token is verified once, then looked up synchronously with its identities', async (t) => {
  const { clock, authenticator } = setUp();
  const token = hs256(goodClaims({ studyGroup: 'A' }));
  t.equal(authenticator.lookup(token), undefined);
  const authentication = await authenticator.verify(token);
  const user = authenticator.lookup(token)?.value;
  t.match(user, { subject: 'alice', identities: [{ field: 'studyGroup', values: ['A'] }] });
  t.equal(authentication.outcome === 'ok' && authentication.user, user, 'one object for all requests');
  t.equal(clock.verified, 1);
});

test('a bad token is never remembered', async (t) => {
  const { clock, authenticator } = setUp();
  const token = hs256(goodClaims(), { secret: 'x'.repeat(32) });
  t.equal((await authenticator.verify(token)).outcome, 'invalid');
  t.equal(authenticator.lookup(token), undefined);
  t.equal((await authenticator.verify(token)).outcome, 'invalid');
  t.equal(clock.verified, 2);
});

test('a remembered token expires on time, to the millisecond and with the tolerance', async (t) => {
  const { clock, authenticator } = setUp();
  const token = hs256({ sub: 'a', exp: NOW_SECONDS + 10 });
  await authenticator.verify(token);
  clock.nowMs = NOW_MS + 14_999;
  t.ok(authenticator.lookup(token));
  clock.nowMs = NOW_MS + 15_000;
  t.equal(authenticator.lookup(token), undefined);
  t.match(await authenticator.verify(token), { outcome: 'invalid', reason: 'expired' });
});

test('a remembered token is verified again after a minute, and after clear', async (t) => {
  const { clock, authenticator } = setUp();
  const token = hs256(goodClaims());
  await authenticator.verify(token);
  clock.nowMs += 60_000;
  t.equal(authenticator.lookup(token), undefined);
  await authenticator.verify(token);
  t.ok(authenticator.lookup(token));
  authenticator.clear();
  t.equal(authenticator.lookup(token), undefined);
});

test('a verification that began before clear is repeated', async (t) => {
  const { clock, authenticator } = setUp();
  const token = hs256(goodClaims());
  const pending = authenticator.verify(token);
  authenticator.clear();
  t.equal((await pending).outcome, 'ok');
  t.equal(clock.verified, 2);
  t.ok(authenticator.lookup(token));
});

test('when keys change, tokens of old keys are refused at once, even during their verification', async (t) => {
  const { authenticator } = setUp();
  const known = hs256(goodClaims());
  const late = hs256(goodClaims({ sub: 'bob' }));
  await authenticator.verify(known);
  const pending = authenticator.verify(late);
  const user = authenticator.lookup(known);
  authenticator.useVerifier(
    createVerifier({ keySets: [createSecretKeySet(Buffer.from('x'.repeat(32)))], now: () => NOW_MS }),
  );
  t.notOk(user === undefined || authenticator.isUsable(user), 'a remembered user');
  t.equal(authenticator.lookup(known), undefined);
  t.match(await pending, { outcome: 'invalid', reason: 'signature' });
  t.match(await authenticator.verify(known), { outcome: 'invalid', reason: 'signature' });
  t.equal((await authenticator.verify(hs256(goodClaims(), { secret: 'x'.repeat(32) }))).outcome, 'ok');
});

test('the verifier of the development issuer accepts only its own tokens', async (t) => {
  const table = createClaimTable({ studyGroup: ['groups'] });
  const now = () => NOW_MS;
  const issuer = createDevelopmentIssuer({ issuer: 'i', audience: 'a', table, now });
  const verifierFor = (keySet: typeof issuer.keySet) =>
    createVerifier({ keySets: [keySet], issuer: 'i', audience: 'a', now });
  const { token, expiresInSeconds } = await issuer.issue({
    subject: 'bob',
    values: { studyGroup: ['A'], groupId: ['x', 'y'] },
  });
  t.equal(expiresInSeconds, 28_800);
  const verification = await verifierFor(issuer.keySet).verify(token);
  t.match(verification, {
    outcome: 'ok',
    token: {
      subject: 'bob',
      claims: {
        groups: 'A',
        groupId: ['x', 'y'],
        iss: 'i',
        aud: 'a',
        exp: NOW_SECONDS + 28_800,
        iat: NOW_SECONDS,
      },
    },
  });
  const other = createDevelopmentIssuer({ issuer: 'i', audience: 'a', table, now });
  t.match(await verifierFor(other.keySet).verify(token), { outcome: 'invalid', reason: 'signature' });
});

test('a test token always has a subject', async (t) => {
  const issuer = createDevelopmentIssuer({ table: createClaimTable() });
  const verifier = createVerifier({ keySets: [issuer.keySet] });
  t.match(await verifier.verify((await issuer.issue({})).token), {
    outcome: 'ok',
    token: { subject: 'developer' },
  });
});

test('a token with many values counts as many tokens in the cache', async (t) => {
  const { authenticator } = setUp(NOW_MS, 100);
  const remembered = async (studyGroups: readonly string[]): Promise<number> => {
    const tokens = Array.from({ length: 200 }, (_, n) =>
      hs256(goodClaims({ sub: `user ${n}`, studyGroups })),
    );
    for (const token of tokens) await authenticator.verify(token);
    return tokens.filter((token) => authenticator.lookup(token) !== undefined).length;
  };
  const light = await remembered(['A', 'B']);
  t.ok(light >= 50 && light <= 100, `${light}`);
  const heavy = await remembered(Array.from({ length: 900 }, (_, n) => `${n}`));
  t.ok(heavy >= 1 && heavy <= 2, `${heavy}`);
});
