import { test } from 'tap';
import { quoteEscaped } from '../../src/base/model/text.js';
import { Row } from '../../src/base/structures/row.js';

const QUOTED: readonly [text: string, shown: string][] = [
  ['', '""'],
  ['plain', '"plain"'],
  ['say "x"', '"say \\"x\\""'],
  ['x'.repeat(40), `"${'x'.repeat(40)}"`],
  ['x'.repeat(41), `"${'x'.repeat(40)}"…`],
  [`${'x'.repeat(39)}😀y`, `"${'x'.repeat(39)}"…`],
  [`${'x'.repeat(38)}😀y`, `"${'x'.repeat(38)}😀"…`],
  ['\u001b[31m', '"\\u001b[31m"'],
  ['\u009b31m', '"\\u009b31m"'],
  ['\u202eabc', '"\\u202eabc"'],
  ['\ud83d', '"\\ud83d"'],
];

test('quoted texts are cut to 40 characters, and harmless on a terminal', async (t) => {
  for (const [text, shown] of QUOTED) t.equal(quoteEscaped(text), shown);
});

const DESCRIBED: readonly [value: unknown, shown: string][] = [
  [null, 'null'],
  [undefined, 'undefined'],
  [[1], 'an array'],
  [{}, 'an object'],
  [new Date(0), 'a timestamp instead of text'],
  [new Uint8Array(2), 'binary data'],
  [true, 'a boolean (true)'],
  [-0.5, 'a number (-0.5)'],
  [10n, 'a number (10)'],
  [10n ** 50n, 'a number'],
  ['x', 'the string "x"'],
  [Symbol('x'), 'a symbol'],
  [() => 1, 'a function'],
];

test('values are described by their type', async (t) => {
  for (const [value, shown] of DESCRIBED) {
    const row = new Row(1);
    row.put(0, value);
    t.equal(row.describe(0, quoteEscaped), shown);
  }
});
