/** Tasks of threads, and how they end. Inside, because it aborts them at each step. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { LecternError } from '../../../src/base/errors.js';
import { LOAD_LOOK_CHUNKS } from '../../../src/base/limits.js';
import { recordChunks } from '../../../src/refresh/thread/record-chunks.js';
import { runTaskHere } from '../../../src/refresh/thread/task.js';
import type { Done, LoadTask } from '../../../src/refresh/thread/task-messages.js';
import { spawnTask } from '../../../src/refresh/thread/task-thread.js';
import type { SnapshotImage } from '../../../src/snapshot/image.js';
import { Snapshot } from '../../../src/snapshot/snapshot.js';
import { idOf, imageOfCount, stored } from '../../snapshot/images.js';
import { until } from '../../waiting/until.js';

const record = (n: number, title = 'a title'): object => ({
  id: idOf(n),
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T09:00:00Z',
  title,
});
const RECORDS = [record(1), record(2), { id: 'bad' }, record(3)];

function folderFor(t: { teardown(callback: () => void): unknown }): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-task-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function loadTask(more: Partial<LoadTask>): LoadTask {
  const source = { kind: 'stream', content: 'records', name: 'records', version: '7' } as const;
  return {
    task: 'load',
    source,
    rules: { identifiers: 'uuid' },
    previousVersion: null,
    served: null,
    mayPatch: false,
    past: [],
    bounds: { memoryBytesMax: null },
    parts: [],
    allowMissing: false,
    ...more,
  };
}

function imageOf(result: Done): SnapshotImage {
  if (result.kind !== 'loaded') throw new Error(`expected an image, not ${result.kind}`);
  return result.image;
}

test('a thread builds the same image as the main thread, in shared memory', async (t) => {
  const here = imageOf(await runTaskHere(loadTask({}), {}, recordChunks(RECORDS)));
  const threaded = await spawnTask(loadTask({}), {
    chunks: recordChunks(RECORDS),
  });
  const there = imageOf(threaded);
  t.match(threaded, { kind: 'loaded', sourceVersion: '7', changes: [] });
  t.ok(there.rows.bytes.buffer instanceof SharedArrayBuffer);
  const { builtAtMs: _1, buildMs: _2, modifiedMs: _3, ...summary } = here.summary;
  t.match(there.summary, summary);
  t.equal(there.summary.rejections[0]?.position.record, 3, 'positions are those of the records');
  t.strictSame(there.rows.bytes, here.rows.bytes);
  t.equal(new Snapshot(there).ordinalOf(idOf(2)), 1);
});

test('loads of records report their outcomes', async (t) => {
  const load = (records: readonly object[], served: SnapshotImage | null): Promise<Done> =>
    runTaskHere(loadTask({ served }), {}, recordChunks(records));
  const first = imageOf(await load(RECORDS, null));
  t.strictSame(await load(RECORDS, first), { kind: 'unchanged', sourceVersion: '7' });
  t.match(await load([record(1), record(2, 'other'), { id: 'bad' }, record(4)], first), {
    kind: 'loaded',
    changes: [{ from: first.summary.id, added: 1, changed: 1, removed: 1 }],
    history: { changes: [{ from: first.summary.id }], differences: { since: [{ from: first.summary.id }] } },
  });
  t.match(
    await load([record(1), record(2), record(3)], first),
    { kind: 'loaded', changes: [{ added: 0, changed: 0, removed: 0 }] },
    'one rejected record fewer is news, too',
  );
});

test('an unchanged file is not read again', async (t) => {
  const path = join(folderFor(t), 'events.ndjson');
  writeFileSync(path, RECORDS.map((each) => JSON.stringify(each)).join('\n'));
  const source = { kind: 'file', path } as const;
  const loaded = await runTaskHere(loadTask({ source }), {});
  const { sourceVersion } = loaded as { readonly sourceVersion: string };
  t.type(sourceVersion, 'string');
  t.strictSame(await runTaskHere(loadTask({ source, previousVersion: sourceVersion }), {}), {
    kind: 'not-modified',
  });
});

test('images are written and read on other threads', async (t) => {
  const path = join(folderFor(t), 'image');
  const options = {};
  const image = imageOfCount(50);
  const source = { name: 'events.ndjson', digest: 'abc' };
  const write = {
    task: 'write-image',
    path,
    ...stored(image, { sequence: 5, sourceVersion: '7', source }),
    past: [],
  } as const;
  t.match(await spawnTask(write, options), { kind: 'done', place: { bytes: statSync(path).size } });
  const read = await spawnTask({ task: 'read-image', path }, options);
  t.match(read, { kind: 'stored', sequence: 5, sourceVersion: '7', source, history: null });
  t.strictSame(read.image.rows.bytes, image.rows.bytes);
});

test('an error of a task keeps its code across threads', async (t) => {
  const source = { kind: 'file', path: join(folderFor(t), 'none') } as const;
  const failing = spawnTask(loadTask({ source }), {});
  await t.rejects(failing, { code: 'source-unreadable', message: /there is no such file/ });
  await t.rejects(failing, LecternError);
});

test('records that fail halfway fail the load', async (t) => {
  async function* failing(): AsyncGenerator<object> {
    yield record(1);
    throw new Error('the cursor was closed');
  }
  const load = spawnTask(loadTask({}), { chunks: recordChunks(failing()) });
  await t.rejects(load, { code: 'source-unreadable', message: /the cursor was closed/ });
});

test('aborting ends the thread, and releases the records', async (t) => {
  let asked = 0;
  let returned = false;
  async function* endless(): AsyncGenerator<object> {
    try {
      for (let n = 0; ; n++) {
        // A source that gives a record now and then.
        await delay(1);
        asked = n;
        yield record(n);
      }
    } finally {
      returned = true;
    }
  }
  const abort = new AbortController();
  const reason = new LecternError('closed', 'not wanted any more');
  const load = spawnTask(loadTask({}), {
    chunks: recordChunks(endless()),
    signal: abort.signal,
  });
  const rejected = t.rejects(load, reason);
  await until(
    () => asked,
    (seen) => seen >= 10,
  );
  abort.abort(reason);
  await rejected;
  await until(() => returned);
  t.ok(returned);
  await t.rejects(spawnTask(loadTask({}), { signal: abort.signal }), reason);
});

test('any value that onProgress throws rejects the task and ends the thread', async (t) => {
  const path = join(folderFor(t), 'events.ndjson');
  writeFileSync(path, RECORDS.map((each) => JSON.stringify(each)).join('\n'));
  const source = { kind: 'file', path } as const;
  for (const thrown of [new Error('a mistake in the program'), 'a text']) {
    let calls = 0;
    const load = spawnTask(loadTask({ source }), {
      onProgress() {
        calls++;
        throw thrown;
      },
    });
    t.equal(await load.catch((error: unknown) => error), thrown, String(thrown));
    t.ok(calls > 0);
  }
});

test('differences too large for the memory of a load are dropped, and the load continues', async (t) => {
  const count = 30_000;
  const records = (title: string): object[] => Array.from({ length: count }, (_, n) => record(n, title));
  const load = (title: string, more: Partial<LoadTask>): Promise<Done> =>
    spawnTask(loadTask(more), { chunks: recordChunks(records(title)) });
  const served = imageOf(await load('one', {}));
  const boundsOf = (mib: number) => ({ memoryBytesMax: mib * 2 ** 20 });
  for (const [mib, kept] of [
    [200, 1],
    [50, 0],
  ] as const) {
    const result = await load('another', { served, bounds: boundsOf(mib) });
    if (result.kind !== 'loaded') throw new Error(JSON.stringify(result));
    t.equal(result.changes[0]?.changed, count);
    t.equal(result.history?.changes.length, kept, `${mib} MiB`);
    t.equal(result.changes[0]?.earlier === null, kept === 0);
  }
});

test('if the thread of a load runs out of memory, only the load is refused', async (t) => {
  // Fewer pieces than between two memory checks, each with only new texts.
  async function* chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let piece = 0; piece < LOAD_LOOK_CHUNKS - 1; piece++) {
      const lines = Array.from({ length: 900 }, (_, n) =>
        record(1000 * piece + n, `${'x'.repeat(900)}${piece} ${n}`),
      );
      yield new TextEncoder().encode(lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
    }
  }
  const bounds = { memoryBytesMax: 10 * 2 ** 20 };
  const result = await spawnTask(loadTask({ bounds }), { chunks: chunks() });
  // A check of the memory may come before the heap is full.
  const detail = /^the load (ran out of memory$|takes more than 10 MiB, the limit for a load: )/;
  t.match(result, { kind: 'refused', refusal: { code: 'memory', detail } });
});
