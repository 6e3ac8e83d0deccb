import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../limits.js';

/** By then the thread that built has ended, and nothing refers to the old snapshot. */
const DELAY_MS = 1000;

/**
 * Makes the memory of snapshots count with the garbage collector. V8 does not count shared memory, so a
 * process that hardly allocates would keep every snapshot that it ever served. So this holds an unshared
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
        // The system does not even promise that much. Collections come when they come.
      }
    }, this.#delayMs).unref();
  }

  get bytes(): number {
    return this.#held?.byteLength ?? 0;
  }
}
