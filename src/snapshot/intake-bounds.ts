import { getHeapStatistics } from 'node:v8';
import { GROWTH_RECORDS_MIN, LOAD_BASE_BYTES, LOAD_LOOK_CHUNKS, LOAD_LOOK_RECORDS } from '../limits.js';
import type { SnapshotBuilder } from './builder.js';
import type { SnapshotImage } from './image.js';

/** `empty`, `shrunk` and `rejected` judge a complete set; the other codes abort a load. */
export type RefusalCode = 'empty' | 'shrunk' | 'rejected' | 'grown' | 'events' | 'memory';

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
  readonly eventsMax: number | null;
  readonly memoryBytesMax: number | null;
  /** Null for the first load and for forced loads. */
  readonly growth: {
    /** Records of the served set. */
    readonly served: number;
    readonly percentMax: number;
  } | null;
}

export const UNBOUNDED: IntakeBounds = { eventsMax: null, memoryBytesMax: null, growth: null };

interface Holder {
  /** Bytes in typed arrays. */
  readonly heldBytes: number;
}

/** Returns a check of the numbers of events and faulty records, which throws RefusedLoad beyond the bounds. */
export function countCheck({ eventsMax, growth }: IntakeBounds): (events: number, faulty: number) => void {
  const recordsMax =
    growth === null
      ? Number.POSITIVE_INFINITY
      : Math.max(GROWTH_RECORDS_MIN, Math.floor(growth.served * (1 + growth.percentMax / 100)));
  return (events, faulty) => {
    if (eventsMax !== null && events > eventsMax) {
      throw new RefusedLoad('events', `it has more than ${eventsMax} events, the limit`);
    }
    if (events + faulty > recordsMax) {
      throw new RefusedLoad(
        'grown',
        `it has more than ${recordsMax} records; the served timetable has ${growth?.served}, ` +
          `and at most ${growth?.percentMax} % more are accepted`,
      );
    }
  };
}

/**
 * Throws RefusedLoad beyond the bounds. Memory consists of typed arrays, the estimated image and the heap of
 * this thread.
 */
export class IntakeWatch {
  readonly #builder: SnapshotBuilder;
  readonly #holders: readonly Holder[];
  readonly #bounds: IntakeBounds;
  readonly #checkCounts: (events: number, faulty: number) => void;
  readonly #heapBytesBefore: number = heapBytes();
  #records = 0;
  #chunks = 0;
  #copyBytes = 0;

  /** @param holders objects with memory besides the builder's */
  constructor(builder: SnapshotBuilder, holders: readonly Holder[], bounds: IntakeBounds) {
    this.#builder = builder;
    this.#holders = holders;
    this.#bounds = bounds;
    this.#checkCounts = countCheck(bounds);
  }

  /** Call this after each record that was not decoded. */
  count(): void {
    this.#checkCounts(this.#builder.eventCount, this.#builder.faultyCount);
  }

  /** Call this after each decoded or rejected record. */
  record(): void {
    this.count();
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
