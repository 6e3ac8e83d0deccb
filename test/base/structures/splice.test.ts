/** Compares splices with arrays that are filtered and joined, and their results with builds. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { DictionaryBuilder, NO_CODE } from '../../../src/base/structures/dictionary.js';
import { KeyedHash } from '../../../src/base/structures/keyed-hash.js';
import { Splice, spliceDictionary } from '../../../src/base/structures/splice.js';

interface Item<Value> {
  readonly value: Value;
  /** Old place, or null for an added item. */
  readonly old: number | null;
}

interface Change<Value> {
  readonly before: readonly Value[];
  readonly splice: Splice;
  readonly after: readonly Item<Value>[];
}

/** A sequence, and its result in the slow way: item by item. */
function changesOf<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Change<Value>> {
  const part = fc.record({ value, goes: fc.boolean(), come: fc.array(value, { maxLength: 2 }) });
  return fc
    .record({ parts: fc.array(part, { maxLength: 20 }), atEnd: fc.array(value, { maxLength: 2 }) })
    .map(({ parts, atEnd }) => {
      const gone: number[] = [];
      const comesBefore: number[] = [];
      const after: Item<Value>[] = [];
      for (const [place, { value, goes, come }] of parts.entries()) {
        for (const each of come) {
          comesBefore.push(place);
          after.push({ value: each, old: null });
        }
        if (goes) gone.push(place);
        else after.push({ value, old: place });
      }
      for (const each of atEnd) {
        comesBefore.push(parts.length);
        after.push({ value: each, old: null });
      }
      const before = parts.map((each) => each.value);
      return { before, splice: new Splice(before.length, gone, comesBefore), after };
    });
}

const options = { numRuns: 2000, seed: 53 };

test('a splice knows where every item is, and copies the rest', async () => {
  fc.assert(
    fc.property(changesOf(fc.nat({ max: 250 })), ({ before, splice, after }) => {
      assert.equal(splice.after, after.length);
      const come = [...after.keys()].filter((place) => after[place]?.old === null);
      assert.deepEqual([...splice.inserted], come);
      const stay = after.flatMap(({ old }, place) => (old === null ? [] : [[old, place] as const]));
      const places = before.map((_, old) => stay.find(([from]) => from === old)?.[1] ?? NO_CODE);
      assert.deepEqual([...splice.newPlaces], places);
      for (const [old, place] of places.entries()) {
        assert.equal(splice.newPlaceOf(old), place === NO_CODE ? -1 : place);
      }
      assert.equal(
        splice.isShifted,
        stay.some(([old, place]) => old !== place),
      );
      const copy = splice.copy(Uint16Array.from(before), new Uint16Array(after.length));
      assert.deepEqual(
        [...copy],
        after.map(({ value, old }) => (old === null ? 0 : value)),
      );
    }),
    options,
  );
});

test('pieces of items are copied to their new starts', async () => {
  fc.assert(
    fc.property(changesOf(fc.string({ maxLength: 5 })), ({ before, splice, after }) => {
      const startsOf = (texts: readonly string[]): number[] => {
        const starts = [7];
        for (const text of texts) starts.push((starts.at(-1) ?? 0) + text.length);
        return starts;
      };
      const start = Uint32Array.from(startsOf(before));
      const lengths = after.filter(({ old }) => old === null).map(({ value }) => value.length);
      const next = splice.starts(start, lengths);
      assert.deepEqual([...next], startsOf(after.map(({ value }) => value)));
      const bytes = Buffer.from(`0123456${before.join('')}`, 'latin1');
      const copied = splice.copyPieces(start, bytes, next, Buffer.alloc(next.at(-1) ?? 0));
      for (const [place, { value, old }] of after.entries()) {
        const text = copied.toString('latin1', next[place], next[place + 1]);
        assert.equal(
          text,
          old === null ? '\0'.repeat(value.length) : Buffer.from(value, 'latin1').toString('latin1'),
        );
      }
    }),
    options,
  );
});

test('a spliced dictionary equals one built from the values', async () => {
  const word = fc.constantFrom('', 'a', 'b', 'ab', 'é', '\uFF5E', '\u{1F600}', 'z', 'aa', 'b\0');
  const build = (values: Iterable<string>): { bytes: Uint8Array; start: Uint32Array } => {
    const builder = new DictionaryBuilder(new KeyedHash([1, 2]));
    for (const value of values) builder.intern(value);
    return builder.finish().image;
  };
  fc.assert(
    fc.property(fc.uniqueArray(word), fc.uniqueArray(word), fc.uniqueArray(word), (before, gone, come) => {
      const sorted = [...before].sort((a, b) => Buffer.from(a).compare(Buffer.from(b)));
      const codes = [...sorted.keys()].filter((code) => gone.includes(sorted[code] ?? ''));
      const fresh = come.filter((value) => !before.includes(value));
      const { image, splice, values } = spliceDictionary(build(before), codes, fresh);
      const stay = before.filter((value) => !gone.includes(value));
      assert.deepEqual(image, build([...stay, ...fresh]));
      const start = image.start;
      for (const [n, value] of values.entries()) {
        const code = splice.inserted[n] ?? 0;
        assert.equal(Buffer.from(image.bytes).toString('utf8', start[code], start[code + 1]), value);
      }
    }),
    options,
  );
});
