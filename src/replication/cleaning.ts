import { IMAGES_KEPT, IMAGES_UNUSED_BYTES_MAX } from '../limits.js';
import { monotonicMs } from '../model/clock.js';
import type { Store } from '../store/store.js';
import type { Head, SigningKey } from './head.js';
import { announcedTexts, HEAD, isHash, readPin } from './store-records.js';

/** An object stays this long after its last use, because replicas may fetch it. */
const UNUSED_MS_MIN = 600_000;

/**
 * Deletes images and patches that no replica needs. The pinned image and the newest IMAGES_KEPT former heads stay.
 * Other objects stay for UNUSED_MS_MIN; if together they exceed IMAGES_UNUSED_BYTES_MAX, the objects unused for
 * longest go first. Heads without a valid signature count for nothing. Only the leader cleans, between two
 * announcements.
 */
export class StoreCleaner {
  readonly #store: Store;
  readonly #key: Pick<SigningKey, 'reader'>;
  readonly #now: () => number;
  /** When this publisher first saw each object unused, by object name; the longest unused comes first. */
  readonly #unusedSinceMs = new Map<string, number>();

  constructor(store: Store, key: Pick<SigningKey, 'reader'>, now: () => number = monotonicMs) {
    this.#store = store;
    this.#key = key;
    this.#now = now;
  }

  async clean(): Promise<void> {
    const store = this.#store;
    const objects = await store.list();
    const announced = new Map<string, Head | null>();
    for (const [key, text] of await announcedTexts(store, await store.keys())) {
      announced.set(key, await this.#signed(text));
    }
    const heads = [...announced.values()].filter((head) => head !== null);
    const newest = heads.sort((a, b) => b.sequence - a.sequence).slice(0, IMAGES_KEPT);
    const [record, pin] = await Promise.all([store.read(HEAD), readPin(store)]);
    const head = record === null ? null : await this.#signed(record.text);
    const pinned = heads.find(({ id }) => id === pin?.id) ?? null;
    const kept = new Set([...newest, head, pinned].flatMap(objectsOf));
    for (const [key, each] of announced) if (each === null || !kept.has(each.hash)) await store.remove(key);
    await this.#deleteUnused(
      // Objects with other names are not Lectern's.
      new Map(objects.flatMap(({ name, bytes }) => (kept.has(name) || !isHash(name) ? [] : [[name, bytes]]))),
    );
    await store.removeAbandoned();
  }

  #signed(text: string): Promise<Head | null> {
    return this.#key.reader.read(text).catch(() => null);
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
