/** When a key set is fetched again. Inside, because it turns the clock, the chance and the timers. */
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'tap';
import { RemoteKeys } from '../../src/auth/remote-keys.js';
import { LecternError } from '../../src/base/errors.js';
import { leastGapMs, PLAN, setUp } from '../attack/issuer.js';

test('keys are fetched at the start and regularly, and verify tokens', async (t) => {
  const { clock, issuer, lines, start } = setUp();
  const { ask, remote } = start();
  t.equal(await ask(issuer.token('a')), 'ok', 'the first request waits for the first fetch');
  t.equal(issuer.askedMs.length, 1);
  await clock.advance(PLAN.refreshMs);
  t.equal(issuer.askedMs.length, 2, 'a little earlier than the interval');
  t.same(
    lines.map(({ message }) => message),
    ['key set taken'],
    'keys that stay the same are not worth a line',
  );
  t.same(lines[0]?.fields, { keySet: 'https://issuer.example/keys?secret=…', keys: 1 });
  remote.close();
  await clock.advance(PLAN.refreshMs * 3);
  t.equal(issuer.askedMs.length, 2, 'nothing after close');
  t.equal(clock.waiting, 0);
});

test('a rotated key is fetched for its first token after the cooldown; waiting tokens share the fetch', async (t) => {
  const { clock, issuer, start } = setUp();
  const { ask } = start();
  t.equal(await ask(issuer.token('a')), 'ok');
  issuer.publish('a', 'b');
  t.equal(await ask(issuer.token('b')), 'no-key', 'within the cooldown');
  await clock.advance(PLAN.cooldownMs - 1);
  t.equal(await ask(issuer.token('b')), 'no-key');
  await clock.advance(1);
  const tokens = Array.from({ length: 20 }, (_, n) => issuer.token('b', { n }));
  t.same(new Set(await Promise.all(tokens.map(ask))), new Set(['ok']));
  t.equal(issuer.askedMs.length, 2);
  t.equal(await ask(issuer.token('a')), 'ok', 'the old one is still published');
});

test('after the fetch, a cached token of a withdrawn key is refused', async (t) => {
  const { clock, issuer, start } = setUp({}, ['a', 'b']);
  const service = start();
  await clock.advance(0);
  const [withdrawn, kept] = [issuer.token('a'), issuer.token('b')];
  for (const token of [withdrawn, kept]) {
    t.equal(await service.ask(token), 'ok');
    t.equal(await service.ask(token), 'remembered');
  }
  const user = service.authenticator.lookup(withdrawn);
  const clearedBefore = service.cleared;
  issuer.publish('b');
  // Less time than the cache would have kept the token.
  await clock.advance(PLAN.cooldownMs);
  t.equal(await service.ask(issuer.token('unknown')), 'no-key');
  t.equal(service.cleared, clearedBefore + 1);
  t.equal(await service.ask(withdrawn), 'no-key');
  t.ok(user !== undefined && !service.authenticator.isUsable(user), 'nor on the connection it came over');
  t.equal(await service.ask(kept), 'ok');
});

test('the order of keys does not matter', async (t) => {
  const { clock, issuer, start } = setUp({}, ['a', 'b']);
  const service = start();
  await clock.advance(0);
  const { cleared } = service;
  issuer.publish('b', 'a');
  await clock.advance(PLAN.refreshMs);
  t.equal(issuer.askedMs.length, 2);
  t.equal(service.cleared, cleared);
});

