/** Dictionaries, posting lists and growing columns. Inside, as data structures that could stand alone. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { Dictionary, DictionaryBuilder, NO_CODE } from '../../../src/base/structures/dictionary.js';
import { Growable } from '../../../src/base/structures/growable.js';
import { KeyedHash } from '../../../src/base/structures/keyed-hash.js';
import { buildPostingLists } from '../../../src/base/structures/posting-lists.js';
import { radixSort } from '../../../src/base/structures/radix-sort.js';

/** Uses texts whose order differs between UTF-16 and UTF-8. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom(
      'a',
      '\ud7ff',
      '\ue000',
      '\uf7ff',
      '\uffff',
      '\u{10000}',
      '\u{1f600}',
      '\u{10ffff}',
    ),
    maxLength: 3,
  }),
);

test('a dictionary returns every value in byte order and finds no other', (t) => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 40 }), text, (values, other) => {
      const builder = new DictionaryBuilder(new KeyedHash([1, 2]));
      const codes = values.map((value) => builder.intern(value));
      const { image, recode } = builder.finish();
      const dictionary = new Dictionary(image);
      const distinct = [...new Set(values)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.deepEqual(
        Array.from({ length: dictionary.size }, (_, code) => dictionary.valueOf(code)),
        distinct,
      );
      values.forEach((value, i) => {
        const code = recode[codes[i] as number];
        assert.equal(dictionary.codeOf(value), code);
        assert.equal(dictionary.codeOf(value), code, 'the second look-up is answered from memory');
      });
      if (!values.includes(other)) assert.equal(dictionary.codeOf(other), NO_CODE);
    }),
    { seed: 5, numRuns: 300 },
  );
  t.pass('every generated case');
  t.end();
});

for (const [beginning, what] of [
  ['', 'random texts'],
  ['lesson-', 'texts with one beginning'],
  ['\u00fc\u{10000}', 'texts that begin with other characters than ASCII'],
] as const)
  test(`the values of a large dictionary are in byte order: ${what}`, (t) => {
    const builder = new DictionaryBuilder(new KeyedHash([1, 2]));
    // The digits in front repeat, so that longer texts differ only behind the bytes that are sorted first.
    const values = Array.from(
      { length: 6000 },
      (_, n) => `${beginning}${String(n % 7).repeat(1 + (n % 9))}${n}`,
    );
    values.push(`${beginning}${'\u00e9'.repeat(2000)}`);
    for (const value of [beginning, ...values, ...values]) builder.intern(value);
    const dictionary = new Dictionary(builder.finish().image);
    const found = Array.from({ length: dictionary.size }, (_, code) => dictionary.valueOf(code));
    const expected = [...new Set([beginning, ...values])];
    expected.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    t.ok(found.length > 5000);
    t.strictSame(found, expected);
    t.end();
  });

test('null has no code, and the empty text has one', (t) => {
  const builder = new DictionaryBuilder(new KeyedHash([1, 2]));
  t.equal(builder.intern(null), NO_CODE);
  t.equal(builder.intern(''), 0);
  t.equal(builder.valueOf(NO_CODE), null);
  const dictionary = new Dictionary(builder.finish().image);
  t.equal(dictionary.codeOf(''), 0);
  t.equal(new Dictionary(new DictionaryBuilder(new KeyedHash([1, 2])).finish().image).codeOf(''), NO_CODE);
  t.end();
});

test('posting lists hold each ordinal under its code, in ascending order', (t) => {
  const { start, ordinals } = buildPostingLists(Uint32Array.from([1, NO_CODE, 0, 1, 3, 1]), 4);
  t.strictSame([...start], [0, 1, 4, 4, 5]);
  t.strictSame([...ordinals], [2, 0, 3, 5, 4]);
  const none = buildPostingLists(new Uint32Array(0), 0);
  t.strictSame([...none.start], [0]);
  t.equal(none.ordinals.length, 0);
  t.end();
});

test('the radix sort is a stable sort', (t) => {
  const key = fc.oneof(fc.nat(5), fc.nat(100_000), fc.maxSafeNat());
  fc.assert(
    fc.property(fc.array(key, { maxLength: 60 }), (keys) => {
      const order = Uint32Array.from(keys.keys());
      radixSort(order, Float64Array.from(keys));
      const expected = [...keys.keys()].sort((a, b) => (keys[a] as number) - (keys[b] as number));
      assert.deepEqual([...order], expected);
    }),
    { seed: 6, numRuns: 500 },
  );
  t.pass('every generated case');
  t.end();
});

test('columns grow past their first size', (t) => {
  const integers = new Growable(Uint32Array);
  const doubles = new Growable(Float64Array);
  for (let i = 0; i < 5000; i++) {
    integers.push(i);
    doubles.push(i + 0.5);
  }
  t.equal(integers.length, 5000);
  t.strictSame(
    [...integers.view()],
    Array.from({ length: 5000 }, (_, i) => i),
  );
  t.equal(doubles.length, 5000);
  t.equal(doubles.view()[4999], 4999.5);
  t.end();
});
