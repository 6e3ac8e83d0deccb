import {
  LOAD_BASE_BYTES,
  PATCH_IMAGE_SHARE,
  PRACTICE_IMAGE_BYTES_MAX,
  SNAPSHOT_DELTA_ENTRIES_MAX,
} from '../limits.js';
import { compareEvents, extendHistory, historyOf } from '../snapshot/differences.js';
import type { SnapshotImage } from '../snapshot/image.js';
import { applyImagePatch, writeImagePatch } from '../snapshot/image-patch.js';
import { patchImage } from '../snapshot/patch.js';
import { eventReader } from '../snapshot/rebuild.js';
import { Snapshot } from '../snapshot/snapshot.js';
import type { Store } from '../store/store.js';
import { fetchHistory, receiveSmall } from './fetch-history.js';
import type { FetchTask, Loaded } from './task-messages.js';

/**
 * Applies the announced patch to the served image. Null if there is no patch, or if the result has other
 * content than announced. The whole image is then fetched.
 */
export async function fetchPatch(store: Store, task: FetchTask): Promise<Loaded | null> {
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
export function mayPatch({ summary }: SnapshotImage, memoryBytesMax: number): boolean {
  return LOAD_BASE_BYTES + PATCH_IMAGE_SHARE * summary.bytes <= memoryBytesMax;
}

/**
 * Makes and applies a patch of one event, and discards the result, so that the first real patch of the thread
 * runs compiled code. This briefly takes as much memory as the image, so large images are skipped.
 */
export function practisePatch(image: SnapshotImage): void {
  const { events, bytes } = image.summary;
  if (events === 0 || bytes > PRACTICE_IMAGE_BYTES_MAX) return;
  const event = eventReader(image)(events >> 1);
  const next = patchImage(image, {
    upserts: [{ ...event, title: `${event.title}, practice` }],
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
