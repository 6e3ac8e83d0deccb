import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../limits.js';

/** After this time the building thread has ended, and nothing refers to the old snapshot. */
const DELAY_MS = 1000;

/**
 * Makes the garbage collector count the memory of snapshots. V8 does not count shared memory, so a
 * process with few allocations would keep every snapshot that it ever served. So this holds an unshared
 * buffer of the snapshot's size, within a bound. It is never written, so it takes no memory, but V8 counts it
 * and collects.
 */
export class Weight {
  #held: ArrayBuffer | null = null;
  #timer: NodeJS.Timeout | undefined;
  readonly #delayMs: number;

  constructor(delayMs: number = DELAY_MS) {
    this.#delayMs = delayMs;
  }

  replace(snapshotBytes: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#held = null;
      try {
        this.#held = new ArrayBuffer(Math.min(snapshotBytes, SNAPSHOT_WEIGHT_BYTES_MAX));
      } catch {
        // The system does not even reserve this much. Then collections are left to V8.
      }
    }, this.#delayMs).unref();
  }

  get bytes(): number {
    return this.#held?.byteLength ?? 0;
  }
}
