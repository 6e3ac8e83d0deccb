/** When recurring events are expanded again. Inside, because it turns the clock to midnight. */
import { test } from 'tap';
import type { ReadRules } from '../../src/base/model/read-rules.js';
import { renewalMs } from '../../src/refresh/keeper.js';
import { Refresher } from '../../src/refresh/refresher.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { timeForAFault, until } from '../waiting/until.js';
import { FakeLoader } from './fake-loader.js';
import { full, keep } from './kept.js';

const HOUR_MS = 3_600_000;
const NOON_MS = Date.parse('2026-11-23T12:00:00Z');
const expanded = { from: '2025-11-23', to: '2028-11-23', outside: null };
const calendar: SnapshotImage = { ...full, summary: { ...full.summary, expanded } };
const RULES: ReadRules = { identifiers: 'uuid' };

test('recurring events are expanded again after midnight, or within the hour after a failure', (t) => {
  const { summary } = calendar;
  const past = { ...RULES, from: '2026-01-01' };
  const cases = [
    ['at midnight', {}, 12 * HOUR_MS],
    ['at most ten minutes later', { random: 1 }, 12 * HOUR_MS + HOUR_MS / 6],
    ['after a failure', { hasFailed: true }, HOUR_MS],
    ['after a failure before midnight', { hasFailed: true, nowMs: NOON_MS + 11.5 * HOUR_MS }, HOUR_MS / 2],
    ['with a fixed start', { rules: past }, 12 * HOUR_MS],
    ['with a fixed window', { rules: { ...past, to: '2027-01-01' } }, null],
    ['nothing recurs', { of: full.summary }, null],
  ] as const;
  for (const [name, given, expected] of cases) {
    const { of, rules, hasFailed, nowMs, random } = {
      ...{ of: summary, rules: RULES, hasFailed: false, nowMs: NOON_MS, random: 0 },
      ...given,
    };
    const found = renewalMs(
      of,
      rules,
      hasFailed,
      () => nowMs,
      () => random,
    );
    t.equal(found, expected, name);
  }
  t.end();
});

test('a due load needs no interval, but waits for Retry-After', async (t) => {
  for (const [retryAfterMs, expected] of [
    [null, 2],
    [60_000, 1],
  ] as const) {
    let begun = 0;
    const refresher = new Refresher(async () => {
      begun++;
      return { failed: false, retryAfterMs, dueMs: begun === 1 ? 10 : null };
    }, 0);
    await refresher.request();
    await until(
      () => begun,
      (seen) => seen >= expected,
    );
    await timeForAFault(30);
    t.equal(begun, expected);
    await refresher.close();
  }
});

test('a timetable is loaded again at midnight if, and only if, it has recurring events', async (t) => {
  for (const [image, loads] of [
    [calendar, 2],
    [full, 1],
  ] as const) {
    const loader = new FakeLoader({ image, version: null });
    let nowMs = Date.parse('2026-11-24T00:00:00Z') - 30;
    // The clock jumps to noon after the first load.
    const now = (): number => {
      const read = nowMs;
      if (loader.asked.length > 1) nowMs = NOON_MS;
      return read;
    };
    const { keeper } = keep({ image, version: null }, { now, random: () => 0 }, loader);
    await keeper.start();
    await until(
      () => loader.asked.length,
      (seen) => seen >= loads,
    );
    await timeForAFault(image === full ? 100 : 0);
    t.ok(image === full ? loader.asked.length === loads : loader.asked.length >= loads);
    await keeper.close();
  }
});
