import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import {
  countRuns,
  countWithinRuns,
  positionsWithinRuns,
  sortUnique,
} from '../../src/structures/ordinal-set.js';
import { gallop, lowerBound } from '../../src/structures/search.js';

const ordinals = fc.uniqueArray(fc.nat(200), { maxLength: 80 }).map((list) => list.sort((a, b) => a - b));
const runs = fc.uniqueArray(fc.nat(200), { maxLength: 20 }).map((bounds) => {
  const sorted = bounds.sort((a, b) => a - b);
  return sorted.length % 2 === 0 ? sorted : sorted.slice(1);
});

function within(list: readonly number[], bounds: readonly number[]): number[] {
  return list.filter((ordinal) =>
    bounds.some((first, r) => r % 2 === 0 && ordinal >= first && ordinal < (bounds[r + 1] ?? 0)),
  );
}

test('a list within runs is what a scan gives', (t) => {
  fc.assert(
    fc.property(ordinals, runs, (list, bounds) => {
      const expected = within(list, bounds);
      const packedList = Uint32Array.from(list);
      const packedRuns = Uint32Array.from(bounds);
      assert.equal(countWithinRuns(packedList, 0, list.length, packedRuns), expected.length);
      const positions = new Uint32Array(expected.length);
      positionsWithinRuns(packedList, 0, list.length, packedRuns, positions);
      assert.deepEqual(
        [...positions].map((position) => list[position]),
        expected,
      );
    }),
    { seed: 2, numRuns: 1000 },
  );
  t.pass('every generated case');
  t.end();
});

test('only the asked part of a list is looked at', (t) => {
  const list = Uint32Array.from([1, 2, 3, 4, 5]);
  t.equal(countWithinRuns(list, 1, 3, Uint32Array.from([0, 100])), 2);
  const positions = new Uint32Array(2);
  positionsWithinRuns(list, 1, 3, Uint32Array.from([0, 100]), positions);
  t.strictSame([...positions], [0, 1], 'counted from where the part begins');
  t.equal(countRuns(Uint32Array.from([0, 2, 5, 9])), 6);
  t.end();
});

test('sorting without repeats is the same by sort and by bitmap', (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(300), { maxLength: 60 }), (list) => {
      const expected = [...new Set(list)].sort((a, b) => a - b);
      for (const universe of [301, 100_000]) {
        const packed = Uint32Array.from(list);
        const count = sortUnique(packed, list.length, universe);
        assert.deepEqual([...packed.subarray(0, count)], expected);
      }
    }),
    { seed: 3, numRuns: 500 },
  );
  t.pass('every generated case');
  t.end();
});

test('the bitmap covers the last bit of its last word', (t) => {
  const packed = Uint32Array.from([63, 31, 0, 32, 31]);
  t.equal(sortUnique(packed, 5, 64), 4);
  t.strictSame([...packed.subarray(0, 4)], [0, 31, 32, 63]);
  t.end();
});

test('galloping and binary search agree from every starting point', (t) => {
  fc.assert(
    fc.property(ordinals, fc.nat(210), fc.nat(80), (list, target, low) => {
      const packed = Uint32Array.from(list);
      const from = Math.min(low, list.length);
      const expected = list.findIndex((value, i) => i >= from && value >= target);
      const wanted = expected === -1 ? list.length : expected;
      assert.equal(lowerBound(packed, target, from), wanted);
      assert.equal(gallop(packed, target, from, list.length), wanted);
    }),
    { seed: 4, numRuns: 1000 },
  );
  t.pass('every generated case');
  t.end();
});
