/** Sorting against that of JavaScript. Inside, as a function that could stand alone. */
import fc from 'fast-check';
import { test } from 'tap';
import { radixSort } from '../../../src/base/structures/radix-sort.js';

/** Positions sorted by key; equal keys keep their order. */
function expectedOrder(keys: readonly number[]): number[] {
  return keys.map((_, i) => i).sort((a, b) => (keys[a] as number) - (keys[b] as number) || a - b);
}

const LARGEST = 2 ** 53 - 1;

for (const [name, count, keyMax] of [
  ['none', 0, 1],
  ['one', 1, LARGEST],
  ['few', 300, LARGEST],
  ['few keys of few values', 300, 3],
  ['many', 20_000, LARGEST],
  ['many keys of one digit', 20_000, 65_535],
  ['many keys of few values', 20_000, 3],
  ['many equal keys', 20_000, 0],
] as const) {
  test(`keys come out in order, and equal keys keep their order: ${name}`, (t) => {
    const keys = fc.sample(fc.maxSafeNat(), { seed: 7, numRuns: count }).map((key) => key % (keyMax + 1));
    const order = Uint32Array.from(keys, (_, i) => i);
    radixSort(order, Float64Array.from(keys));
    t.strictSame([...order], expectedOrder(keys));
    t.end();
  });
}
