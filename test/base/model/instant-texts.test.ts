/** Texts of instants against those of Date. Inside, because thousands of instants are tried without events. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { InstantTexts } from '../../../src/base/model/instant-texts.js';
import { formatInstant, INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../../src/base/model/time.js';

test('texts of instants equal those of formatInstant', (t) => {
  const texts = new InstantTexts();
  const instant = fc.oneof(
    fc.integer({ min: INSTANT_MS_MIN, max: INSTANT_MS_MAX }),
    fc.integer({ min: -3, max: 3 }).map((day) => day * 86_400_000 - 1),
    fc.constantFrom(INSTANT_MS_MIN, INSTANT_MS_MAX, 0, -1),
  );
  fc.assert(
    fc.property(instant, (instantMs) => assert.equal(texts.of(instantMs), formatInstant(instantMs))),
    { seed: 11, numRuns: 10_000 },
  );
  t.pass('10,000 instants, more than are remembered');
  t.end();
});
