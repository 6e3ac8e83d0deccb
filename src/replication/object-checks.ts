import { createHash } from 'node:crypto';
import { monotonicMs } from '../model/clock.js';
import type { Store } from '../store/store.js';
import type { Head } from './head.js';
import type { ReplicaReport } from './store-records.js';

/**
 * A replica on a slow link may report every image as damaged, so its report of one image counts only once in
 * this time.
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
  /** When a replica's report of an image last led to a check. */
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

  /** False if the image is missing, or if a check that an earlier call began has found wrong bytes. */
  async isGood({ hash, bytes }: Head, reports: readonly ReplicaReport[]): Promise<boolean> {
    if ((await this.#store.bytesOf(hash)) !== bytes) return false;
    if (this.#bad.delete(hash)) {
      // If the image cannot be stored again, it is checked again.
      this.#checkedAtMs.clear();
      return false;
    }
    if (this.#checking === null && this.#isSuspect(hash, reports)) {
      this.#checking = this.#check(hash).finally(() => {
        this.#checking = null;
      });
    }
    return true;
  }

  /** Resolves when no check runs. */
  async settled(): Promise<void> {
    await this.#checking;
  }

  /** Whether there is a new report of a fault. */
  #isSuspect(hash: string, reports: readonly ReplicaReport[]): boolean {
    const checked = this.#checkedAtMs;
    const suspecting = reports.filter(({ damaged }) => damaged === hash).map(({ name }) => `${name} ${hash}`);
    // If a replica has served the image meanwhile, its next report is a new fault.
    for (const each of checked.keys()) if (!suspecting.includes(each)) checked.delete(each);
    const nowMs = this.#now();
    const isDue = (each: string): boolean =>
      nowMs - (checked.get(each) ?? Number.NEGATIVE_INFINITY) >= CHECK_AGAIN_MS;
    if (!suspecting.some(isDue)) return false;
    for (const each of suspecting) checked.set(each, nowMs);
    return true;
  }

  async #check(hash: string): Promise<void> {
    const digest = createHash('sha256');
    try {
      for await (const chunk of (await this.#store.get(hash)) ?? []) digest.update(chunk);
      if (digest.digest('hex') === hash) return;
    } catch {
      // An image that cannot be read is stored again.
    }
    this.#bad.add(hash);
    this.#onBad();
  }
}
