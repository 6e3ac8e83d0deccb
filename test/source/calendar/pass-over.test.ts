/** Periods before the window are counted in one step, with the same result as visiting them. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { expandRule, parseRule } from '../../../src/source/calendar/expand-rule.js';
import { size } from '../../hard/size.js';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1, 8, 15, 30);
/** Selects everything, so each period is visited. */
const ALL_MONTHS = ';BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12';

function outcome(text: string, fromMs: number): { seen: number[]; last: number; isWhole: boolean } {
  const rule = parseRule(text);
  assert.ok(typeof rule === 'object', text);
  const seen: number[] = [];
  let last = Number.NaN;
  const steps = { left: 1_000_000 };
  const window = { fromMs, toMs: fromMs + DAY_MS };
  const isWhole = expandRule(rule, START_MS, window, steps, (localMs) => {
    if (localMs < fromMs) last = localMs;
    else seen.push(localMs);
    return localMs < window.toMs && seen.length < 20;
  });
  return { seen, last, isWhole };
}

test('passing over occurrences of COUNT does not change the result', (t) => {
  const rules = fc.record({
    frequency: fc.constantFrom('SECONDLY', 'MINUTELY', 'HOURLY'),
    interval: fc.integer({ min: 1, max: 400 }),
    count: fc.integer({ min: 1, max: 20_000 }),
    seconds: fc.integer({ min: -1000, max: 100_000 }),
  });
  let occurrences = 0;
  fc.assert(
    fc.property(rules, ({ frequency, interval, count, seconds }) => {
      const text = `FREQ=${frequency};INTERVAL=${interval};COUNT=${count}`;
      const fromMs = START_MS + seconds * 1000;
      const found = outcome(text, fromMs);
      occurrences += found.seen.length;
      assert.deepEqual(found, outcome(text + ALL_MONTHS, fromMs));
    }),
    { numRuns: size(80, 10_000, 300), seed: 7 },
  );
  t.ok(occurrences > 300, `${occurrences}`);
  t.end();
});
