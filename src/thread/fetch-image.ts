import { createHash } from 'node:crypto';
import { LecternError } from '../errors.js';
import { PRACTICE_DELAY_MS, PRACTICE_ROUNDS } from '../limits.js';
import { checkFetchedImage } from '../snapshot/check-image.js';
import type { SnapshotImage } from '../snapshot/image.js';
import { unusable } from '../snapshot/image-file.js';
import { ImageFiller } from '../snapshot/image-filler.js';
import { applyImagePatch } from '../snapshot/image-patch.js';
import { OUT_OF_MEMORY } from '../snapshot/intake-bounds.js';
import { openStore } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { announcedDifferences, fetchHistory, fetchHistoryOnly, receiveSmall } from './fetch-history.js';
import { fetchPatch, mayPatch, practisePatch } from './fetch-patch.js';
import { differencesFrom } from './load-image.js';
import type { FetchTask, LoadDone, Loaded } from './task-messages.js';
import { COLLECTION_BYTES, countAsTaken } from './weight.js';

/** A thread that fetches again keeps its connection. */
const stores = new Map<string, Store>();
let hasPractised = false;
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
  if (loaded.kind === 'loaded') practiseLater(loaded);
  return loaded;
}

/** Practises a patch soon after the first image, because the first real patch may follow soon. */
function practiseLater({ image }: Loaded): void {
  if (hasPractised) return;
  hasPractised = true;
  const practise = (): void => {
    try {
      for (let round = 0; round < PRACTICE_ROUNDS; round++) {
        practisePatch(image);
        // Each round makes two images.
        countAsTaken(COLLECTION_BYTES);
      }
    } catch {
      // A failed practice does no harm. If memory is short, for example, the next task reports it.
    }
  };
  setTimeout(practise, PRACTICE_DELAY_MS).unref();
}

async function fetchWhole(store: Store, task: FetchTask): Promise<LoadDone> {
  const { id, hash, bytes, isSigned, served, deltas, memoryBytesMax } = task;
  const { patches, ...whole } = task.stored ?? { hash, bytes, patches: [] };
  const received = await receive(store, whole);
  const name = `${hash.slice(0, 12)} of ${store.name}`;
  checkFetchedImage(name, received, isSigned);
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
    return filler.finish().image;
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
