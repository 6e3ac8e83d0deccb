import { createHash } from 'node:crypto';
import { LecternError } from '../errors.js';
import {
  LOAD_BASE_BYTES,
  PATCH_IMAGE_SHARE,
  SNAPSHOT_DELTA_ENTRIES_MAX,
  WARM_UP_DELAY_MS,
  WARM_UP_IMAGE_BYTES_MAX,
  WARM_UP_ROUNDS,
} from '../limits.js';
import { readAnnouncedHistory } from '../snapshot/announced-history.js';
import { checkImage } from '../snapshot/check-image.js';
import {
  compareEvents,
  compareSnapshots,
  type Delta,
  extendHistory,
  historyOf,
} from '../snapshot/differences.js';
import type { SnapshotImage } from '../snapshot/image.js';
import { unusable } from '../snapshot/image-file.js';
import { ImageFiller } from '../snapshot/image-filler.js';
import { applyImagePatch, writeImagePatch } from '../snapshot/image-patch.js';
import { OUT_OF_MEMORY } from '../snapshot/intake-bounds.js';
import { patchImage } from '../snapshot/patch.js';
import { eventReader } from '../snapshot/rebuild.js';
import { Snapshot } from '../snapshot/snapshot.js';
import { openStore } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { differencesFrom } from './load-image.js';
import type { FetchTask, LoadDone, Loaded } from './task-messages.js';
import { COLLECTION_BYTES, countAsTaken } from './weight.js';

/** A thread that fetches again keeps its connection. */
const stores = new Map<string, Store>();
let hasWarmedUp = false;
/** Hash of the image whose last transfer stopped in the middle. */
let stoppedHash: string | null = null;

/**
 * Patches the served image, or fetches the whole image directly into the memory that will be served.
 *
 * @throws LecternError `store-unavailable` if the store does not answer; `object-damaged` if the store has
 * other bytes than announced, or none; `image-unusable` if the bytes are not an image
 */
export async function fetchImage(task: FetchTask): Promise<LoadDone> {
  // The announcement was read in this store, so there is one.
  const store = stores.get(task.store) ?? openStore(task.store, 'make');
  stores.set(task.store, store);
  if (task.served?.summary.id === task.id) return fetchHistoryOnly(store, task);
  const loaded = (await fetchPatch(store, task)) ?? (await fetchWhole(store, task));
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
        warmUpPatch(image);
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
  const { id, hash, bytes, served, deltas, memoryBytesMax } = task;
  const { patches, ...whole } = task.stored ?? { hash, bytes, patches: [] };
  const received = await receive(store, whole);
  const name = `${hash.slice(0, 12)} of ${store.name}`;
  if (patches.length > 0 && !mayPatch(received, memoryBytesMax))
    return { kind: 'refused', refusal: OUT_OF_MEMORY };
  const image = patches.length === 0 ? received : await patchedImage(store, received, patches, hash);
  if (image.summary.id !== id) throw unusable(name, `its content is ${image.summary.id}, not ${id}`);
  const bytesLeft = memoryBytesMax - image.summary.bytes;
  const announced = await fetchHistory(store, task);
  const differences =
    announced === null
      ? differencesFrom(served, deltas, image, bytesLeft)
      : announcedDifferences(task, announced, image);
  return { kind: 'loaded', image, sourceVersion: null, ...differences };
}

async function receive(
  store: Store,
  { hash, bytes }: Pick<FetchTask, 'hash' | 'bytes'>,
): Promise<SnapshotImage> {
  const chunks = await store.get(hash);
  if (chunks === null) throw damaged(store.name, hash, 'is missing');
  const digest = chunks.sha256 === null ? createHash('sha256') : null;
  const filler = new ImageFiller(bytes);
  let received = 0;
  for await (const chunk of untilSilent(chunks, store.name, hash)) {
    received += chunk.length;
    if (received > bytes) throw damaged(store.name, hash, `is longer than the announced ${bytes} bytes`);
    digest?.update(chunk);
    filler.write(chunk);
  }
  if (received < bytes) throw damaged(store.name, hash, `has ${received} of ${bytes} bytes`);
  if ((chunks.sha256 ?? digest?.digest('hex')) !== hash)
    throw damaged(store.name, hash, 'has other bytes than announced');
  try {
    const { image } = filler.finish();
    checkImage(image);
    return image;
  } catch (error) {
    throw unusable(
      `${hash.slice(0, 12)} of ${store.name}`,
      error instanceof Error ? error.message : String(error),
    );
  }
}

/** The image that the patches make of an earlier one. */
async function patchedImage(
  store: Store,
  earlier: SnapshotImage,
  patches: NonNullable<FetchTask['stored']>['patches'],
  hash: string,
): Promise<SnapshotImage> {
  const contents: Buffer[] = [];
  for (const patch of patches) {
    const content = await receiveSmall(store, patch);
    if (content === null)
      throw damaged(store.name, patch.hash, 'is missing, or has other bytes than announced');
    contents.push(content);
  }
  try {
    return applyImagePatch(earlier, contents).image;
  } catch (error) {
    throw unusable(
      `${hash.slice(0, 12)} of ${store.name}`,
      error instanceof Error ? error.message : String(error),
    );
  }
}

/**
 * A get from NATS falls silent if chunks of the object vanished, and also if the link is bad. So the object
 * counts as damaged only if its transfer stops twice in a row.
 */
