/** How an image comes from a store. Inside, because it makes stores that no publisher would leave. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'tap';
import { encodeChanges } from '../../../src/change/change.js';
import { compare } from '../../../src/change/compare.js';
import { fetchImage as fetchImageTask, warmUpChange } from '../../../src/refresh/thread/fetch-image.js';
import type { FetchedObject, FetchTask, Loaded } from '../../../src/refresh/thread/task-messages.js';
import { hiddenDigestOf } from '../../../src/snapshot/content-version.js';
import type { SnapshotImage } from '../../../src/snapshot/image.js';
import { imagePieces } from '../../../src/snapshot/image-layout.js';
import { Snapshot } from '../../../src/snapshot/snapshot.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { storeAddress } from '../../../src/store/store-address.js';
import { changed } from '../../change/edits.js';
import { eventOf, idOf, imageOfCount, stored } from '../../snapshot/images.js';

const MEMORY_BYTES = 1e9;

async function fetchImage(task: FetchTask): Promise<Loaded> {
  const done = await fetchImageTask(task);
  if (done.kind !== 'loaded') throw new Error(`nothing was loaded: ${done.kind}`);
  return done;
}

function fileOf(image: SnapshotImage): Buffer {
  return Buffer.concat(imagePieces(stored(image)));
}

function objectOf(bytes: Buffer): FetchedObject {
  return { hash: hashOf(bytes), bytes: bytes.length };
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

/** A store, the served image, and the next one with its change. */
async function announced(folder: string): Promise<{
  readonly store: Store;
  readonly served: SnapshotImage;
  /** The image file of the served image, and of the next one. */
  readonly earlier: Buffer;
  readonly file: Buffer;
  readonly change: Buffer;
  readonly task: FetchTask;
}> {
  const address = storeAddress(join(folder, 'store'));
  const served = imageOfCount(40);
  const edit = { came: [eventOf(5, { title: 'changed' })], went: [idOf(9)] };
  const { image, change: made } = changed(served, edit);
  const change = encodeChanges([made]);
  const file = fileOf(image);
  const task: FetchTask = {
    task: 'fetch-image',
    store: address,
    image: objectOf(file),
    following: [],
    missed: [objectOf(change)],
    history: null,
    keepsHistory: false,
    id: image.summary.id,
    hidden: hiddenDigestOf(image),
    served,
    past: [],
    memoryBytesMax: MEMORY_BYTES,
  };
  return { store: await openStore(address, 'make'), served, earlier: fileOf(served), file, change, task };
}

test('the missed change alone gives the same bytes and differences as the whole image', async (t) => {
  const { store, file, change, task } = await announced(t.testdir());
  await put(store, hashOf(change), change);
  const patched = await fetchImage(task);
  t.ok(fileOf(patched.image).equals(file));
  t.ok(patched.isPatched);
  t.match(patched.changes, [{ from: task.served?.summary.id, added: 0, changed: 1, removed: 1 }]);
  await put(store, task.image.hash, file);
  const whole = await fetchImage({ ...task, missed: null });
  t.ok(fileOf(whole.image).equals(file));
  t.notOk(whole.isPatched);
  t.match(whole.changes, [{ added: 0, changed: 1, removed: 1, edit: null }]);
  t.strictSame(patched.history?.differences, whole.history?.differences);
});

test('a change in the announcement needs no object; if it has other bytes, the object is fetched', async (t) => {
  const { store, file, change, task } = await announced(t.testdir());
  const named = objectOf(change);
  const inside = { ...task, missed: [{ ...named, content: change.toString('base64') }] };
  const given = await fetchImage(inside);
  t.ok(fileOf(given.image).equals(file));
  t.ok(given.isPatched);
  const damaged = { ...task, missed: [{ ...named, content: Buffer.from('damaged').toString('base64') }] };
  await t.rejects(fetchImage(damaged), { code: 'object-damaged' }, 'neither change nor image are there');
  await put(store, named.hash, change);
  t.ok(fileOf((await fetchImage(damaged)).image).equals(file), 'of the object');
});

