import { getHeapStatistics } from 'node:v8';
import { LOAD_BASE_BYTES, LOAD_LOOK_CHUNKS, LOAD_LOOK_RECORDS } from '../base/limits.js';
import type { SnapshotBuilder } from './builder.js';
import type { SnapshotImage } from './image.js';

/** `empty`, `shrunk` and `rejected` judge a complete set; `memory` aborts a load. */
export type RefusalCode = 'empty' | 'shrunk' | 'rejected' | 'memory';

/** Why a snapshot was not published. */
export interface Refusal {
  /** The reason, for programs. */
  readonly code: RefusalCode;
  /** One sentence with the numbers. */
  readonly detail: string;
}

export const OUT_OF_MEMORY: Refusal = {
  code: 'memory',
  detail: 'the load ran out of memory',
};

/** Aborts a load. Sources pass on all errors of a sink. */
export class RefusedLoad extends Error {
  override readonly name = 'RefusedLoad';
  readonly refusal: Refusal;

  constructor(code: RefusalCode, detail: string) {
    super(detail);
    this.refusal = { code, detail };
  }
}

export interface IntakeBounds {
  readonly memoryBytesMax: number | null;
}

export const UNBOUNDED: IntakeBounds = { memoryBytesMax: null };

interface Holder {
  /** Bytes in typed arrays. */
  readonly heldBytes: number;
}

/**
 * Throws RefusedLoad beyond the bounds. Memory consists of typed arrays, the estimated image and the heap of
 * this thread.
 */
export class IntakeWatch {
  readonly #builder: SnapshotBuilder;
  readonly #holders: readonly Holder[];
  readonly #bounds: IntakeBounds;
  readonly #heapBytesBefore: number = heapBytes();
  #records = 0;
  #chunks = 0;
  #copyBytes = 0;

  /** @param holders objects with memory besides the builder's */
  constructor(builder: SnapshotBuilder, holders: readonly Holder[], bounds: IntakeBounds) {
    this.#builder = builder;
    this.#holders = holders;
    this.#bounds = bounds;
  }

  /** Call this after each record. */
  record(): void {
    if (++this.#records % LOAD_LOOK_RECORDS === 0) this.look();
  }

  /** @param bytes that the load keeps beside the image */
  hold(bytes: number): void {
    this.#copyBytes = bytes;
    this.look();
  }

  chunk(): void {
    if (++this.#chunks % LOAD_LOOK_CHUNKS === 0) this.look();
  }

  look(): void {
    const { memoryBytesMax } = this.#bounds;
    if (memoryBytesMax === null) return;
    const held = this.#heldBytes();
    const toCome = this.#builder.finishBytes();
    if (held + toCome <= memoryBytesMax) return;
    throw new RefusedLoad(
      'memory',
      `the load takes more than ${inMib(memoryBytesMax)}, the limit for a load: after ` +
        `${this.#builder.eventCount} events it holds ${inMib(held)}, and their snapshot would take ${inMib(toCome)} more`,
    );
  }

  /** Bytes left for the steps after the image is finished. */
  bytesLeft(image: SnapshotImage): number {
    const { memoryBytesMax } = this.#bounds;
    if (memoryBytesMax === null) return Number.POSITIVE_INFINITY;
    return Math.max(0, memoryBytesMax - this.#heldBytes() - image.summary.bytes);
  }

  #heldBytes(): number {
    const onHeap = Math.max(0, heapBytes() - this.#heapBytesBefore);
    const besides = this.#holders.reduce((bytes, { heldBytes }) => bytes + heldBytes, 0);
    return this.#builder.heldBytes + besides + this.#copyBytes + onHeap + LOAD_BASE_BYTES;
  }
}

function heapBytes(): number {
  const { total_physical_size, malloced_memory } = getHeapStatistics();
  return total_physical_size + malloced_memory;
}

function inMib(bytes: number): string {
  return `${Math.ceil(bytes / (1024 * 1024))} MiB`;
}
