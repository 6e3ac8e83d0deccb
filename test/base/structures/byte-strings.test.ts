/** Texts as bytes. Inside, as a data structure that could stand alone. */
import fc from 'fast-check';
import { test } from 'tap';
import { ByteStrings, copyText, isSame, viewOf } from '../../../src/base/structures/byte-strings.js';
import { Growable, grownByteLength } from '../../../src/base/structures/growable.js';
import { KeyedHash } from '../../../src/base/structures/keyed-hash.js';

const SEED = 7;

test('every added text is found, and no other text', (t) => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 300 }), (texts) => {
      const strings = new ByteStrings();
      const keyed = new KeyedHash([texts.length, SEED]);
      const known = new Map<string, number>();
      for (const text of texts.map((each) => each.toWellFormed())) {
        const bytes = Buffer.from(`xy${text}z`, 'utf8');
        const view = viewOf(bytes);
        const hash = keyed.bytes(view, 2, bytes.length - 1);
        const found = strings.find(hash, view, 2, bytes.length - 1);
        if (found !== (known.get(text) ?? -1)) throw new Error(`${JSON.stringify(text)} is number ${found}`);
        if (found === -1) known.set(text, strings.add(hash, view, 2, bytes.length - 1));
      }
      if (strings.size !== known.size) throw new Error('wrong size');
      const order = [...known.values()].sort((a, b) => strings.compare(a, b));
      const encoded = [...known.keys()].map((text) => Buffer.from(text));
      const expected = [...known.values()].sort((a, b) =>
        Buffer.compare(encoded[a] as Buffer, encoded[b] as Buffer),
      );
      if (order.join() !== expected.join()) throw new Error('wrong order');
      for (const [text, n] of known) if (strings.textOf(n) !== text) throw new Error('another text');
    }),
    { seed: SEED, numRuns: 200 },
  );
  t.pass('as a Map has it');
  t.end();
});

test('texts with equal hashes are told apart', (t) => {
  const strings = new ByteStrings();
  const bytes = Buffer.from('abcabdabcd', 'utf8');
  const view = viewOf(bytes);
  t.equal(strings.add(1, view, 0, 3), 0);
  t.equal(strings.add(1, view, 3, 6), 1);
  t.equal(strings.add(1, view, 6, 10), 2);
  t.equal(strings.find(1, view, 0, 3), 0);
  t.equal(strings.find(1, view, 3, 6), 1);
  t.equal(strings.find(1, view, 6, 10), 2);
  t.equal(strings.find(1, view, 6, 9), 0);
  t.equal(strings.find(1, view, 0, 4), -1);
  t.end();
});

test('copying UTF-8 as doubles changes no byte', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.nat(9), (given, offset) => {
      const source = Buffer.from(given.toWellFormed(), 'utf8');
      const target = Buffer.alloc(source.length + 20, 0xaa);
      copyText(viewOf(source), 0, source.length, viewOf(target), offset);
      const around = target.subarray(0, offset).every((byte) => byte === 0xaa);
      const behind = target.subarray(offset + source.length).every((byte) => byte === 0xaa);
      if (!around || !behind) throw new Error('more was written');
      if (!target.subarray(offset, offset + source.length).equals(source)) throw new Error('they differ');
      if (!isSame(viewOf(source), 0, viewOf(target), offset, source.length)) throw new Error('not the same');
      if (source.length > 0) {
        const place = offset + (given.length % source.length);
        target[place] = (target[place] as number) ^ 1;
        if (isSame(viewOf(source), 0, viewOf(target), offset, source.length)) throw new Error('the same');
      }
    }),
    { seed: SEED, numRuns: 2000 },
  );
  // Around each place of a window of eight: the bytes closest to a NaN.
  for (let n = 0; n < 16; n++) {
    for (const text of ['\u007f', '\u{10ffff}\u007f', '\u{100000}', '\uffff\u007f', '\u0000']) {
      const source = Buffer.from('x'.repeat(n) + text.repeat(6), 'utf8');
      const target = Buffer.alloc(source.length);
      copyText(viewOf(source), 0, source.length, viewOf(target), 0);
      t.ok(target.equals(source), `${JSON.stringify(text)} from byte ${n} on`);
    }
  }
  t.end();
});

test('growing buffers work at small and large sizes', (t) => {
  const lengths: number[] = [];
  for (let length = 4096; length < 2 ** 28; length = grownByteLength(length)) lengths.push(length);
  t.strictSame(
    lengths.filter((length) => length > 256 * 1024 && length <= 32 * 1024 * 1024),
    [],
  );
  const column = new Growable(Uint32Array);
  for (let n = 0; n < 100_000; n++) column.push(n);
  t.equal(column.length, 100_000);
  t.ok(column.view().every((value, n) => value === n));
  t.end();
});
