import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../limits.js';

/** By then the thread that built has ended, and nothing refers to the old snapshot. */
const DELAY_MS = 1000;

/**
 * Makes the memory of snapshots count with the garbage collector. V8 does not count shared memory, so a process that hardly
 * allocates would keep every snapshot that it ever served. Memory that is not shared counts when it is allocated, though the
 * system gives none for a buffer that is never written: such a buffer brings a collection about.
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
