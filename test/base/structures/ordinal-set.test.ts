/** Sets of ordinals against those of JavaScript. Inside, as functions that could stand alone. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { countRuns, positionsWithinRuns, sortUnique } from '../../../src/base/structures/ordinal-set.js';
import { gallop, lowerBound } from '../../../src/base/structures/search.js';

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

test('a list within runs agrees with a scan', (t) => {
  fc.assert(
    fc.property(ordinals, runs, (list, bounds) => {
      const expected = within(list, bounds);
      const packedList = Uint32Array.from(list);
      const packedRuns = Uint32Array.from(bounds);
      const positions = new Uint32Array(expected.length);
      const count = positionsWithinRuns(packedList, 0, list.length, packedRuns, 0, positions);
      assert.equal(count, expected.length);
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

test('only the requested part of a list is read', (t) => {
  const list = Uint32Array.from([1, 2, 3, 4, 5]);
  const positions = new Uint32Array(2);
  t.equal(positionsWithinRuns(list, 1, 3, Uint32Array.from([0, 100]), 1, positions), 2);
  t.strictSame([...positions], [0, 1], 'counted from the offset');
  t.equal(countRuns(Uint32Array.from([0, 2, 5, 9])), 6);
  t.end();
});

test('a list within runs is right at their boundaries', (t) => {
  const cases: [why: string, list: number[], runs: number[], positions: number[]][] = [
    ['neither', [], [], []],
    ['no list', [], [0, 9], []],
    ['no runs', [0, 9], [], []],
    ['the first ordinal of a run', [5], [5, 6], [0]],
    ['the end of a run is not in it', [6], [5, 6], []],
    ['before a run', [4], [5, 6], []],
    ['all of the list in one run', [3, 4, 5], [3, 6], [0, 1, 2]],
    ['all of the list between two runs', [3, 4, 5], [0, 3, 6, 9], []],
    ['list and runs take turns', [0, 2, 4, 6], [1, 2, 3, 4, 6, 7], [3]],
    ['each run has one of them', [1, 3, 5], [1, 2, 3, 4, 5, 6], [0, 1, 2]],
    ['the list goes on behind the last run', [1, 8, 9], [0, 2], [0]],
    ['runs go on behind the list', [1], [0, 2, 3, 4, 5, 6], [0]],
    ['the last ordinals that there may be', [0xfffffffe], [0xfffffffe, 0xffffffff], [0]],
  ];
  for (const [why, list, runs, expected] of cases) {
    const positions = new Uint32Array(list.length);
    const count = positionsWithinRuns(
      Uint32Array.from(list),
      0,
      list.length,
      Uint32Array.from(runs),
      0,
      positions,
    );
    t.strictSame([...positions.subarray(0, count)], expected, why);
  }
  t.end();
});

test('sorting and the bitmap remove repeats in the same way', (t) => {
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

test('galloping and binary search agree from every start', (t) => {
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
