import type { Worker } from 'node:worker_threads';
import { test } from 'tap';
import { startService } from '../../src/service.js';
import { youngGenerationMbOf } from '../../src/serving/young-generation.js';
import { watchThreads } from './threads.js';

const GIB = 1024 ** 3;

for (const [workers, heapGib, expected] of [
  [1, 4, null],
  [2, 4, null],
  [3, 4, 32],
  [4, 4, 24],
  [16, 4, 6],
  [128, 4, 6],
  // V8 gives 24 MB to the young generation of a heap of 1 GiB, and 6 to that of one of 256 MiB.
  [3, 1, null],
  [4, 1, null],
  [8, 1, 12],
  [128, 0.25, null],
] as const) {
  test(`${workers} threads with heaps of ${heapGib} GiB: ${expected === null ? 'as V8 has it' : `${expected} MB`}`, async (t) => {
    t.equal(youngGenerationMbOf(workers, heapGib * GIB), expected);
  });
}

test('threads are started with it, and otherwise with what V8 gives them', async (t) => {
  const threads = watchThreads(t);
  const service = await startService({
    source: 'fixtures/demo.ndjson.gz',
    mode: 'development',
    port: 0,
    workers: 4,
  });
  t.teardown(() => service.close());
  await service.ready;
  const serving = threads.filter((thread) => thread.resourceLimits?.maxYoungGenerationSizeMb === 24);
  const least = youngGenerationMbOf(4);
  t.equal(serving.length, least === null ? 0 : 4, `of ${threads.map(limitOf)}`);
});

function limitOf({ resourceLimits }: Worker): string {
  return JSON.stringify(resourceLimits);
}
