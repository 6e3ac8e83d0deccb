import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../../src/limits.js';
import { Weight } from '../../src/thread/weight.js';

const MIB = 1024 * 1024;
const AT_ONCE = { shortMs: 0, longMs: 0 };
const counted = (): number => process.memoryUsage().arrayBuffers;
const resident = (): number => process.memoryUsage().rss;

test("the garbage collector counts a snapshot's memory", async (t) => {
  const weight = new Weight(AT_ONCE);
  const before = { counted: counted(), resident: resident() };
  weight.replace(80 * MIB);
  await delay(20);
  t.equal(weight.bytes, 80 * MIB);
  // A collection in between frees the garbage of the start.
  t.ok(counted() - before.counted >= 60 * MIB, `${(counted() - before.counted) / MIB} MiB more`);
  t.ok(resident() - before.resident < 40 * MIB, `${(resident() - before.resident) / MIB} MiB more`);
});

test('a large snapshot counts only enough to trigger a collection', async (t) => {
  const weight = new Weight(AT_ONCE);
  weight.replace(100_000 * MIB);
  await delay(20);
  t.equal(weight.bytes, SNAPSHOT_WEIGHT_BYTES_MAX);
});

test('replacing snapshots triggers collections', async (t) => {
  const weight = new Weight(AT_ONCE);
  let collected = 0;
  const registry = new FinalizationRegistry(() => {
    collected++;
  });
  for (let n = 0; n < 30; n++) {
    // A small object whose memory V8 does not count, like a snapshot.
    registry.register({ snapshot: n }, n);
    weight.replace(200 * MIB);
    await delay(10);
  }
  t.ok(collected > 0, `${collected} of 30 were collected`);
});

test('small snapshots share a collection; much memory does not wait for it', async (t) => {
  const weight = new Weight({ shortMs: 0, longMs: 300 });
  weight.replace(40 * MIB);
  weight.replace(41 * MIB);
  await delay(20);
  t.equal(weight.bytes, 0);
  weight.replace(50 * MIB);
  await delay(20);
  t.equal(weight.bytes, 50 * MIB, 'at once, because the three have more than 128 MiB');
  weight.replace(42 * MIB);
  await delay(20);
  t.equal(weight.bytes, 50 * MIB);
  await delay(400);
  t.equal(weight.bytes, 42 * MIB, 'a single one later');
});
