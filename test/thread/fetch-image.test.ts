import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'tap';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { imagePieces } from '../../src/snapshot/image-layout.js';
import { writeImagePatch } from '../../src/snapshot/image-patch.js';
import { patchImage } from '../../src/snapshot/patch.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { storeAddress } from '../../src/store/store-address.js';
import { fetchImage as fetchImageTask, warmUpPatch } from '../../src/thread/fetch-image.js';
import type { FetchTask, Loaded } from '../../src/thread/task-messages.js';
import { eventOf, idOf, imageOfCount } from '../snapshot/images.js';

const MEMORY_BYTES = 1e9;

async function fetchImage(task: FetchTask): Promise<Loaded> {
  const done = await fetchImageTask(task);
  if (done.kind !== 'loaded') throw new Error(`nothing was loaded: ${done.kind}`);
  return done;
}

function fileOf(image: SnapshotImage): Buffer {
  return Buffer.concat(imagePieces({ image, sourceVersion: null, source: null, beside: null }));
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function put(store: Store, name: string, bytes: Buffer): Promise<void> {
  async function* only(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  await store.put(name, only());
}

/** A store, the served image, and the next one with its patch. */
async function announced(folder: string): Promise<{
  readonly store: Store;
  readonly next: SnapshotImage;
  readonly file: Buffer;
  readonly patch: Buffer;
  readonly task: FetchTask;
}> {
  const address = storeAddress(join(folder, 'store'));
  const served = imageOfCount(40);
  const changed = eventOf(5, { title: 'changed' });
  const next = patchImage(served, { upserts: [changed], removals: [idOf(9)] });
  const patch = writeImagePatch(next, new Set([changed.id, idOf(9)])) ?? Buffer.alloc(0);
  const file = fileOf(next);
  const task: FetchTask = {
    task: 'fetch-image',
    store: address,
    hash: hashOf(file),
    bytes: file.length,
    stored: null,
    id: next.summary.id,
    patch: { hash: hashOf(patch), bytes: patch.length },
    history: null,
    isHistoryAnnounced: false,
    served,
    deltas: [],
    memoryBytesMax: MEMORY_BYTES,
  };
  return { store: await openStore(address, 'make'), next, file, patch, task };
}

test('a patch alone gives the same bytes, changes and history as the whole image', async (t) => {
  const { store, file, patch, task } = await announced(t.testdir());
  await put(store, hashOf(patch), patch);
  const patched = await fetchImage(task);
  t.ok(fileOf(patched.image).equals(file));
  t.same([...(patched.changedIds ?? [])].sort(), [idOf(5), idOf(9)]);
  await put(store, task.hash, file);
  const whole = await fetchImage({ ...task, patch: null });
  t.ok(fileOf(whole.image).equals(file));
  t.equal(whole.changedIds, undefined);
  t.same(patched.delta, whole.delta);
  t.same(patched.history, whole.history);
});

test('a patch in the announcement needs no object; if it has other bytes, the object is fetched', async (t) => {
  const { store, file, patch, task } = await announced(t.testdir());
  const named = { hash: hashOf(patch), bytes: patch.length };
  const inside = { ...task, patch: { ...named, content: patch.toString('base64') } };
  const given = await fetchImage(inside);
  t.ok(fileOf(given.image).equals(file));
  t.equal(given.changedIds?.length, 2, 'patched');
  const damaged = { ...task, patch: { ...named, content: Buffer.from('damaged').toString('base64') } };
  await t.rejects(fetchImage(damaged), { code: 'object-damaged' }, 'neither patch nor image are there');
  await put(store, named.hash, patch);
  t.ok(fileOf((await fetchImage(damaged)).image).equals(file), 'of the object');
});

test('a warm-up patch changes nothing, and skips an empty image', async (t) => {
  const image = imageOfCount(40);
  const before = fileOf(image);
  warmUpPatch(image);
  warmUpPatch(imageOfCount(0));
  t.ok(fileOf(image).equals(before));
});

test('the whole image is fetched if the patch cannot be used', async (t) => {
  const { store, file, patch, task } = await announced(t.testdir());
  await put(store, task.hash, file);
  const other = Buffer.from('no patch');
  await put(store, hashOf(other), other);
  const damagedName = hashOf(Buffer.from('damaged'));
  await put(store, damagedName, patch);
  const cases: Record<string, Partial<FetchTask>> = {
    'it is missing': {},
    'it is no patch': { patch: { hash: hashOf(other), bytes: other.length } },
    'it has other bytes than announced': { patch: { hash: damagedName, bytes: patch.length } },
    'it is longer than announced': { patch: { hash: damagedName, bytes: 10 } },
    'nothing is served yet': { served: null },
  };
  for (const [name, more] of Object.entries(cases)) {
    const { image, changedIds } = await fetchImage({ ...task, ...more });
    t.ok(fileOf(image).equals(file), name);
    t.equal(changedIds, undefined, `${name}: not patched`);
  }
  await put(store, hashOf(patch), patch);
  const foreign = await fetchImage({ ...task, served: imageOfCount(40) });
  t.equal(foreign.changedIds, undefined, 'the served image has another seed');
});

test('bytes that are not the announced image are refused', async (t) => {
  const { store, file, task } = await announced(t.testdir());
  const whole = { ...task, patch: null };
  await t.rejects(fetchImage(whole), { code: 'object-damaged', message: /is missing/ });
  const flipped = Buffer.from(file);
  flipped.write('lesson', flipped.indexOf('Lesson 7'));
  const garbage = Buffer.alloc(5000, 7);
  const objects = [flipped, garbage];
  for (const bytes of objects) await put(store, hashOf(bytes), bytes);
  await put(store, task.hash, flipped);
  await t.rejects(fetchImage(whole), { code: 'object-damaged', message: /has other bytes than announced/ });
  await t.rejects(fetchImage({ ...whole, bytes: file.length - 1 }), { message: /is longer/ });
  await t.rejects(fetchImage({ ...whole, bytes: file.length + 1 }), { message: /has \d+ of \d+ bytes/ });
  const announcedGarbage = { hash: hashOf(garbage), bytes: garbage.length };
  await t.rejects(fetchImage({ ...whole, ...announcedGarbage }), { code: 'image-unusable' });
  const other = { hash: hashOf(flipped), bytes: flipped.length, id: 'x'.repeat(22) };
  await t.rejects(fetchImage({ ...whole, ...other }), { code: 'image-unusable', message: /its content is/ });
});
