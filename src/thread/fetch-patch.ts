import { createHash } from 'node:crypto';
import { LOAD_BASE_BYTES, PATCH_IMAGE_SHARE, SNAPSHOT_DELTA_ENTRIES_MAX } from '../limits.js';
import { compareEvents, extendHistory } from '../snapshot/differences.js';
import { applyImagePatch } from '../snapshot/image-patch.js';
import { Snapshot } from '../snapshot/snapshot.js';
import type { Store } from '../store/store.js';
import type { FetchTask, Loaded } from './task-messages.js';

/**
 * Makes the announced image of the served one and the patch that was announced with it. Null if there is no patch, or if it does
 * not give the announced content: then the whole image is fetched.
 */
export async function fetchPatch(store: Store, task: FetchTask): Promise<Loaded | null> {
  const { patch, served, deltas, id, memoryBytesMax } = task;
  if (patch === null || served === null) return null;
  if (LOAD_BASE_BYTES + PATCH_IMAGE_SHARE * served.summary.bytes > memoryBytesMax) return null;
  try {
    const bytes = await receive(store, patch);
    if (bytes === null) return null;
    const { image, changedIds } = applyImagePatch(served, bytes);
    if (image.summary.id !== id) return null;
    const [before, after] = [new Snapshot(served), new Snapshot(image)];
    const delta = compareEvents(before, after, changedIds, SNAPSHOT_DELTA_ENTRIES_MAX);
    const history = extendHistory(deltas, delta, after);
    return { kind: 'loaded', image, sourceVersion: null, delta, history, changedIds };
  } catch {
    // The whole image has the same content, and says what is wrong with the store.
    return null;
  }
}

async function receive(
  store: Store,
  { hash, bytes }: NonNullable<FetchTask['patch']>,
): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of (await store.get(hash)) ?? []) {
    received += chunk.length;
    if (received > bytes) return null;
    chunks.push(chunk);
  }
  const all = Buffer.concat(chunks);
  return createHash('sha256').update(all).digest('hex') === hash ? all : null;
}
