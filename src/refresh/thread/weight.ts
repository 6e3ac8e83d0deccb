import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../../base/limits.js';

interface WeightDelays {
  /** After this time the old snapshot is no longer referenced, except by a slow reader. */
  readonly shortMs: number;
  /** For snapshots that are small together. */
  readonly longMs: number;
}

const DELAYS: WeightDelays = { shortMs: 100, longMs: 1000 };
/** V8 collects at once when it counts more than 128 MiB as taken. */
export const COLLECTION_BYTES: number = 129 * 1024 * 1024;
/** More bytes than this do not wait for a shared collection. */
const SHARED_COLLECTION_BYTES_MAX = 128 * 1024 * 1024;

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
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #snapshotBytes = 0;
  /** Bytes that were replaced, or replaced others, since the last collection. */
  #waiting = 0;
  #replacedMs = Number.NEGATIVE_INFINITY;
  readonly #delays: WeightDelays;

  constructor(delays: WeightDelays = DELAYS) {
    this.#delays = delays;
  }

  /** A collection takes about 30 ms of processor time, so small snapshots share one. */
  replace(snapshotBytes: number): void {
    this.#waiting += Math.max(this.#snapshotBytes, snapshotBytes);
    this.#snapshotBytes = snapshotBytes;
    this.#replacedMs = performance.now();
    const { shortMs, longMs } = this.#delays;
    this.#plan(this.#waiting < SHARED_COLLECTION_BYTES_MAX ? longMs : shortMs);
  }

  /** An earlier plan stays, because publications in a row would otherwise put it off forever. */
  #plan(delayMs: number): void {
    const dueMs = performance.now() + delayMs;
    if (dueMs >= this.#dueMs) return;
    this.#dueMs = dueMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#collect(), delayMs).unref();
  }

  #collect(): void {
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#waiting = 0;
    this.#held = null;
    try {
      this.#held = new ArrayBuffer(Math.min(this.#snapshotBytes, SNAPSHOT_WEIGHT_BYTES_MAX));
    } catch {
      // The system does not even reserve this much address space, so V8 alone decides on collections.
    }
    // The snapshot that was replaced last may still have been in use.
    if (performance.now() - this.#replacedMs < this.#delays.shortMs) this.#plan(this.#delays.longMs);
  }

  get bytes(): number {
    return this.#held?.byteLength ?? 0;
  }
}
