/**
 * A source that stays away is noticed: in /health, in the metric, and by a bound that follows the interval.
 * Inside, because the clock stands still.
 */

import { type Test, test } from 'tap';
import { describeHealth, overdueSources } from '../../src/answer/describe-health.js';
import type { ViewSource } from '../../src/answer/present.js';
import { LOADING, type SourceState } from '../../src/base/model/source-state.js';
import { sourceParts } from '../../src/refresh/keeper.js';

const nowMs = Date.now();
/** On a busy machine, seconds may pass between two tests. */
const stopClock = (t: Test): unknown => t.intercept(Date, 'now', { value: () => nowMs });
const SUMMARY = {} as ViewSource['summary'];
const failing = (overdueAtMs: number): SourceState => ({
  name: 'a',
  ...LOADING,
  state: 'failed',
  lastError: 'it is away',
  failingSinceMs: nowMs - 60_000,
  overdueAtMs,
});

test('a source is overdue after ten intervals, or at once if it was never read', (t) => {
  stopClock(t);
  t.equal(overdueSources({ source: { name: 'a', ...LOADING }, summary: SUMMARY }), 0);
  t.equal(overdueSources({ source: failing(nowMs + 60_000), summary: SUMMARY }), 0);
  t.equal(overdueSources({ source: failing(nowMs), summary: SUMMARY }), 1);
  t.equal(overdueSources({ source: failing(nowMs + 60_000), summary: null }), 1);
  t.end();
});

test('each part says whether it is overdue, and overdue parts are counted', (t) => {
  stopClock(t);
  const failure = { code: 'source-unreadable', message: 'it is away', retryAtMs: 0 } as const;
  const copy = { records: 1 } as never;
  const part = (id: string, sinceMs: number | null, hasCopy = true) => ({
    id,
    name: id,
    copy: hasCopy ? copy : null,
    confirmedMs: nowMs,
    failure: sinceMs === null ? null : { ...failure, sinceMs },
  });
  const report = [
    part('good', null),
    part('young', nowMs - 9000),
    part('old', nowMs - 11_000),
    part('missing', nowMs, false),
  ];
  const parts = sourceParts({ parts: report, skipped: 0 }, 10_000);
  const source = { name: 'a', ...LOADING, parts };
  t.equal(overdueSources({ source, summary: SUMMARY }), 2);
  const views = { source, summary: null, status: 'degraded', publication: null, view: null } as const;
  t.match(describeHealth(views, '1'), {
    source: {
      overdue: 2,
      parts: {
        listed: [
          { name: 'good', overdue: false },
          { name: 'young', overdue: false },
          { name: 'old', overdue: true },
          { name: 'missing', overdue: true },
        ],
      },
    },
  });
  t.end();
});
