/** RFC 3339 date-times against Date. Inside, because thousands of texts are tried without records. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { INSTANT_MS_MAX, INSTANT_MS_MIN, parseInstant } from '../../../src/base/model/time.js';

/** The same instant in the form that the regular expression reads. */
const written = (utc: string): string => utc.replace(/Z$/, '+00:00');

test('the fast reader agrees with the general reader and with JavaScript', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: INSTANT_MS_MIN, max: INSTANT_MS_MAX }), (instantMs) => {
      const text = new Date(instantMs).toISOString();
      assert.equal(parseInstant(text), instantMs);
      assert.equal(parseInstant(written(text)), instantMs);
      const seconds = text.replace(/\.\d+/, '');
      assert.equal(parseInstant(seconds), Math.floor(instantMs / 1000) * 1000);
    }),
    { seed: 11, numRuns: 3000 },
  );
  t.pass('every generated case');
  t.end();
});

test('both readers refuse the same texts for the same reasons', (t) => {
  const digit = fc.constantFrom(...'0123456789');
  const odd = fc.constantFrom(...'0123456789-:.TtZz+ /');
  const template = '2024-02-29T23:59:59.999Z';
  const spoilt = fc
    .array(fc.tuple(fc.nat(template.length - 1), fc.oneof(digit, odd)), { maxLength: 4 })
    .map((edits) => {
      const letters = [...template];
      for (const [at, letter] of edits) letters[at] = letter;
      return letters.join('');
    });
  fc.assert(
    fc.property(spoilt, (text) => {
      // Only the last letter distinguishes the two forms; all other faults occur in both.
      if (!text.endsWith('Z')) return;
      assert.equal(parseInstant(text), parseInstant(written(text)));
    }),
    { seed: 12, numRuns: 5000 },
  );
  t.pass('every generated case');
  t.end();
});

test('days, months and years are read exactly at their limits', (t) => {
  const good: [text: string, instantMs: number][] = [
    ['0000-01-01T00:00:00Z', INSTANT_MS_MIN],
    ['9999-12-31T23:59:59.999Z', INSTANT_MS_MAX],
    ['1970-01-01T00:00:00Z', 0],
    ['2000-02-29T00:00:00Z', Date.UTC(2000, 1, 29)],
    ['2024-02-29T00:00:00.001Z', Date.UTC(2024, 1, 29) + 1],
  ];
  for (const [text, instantMs] of good) t.equal(parseInstant(text), instantMs, text);
  const bad = [
    '1900-02-29T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2024-04-31T00:00:00Z',
    '2024-00-01T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-01-00T00:00:00Z',
    '2024-01-01T24:00:00Z',
    '2024-01-01T00:60:00Z',
    '2024-01-01T00:00:60Z',
    '2024-01-01T00:00:00.00Z ',
    '2024-01-01T00:00:00,000Z',
    '2024-01-01T00:00:0\u0660Z',
    '2024-01-01t00:00:00.0z0Z',
    '2024-01-01 00:00:00Z',
  ];
  for (const text of bad) t.type(parseInstant(text), 'string', text);
  t.equal(parseInstant('2024-01-01t00:00:00z'), Date.UTC(2024, 0, 1), 'lower case is allowed');
  t.equal(parseInstant('2024-01-01T00:00:00.1239Z'), Date.UTC(2024, 0, 1) + 123, 'cut, not rounded');
  t.end();
});
