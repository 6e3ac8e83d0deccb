import { createHash } from 'node:crypto';
import { monotonicMs } from '../model/clock.js';
import type { Store } from '../store/store.js';
import { type Head, storedOf } from './head.js';

/**
 * Reports are not signed, and a replica on a slow link may report every image as damaged. So reports lead to one
 * check of an image in this time.
 */
const CHECK_AGAIN_MS = 300_000;

/**
 * Checks images in the store. Only images that a replica reported as damaged are read. Announcements do not
 * wait for a check, because reading takes seconds.
 */
export class ObjectChecks {
  readonly #store: Store;
  readonly #onBad: () => void;
  readonly #now: () => number;
  /** When each image was last checked, by hash. */
  readonly #checkedAtMs = new Map<string, number>();
  /** Hashes of images with wrong bytes, until they are stored again. */
  readonly #bad = new Set<string>();
  #checking: Promise<void> | null = null;

  /** @param onBad is called when a check finds wrong bytes */
  constructor(store: Store, onBad: () => void, now: () => number = monotonicMs) {
    this.#store = store;
    this.#onBad = onBad;
    this.#now = now;
  }

  /**
   * False if the image or the earlier image is missing, or if a check that an earlier call began has found wrong bytes.
   *
   * @param isSuspect whether a replica reports the image as damaged
   */
  async isGood(head: Head, isSuspect: boolean): Promise<boolean> {
    const { hash } = head;
    const stored = storedOf(head);
    if ((await this.#store.bytesOf(stored.hash)) !== stored.bytes) return false;
    if (this.#bad.delete(hash)) {
      // If the image cannot be stored again, it is checked again.
      this.#checkedAtMs.delete(hash);
      return false;
    }
    if (this.#checking === null && isSuspect && this.#isDue(hash)) {
      this.#checking = this.#check(head).finally(() => {
        this.#checking = null;
      });
    }
    return true;
  }

  /** Resolves when no check runs. */
  async settled(): Promise<void> {
    await this.#checking;
  }

  /** Begins the pause until the next check of an image; false during a pause. */
  #isDue(hash: string): boolean {
    const nowMs = this.#now();
    const checked = this.#checkedAtMs;
    for (const [each, atMs] of checked) if (nowMs - atMs >= CHECK_AGAIN_MS) checked.delete(each);
    if (checked.has(hash)) return false;
    checked.set(hash, nowMs);
    return true;
  }

  async #check(head: Head): Promise<void> {
    const { hash, patches } = storedOf(head);
    try {
      for (const each of [hash, ...patches.map((patch) => patch.hash)]) {
        const digest = createHash('sha256');
        for await (const chunk of (await this.#store.get(each)) ?? []) digest.update(chunk);
        if (digest.digest('hex') !== each) throw new Error('it has other bytes');
      }
    } catch {
      // An image that cannot be read is stored again.
      this.#bad.add(head.hash);
      this.#onBad();
    }
  }
}
