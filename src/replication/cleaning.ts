import { IMAGES_KEPT, IMAGES_UNUSED_BYTES_MAX } from '../limits.js';
import { monotonicMs } from '../model/clock.js';
import type { Store } from '../store/store.js';
import { type Head, headOf } from './head.js';
import { announcedTexts, CANDIDATE, HEAD, type ReplicaReport, readPin } from './store-records.js';

/** An object stays this long after its last use, because a replica's report of a fetch may come late or never. */
const UNUSED_MS_MIN = 600_000;

/**
 * Deletes images and patches that no replica needs. Images that stay: the candidate, the pinned image, images
 * that a replica serves or fetches, and the newest IMAGES_KEPT former heads. Other objects stay for
 * UNUSED_MS_MIN; if together they exceed IMAGES_UNUSED_BYTES_MAX, the objects unused for longest go first.
 * Only the leader cleans, between two announcements.
 */
export class StoreCleaner {
  readonly #store: Store;
  readonly #now: () => number;
  /** When this publisher first saw each object unused, by object name; the longest unused comes first. */
  readonly #unusedSinceMs = new Map<string, number>();

  constructor(store: Store, now: () => number = monotonicMs) {
    this.#store = store;
    this.#now = now;
  }

  async clean(reports: readonly ReplicaReport[]): Promise<void> {
    const store = this.#store;
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
    for (const [key, { hash }] of announced) if (!kept.has(hash)) await store.remove(key);
    await this.#deleteUnused(
      new Map(objects.flatMap((each) => (kept.has(each.name) ? [] : [[each.name, each.bytes]]))),
    );
    await store.removeAbandoned();
  }

  /** @param unused bytes of the objects, by name */
  async #deleteUnused(unused: ReadonlyMap<string, number>): Promise<void> {
    const since = this.#unusedSinceMs;
    const nowMs = this.#now();
    for (const name of since.keys()) if (!unused.has(name)) since.delete(name);
    for (const name of unused.keys()) if (!since.has(name)) since.set(name, nowMs);
    let bytes = [...unused.values()].reduce((sum, each) => sum + each, 0);
    for (const [name, sinceMs] of since) {
      if (bytes <= IMAGES_UNUSED_BYTES_MAX && nowMs - sinceMs < UNUSED_MS_MIN) return;
      await this.#store.delete(name);
      since.delete(name);
      bytes -= unused.get(name) ?? 0;
    }
  }
}

function objectsOf(head: Head | null): (string | undefined)[] {
  return [head?.hash, head?.patch?.hash, head?.history?.hash];
}
