/** Digests. Inside, as a function that could stand alone. */
import { test } from 'tap';
import { DIGEST_CHARACTERS, Digest } from '../../../src/base/structures/digest.js';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

function textOf(digest: Digest): string {
  const bytes = Buffer.alloc(DIGEST_CHARACTERS);
  digest.writeTo(bytes, 0);
  return bytes.toString('latin1');
}

function textDigest(text: string): string {
  const digest = new Digest();
  digest.text(text);
  return textOf(digest);
}

test('similar texts have different digests of equal length', (t) => {
  const texts = new Set(['', ' ', 'a', 'A', 'aa', '\0', '\0\0', 'ä', 'a\u0308', '\u{1f600}']);
  for (let n = 0; n < 20_000; n++) {
    texts.add(`schedule json ${1_725_264_000_000 + n} 1725350400000 Infinity roomId 36:${n % 97}`);
    texts.add(`schedule json 1725264000000 ${1_725_350_400_000 + n} Infinity roomId 36:${n % 97}`);
    texts.add('x'.repeat(n % 300) + n);
  }
  const digests = new Set([...texts].map(textDigest));
  t.equal(digests.size, texts.size);
  for (const digest of digests) {
    if (!/^[\w-]{11}$/.test(digest)) t.fail(digest);
  }
  t.end();
});

test('every bit of a text changes about half of the bits of its digest', (t) => {
  const bits = (text: string): string =>
    [...textDigest(text)]
      .map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(6, '0'))
      .join('')
      .slice(2);
  const text = 'schedule json 1725264000000 1725350400000 Infinity';
  const before = bits(text);
  let flipped = 0;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    for (let bit = 0; bit < 7; bit++) {
      const unit = String.fromCharCode(text.charCodeAt(at) ^ (1 << bit));
      const after = bits(text.slice(0, at) + unit + text.slice(at + 1));
      for (let i = 0; i < before.length; i++) if (before[i] !== after[i]) flipped++;
      count++;
    }
  }
  const share = flipped / (count * 64);
  t.ok(share > 0.47 && share < 0.53, `${share}`);
  t.end();
});

test('texts and numbers of the same characters have different digests', (t) => {
  const of = (...parts: readonly (string | number)[]): string => {
    const digest = new Digest();
    for (const part of parts) {
      if (typeof part === 'string') digest.text(part);
      else digest.number(part);
    }
    return textOf(digest);
  };
  const all = [
    of(),
    of(''),
    of('', ''),
    of('a', 'b'),
    of('ab'),
    of('ab', ''),
    of('', 'ab'),
    of(0),
    of(-0),
    of(0, 0),
    of(1),
    of(1.5),
    of(2 ** 40),
    of(2 ** 40 + 1),
    of(Number.POSITIVE_INFINITY),
    of(Number.NEGATIVE_INFINITY),
    of(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  ];
  t.equal(new Set(all).size, all.length);
  const times = new Set<string>();
  for (let n = 0; n < 100_000; n++) times.add(of(1_725_264_000_000 + n * 1000, 1_725_350_400_000 + (n % 7)));
  t.equal(times.size, 100_000);
  t.end();
});

test('digests never change, so that replicas of other versions agree', (t) => {
  t.equal(textDigest('schedule json -Infinity Infinity Infinity'), 'KrY6LCTAxyz');
  t.end();
});
