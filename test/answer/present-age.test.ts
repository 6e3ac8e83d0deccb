/**
 * The clock is set while a snapshot is served: its age continues unchanged. test/attack/clock-jumps.test.ts
 * does the same in a separate process. Inside, because the clock is set.
 */
import { type Test, test } from 'tap';
import { Present } from '../../src/answer/present.js';
import { monotonicMs, monotonicMsAt } from '../../src/base/model/clock.js';
import type { SourceState } from '../../src/base/model/source-state.js';
import { NO_DIFFERENCES } from '../../src/change/history.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import { refused } from '../../src/source/http/call.js';
import { serve, setUp } from '../http/harness.js';

const MINUTE_MS = 60_000;
const JUMPS_MS: readonly number[] = [0, 1, 60, 1440].flatMap((minutes) =>
  minutes === 0 ? [0] : [minutes * MINUTE_MS, -minutes * MINUTE_MS],
);
const STALE_MS = 20 * MINUTE_MS;
const realNow = Date.now.bind(Date);

/** Sets the clock, in milliseconds from the true time, until the test ends. */
function setClock(t: Test, offsetMs: number): void {
  t.intercept(Date, 'now', { value: () => realNow() + offsetMs, configurable: true });
}

function presentOf(source: Partial<SourceState>, builtMsAgo: number): Present {
  const image = new SnapshotBuilder({ identifiers: 'any' }).finish();
  const state: SourceState = {
    name: 'x',
    state: 'loaded',
    lastSuccessMs: null,
    lastSuccessMonotonicMs: null,
    lastError: null,
    failingSinceMs: null,
    overdueAtMs: null,
    parts: null,
    ...source,
  };
  const present = new Present(state, { staleMsMax: STALE_MS, cacheBytesMax: 0 });
  const builtMonotonicMs = monotonicMs() - builtMsAgo;
  present.publish({
    image,
    differences: NO_DIFFERENCES,
    sequence: 1,
    changes: [],
    state: { origin: 'disk', publishedAtMs: Date.now(), builtMonotonicMs },
  });
  return present;
}

const confirmed = (msAgo: number): Partial<SourceState> => ({
  lastSuccessMs: realNow() - msAgo,
  lastSuccessMonotonicMs: monotonicMs() - msAgo,
});

for (const jumpMs of JUMPS_MS) {
  test(`ages are right with the clock off by ${jumpMs / MINUTE_MS} minutes`, async (t) => {
    const early = STALE_MS - MINUTE_MS;
    const late = STALE_MS + MINUTE_MS;
    const fresh = presentOf({}, early);
    const old = presentOf({}, late);
    const renewed = presentOf(confirmed(early), late);
    const forgotten = presentOf(confirmed(late), late);
    setClock(t, jumpMs);
    t.equal(fresh.isStale, false, 'built 19 minutes ago');
    t.equal(old.isStale, true, 'built 21 minutes ago');
    t.equal(renewed.isStale, false, 'built 21 minutes ago, confirmed 19 minutes ago');
    t.equal(forgotten.isStale, true, 'built and confirmed 21 minutes ago');
    t.equal(old.view, null);
    const { send } = await serve(t, setUp({ dev: true, views: fresh }).handler);
    const { ageSeconds } = ((await send('/health')).json() as { snapshot: { ageSeconds: number } }).snapshot;
    t.ok(Math.abs(ageSeconds * 1000 - early) < MINUTE_MS / 2, `${ageSeconds} s`);
  });

  test(`the duration of a build is right if the clock is set by ${jumpMs / MINUTE_MS} minutes`, (t) => {
    const builder = new SnapshotBuilder({ identifiers: 'any' });
    setClock(t, jumpMs);
    const { buildMs, builtAtMs } = builder.finish().summary;
    t.ok(buildMs >= 0 && buildMs < MINUTE_MS / 2 && Number.isInteger(buildMs), `${buildMs} ms`);
    t.ok(Math.abs(builtAtMs - realNow() - jumpMs) < MINUTE_MS / 2, 'the time of day is that of the clock');
    t.end();
  });

  test(`Retry-After with a date is right with the clock off by ${jumpMs / MINUTE_MS} minutes`, (t) => {
    setClock(t, jumpMs);
    const dated = (ms: number): string => new Date(ms).toUTCString();
    const headers = { date: dated(realNow()), 'retry-after': dated(realNow() + 2 * MINUTE_MS) };
    const waitMs = refused(new URL('http://a/'), 503, headers, '').retryAfterMs ?? 0;
    t.ok(Math.abs(waitMs - 2 * MINUTE_MS) <= 1000, `${waitMs} ms, by the clock of the upstream`);
    const seconds = refused(new URL('http://a/'), 503, { 'retry-after': '120' }, '').retryAfterMs;
    t.equal(seconds, 2 * MINUTE_MS, 'seconds need no clock');
    t.end();
  });
}

test('a wall-clock time is converted to the monotonic clock', (t) => {
  const near = (a: number, b: number): boolean => Math.abs(a - b) < MINUTE_MS / 2;
  t.ok(near(monotonicMsAt(Date.now() - 10 * MINUTE_MS), monotonicMs() - 10 * MINUTE_MS), 'of the past');
  t.ok(near(monotonicMsAt(Date.now() + 10 * MINUTE_MS), monotonicMs()), 'of the future: now');
  t.end();
});
