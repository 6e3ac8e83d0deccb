import {
  IMAGES_KEPT,
  IMAGES_KEPT_BYTES_MAX,
  IMAGES_UNUSED,
  IMAGES_UNUSED_BYTES_MAX,
  IMAGES_UNUSED_BYTES_MIN,
} from '../limits.js';
import { monotonicMs } from '../model/clock.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../model/time.js';
import type { Store } from '../store/store.js';
import { type Head, type SigningKey, storedOf } from './head.js';
import { announcedTexts, HEAD, isHash, readPin } from './store-records.js';

/** An object stays this long after its last use, because replicas may fetch it. */
const UNUSED_MS_MIN = 600_000;

/** Of former heads, the last one of each minute, hour and day stays for this long. */
const KEPT_FOR: readonly { readonly eachMs: number; readonly forMs: number }[] = [
  { eachMs: MINUTE_MS, forMs: 5 * MINUTE_MS },
  { eachMs: HOUR_MS, forMs: DAY_MS },
  { eachMs: DAY_MS, forMs: 7 * DAY_MS },
];

/**
 * Deletes images and patches that no replica needs. The pinned image, the newest IMAGES_KEPT former heads and those of
 * KEPT_FOR stay. Other objects stay for UNUSED_MS_MIN; if together they exceed IMAGES_UNUSED times the length of the head, or
 * IMAGES_UNUSED_BYTES_MAX, the objects unused for longest go first. Heads without a valid signature count for nothing. Only the
 * leader cleans.
 */
export class StoreCleaner {
  readonly #store: Store;
  readonly #key: Pick<SigningKey, 'reader'>;
  readonly #now: () => number;
  readonly #clock: () => number;
  /** When this publisher first saw each object unused, by object name; the longest unused comes first. */
  readonly #unusedSinceMs = new Map<string, number>();

  constructor(
    store: Store,
    key: Pick<SigningKey, 'reader'>,
    now: () => number = monotonicMs,
    clock: () => number = Date.now,
  ) {
    this.#store = store;
    this.#key = key;
    this.#now = now;
    this.#clock = clock;
  }

  async clean(): Promise<void> {
    const store = this.#store;
    const objects = await store.list();
    const announced = new Map<string, Head | null>();
    for (const [key, text] of await announcedTexts(store)) {
      announced.set(key, await this.#signed(text));
    }
    const heads = [...announced.values()].filter((head) => head !== null);
    const [record, pin] = await Promise.all([store.read(HEAD), readPin(store)]);
    const head = record === null ? null : await this.#signed(record.text);
    const pinned = heads.find(({ id }) => id === pin?.id) ?? null;
    const keptHeads = new Set([...keptOf(heads, this.#clock()), head, pinned]);
    const kept = new Set([...keptHeads].flatMap(objectsOf));
    for (const [key, each] of announced) if (each === null || !keptHeads.has(each)) await store.remove(key);
    const unusedMax = Math.max(IMAGES_UNUSED * (head?.bytes ?? 0), IMAGES_UNUSED_BYTES_MIN);
    await this.#deleteUnused(
      // Objects with other names are not Lectern's.
      new Map(objects.flatMap(({ name, bytes }) => (kept.has(name) || !isHash(name) ? [] : [[name, bytes]]))),
      Math.min(unusedMax, IMAGES_UNUSED_BYTES_MAX),
    );
    await store.removeAbandoned();
  }

  #signed(text: string): Promise<Head | null> {
    return this.#key.reader.read(text).catch(() => null);
  }

  /** @param unused bytes of the objects, by name */
  async #deleteUnused(unused: ReadonlyMap<string, number>, bytesMax: number): Promise<void> {
    const since = this.#unusedSinceMs;
    const nowMs = this.#now();
    for (const name of since.keys()) if (!unused.has(name)) since.delete(name);
    for (const name of unused.keys()) if (!since.has(name)) since.set(name, nowMs);
    let bytes = [...unused.values()].reduce((sum, each) => sum + each, 0);
    for (const [name, sinceMs] of since) {
      if (bytes <= bytesMax && nowMs - sinceMs < UNUSED_MS_MIN) return;
      await this.#store.delete(name);
      since.delete(name);
      bytes -= unused.get(name) ?? 0;
    }
  }
}

/** The former heads that stay for `pin` and `rollback`. Those that are older go first if their images are large. */
function keptOf(heads: readonly Head[], nowMs: number): Head[] {
  const byAge = heads.toSorted((a, b) => b.sequence - a.sequence);
  const kept = new Set(byAge.slice(0, IMAGES_KEPT));
  for (const { eachMs, forMs } of KEPT_FOR) {
    const ofEach = new Map<number, Head>();
    for (const head of byAge.filter(({ announcedAtMs }) => announcedAtMs > nowMs - forMs)) {
      const place = Math.floor(head.announcedAtMs / eachMs);
      const last = ofEach.get(place);
      // An image without patches needs fewer objects.
      if (last === undefined || (isWhole(head) && !isWhole(last))) ofEach.set(place, head);
    }
    for (const head of ofEach.values()) kept.add(head);
  }
  const images = new Map<string, number>();
  return byAge.filter((head, n) => {
    if (!kept.has(head)) return false;
    const { hash, bytes } = storedOf(head);
    images.set(hash, bytes);
    return (
      n < IMAGES_KEPT || [...images.values()].reduce((sum, each) => sum + each, 0) <= IMAGES_KEPT_BYTES_MAX
    );
  });
}

function isWhole({ stored = null }: Head): boolean {
  return stored === null;
}

function objectsOf(head: Head | null): (string | undefined)[] {
  if (head === null) return [];
  const { hash, patches } = storedOf(head);
  return [hash, ...patches.map((patch) => patch.hash), head.patch?.hash, head.history?.hash];
}
