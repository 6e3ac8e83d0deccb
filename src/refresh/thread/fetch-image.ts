import { LecternError } from '../../base/errors.js';
import {
  LOAD_BASE_BYTES,
  PATCH_IMAGE_SHARE,
  SNAPSHOT_DELTA_ENTRIES_MAX,
  WARM_UP_DELAY_MS,
  WARM_UP_IMAGE_BYTES_MAX,
  WARM_UP_ROUNDS,
} from '../../base/limits.js';
import { apply, editImage, eventReader } from '../../change/apply.js';
import { type Change, decodeChanges, encodeChanges } from '../../change/change.js';
import { changeOfEdit, compare } from '../../change/compare.js';
import { extendHistory, historyOf, leadTo, newestChanges } from '../../change/history.js';
import { checkImage } from '../../snapshot/check-image.js';
import { hiddenDigestOf } from '../../snapshot/content-version.js';
import type { SnapshotImage } from '../../snapshot/image.js';
import { unusable } from '../../snapshot/image-file.js';
import { imageOfChunks } from '../../snapshot/image-layout.js';
import { OUT_OF_MEMORY } from '../../snapshot/intake-bounds.js';
import { Snapshot } from '../../snapshot/snapshot.js';
import { openStore } from '../../store/open-store.js';
import { checkedChunks, damaged, hashOf, readSmallObject, type Store } from '../../store/store.js';
import { changeFrom } from './load-image.js';
import type { FetchedObject, FetchTask, LoadDone, Loaded } from './task-messages.js';
import { COLLECTION_BYTES, countAsTaken } from './weight.js';

/** A thread that fetches again keeps its connection. */
const stores = new Map<string, Store>();
let hasWarmedUp = false;
/** Hash of the image whose last transfer stopped in the middle. */
let stoppedHash: string | null = null;

/**
 * Applies the missed changes to the served image, or fetches the whole image directly into the memory that will be
 * served.
 *
 * @throws LecternError `store-unavailable` if the store does not answer; `object-damaged` if the store has
 * other bytes than announced, or none; `image-unusable` if the bytes are not an image
 */
export async function fetchImage(task: FetchTask): Promise<LoadDone> {
  // The announcement was read in this store, so there is one.
  const store = stores.get(task.store) ?? openStore(task.store, 'make');
  stores.set(task.store, store);
  const loaded = (await fetchMissed(store, task)) ?? (await fetchWhole(store, task));
  if (loaded.kind === 'loaded') warmUpLater(loaded);
  return loaded;
}

/** Warms up the code of patches soon after the first image, because the first real patch may follow soon. */
function warmUpLater({ image }: Loaded): void {
  if (hasWarmedUp) return;
  hasWarmedUp = true;
  const warmUp = (): void => {
    try {
      for (let round = 0; round < WARM_UP_ROUNDS; round++) {
        warmUpChange(image);
        // Each round makes two images.
        countAsTaken(COLLECTION_BYTES);
      }
    } catch {
      // A failed warm-up does no harm. If memory is short, for example, the next task reports it.
    }
  };
  setTimeout(warmUp, WARM_UP_DELAY_MS).unref();
}

async function fetchWhole(store: Store, task: FetchTask): Promise<LoadDone> {
  const { id, hidden, served, past, following, keepsHistory, memoryBytesMax } = task;
  const changes = await receiveChanges(store, following);
  // The replica may serve this content and have missed others in between.
  const isServed = served?.summary.id === id && hiddenDigestOf(served) === hidden;
  const image = isServed ? served : await receiveImage(store, task, changes);
  if (image === null) return { kind: 'refused', refusal: OUT_OF_MEMORY };
  const earlier = keepsHistory ? null : await receiveHistory(store, task);
  const announced = earlier && [...earlier, ...changes];
  // A publisher that has lost its history announces a new one. The replica then continues its own.
  const isKnown = (announced ?? []).some(({ from }) => from === served?.summary.id);
  if (announced === null || !leadTo(announced, id) || (served !== null && !isServed && !isKnown)) {
    if (isServed) return { kind: 'unchanged', sourceVersion: null };
    const bytesLeft = memoryBytesMax - image.summary.bytes;
    const more = changeFrom(served, past, image, null, bytesLeft);
    return { kind: 'loaded', image, sourceVersion: null, ...more };
  }
  const present = new Snapshot(image);
  const history = historyOf(newestChanges(announced), present);
  const made = differences(served, announced, present);
  return { kind: 'loaded', image, sourceVersion: null, changes: made, history, isPatched: isServed };
}

/** Only the counts are needed, and the history has them if the served image came just before. */
function differences(
  served: SnapshotImage | null,
  announced: readonly Change[],
  present: Snapshot,
): readonly Change[] {
  const last = announced.at(-1);
  if (served === null) return [];
  return last?.from === served.summary.id
    ? [{ ...last, edit: null }]
    : [compare(new Snapshot(served), present, 0)];
}

