import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../../src/limits.js';
import { Weight } from '../../src/thread/weight.js';

const MIB = 1024 * 1024;
const counted = (): number => process.memoryUsage().arrayBuffers;
const resident = (): number => process.memoryUsage().rss;

test("the garbage collector counts a snapshot's memory", async (t) => {
  const weight = new Weight(0);
  const before = { counted: counted(), resident: resident() };
  weight.replace(80 * MIB);
  await delay(20);
  t.equal(weight.bytes, 80 * MIB);
  // A collection in between frees the garbage of the start.
  t.ok(counted() - before.counted >= 60 * MIB, `${(counted() - before.counted) / MIB} MiB more`);
  t.ok(resident() - before.resident < 40 * MIB, `${(resident() - before.resident) / MIB} MiB more`);
});

test('a large snapshot counts only enough to trigger a collection', async (t) => {
  const weight = new Weight(0);
  weight.replace(100_000 * MIB);
  await delay(20);
  t.equal(weight.bytes, SNAPSHOT_WEIGHT_BYTES_MAX);
});

test('replacing snapshots triggers collections', async (t) => {
  const weight = new Weight(0);
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