test('an image file, the changes after it and those before it give image and history', async (t) => {
  const { store, served, earlier, file, change, task } = await announced(t.testdir());
  const before = imageOfCount(40, { title: 'before' });
  const history = encodeChanges([compare(new Snapshot(before), new Snapshot(served), 1000)]);
  for (const bytes of [earlier, change, history]) await put(store, hashOf(bytes), bytes);
  const fresh = {
    ...task,
    image: objectOf(earlier),
    following: [objectOf(change)],
    missed: null,
    history: objectOf(history),
    served: null,
  };
  const loaded = await fetchImage(fresh);
  t.ok(fileOf(loaded.image).equals(file));
  t.strictSame(loaded.changes, []);
  const known = loaded.history?.changes.map(({ from }) => from);
  t.strictSame(known, [before.summary.id, served.summary.id]);
  t.strictSame((await fetchImage({ ...fresh, served: before })).history?.changes.length, 2, 'a late replica');

  const foreign = await fetchImage({ ...fresh, served: imageOfCount(3) });
  t.equal(foreign.history?.changes.length, 1, 'its image is in no announced change, so it compares');
  const pinned = await fetchImage({ ...fresh, served: before, keepsHistory: true });
  t.match(pinned.history?.changes, [{ from: before.summary.id, to: task.id }]);
});

test('a replica that missed other contents and serves the announced one takes the history', async (t) => {
  const { store, served, change, task } = await announced(t.testdir());
  const back = compare(new Snapshot(imageOfCount(3)), new Snapshot(served), 1000);
  const history = encodeChanges([back]);
  const same = {
    ...task,
    ...{ id: served.summary.id, hidden: hiddenDigestOf(served) },
    ...{ missed: null, history: objectOf(history) },
  };
  t.strictSame(await fetchImageTask(same), { kind: 'unchanged', sourceVersion: null }, 'it is not there');
  await put(store, hashOf(history), history);
  const loaded = await fetchImage(same);
  t.equal(loaded.image, served, 'no image is fetched');
  t.match(loaded.history?.changes, [{ from: back.from }]);
  t.match(loaded.changes, [{ added: 0, changed: 0, removed: 0 }]);
  t.ok(change.length > 0);
});

test('a warm-up changes nothing, and skips an empty image', async (t) => {
  const image = imageOfCount(40);
  const before = fileOf(image);
  warmUpChange(image);
  warmUpChange(imageOfCount(0));
  t.ok(fileOf(image).equals(before));
});

test('the whole image is fetched if the missed changes cannot be used', async (t) => {
  const { store, file, change, task } = await announced(t.testdir());
  await put(store, task.image.hash, file);
  const other = Buffer.from('no change');
  await put(store, hashOf(other), other);
  const damagedName = hashOf(Buffer.from('damaged'));
  await put(store, damagedName, change);
  const cases: Record<string, Partial<FetchTask>> = {
    'it is missing': {},
    'it is no change': { missed: [objectOf(other)] },
    'it has other bytes than announced': { missed: [{ hash: damagedName, bytes: change.length }] },
    'it is longer than announced': { missed: [{ ...objectOf(change), bytes: 10 }] },
    'nothing is served yet': { served: null },
    'the memory is short': { memoryBytesMax: 1 },
  };
  for (const [name, more] of Object.entries(cases)) {
    const { image, isPatched } = await fetchImage({ ...task, ...more });
    t.ok(fileOf(image).equals(file), name);
    t.notOk(isPatched, `${name}: not patched`);
  }
  await put(store, hashOf(change), change);
  const named = changed(task.served ?? imageOfCount(40), {
    came: [eventOf(2, { roomName: 'Aula' })],
    went: [],
  });
  const foreign = await fetchImage({
    ...task,
    served: { ...named.image, summary: imageOfCount(40).summary },
  });
  t.notOk(foreign.isPatched, 'the served image has other hidden values');
});

test('bytes that are not the announced image are refused', async (t) => {
  const { store, file, task } = await announced(t.testdir());
  const whole = { ...task, missed: null };
  await t.rejects(fetchImage(whole), { code: 'object-damaged', message: /is missing/ });
  const flipped = Buffer.from(file);
  flipped.write('lesson', flipped.indexOf('Lesson 7'));
  const garbage = Buffer.alloc(5000, 7);
  const objects = [flipped, garbage];
  for (const bytes of objects) await put(store, hashOf(bytes), bytes);
  await put(store, task.image.hash, flipped);
  await t.rejects(fetchImage(whole), { code: 'object-damaged', message: /has other bytes than announced/ });
  const ofLength = (bytes: number): FetchTask => ({ ...whole, image: { hash: task.image.hash, bytes } });
  await t.rejects(fetchImage(ofLength(file.length - 1)), { message: /is longer/ });
  await t.rejects(fetchImage(ofLength(file.length + 1)), { message: /has \d+ of \d+ bytes/ });
  await t.rejects(fetchImage({ ...whole, image: objectOf(garbage) }), { code: 'image-unusable' });
  const other = { image: objectOf(flipped), id: 'x'.repeat(22) };
  await t.rejects(fetchImage({ ...whole, ...other }), {
    code: 'image-unusable',
    message: /its content is|does not match/,
  });
});
