/** A thread that is kept for several tasks. Inside, because answers do not show which thread made them. */
import { test } from 'tap';
import { recordChunks } from '../../../src/refresh/thread/record-chunks.js';
import type { FetchTask, LoadDone, PatchTask } from '../../../src/refresh/thread/task-messages.js';
import { TaskThread } from '../../../src/refresh/thread/task-thread.js';
import type { SnapshotImage } from '../../../src/snapshot/image.js';
import { Snapshot } from '../../../src/snapshot/snapshot.js';
import { storeAddress } from '../../../src/store/store-address.js';
import { testFolder } from '../../base/files/test-folder.js';
import { idOf, imageOfCount } from '../../snapshot/images.js';

// On a busy machine this takes minutes.
const MIB = 2 ** 20;

function patchTask(served: SnapshotImage, more: Partial<PatchTask> = {}): PatchTask {
  return {
    task: 'patch',
    name: 'records',
    rules: { identifiers: 'uuid' },
    served,
    past: [],
    removals: [],
    bounds: { memoryBytesMax: 512 * MIB },
    version: '7',
    ...more,
  };
}

const record = (n: number, title: string): object => ({
  id: idOf(n),
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T09:00:00Z',
  title,
});

/** A thread with its signal. Its end ends the thread. */
function keptThread(t: { teardown(callback: () => void): unknown }) {
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  const thread = new TaskThread<PatchTask>({ idleMsMax: Number.POSITIVE_INFINITY });
  const options = { signal: abort.signal };
  const run = (task: PatchTask, ...records: object[]): Promise<LoadDone> =>
    thread.run(task, { ...options, chunks: recordChunks(records) });
  return { abort, thread, options, run };
}

const served = imageOfCount(5);

function titlesOf(done: LoadDone): unknown[] {
  if (done.kind !== 'loaded') throw new Error(`expected an image, not ${done.kind}`);
  const { rows } = new Snapshot(done.image);
  return Array.from(
    { length: done.image.summary.events },
    (_, n) => JSON.parse(rows.rowOf(n).toString()).title,
  );
}

test('a warm-up patch runs before the first real one, and leaves nothing behind', async (t) => {
  const { thread, options, run } = keptThread(t);
  thread.warmUp(patchTask(served), { ...options, chunks: recordChunks([record(1, 'warm-up')]) });
  const first = titlesOf(await run(patchTask(served), record(2, 'first')));
  t.ok(first.includes('first'));
  t.notOk(first.includes('warm-up'));
  t.match(await run(patchTask(served)), { kind: 'unchanged', sourceVersion: '7' });
});

test('a warm-up patch that fails does no harm', async (t) => {
  const { thread, options, run } = keptThread(t);
  const broken = { ...served, rows: null } as unknown as SnapshotImage;
  thread.warmUp(patchTask(broken), { ...options, chunks: recordChunks([record(1, 'warm-up')]) });
  t.ok(titlesOf(await run(patchTask(served), record(2, 'first'))).includes('first'));
});

test('aborting the signal ends a warm-up patch', async (t) => {
  const { thread, options, run, abort } = keptThread(t);
  thread.warmUp(patchTask(served), options);
  const running = run(patchTask(served));
  abort.abort(new Error('closed'));
  await t.rejects(running, { message: 'closed' });
});

test('changes that outgrow the memory are refused, and the next ones find a new thread', async (t) => {
  const { run } = keptThread(t);
  const removals = Array.from({ length: 1_500_000 }, (_, n) => idOf(n));
  const bounds = { memoryBytesMax: 64 * MIB };
  t.match(await run(patchTask(served, { removals, bounds })), {
    kind: 'refused',
    refusal: { code: 'memory' },
  });
  t.ok(titlesOf(await run(patchTask(served), record(2, 'later'))).includes('later'));
});

test('a fetch that fails leaves its thread to the next, which knows its store and what stopped in the middle', async (t) => {
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  const thread = new TaskThread<FetchTask>({ idleMsMax: Number.POSITIVE_INFINITY });
  const task: FetchTask = {
    task: 'fetch-image',
    store: storeAddress(testFolder(t)),
    image: { hash: 'f'.repeat(64), bytes: 1 },
    following: [],
    missed: null,
    history: null,
    keepsHistory: false,
    id: '',
    hidden: '',
    served: null,
    past: [],
    memoryBytesMax: 512 * MIB,
  };
  const fetching = (): Promise<LoadDone> => thread.run(task, { signal: abort.signal });
  await t.rejects(fetching(), { code: 'object-damaged' });
  const { worker } = thread;
  t.ok(worker);
  await t.rejects(fetching(), { code: 'object-damaged' });
  t.equal(thread.worker, worker);
});

test('a task fails with the reason if it is aborted in the moment between the start of its thread and its own', async (t) => {
  const { abort, thread, run } = keptThread(t);
  const running = run(patchTask(served), record(1, 'never read'));
  const reason = new Error('no longer wanted');
  for (let turn = 0; turn < 100 && thread.worker === null; turn++) await null;
  t.ok(thread.worker, 'the thread has been started in this turn of the event loop');
  abort.abort(reason);
  await t.rejects(running, reason);
});
