/** How V8 learns of shared memory. Inside, because it counts the memory of its own process. */
import { type Test, test } from 'tap';
import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../../../src/base/limits.js';
import { COLLECTION_BYTES, countAsTaken, Weight } from '../../../src/refresh/thread/weight.js';
import { timeForAFault, until } from '../../waiting/until.js';

const MIB = 1024 * 1024;
const AT_ONCE = { shortMs: 0, longMs: 0 };
const counted = (): number => process.memoryUsage().arrayBuffers;
const resident = (): number => process.memoryUsage().rss;

test("the garbage collector counts a snapshot's memory", async (t) => {
  const weight = new Weight(AT_ONCE);
  const before = { counted: counted(), resident: resident() };
  weight.replace(80 * MIB);
  t.ok(await until(() => weight.bytes === 80 * MIB));
  // A collection in between frees the garbage of the start.
  t.ok(counted() - before.counted >= 60 * MIB, `${(counted() - before.counted) / MIB} MiB more`);
  t.ok(resident() - before.resident < 40 * MIB, `${(resident() - before.resident) / MIB} MiB more`);
});

test('a large snapshot counts only enough to trigger a collection', async (t) => {
  const weight = new Weight(AT_ONCE);
  weight.replace(100_000 * MIB);
  t.ok(await until(() => weight.bytes === SNAPSHOT_WEIGHT_BYTES_MAX));
});

test('replacing snapshots triggers collections', async (t) => {
  const weight = new Weight(AT_ONCE);
  let collected = 0;
  const registry = new FinalizationRegistry(() => {
    collected++;
  });
  for (let n = 0; n < 1000 && collected === 0; n++) {
    // A small object whose memory V8 does not count, like a snapshot.
    registry.register({ snapshot: n }, n);
    weight.replace(200 * MIB);
    // Collections and their callbacks come at times of V8's choice.
    await timeForAFault(10);
  }
  t.ok(collected > 0);
});

/** The lengths of the buffers that are made from now on: one for each collection. */
function lengthsMade(t: Test): readonly number[] {
  const lengths: number[] = [];
  const Counted = class extends ArrayBuffer {
    constructor(length: number) {
      super(length);
      lengths.push(length / MIB);
    }
  };
  t.intercept(globalThis, 'ArrayBuffer', { value: Counted });
  return lengths;
}

test('small snapshots share a collection; much memory does not wait for it', async (t) => {
  const lengths = lengthsMade(t);
  const weight = new Weight({ shortMs: 0, longMs: 1000 });
  weight.replace(40 * MIB);
  weight.replace(41 * MIB);
  await timeForAFault(20);
  t.strictSame(lengths, []);
  weight.replace(50 * MIB);
  await until(
    () => lengths,
    (seen) => seen.length > 0,
  );
  t.strictSame(lengths, [50], 'at once, because the three have more than 128 MiB');
  weight.replace(42 * MIB);
  await until(
    () => lengths,
    (seen) => seen.length > 1,
  );
  t.strictSame(lengths, [50, 42], 'a single one later');
});

test('a large snapshot that a small one replaces does not wait', async (t) => {
  const lengths = lengthsMade(t);
  const weight = new Weight({ shortMs: 0, longMs: 10_000 });
  weight.replace(200 * MIB);
  await until(
    () => lengths,
    (seen) => seen.length > 0,
  );
  weight.replace(1 * MIB);
  await until(
    () => lengths,
    (seen) => seen.length > 1,
  );
  t.strictSame(lengths, [96, 1]);
});

test('a snapshot that is replaced just before a collection gets another collection', async (t) => {
  const lengths = lengthsMade(t);
  // The clock stands still until the second collection, so the replacement counts as recent.
  t.intercept(performance, 'now', { value: () => (lengths.length < 2 ? 0 : 1000) });
  const weight = new Weight({ shortMs: 100, longMs: 50 });
  weight.replace(40 * MIB);
  weight.replace(41 * MIB);
  await until(
    () => lengths,
    (seen) => seen.length >= 2,
  );
  await timeForAFault(150);
  t.strictSame(lengths, [41, 41], 'and then no more');
});

test('COLLECTION_BYTES counted as taken start a collection at once', async (t) => {
  let collected = 0;
  const registry = new FinalizationRegistry(() => {
    collected++;
  });
  for (let n = 0; n < 100; n++) registry.register({ snapshot: n }, n);
  await new Promise(setImmediate);
  countAsTaken(COLLECTION_BYTES);
  // The callbacks come after the collection, in a task that keeps no process alive.
  t.ok(await until(() => collected > 0));
});
