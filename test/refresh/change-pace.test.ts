/** When changes of a source are refreshed: at once, after the present refresh, or after the pause of a patch. */
import { test } from 'tap';
import {
  PATCH_PAUSE_FACTOR,
  PATCH_PAUSE_MS_MAX,
  PATCH_PAUSE_MS_MIN,
  PATCH_TIMES_KEPT,
  Refresher,
} from '../../src/refresh/refresher.js';
import { timeForAFault, until } from '../waiting/until.js';

interface Paced {
  readonly refresher: Refresher;
  /** The number of refreshes that began. */
  loads(): number;
  /** Ends the present refresh. */
  end(): void;
}

function paced(t: { teardown(end: () => void): unknown }): Paced {
  let loads = 0;
  let end = (): void => {};
  const refresher = new Refresher(async () => {
    loads++;
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    return { failed: false, retryAfterMs: null, dueMs: null };
  }, 0);
  t.teardown(() => {
    void refresher.close();
    end();
  });
  return { refresher, loads: () => loads, end: () => end() };
}

test('changes of one turn become one load; changes during a load become one more', async (t) => {
  const { refresher, loads, end } = paced(t);
  refresher.changed();
  refresher.changed();
  t.equal(loads(), 0, 'not in the same turn');
  await until(loads, (seen) => seen >= 1);
  for (let n = 0; n < 3; n++) refresher.changed();
  await timeForAFault(20);
  t.equal(loads(), 1, 'not while it loads');
  end();
  await until(loads, (seen) => seen >= 2);
  end();
  await timeForAFault(20);
  t.equal(loads(), 2);
});

test('the pause after a patch is proportional, within a bound', async (t) => {
  const { refresher, loads, end } = paced(t);
  refresher.changed();
  await until(loads, (seen) => seen >= 1);
  refresher.changed();
  const patchMs = PATCH_PAUSE_MS_MIN;
  const beganMs = performance.now();
  refresher.pauseAfter(patchMs);
  end();
  await until(loads, (seen) => seen >= 2);
  t.ok(performance.now() - beganMs >= patchMs * PATCH_PAUSE_FACTOR - 2);
  const againMs = performance.now();
  refresher.changed();
  for (let n = 0; n < PATCH_TIMES_KEPT; n++) refresher.pauseAfter(3_600_000);
  end();
  await until(loads, (seen) => seen >= 3);
  t.ok(performance.now() - againMs >= PATCH_PAUSE_MS_MAX - 2, 'an hour would be too long');
});

test('one slow patch does not lengthen the pause, and fast patches do not shorten it below its minimum', async (t) => {
  const { refresher, loads } = paced(t);
  refresher.pauseAfter(1);
  refresher.pauseAfter(3_600_000);
  const beganMs = performance.now();
  refresher.changed();
  await until(loads, (seen) => seen >= 1);
  t.ok(performance.now() - beganMs >= PATCH_PAUSE_MS_MIN - 2);
});

test('a load that begins by itself takes all waiting changes', async (t) => {
  const { refresher, loads, end } = paced(t);
  refresher.pauseAfter(10);
  refresher.changed();
  void refresher.request();
  t.equal(loads(), 1);
  end();
  await timeForAFault(PATCH_PAUSE_MS_MIN + 20);
  t.equal(loads(), 1);
  refresher.changed();
  void refresher.close();
  await timeForAFault(20);
  t.equal(loads(), 1, 'closed');
});
