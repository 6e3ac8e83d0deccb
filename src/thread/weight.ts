import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../limits.js';

/** After this time the old snapshot is no longer referenced, except by a slow reader. */
const DELAY_MS = 100;

/**
 * Makes V8 collect garbage as if this much memory had been taken. Above 128 MiB, V8 collects at once. Only
 * for threads that answer no requests. The buffer is never touched and takes no memory.
 */
export function countAsTaken(byteLength: number): void {
  try {
    new ArrayBuffer(byteLength);
  } catch {
    // The address space is too small, but V8 has collected.
  }
}

/**
 * Makes the garbage collector count the memory of snapshots. V8 does not count shared memory, so a process with few
 * allocations would keep every snapshot that it ever served. So a weight holds an unshared buffer of the
 * snapshot's size, up to a bound. The buffer is never written, so it takes no memory, but V8 counts it and
 * collects.
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
        // The system does not even reserve this much address space, so V8 alone decides on collections.
      }
    }, this.#delayMs).unref();
  }

  get bytes(): number {
    return this.#held?.byteLength ?? 0;
  }
}
