import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../limits.js';

/** By then nothing refers to the old snapshot, unless a reader is slow. */
const DELAY_MS = 100;

/**
 * Makes the memory of snapshots count with the garbage collector. V8 does not count shared memory, so a
 * process that hardly allocates would keep every snapshot that it ever served. So this holds an unshared
 * buffer of the snapshot's size, within a bound. It is never written, so it takes no memory, but V8 counts it
 * and collects.
 */
export class Weight {
  #held: ArrayBuffer | null = null;
  #timer: NodeJS.Timeout | null = null;
  #next = 0;
  readonly #delayMs: number;

  constructor(delayMs: number = DELAY_MS) {
    this.#delayMs = delayMs;
  }

  /** Snapshots that follow each other within the delay count as one. */
  replace(snapshotBytes: number): void {
    this.#next = Math.min(snapshotBytes, SNAPSHOT_WEIGHT_BYTES_MAX);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#held = null;
      try {
        this.#held = new ArrayBuffer(this.#next);
      } catch {
        // The system does not even promise that much. Collections come when they come.
      }
    }, this.#delayMs).unref();
  }

  get bytes(): number {
    return this.#held?.byteLength ?? 0;
  }
}