async function* untilSilent(
  chunks: AsyncIterable<Uint8Array>,
  store: string,
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

/** A damaged image is not quarantined, because the publisher sends the object again. */
function damaged(store: string, hash: string, problem: string): LecternError {
  return new LecternError(
    'object-damaged',
    `the image ${hash.slice(0, 12)} in the store ${store} ${problem}`,
  );
}

/**
 * Applies the announced patch to the served image. Null if there is no patch, or if the result has other
 * content than announced. The whole image is then fetched.
 */
async function fetchPatch(store: Store, task: FetchTask): Promise<Loaded | null> {
  const { patch, served, id, memoryBytesMax } = task;
  if (patch === null || served === null) return null;
  if (!mayPatch(served, memoryBytesMax)) return null;
  try {
    const bytes = await receiveSmall(store, patch);
    const loaded = bytes === null ? null : patched(served, task.deltas, bytes);
    if (loaded?.image.summary.id !== id) return null;
    if (task.isHistoryAnnounced || task.history === null)
      return { ...loaded, isHistoryAnnounced: task.history !== null };
    const announced = await fetchHistory(store, task);
    if (announced === null) return loaded;
    return { ...loaded, history: historyOf(announced, new Snapshot(loaded.image)), isHistoryAnnounced: true };
  } catch {
    // Fetching the whole image gives the same content, or an error that says what is wrong with the store.
    return null;
  }
}

/** Whether there is memory for a patch. */
function mayPatch({ summary }: SnapshotImage, memoryBytesMax: number): boolean {
  return LOAD_BASE_BYTES + PATCH_IMAGE_SHARE * summary.bytes <= memoryBytesMax;
}

/**
 * Makes and applies a patch of one event, and discards the result, so that the first real patch of the thread
 * runs compiled code. This briefly takes as much memory as the image, so large images are skipped.
 */
export function warmUpPatch(image: SnapshotImage): void {
  const { events, bytes } = image.summary;
  if (events === 0 || bytes > WARM_UP_IMAGE_BYTES_MAX) return;
  const event = eventReader(image)(events >> 1);
  const next = patchImage(image, {
    upserts: [{ ...event, title: `${event.title}, warm-up` }],
    removals: [],
  });
  const patch = writeImagePatch(next, new Set([event.id]));
  if (patch !== null) patched(image, [], patch);
}

/** @throws Error like {@link applyImagePatch} */
function patched(served: SnapshotImage, deltas: FetchTask['deltas'], bytes: Buffer): Loaded {
  const { image, changedIds } = applyImagePatch(served, [bytes]);
  const [before, after] = [new Snapshot(served), new Snapshot(image)];
  const delta = compareEvents(before, after, changedIds, SNAPSHOT_DELTA_ENTRIES_MAX);
  const history = extendHistory(deltas, delta, after);
  return { kind: 'loaded', image, sourceVersion: null, delta, history, changedIds };
}

/** The announced history. Null if there is none, or if it cannot be used or fetched. */
async function fetchHistory(
  store: Store,
  task: Pick<FetchTask, 'history' | 'id'>,
): Promise<readonly Delta[] | null> {
  // The timetable is more important than its history. Without the announced history, a replica continues its
  // own.
  return receiveHistory(store, task).catch(() => null);
}

async function receiveHistory(
  store: Store,
  { history, id }: Pick<FetchTask, 'history' | 'id'>,
): Promise<readonly Delta[] | null> {
  if (history === null) return null;
  const bytes = await receiveSmall(store, history);
  return bytes === null ? null : readAnnouncedHistory(bytes, id);
}

/**
 * The served image with the announced history. For a replica that missed announcements, but serves the
 * content of the latest one.
 *
 * @throws LecternError `store-unavailable`, so that the history is fetched at the next look
 */
export async function fetchHistoryOnly(store: Store, task: FetchTask): Promise<LoadDone> {
  const { served } = task;
  const deltas = await receiveHistory(store, task).catch((error: unknown) => {
    if (error instanceof LecternError && error.code === 'store-unavailable') throw error;
    return null;
  });
  if (served === null || deltas === null) return { kind: 'unchanged', sourceVersion: null };
  const history = historyOf(deltas, new Snapshot(served));
  const same = { image: served, delta: null, changedIds: [] };
  return { kind: 'loaded', sourceVersion: null, ...same, history, isHistoryAnnounced: true };
}

/** The differences from the served image, with the announced history. */
function announcedDifferences(
  { served }: Pick<FetchTask, 'served'>,
  deltas: readonly Delta[],
  image: Loaded['image'],
): Pick<Loaded, 'delta' | 'history' | 'isHistoryAnnounced'> {
  const present = new Snapshot(image);
  const last = deltas.at(-1);
  // Only the counts are needed, and the history has them if the served image came just before.
  const isNext = last !== undefined && last.from === served?.summary.id;
  const compared = (): Delta | null => served && compareSnapshots(new Snapshot(served), present, 0);
  const delta = isNext ? last : compared();
  return { delta, history: historyOf(deltas, present), isHistoryAnnounced: true };
}

/** A short object, checked by its hash. Null if the store has other bytes. */
async function receiveSmall(
  store: Store,
  { hash, bytes, content }: NonNullable<FetchTask['patch']>,
): Promise<Buffer | null> {
  const given = content === undefined ? null : Buffer.from(content, 'base64');
  if (given !== null && sha256Of(given) === hash) return given;
  const chunks: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of (await store.get(hash)) ?? []) {
    received += chunk.length;
    if (received > bytes) return null;
    chunks.push(chunk);
  }
  const all = Buffer.concat(chunks);
  return sha256Of(all) === hash ? all : null;
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
