import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'tap';
import {
  ChangePace,
  PATCH_PAUSE_FACTOR,
  PATCH_PAUSE_MS_MAX,
  PATCH_PAUSE_MS_MIN,
  PATCH_TIMES_KEPT,
} from '../../src/refresh/refresher.js';
import { timeForAFault, until } from '../waiting/until.js';

function paced(): { pace: ChangePace; loads: () => number } {
  let loads = 0;
  return { pace: new ChangePace(() => loads++), loads: () => loads };
}

test('changes of one turn become one load; changes during a load become one more', async (t) => {
  const { pace, loads } = paced();
  pace.changed();
  pace.changed();
  t.equal(loads(), 0, 'not in the same turn');
  await until(loads, (seen) => seen >= 1);
  pace.began();
  for (let n = 0; n < 3; n++) pace.changed();
  await turn();
  t.equal(loads(), 1, 'not while it loads');
  pace.ended();
  await until(loads, (seen) => seen >= 2);
  pace.began();
  pace.ended();
  await turn();
  t.equal(loads(), 2);
});

test('the pause after a patch is proportional, within a bound', async (t) => {
  const { pace, loads } = paced();
  pace.began();
  pace.changed();
  const beganMs = performance.now();
  pace.pauseAfter(60);
  pace.ended();
  await until(loads, (seen) => seen >= 1);
  t.ok(performance.now() - beganMs >= 60 * PATCH_PAUSE_FACTOR - 2);
  const againMs = performance.now();
  pace.began();
  pace.changed();
  for (let n = 0; n < PATCH_TIMES_KEPT; n++) pace.pauseAfter(3_600_000);
  pace.ended();
  await until(loads, (seen) => seen >= 2);
  t.ok(performance.now() - againMs >= PATCH_PAUSE_MS_MAX - 2, 'an hour would be too long');
});

test('one slow patch does not lengthen the pause, and fast patches do not shorten it below its minimum', async (t) => {
  const { pace, loads } = paced();
  pace.pauseAfter(1);
  pace.began();
  pace.changed();
  const beganMs = performance.now();
  pace.pauseAfter(3_600_000);
  pace.ended();
  await until(loads, (seen) => seen >= 1);
  t.ok(performance.now() - beganMs >= PATCH_PAUSE_MS_MIN - 2);
});

test('a load that begins by itself takes all waiting changes', async (t) => {
  const { pace, loads } = paced();
  pace.pauseAfter(10);
  pace.changed();
  pace.began();
  pace.ended();
  await timeForAFault(PATCH_PAUSE_MS_MIN + 20);
  t.equal(loads(), 0);
  pace.changed();
  pace.close();
  await turn();
  t.equal(loads(), 0, 'closed');
});
