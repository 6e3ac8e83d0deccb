import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../limits.js';

/** By then a publication is over: the thread that built has ended, and what referred to the old snapshot is gone. */
const DELAY_MS = 1000;

/**
 * Makes the memory of snapshots count with the garbage collector.
 *
 * V8 does not count shared memory. A snapshot of 450 MB looks to it like a few small objects, and a process that hardly
 * allocates otherwise would keep every snapshot that it ever served. Memory that is not shared is counted when it is
 * allocated, touched or not; so a buffer that nobody writes to, which the system therefore gives no memory for, brings a
 * collection about, in small steps, once snapshots of more than 64 MiB have been replaced.
 */
export class Weight {
  #held: ArrayBuffer | null = null;
  #timer: NodeJS.Timeout | null = null;
  readonly #delayMs: number;

  /** @param delayMs between a replacement and the collection that it may bring about */
  constructor(delayMs: number = DELAY_MS) {
    this.#delayMs = delayMs;
  }

  /**
   * The snapshot that is held now.
   *
   * @param bytes its size
   */
  replace(bytes: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#held = null;
      try {
        this.#held = new ArrayBuffer(Math.min(bytes, SNAPSHOT_WEIGHT_BYTES_MAX));
      } catch {
        // The system does not even promise that much. Then collections come when they come.
      }
    }, this.#delayMs).unref();
  }

  get bytes(): number {
    return this.#held?.byteLength ?? 0;
  }
}
