/** The pause before the next load. Inside, because pauses last minutes. */
import { test } from 'tap';
import { pauseMs } from '../../src/refresh/refresher.js';

/** [interval, failures in a row, Retry-After, random] → pause, all in milliseconds. */
const ROWS: readonly (readonly [number, number, number | null, number, number | null])[] = [
  // Never.
  [0, 0, null, 0.5, null],
  [0, 3, null, 0.5, null],
  [0, 3, 5000, 0.5, null],
  [-1, 0, null, 0.5, null],
  // The interval, shorter or longer by a tenth.
  [60_000, 0, null, 0.5, 60_000],
  [60_000, 0, null, 0, 54_000],
  [60_000, 0, null, 1, 66_000],
  [200, 0, null, 0.5, 200],
  // After failures: from one second, doubled each time, up to the interval.
  [60_000, 1, null, 0.5, 1000],
  [60_000, 1, null, 0, 900],
  [60_000, 1, null, 1, 1100],
  [60_000, 2, null, 0.5, 2000],
  [60_000, 3, null, 0.5, 4000],
  [60_000, 6, null, 0.5, 32_000],
  [60_000, 7, null, 0.5, 60_000],
  [60_000, 1000, null, 0.5, 60_000],
  [60_000, 5000, null, 1, 66_000],
  // The interval may be shorter than a second.
  [200, 1, null, 0.5, 200],
  [200, 9, null, 1, 220],
  // Retry-After is a minimum.
  [60_000, 1, 30_000, 0.5, 30_000],
  [60_000, 1, 500, 0.5, 1000],
  [60_000, 1, 120_000, 0.5, 120_000],
  [60_000, 0, 90_000, 0.5, 90_000],
];

test('the pause before the next load depends on failures, Retry-After and chance', async (t) => {
  for (const [intervalMs, failures, retryAfterMs, random, expected] of ROWS) {
    const name = `every ${intervalMs}, ${failures} failures, Retry-After ${retryAfterMs}, random ${random}`;
    t.equal(pauseMs(intervalMs, failures, retryAfterMs, random), expected, name);
  }
});

test('the duration of a failed load counts towards the pause', (t) => {
  const cases: [intervalMs: number, failures: number, spentMs: number, expected: number][] = [
    [60_000, 0, 50_000, 60_000],
    [60_000, 1, 50_000, 1000],
    [60_000, 6, 10_000, 22_000],
    [60_000, 7, 60_000, 1000],
    [200, 3, 4000, 200],
  ];
  for (const [intervalMs, failures, spentMs, expected] of cases) {
    t.equal(pauseMs(intervalMs, failures, null, 0.5, spentMs), expected);
  }
  t.equal(pauseMs(60_000, 7, 90_000, 0.5, 60_000), 90_000, 'what the source asks for is a least');
  t.end();
});
