/** Small arrays cut from slabs. */
import fc from 'fast-check';
import { test } from 'tap';
import { pooledCopy, pooledUint32 } from '../../src/structures/pooled.js';

/** More than a slab holds, so that several are gone through. */
const ARRAYS = 2000;

test('arrays that are kept never share memory, whatever their lengths', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(40), fc.nat(5000)), { minLength: 1, maxLength: ARRAYS, size: 'max' }),
      (lengths) => {
        const kept = lengths.map((length, n) => pooledUint32(length).fill(n));
        return kept.every((array, n) => array.length === lengths[n] && array.every((value) => value === n));
      },
    ),
    { seed: 1, numRuns: 30 },
  );
  t.end();
});

test('a copy is of its own', (t) => {
  const values = [3, 0xffffffff, 0];
  const copy = pooledCopy(values);
  values[0] = 9;
  t.strictSame([...copy], [3, 0xffffffff, 0]);
  t.strictSame([...pooledCopy([])], []);
  t.end();
});
