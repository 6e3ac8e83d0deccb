/** One refresh at a time. Inside, because the test decides when each ends. */
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { Refresher, type RefreshOutcome } from '../../src/refresh/refresher.js';
import { timeForAFault, until } from '../waiting/until.js';

const DONE: RefreshOutcome = { failed: false, retryAfterMs: null, dueMs: null };
const FAILED: RefreshOutcome = { failed: true, retryAfterMs: null, dueMs: null };

/** Refreshes that end on command. */
class Manual {
  /** For each started refresh: whether it was forced. */
  readonly begun: boolean[] = [];
  running = 0;
  runningMax = 0;
  #end: ((outcome: RefreshOutcome) => void) | null = null;

  readonly refresh = async (force: boolean): Promise<RefreshOutcome> => {
    this.begun.push(force);
    this.runningMax = Math.max(this.runningMax, ++this.running);
    const outcome = await new Promise<RefreshOutcome>((resolve) => {
      this.#end = resolve;
    });
    this.running--;
    return outcome;
  };

  async end(outcome: RefreshOutcome = DONE): Promise<void> {
    this.#end?.(outcome);
    // One turn of the event loop.
    await delay(0);
  }
}

test('refreshes run one at a time, and requests during a refresh share the next', async (t) => {
  const manual = new Manual();
  const refresher = new Refresher(manual.refresh, 0);
  const ended: string[] = [];
  const ask = (name: string, force = false): void => {
    void refresher.request(force).then(() => ended.push(name));
  };
  ask('first');
  ask('second');
  ask('third', true);
  ask('fourth');
  t.strictSame(manual.begun, [false]);
  await manual.end();
  t.strictSame(ended, ['first'], 'only the first had its refresh');
  t.strictSame(manual.begun, [false, true], 'the others share one, forced as one of them asked');
  ask('fifth');
  await manual.end();
  t.strictSame(ended, ['first', 'second', 'third', 'fourth']);
  t.strictSame(manual.begun, [false, true, false], 'force is forgotten afterwards');
  await manual.end();
  t.equal(ended.at(-1), 'fifth');
  t.equal(manual.runningMax, 1);
  await refresher.close();
});

test('a request between two refreshes joins the next', async (t) => {
  const manual = new Manual();
  const refresher = new Refresher(manual.refresh, 0);
  const first = refresher.request();
  const second = refresher.request();
  const asked = first.then(() => refresher.request(true));
  await manual.end();
  await manual.end();
  await manual.end();
  await Promise.all([first, second, asked]);
  t.equal(manual.runningMax, 1);
  t.ok(manual.begun.includes(true), 'the forced one was done');
  await refresher.close();
});

test('the next refresh begins after the interval, also after failures', async (t) => {
  const begunMs: number[] = [];
  const outcomes = [DONE, FAILED, FAILED, DONE];
  const refresh = async (): Promise<RefreshOutcome> => {
    begunMs.push(performance.now());
    return outcomes[begunMs.length - 1] ?? DONE;
  };
  const refresher = new Refresher(refresh, 20, () => 0.5);
  await refresher.request();
  // This timer keeps the process alive, which the timers of the refresher do not.
  await until(
    () => begunMs.length,
    (seen) => seen >= 5,
  );
  t.ok(begunMs.length >= 5, `${begunMs.length} refreshes`);
  for (let n = 1; n < begunMs.length; n++) {
    t.ok((begunMs[n] ?? 0) - (begunMs[n - 1] ?? 0) >= 18, 'not before the interval is over');
  }
  await refresher.close();
  const { length } = begunMs;
  await timeForAFault(60);
  t.equal(begunMs.length, length, 'none after it was closed');
});

test('Retry-After of a source is honoured', async (t) => {
  let begun = 0;
  const refresher = new Refresher(async () => {
    begun++;
    return { failed: true, retryAfterMs: 10_000, dueMs: 1 };
  }, 5);
  await refresher.request();
  await timeForAFault(60);
  t.equal(begun, 1);
  await refresher.request();
  t.equal(begun, 2, 'but a person may ask');
  await refresher.close();
});

test('closing waits for a running refresh, and begins no other', async (t) => {
  const manual = new Manual();
  const refresher = new Refresher(manual.refresh, 1);
  void refresher.request();
  const waiting = refresher.request(true);
  let closed = false;
  const closing = refresher.close().then(() => {
    closed = true;
  });
  await timeForAFault(10);
  t.equal(closed, false);
  await manual.end();
  await Promise.all([closing, waiting]);
  t.strictSame(manual.begun, [false]);
  await refresher.request(true);
  await timeForAFault(10);
  t.strictSame(manual.begun, [false], 'nor later');
});
