/**
 * The young generation of serving threads, by their number and the memory. Inside, because the memory of this
 * machine is one of many.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { test } from 'tap';
import { startService } from '../../src/app/service.js';
import { youngGenerationMbOf } from '../../src/app/serving.js';
import { watchThreads } from './threads.js';

const GIB = 1024 ** 3;

for (const [workers, memoryGib, expected] of [
  [1, 16, null],
  [2, 16, null],
  [3, 16, 24],
  [4, 16, 24],
  [5, 16, 12],
  [8, 16, 12],
  [9, 16, 6],
  [16, 16, 6],
  [128, 16, 6],
  // V8 of Node 20 makes semi-spaces of 8 MB with 4 GiB of memory, of 4 with 2 GiB, of 1 with 512 MiB.
  [4, 4.1, 24],
  [4, 4, null],
  [8, 4, 12],
  [8, 2, null],
  [128, 0.5, null],
] as const) {
  test(`${workers} threads in ${memoryGib} GiB: ${expected === null ? 'as V8 has it' : `${expected} MB`}`, async (t) => {
    t.equal(youngGenerationMbOf(workers, memoryGib * GIB), expected);
  });
}

/** The largest heap, in MB, of a thread with the bound, as V8 reports it there. */
async function heapMbMaxOf(maxYoungGenerationSizeMb: number): Promise<number> {
  const text =
    "require('node:worker_threads').parentPort.postMessage(require('node:v8').getHeapStatistics().heap_size_limit)";
  const thread = new Worker(text, { eval: true, resourceLimits: { maxYoungGenerationSizeMb } });
  const [[bytes]] = (await Promise.all([once(thread, 'message'), once(thread, 'exit')])) as [
    [number],
    unknown,
  ];
  return bytes / 1024 ** 2;
}

test('V8 uses each bound without rounding it up', async (t) => {
  const [least, middle, most] = [await heapMbMaxOf(6), await heapMbMaxOf(12), await heapMbMaxOf(24)];
  t.strictSame([middle - least, most - middle], [6, 12]);
});

test('serving threads start with the bound of their young generation', async (t) => {
  const threads = watchThreads(t);
  const service = await startService({
    source: 'fixtures/demo.ndjson.gz',
    dev: true,
    port: 0,
    workers: 4,
  });
  t.teardown(() => service.close());
  await service.ready;
  const bound = youngGenerationMbOf(4);
  const serving = threads.filter((thread) => thread.resourceLimits?.maxYoungGenerationSizeMb === bound);
  t.equal(serving.length, bound === null ? 0 : 4);
});
