/**
 * The search in names of a directory. Inside, because texts beyond every bound are searched without a
 * timetable.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { SearchedTexts } from '../../src/answer/directory.js';
import { SEARCHED_UNITS_MAX } from '../../src/base/limits.js';
import { searchForm } from '../../src/base/model/text.js';
import { Dictionary } from '../../src/base/structures/dictionary.js';

function dictionaryOf(values: readonly string[]): Dictionary {
  const texts = values.map((value) => Buffer.from(value));
  const start = new Uint32Array(texts.length + 1);
  for (const [n, { length }] of texts.entries()) start[n + 1] = (start[n] ?? 0) + length;
  return new Dictionary({ bytes: Buffer.concat(texts), start });
}

function found(values: readonly string[], q: string): number[] {
  const isMatch = new Uint8Array(values.length);
  new SearchedTexts(dictionaryOf(values)).search(q, isMatch, 0);
  return [...isMatch];
}

/** Letters that fold in unusual ways, and others. */
const letter = fc.oneof(
  fc.constantFrom(...'aZ ÄöüßŁłΣςσİıŉǅﬃΐ각é\u0301\u0308𝐀🎉ﬀᾳÅ\n'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => text.isWellFormed()),
);
const text = fc.array(letter, { maxLength: 8 }).map((letters) => letters.join('').normalize('NFC'));

test('values are found by their search forms', (t) => {
  const property = fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), text, (values, typed) => {
    const all = [...values, ...values.map((value) => value.slice(1))].filter((value) => value.isWellFormed());
    for (const q of [typed, ...all].map(searchForm)) {
      if (q === '' || !q.isWellFormed()) continue;
      const expected = all.map((value) => Number(searchForm(value).includes(q)));
      t.ok(JSON.stringify(found(all, q)) === JSON.stringify(expected), JSON.stringify([all, q]));
    }
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 1, numRuns: 300 }));
  t.end();
});

test('long texts are folded in pieces, with and without letters of two bytes', (t) => {
  for (const letter of ['a', 'Ä', 'ß', 'Σ', '각', '\u{1F389}']) {
    const values = ['Übung', letter.repeat(70_000), `x${letter.repeat(65_535)}y`, 'ßZ', ''];
    const all = values.map(searchForm);
    for (const q of ['ubung', 'y', 'ssz', searchForm(letter), `x${searchForm(letter)}`]) {
      t.strictSame(
        found(values, q),
        all.map((form) => Number(form.includes(q))),
        `${letter}, ${q}`,
      );
    }
  }
  t.end();
});

test('no form of a code point has more than two UTF-16 units for each byte of its UTF-8', (t) => {
  const longer: string[] = [];
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
    if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
    const letter = String.fromCodePoint(codePoint);
    if (searchForm(letter).length > 2 * Buffer.byteLength(letter)) longer.push(codePoint.toString(16));
  }
  t.strictSame(longer, []);
  t.end();
});

/** The processor time of a search in milliseconds: the best of three. */
function timeOf(texts: SearchedTexts, size: number, q: string): number {
  const isMatch = new Uint8Array(size);
  const search = (): number => {
    const before = process.cpuUsage();
    texts.search(q, isMatch, 0);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  return Math.min(search(), search(), search());
}

test('all search texts take about the same time with any values', (t) => {
  const a = (count: number): string => 'a'.repeat(count);
  const sets = {
    'long values': Array.from({ length: 4 }, (_, n) => a(500_000) + n),
    'values that continue one another': Array.from(
      { length: 50_000 },
      (_, n) => `${a(18)}${n.toString(25).padStart(4, 'b').replaceAll('a', 'p')}${a(18)}`,
    ),
  };
  const half = SEARCHED_UNITS_MAX / 2;
  const searched = [
    a(36),
    `${a(half)}b${a(half - 1)}`,
    `${a(2 * half - 1)}b`,
    `b${a(2 * half - 1)}`,
    'ab'.repeat(half),
  ];
  for (const [name, values] of Object.entries(sets)) {
    const texts = new SearchedTexts(dictionaryOf(values));
    const usualMs = timeOf(texts, values.length, 'ab');
    for (const q of searched) {
      const ms = timeOf(texts, values.length, q);
      t.ok(ms < 30 + 20 * usualMs, `${name}, ${q.slice(0, 3)}…: ${ms} ms, usual ${usualMs} ms`);
    }
  }
  t.end();
});