/** Null if there is not enough memory. */
async function receiveImage(
  store: Store,
  { id, hidden, image: object, memoryBytesMax }: FetchTask,
  changes: readonly Change[],
): Promise<SnapshotImage | null> {
  const received = await receive(store, object);
  if (changes.length > 0 && !mayApply(received, memoryBytesMax)) return null;
  try {
    const image = changes.length === 0 ? received : apply(received, ...changes);
    if (image.summary.id !== id) throw new Error(`its content is ${image.summary.id}, not ${id}`);
    if (hiddenDigestOf(image) !== hidden) throw new Error('it has other hidden values than announced');
    return image;
  } catch (error) {
    throw notAnImage(store, object, error);
  }
}

/** @throws LecternError `object-damaged`, `image-unusable` */
async function receiveChanges(store: Store, objects: readonly FetchedObject[]): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (const object of objects) {
    const bytes = await receiveSmall(store, object);
    if (bytes === null) throw damaged(store, object.hash, 'is missing, or has other bytes than announced');
    try {
      changes.push(...decodeChanges(bytes));
    } catch (error) {
      throw notAnImage(store, object, error);
    }
  }
  return changes;
}

async function receive(store: Store, object: FetchedObject): Promise<SnapshotImage> {
  const chunks = checkedChunks(store, object, (sent) => untilSilent(sent, store, object.hash));
  try {
    const { image } = await imageOfChunks(chunks, object.bytes);
    checkImage(image);
    return image;
  } catch (error) {
    // The rest is read, too, because damaged bytes are recognised by their hash.
    for await (const _ of chunks);
    throw notAnImage(store, object, error);
  }
}

/** An error of the store stays as it is. */
function notAnImage(store: Store, { hash }: FetchedObject, error: unknown): LecternError {
  if (error instanceof LecternError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return unusable(`${hash.slice(0, 12)} of ${store.name}`, reason);
}

/**
 * A get from NATS falls silent if chunks of the object vanished, and also if the link is bad. So the object
 * counts as damaged only if its transfer stops twice in a row.
 */
async function* untilSilent(
  chunks: AsyncIterable<Uint8Array>,
  store: Store,
  hash: string,
): AsyncGenerator<Uint8Array> {
  const wasStopped = stoppedHash === hash;
  try {
    yield* chunks;
    stoppedHash = null;
  } catch (error) {
    const isSilent = error instanceof LecternError && error.code === 'store-unavailable';
    stoppedHash = isSilent ? hash : null;
    throw isSilent && wasStopped ? damaged(store, hash, 'stops in the middle each time') : error;
  }
}

/** Null if the missed changes are not announced or cannot be applied. The whole image is then fetched. */
async function fetchMissed(
  store: Store,
  { missed, served, past, id, hidden, memoryBytesMax }: FetchTask,
): Promise<Loaded | null> {
  if (missed === null || served === null || !mayApply(served, memoryBytesMax)) return null;
  try {
    const changes = await receiveChanges(store, missed);
    const image = apply(served, ...changes);
    if (image.summary.id !== id || hiddenDigestOf(image) !== hidden) return null;
    const history = extendHistory(past, changes, new Snapshot(image));
    return { kind: 'loaded', image, sourceVersion: null, changes, history, isPatched: true };
  } catch {
    // Fetching the whole image gives the same content, or an error that says what is wrong with the store.
    return null;
  }
}

/** Whether there is memory for an edit. */
function mayApply({ summary }: SnapshotImage, memoryBytesMax: number): boolean {
  return LOAD_BASE_BYTES + PATCH_IMAGE_SHARE * summary.bytes <= memoryBytesMax;
}

/**
 * Makes and applies a change of one event, and discards the result, so that the first real change of the thread
 * runs compiled code. This briefly takes as much memory as the image, so large images are skipped.
 */
export function warmUpChange(image: SnapshotImage): void {
  const { events, bytes } = image.summary;
  if (events === 0 || bytes > WARM_UP_IMAGE_BYTES_MAX) return;
  const event = eventReader(image)(events >> 1);
  const edited = editImage(image, { came: [{ ...event, title: `${event.title}, warm-up` }], went: [] });
  const [before, after] = [new Snapshot(image), new Snapshot(edited.image)];
  const change = changeOfEdit(before, after, edited, SNAPSHOT_DELTA_ENTRIES_MAX);
  extendHistory([], [change], new Snapshot(apply(image, ...decodeChanges(encodeChanges([change])))));
}

/** The publications before the image file; null if they are not there. */
async function receiveHistory(store: Store, { history }: FetchTask): Promise<readonly Change[] | null> {
  if (history === null) return [];
  // The timetable is more important than its history. Without the announced history, a replica continues its own.
  return receiveChanges(store, [history]).catch(() => null);
}

/** Null if the store has other bytes than announced, or none. */
async function receiveSmall(store: Store, object: FetchedObject): Promise<Buffer | null> {
  const given = Buffer.from(object.content ?? '', 'base64');
  return hashOf(given) === object.hash ? given : readSmallObject(store, object);
}
