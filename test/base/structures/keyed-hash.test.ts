/** Keyed hashes against the slow version. Inside, as functions that could stand alone. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { viewOf } from '../../../src/base/structures/byte-strings.js';
import { HashTable } from '../../../src/base/structures/hash-table.js';
import { KeyedHash, randomHashSeed } from '../../../src/base/structures/keyed-hash.js';
import { TextMemo } from '../../../src/base/structures/text-memo.js';
import { halfSipHash } from '../../oracle/half-sip-hash.js';

const SEED = 21;
const word = fc.nat(0xffffffff);
const seeds = fc.tuple(word, word);

function hashOf(hash: KeyedHash, bytes: Uint8Array): number {
  return hash.bytes(viewOf(bytes), 0, bytes.length) >>> 0;
}

/** The published results of HalfSipHash-1-3 for the bytes 0, 1, 2 …, by their number, under the key of the bytes 0 to 7. */
const PUBLISHED = [
  0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939, 0x7e059ea6, 0x88e3d89b, 0xa0080b65, 0x9d38d9d6, 0x577999b1,
];

test('the hash gives the published results', (t) => {
  const seed = [0x03020100, 0x07060504] as const;
  PUBLISHED.forEach((expected, length) => {
    const bytes = Uint8Array.from({ length }, (_, n) => n);
    t.equal(hashOf(new KeyedHash(seed), bytes), expected, `${length} bytes`);
    t.equal(halfSipHash(seed, bytes), expected, `${length} bytes, the slow way`);
  });
  t.end();
});

test('bytes at any offset and texts have the same hash as in the slow version', (t) => {
  fc.assert(
    fc.property(seeds, fc.uint8Array({ maxLength: 300 }), fc.nat(5), (seed, bytes, offset) => {
      const hash = new KeyedHash(seed);
      const around = Buffer.concat([Buffer.alloc(offset, 7), bytes, Buffer.alloc(9, 7)]);
      const found = hash.bytes(viewOf(around), offset, offset + bytes.length) >>> 0;
      assert.equal(found, halfSipHash(seed, bytes));
    }),
    { seed: SEED, numRuns: 500 },
  );
  fc.assert(
    fc.property(
      seeds,
      fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { maxLength: 4 }),
      (seed, texts) => {
        const hash = new KeyedHash(seed);
        for (const text of texts) {
          assert.equal(hash.text(text) >>> 0, halfSipHash(seed, Buffer.from(text, 'utf16le')));
        }
      },
    ),
    { seed: SEED, numRuns: 200 },
  );
  t.pass('as the slow way has it');
  t.end();
});

test('texts that collide under one seed do not collide under another', (t) => {
  const [one, other] = [new KeyedHash([SEED, 1]), new KeyedHash([SEED, 2])];
  const bytes = Buffer.from('00000000-0000-4000-8000-000000000000', 'latin1');
  const seen = new Map<number, number>();
  const write = (n: number): void => void bytes.write(n.toString(16).padStart(12, '0'), 24, 'latin1');
  let collisions = 0;
  for (let n = 0; n < 300_000; n++) {
    write(n);
    const hash = hashOf(one, bytes);
    const first = seen.get(hash);
    seen.set(hash, n);
    if (first === undefined) continue;
    collisions++;
    const present = hashOf(other, bytes);
    write(first);
    t.not(hashOf(other, bytes), present, `${first} and ${n}`);
  }
  // Among 300,000 texts, 10 pairs are expected to collide.
  t.ok(collisions > 0 && collisions < 40, `${collisions} pairs collide`);
  t.end();
});

test('random seeds differ', (t) => {
  t.equal(new Set(Array.from({ length: 100 }, () => randomHashSeed().join())).size, 100);
  t.end();
});

test('a table finds every number by its hash, even if many share a hash', (t) => {
  const hashes = fc.oneof(fc.constantFrom(0, -1, 1, 64), fc.integer());
  fc.assert(
    fc.property(fc.array(hashes, { maxLength: 400 }), hashes, (all, absent) => {
      const table = new HashTable();
      all.forEach((hash, n) => {
        table.add(n, hash);
      });
      for (const hash of [...all, absent]) {
        const found: number[] = [];
        for (let slot = table.first(hash); slot !== -1; slot = table.next(slot, hash)) {
          found.push(table.numberAt(slot));
        }
        const expected = [...all.keys()].filter((n) => all[n] === hash);
        assert.deepEqual(
          found.sort((a, b) => a - b),
          expected,
        );
      }
    }),
    { seed: SEED, numRuns: 300 },
  );
  t.pass('as a list has it');
  t.end();
});

test('a memo of texts is bounded, and leaves out texts that V8 hashes without its seed', (t) => {
  const memo = new TextMemo<number>(3, 20);
  const kept = ['', 'a', 'a1', 'A 101', '12345678901', '2c3c9bfd-5da4', 'x'.repeat(20)];
  const left = ['1', '0', '101', '1234567890', 'x'.repeat(21), '1'.repeat(21)];
  for (const text of [...kept, ...left]) {
    memo.set(text, 7);
    t.equal(memo.get(text), left.includes(text) ? undefined : 7, JSON.stringify(text));
    t.ok(kept.filter((each) => memo.get(each) !== undefined).length <= 3);
  }
  t.end();
});