test('fetches are counted by outcome, and the age counts from the last good fetch', async (t) => {
  const { clock, issuer, start } = setUp();
  issuer.failure = new Error('away');
  const { remote } = start();
  await clock.advance(0);
  t.same(remote.results, { changed: 0, unchanged: 0, failed: 1 });
  t.equal(remote.ageMs, null);
  issuer.failure = null;
  await clock.advance(PLAN.cooldownMs * 1.2);
  t.same(remote.results, { changed: 1, unchanged: 0, failed: 1 });
  await clock.advance(PLAN.refreshMs);
  t.same(remote.results, { changed: 1, unchanged: 1, failed: 1 });
  const { ageMs } = remote;
  issuer.failure = new Error('away');
  await clock.advance(PLAN.refreshMs);
  t.match(remote.results, { changed: 1, unchanged: 1 });
  t.ok(remote.results.failed > 1, `${remote.results.failed} failed`);
  t.equal(remote.ageMs, Number(ageMs) + PLAN.refreshMs, 'a failed fetch does not make keys younger');
});

test('old keys are used for a bounded time; then tokens get 503 until a fetch succeeds', async (t) => {
  const staleMsMax = 600_000;
  const { clock, issuer, lines, start } = setUp({ staleMsMax });
  const { ask } = start();
  const token = issuer.token('a');
  t.equal(await ask(token), 'ok');
  issuer.failure = new Error('away');
  await clock.advance(staleMsMax - 10_000);
  t.equal(await ask(token), 'ok', 'nearly too old');
  t.equal(await ask(token), 'remembered');
  await clock.advance(9_999);
  t.equal(await ask(token), 'remembered');
  await clock.advance(1);
  t.equal(await ask(token), 'unavailable', 'not even from the cache');
  await clock.advance(3_600_000);
  t.equal(await ask(token), 'unavailable');
  issuer.failure = null;
  await clock.advance(PLAN.cooldownMs * 1.2);
  t.equal(await ask(token), 'ok', 'it has recovered by itself');
  t.equal(await ask(token), 'remembered');
  t.ok(leastGapMs(issuer.askedMs) >= PLAN.cooldownMs);
  t.same(
    lines.map(({ level, message }) => `${level}: ${message}`),
    [
      'info: key set taken',
      'warn: cannot fetch the key set',
      'warn: key set too old, tokens are no longer verified',
      'info: key set can be fetched again',
    ],
    'one line per streak, however long',
  );
  t.match(lines[1]?.fields, { reason: 'away', usableSeconds: 315 });
});

test('a service that starts while the issuer is unreachable answers 503, and recovers without a restart', async (t) => {
  const { clock, issuer, start } = setUp();
  issuer.failure = new LecternError('source-unreadable', 'the connection was refused');
  const { ask, authenticator } = start();
  const token = issuer.token('a');
  for (let n = 0; n < 100; n++) t.equal(await ask(token), 'unavailable');
  t.equal(issuer.askedMs.length, 1);
  const authentication = await authenticator.verify(token);
  t.match(authentication, { description: /connection was refused/, retryAfterSeconds: 31 });
  await clock.advance(PLAN.cooldownMs * 1.2);
  t.equal(issuer.askedMs.length, 2);
  issuer.failure = null;
  await clock.advance(PLAN.cooldownMs * 1.2);
  t.equal(await ask(token), 'ok');
});

test('while the issuer is unreachable, tokens with an unknown key are not called invalid', async (t) => {
  const { clock, issuer, start } = setUp();
  const { ask } = start();
  t.equal(await ask(issuer.token('a')), 'ok');
  issuer.failure = new Error('away');
  await clock.advance(PLAN.refreshMs);
  t.equal(await ask(issuer.token('new')), 'unavailable', 'it may be new');
  t.equal(await ask(`${issuer.token('a').slice(0, -4)}AAAA`), 'signature', 'this one is known');
});

test('unusable answers of an issuer do not replace good keys', async (t) => {
  const { clock, issuer, lines, start } = setUp();
  const { ask } = start();
  const token = issuer.token('a');
  t.equal(await ask(token), 'ok');
  for (const document of [null, [], {}, { keys: [] }, { keys: 'x' }, { keys: [{ kty: 'oct', k: 'AQ' }] }]) {
    issuer.document = document;
    await clock.advance(PLAN.refreshMs);
    t.equal(await ask(token), 'ok', JSON.stringify(document));
  }
  t.equal(lines.filter(({ message }) => message === 'cannot fetch the key set').length, 1);
});

