/** Arrays cut from slabs. Inside, as a data structure that could stand alone. */
import fc from 'fast-check';
import { test } from 'tap';
import { inScratch, results, scratch, shared } from '../../../src/base/structures/slabs.js';

/** More than a slab holds, so that several slabs are used. */
const ARRAYS = 2000;

test('kept arrays of any lengths never share memory', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(40), fc.nat(5000)), { minLength: 1, maxLength: ARRAYS, size: 'max' }),
      (lengths) => {
        const kept = lengths.map((length, n) => results.uint32(length).fill(n));
        return kept.every((array, n) => array.length === lengths[n] && array.every((value) => value === n));
      },
    ),
    { seed: 1, numRuns: 30 },
  );
  t.end();
});

test('a copy has its own memory', (t) => {
  const values = [3, 0xffffffff, 0];
  const copy = results.copyUint32(values);
  values[0] = 9;
  t.strictSame([...copy], [3, 0xffffffff, 0]);
  t.strictSame([...results.copyUint32([])], []);
  t.end();
});

test('shared arrays of one build lie in one buffer, zeroed, separate and aligned', (t) => {
  const { bytes, words, doubles, large } = shared.within(4096, () => ({
    bytes: shared.uint8(3).fill(255),
    words: shared.uint32(5).fill(0xffffffff),
    doubles: shared.float64(4),
    large: shared.uint8(5000),
  }));
  t.equal(bytes.buffer, words.buffer);
  t.equal(bytes.buffer, doubles.buffer);
  t.not(bytes.buffer, large.buffer);
  t.strictSame([...doubles], [0, 0, 0, 0]);
  t.strictSame([bytes.length, words.length, large.length], [3, 5, 5000]);
  const first = shared.within(64, () => [shared.uint8(40), shared.uint8(40), shared.uint8(8)] as const);
  t.not(first[0].buffer, first[1].buffer, 'a buffer that is full is followed by another');
  t.equal(first[1].buffer, first[2].buffer);
  t.not(shared.uint8(1).buffer, shared.uint8(1).buffer, 'afterwards each array has its own');
  t.end();
});

test('scratch arrays are zeroed and separate, even after a slab is full', (t) => {
  const size = 5 * 1024 * 1024;
  const [a, b, c] = inScratch(size, () => [
    scratch.uint32(3).fill(9),
    scratch.float64(2),
    scratch.uint32(16 * 1024 * 1024),
  ]);
  t.equal(a?.buffer, b?.buffer);
  t.not(a?.buffer, c?.buffer);
  t.strictSame([...(b ?? [])], [0, 0]);
  t.equal(c?.length, 16 * 1024 * 1024);
  t.not(scratch.uint32(1).buffer, scratch.uint32(1).buffer);
  t.end();
});
