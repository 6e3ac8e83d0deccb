import { setImmediate as nextTurn } from 'node:timers';
import { SNAPSHOT_WEIGHT_BYTES_MAX } from '../limits.js';

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

  /**
   * The snapshot that is held now.
   *
   * @param bytes its size
   */
  replace(bytes: number): void {
    this.#held = null;
    // A turn later nothing on the stack refers to the snapshot before it any more: the collection finds it.
    nextTurn(() => {
      try {
        this.#held = new ArrayBuffer(Math.min(bytes, SNAPSHOT_WEIGHT_BYTES_MAX));
      } catch {
        // The system does not even promise that much. Then collections come when they come.
      }
    });
  }

  get bytes(): number {
    return this.#held?.byteLength ?? 0;
  }
}
