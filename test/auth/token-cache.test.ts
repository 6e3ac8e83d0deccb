/** The bounds of remembered tokens. Inside, because it turns the clock. */
import { test } from 'tap';
import { TokenCache } from '../../src/auth/token-cache.js';

const ALWAYS = { usableFromMs: Number.NEGATIVE_INFINITY, usableUntilMs: Number.POSITIVE_INFINITY };

test('a value is found only under its own token', async (t) => {
  const cache = new TokenCache<typeof ALWAYS>();
  cache.set('a', ALWAYS);
  t.equal(cache.get('a')?.value, ALWAYS);
  t.equal(cache.get('A'), undefined);
  t.equal(cache.get('a '), undefined);
  t.equal(cache.get(''), undefined);
});

test('an entry expires with its token, or after the longest time to live', async (t) => {
  let nowMs = 1000;
  const cache = new TokenCache<typeof ALWAYS>({ now: () => nowMs, ttlMsMax: 60_000 });
  cache.set('short', { ...ALWAYS, usableUntilMs: 5000 });
  cache.set('long', ALWAYS);
  nowMs = 4999;
  t.ok(cache.get('short'));
  nowMs = 5000;
  t.equal(cache.get('short'), undefined, 'at its end');
  nowMs = 60_999;
  t.ok(cache.get('long'));
  nowMs = 61_000;
  t.equal(cache.get('long'), undefined, 'hits do not prolong it');
  t.equal(cache.size, 0, 'entries past their time go when they are asked for');
});

test('setting the clock back removes entries instead of prolonging them', async (t) => {
  let nowMs = 100_000;
  const cache = new TokenCache<typeof ALWAYS>({ now: () => nowMs });
  cache.set('a', { ...ALWAYS, usableFromMs: 50_000 });
  cache.set('b', ALWAYS);
  nowMs = 49_999;
  t.equal(cache.get('a'), undefined, 'not valid yet');
  t.equal(cache.get('b'), undefined, 'stored in the future');
});

test('a value is not returned before its time', async (t) => {
  const cache = new TokenCache<typeof ALWAYS>({ now: () => 1000 });
  cache.set('a', { ...ALWAYS, usableFromMs: 1001 });
  cache.set('b', { ...ALWAYS, usableFromMs: 1000 });
  t.equal(cache.get('a'), undefined);
  t.ok(cache.get('b'));
});

test('a value is not stored after its time', async (t) => {
  const cache = new TokenCache<typeof ALWAYS>({ now: () => 1000 });
  cache.set('a', { ...ALWAYS, usableUntilMs: 1000 });
  t.equal(cache.size, 0);
});

test('the number of entries is bounded, and entries in use stay', async (t) => {
  const cache = new TokenCache<typeof ALWAYS>({ entriesMax: 100 });
  cache.set('in use', ALWAYS);
  for (let i = 0; i < 10_000; i++) {
    cache.set(`token ${i}`, ALWAYS);
    if (cache.size > 100) t.fail(`size ${cache.size}`);
    if (i % 10 === 0 && cache.get('in use') === undefined) t.fail(`lost at ${i}`);
  }
  t.ok(cache.get('in use'));
  t.ok(cache.get('token 9999'));
  t.equal(cache.get('token 0'), undefined);
});

test('setting a token again does not count twice', async (t) => {
  const cache = new TokenCache<typeof ALWAYS>({ entriesMax: 4 });
  for (let i = 0; i < 10; i++) cache.set('a', ALWAYS);
  cache.set('b', ALWAYS);
  cache.set('c', ALWAYS);
  cache.set('a', ALWAYS);
  t.equal(cache.size, 3);
});

test('clear forgets everything', async (t) => {
  const cache = new TokenCache<typeof ALWAYS>();
  cache.set('a', ALWAYS);
  cache.clear();
  t.equal(cache.get('a'), undefined);
  t.equal(cache.size, 0);
});