test('Retry-After of an issuer is honoured, up to the regular interval', async (t) => {
  for (const [retryAfterMs, expectedMs] of [
    [1000, 30_000],
    [120_000, 120_000],
    [86_400_000, 300_000],
  ] as const) {
    const { clock, issuer, start } = setUp();
    issuer.failure = new LecternError('source-unreadable', '429', { retryAfterMs });
    const { ask } = start();
    await clock.advance(expectedMs - 1);
    t.equal(await ask(issuer.token('a')), 'unavailable');
    t.equal(issuer.askedMs.length, 1, `${retryAfterMs}`);
    await clock.advance(expectedMs * 0.2);
    t.equal(issuer.askedMs.length, 2, `${retryAfterMs}`);
  }
});

test('unusable keys are left out with a warning, and the others are used', async (t) => {
  const { clock, issuer, lines, start } = setUp();
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { keys } = issuer.document as { keys: object[] };
  issuer.document = {
    keys: [
      { kty: 'oct', kid: 'a', k: 'c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IQ' },
      { ...small, kid: 'a' },
      rsa.privateKey.export({ format: 'jwk' }),
      { ...rsa.publicKey.export({ format: 'jwk' }), e: 'AQ' },
      { kty: 'OKP', crv: 'X25519', x: 'AQ' },
      'x',
      { ...rsa.publicKey.export({ format: 'jwk' }), use: 'enc' },
      { ...rsa.publicKey.export({ format: 'jwk' }), key_ops: 'verify' },
      ...keys,
    ],
  };
  const { ask, remote } = start();
  t.equal(await ask(issuer.token('a')), 'ok');
  t.equal(remote.state.keys.length, 1);
  await clock.advance(PLAN.refreshMs);
  const warnings = lines.filter(({ level }) => level === 'warn');
  t.equal(warnings.length, 1, 'once, not at every fetch');
  t.match(warnings[0], {
    message: 'keys of the key set left out',
    fields: {
      leftOut: 6,
      reasons: [/^key 1 is symmetric/, /1024 bits/, /private/, /exponent 1;/, /^key 5/, /^key 6 is not/],
    },
  });
  t.notMatch(JSON.stringify(lines), /c2VjcmV0/);
});

test('a logger that throws does no harm; plain http to another machine causes a warning', async (t) => {
  for (const [url, warned] of [
    ['http://issuer.example/keys', true],
    ['https://issuer.example/keys', false],
    ['http://127.0.0.1:1/keys', false],
    ['http://localhost/keys', false],
    ['http://[::1]/keys', false],
  ] as const) {
    const { clock, issuer } = setUp();
    const messages: string[] = [];
    const log = {
      info(_: object, message: string): void {
        messages.push(message);
        throw new Error('the disk is full');
      },
      warn(_: object, message: string): void {
        messages.push(message);
        throw new Error('the disk is full');
      },
    };
    const { fetch } = issuer;
    const { now, schedule } = clock;
    const remote = new RemoteKeys({ ...PLAN, url }, { fetch, now, schedule, log });
    await clock.advance(0);
    t.equal(remote.state.keys.length, 1);
    issuer.failure = new Error('away');
    await clock.advance(PLAN.refreshMs);
    t.match(remote.state, { problem: 'away', number: 1 });
    const expected = ['key set taken', 'cannot fetch the key set'];
    t.same(messages, warned ? ['key set is fetched without encryption', ...expected] : expected, url);
  }
});

test('if a set has too many keys, the first ones are used', async (t) => {
  const { issuer, start } = setUp(
    {},
    Array.from({ length: 130 }, (_, n) => `k${n}`),
  );
  const { ask, remote } = start();
  t.equal(await ask(issuer.token('k99')), 'ok');
  t.equal(await ask(issuer.token('k100')), 'no-key');
  t.equal(remote.state.keys.length, 100);
});
