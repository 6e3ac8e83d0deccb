import { IMAGES_KEPT } from '../limits.js';
import type { Store } from '../store/store.js';
import { type Head, headOf } from './head.js';
import { announcedTexts, CANDIDATE, HEAD, type ReplicaReport, readPin } from './store-records.js';

/**
 * Deletes images and patches that no replica needs. Kept are the newest IMAGES_KEPT, the head, the candidate, the
 * pinned image, and images that a replica serves or fetches. Only the leader cleans, between two announcements.
 */
export async function cleanStore(store: Store, reports: readonly ReplicaReport[]): Promise<void> {
  const objects = await store.list();
  const announced = new Map<string, Head>();
  for (const [key, text] of await announcedTexts(store, await store.keys())) {
    const head = headOf(text);
    if (head !== null) announced.set(key, head);
  }
  const newest = [...announced.values()].sort((a, b) => b.sequence - a.sequence).slice(0, IMAGES_KEPT);
  const named = await Promise.all([HEAD, CANDIDATE].map((key) => store.read(key)));
  const pin = await readPin(store);
  const kept = new Set<string | null | undefined>([
    ...newest.flatMap(objectsOf),
    ...named.flatMap((record) => (record === null ? [] : objectsOf(headOf(record.text)))),
    ...[...announced.values()].filter(({ id }) => id === pin?.id).flatMap(objectsOf),
    ...reports.flatMap(({ serves, fetching }) => [serves?.hash, fetching]),
  ]);
  for (const { name } of objects) if (!kept.has(name)) await store.delete(name);
  for (const [key, { hash }] of announced) if (!kept.has(hash)) await store.remove(key);
}

function objectsOf(head: Head | null): (string | undefined)[] {
  return [head?.hash, head?.patch?.hash, head?.history?.hash];
}
