import { test } from 'tap';
import { TEXT_DIGEST_CHARACTERS, textDigest } from '../../src/structures/text-digest.js';

test('texts that differ a little have different digests of one length', (t) => {
  const texts = new Set(['', ' ', 'a', 'A', 'aa', '\0', '\0\0', 'ä', 'a\u0308', '\u{1f600}']);
  for (let n = 0; n < 20_000; n++) {
    texts.add(`schedule json ${1_725_264_000_000 + n} 1725350400000 Infinity roomId 36:${n % 97}`);
    texts.add(`schedule json 1725264000000 ${1_725_350_400_000 + n} Infinity roomId 36:${n % 97}`);
    texts.add('x'.repeat(n % 300) + n);
  }
  const digests = new Set([...texts].map(textDigest));
  t.equal(digests.size, texts.size);
  for (const digest of digests) {
    if (!/^[0-9a-z]+$/.test(digest) || digest.length !== TEXT_DIGEST_CHARACTERS) t.fail(digest);
  }
  t.end();
});

test('every bit of a text changes about half of the bits of its digest', (t) => {
  const bits = (text: string): string =>
    [...textDigest(text).matchAll(/.{7}/g)]
      .map(([half]) => Number.parseInt(half, 36).toString(2).padStart(32, '0'))
      .join('');
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

test('digests stay what they are: replicas of another version must agree', (t) => {
  t.equal(textDigest('schedule json -Infinity Infinity Infinity'), '0q1mybw1vcjh44');
  t.end();
});
