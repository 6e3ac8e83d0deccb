/** A cache that is bounded in bytes. Inside, as a data structure that could stand alone. */
import { test } from 'tap';
import { GenerationalCache } from '../../../src/base/structures/generational-cache.js';

test('the cache never exceeds its bound, and keeps used values', (t) => {
  const cache = new GenerationalCache<number>(1000);
  cache.set('in use', -1, 50);
  for (let n = 0; n < 10_000; n++) {
    cache.set(`entry ${n}`, n, 1 + (n % 100));
    if (cache.bytes > 1000) t.fail(`${cache.bytes} bytes after ${n}`);
    if (cache.get('in use') !== -1) t.fail(`lost at ${n}`);
  }
  t.equal(cache.get('entry 9999'), 9999);
  t.equal(cache.get('entry 0'), undefined);
  t.end();
});

test('a value larger than half of the cache is not kept, and removes nothing', (t) => {
  const cache = new GenerationalCache<string>(100);
  cache.set('small', 'kept', 50);
  cache.set('large', 'refused', 51);
  t.equal(cache.get('large'), undefined);
  t.equal(cache.get('small'), 'kept');
  t.equal(cache.bytes, 50);
  cache.clear();
  t.equal(cache.bytes, 0);
  t.equal(cache.get('small'), undefined);
  t.end();
});

test('a new value replaces the previous one and its bytes', (t) => {
  const cache = new GenerationalCache<string>(100);
  for (const [value, bytes] of [
    ['first', 30],
    ['second', 10],
    ['third', 40],
  ] as const) {
    cache.set('key', value, bytes);
    t.equal(cache.get('key'), value);
    t.equal(cache.bytes, bytes);
  }
  cache.set('other', 'pushes the first into the old generation', 45);
  cache.set('key', 'fourth', 5);
  t.equal(cache.get('key'), 'fourth');
  t.equal(cache.bytes, 50);
  t.end();
});

test('a cache with a bound of zero keeps nothing', (t) => {
  const cache = new GenerationalCache<string>(0);
  cache.set('any', 'value', 1);
  t.equal(cache.get('any'), undefined);
  t.equal(cache.bytes, 0);
  t.end();
});
