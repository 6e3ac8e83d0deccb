import { getHeapStatistics } from 'node:v8';
import {
  GROWTH_RECORDS_MIN,
  LOAD_BASE_BYTES,
  LOAD_LOOK_CHUNKS,
  LOAD_LOOK_RECORDS,
  MAP_GROWTH_BYTES_PER_ENTRY,
} from '../limits.js';
import type { SnapshotBuilder } from './builder.js';
import type { ByteIntake } from './byte-intake.js';
import type { SnapshotImage } from './image.js';
import { type RefusalCode, RefusedLoad } from './load-refusal.js';

/** How far a load may go. Null: no bound. */
export interface IntakeBounds {
  readonly eventsMax: number | null;
  /** Of everything that the load holds, the image included. */
  readonly memoryBytesMax: number | null;
  /** Null at the first load, and where the load is forced. */
  readonly growth: {
    /** Records of the set that is served. */
    readonly served: number;
    readonly percentMax: number;
  } | null;
}

const MIB = 1024 * 1024;

/**
 * Gives a load up as soon as it is beyond one of its bounds. Counts are compared at each record. Memory is added up every few
 * hundred kilobytes: typed arrays and the coming image are counted by their lengths, everything else is on the heap of this
 * thread, which V8 counts.
 */
export class IntakeWatch {
  readonly #builder: SnapshotBuilder;
  readonly #intake: ByteIntake;
  readonly #bounds: IntakeBounds;
  readonly #eventsMax: number;
  readonly #recordsMax: number;
  readonly #heapBytesBefore: number = heapBytes();
  #records = 0;
  #chunks = 0;

  constructor(builder: SnapshotBuilder, intake: ByteIntake, bounds: IntakeBounds) {
    this.#builder = builder;
    this.#intake = intake;
    this.#bounds = bounds;
    this.#eventsMax = bounds.eventsMax ?? Number.POSITIVE_INFINITY;
    this.#recordsMax = bounds.growth === null ? Number.POSITIVE_INFINITY : recordsMaxOf(bounds.growth);
  }

  /** To be called after each record that was not decoded. Throws RefusedLoad. */
  count(): void {
    const events = this.#builder.eventCount;
    if (events > this.#eventsMax) {
      throw refused('events', `it has more than ${this.#eventsMax} events, the most that are let through`);
    }
    if (events + this.#builder.faultyCount > this.#recordsMax) this.#refuseGrowth();
  }

  /** To be called after each record that was decoded, or rejected. Throws RefusedLoad. */
  record(): void {
    this.count();
    if (++this.#records % LOAD_LOOK_RECORDS === 0) this.look();
  }

  /** To be called after each piece of the source. Throws RefusedLoad. */
  chunk(): void {
    if (++this.#chunks % LOAD_LOOK_CHUNKS === 0) this.look();
  }

  /** Adds up the memory, with what finishing would need. Throws RefusedLoad. */
  look(): void {
    const { memoryBytesMax } = this.#bounds;
    if (memoryBytesMax === null) return;
    const builder = this.#builder;
    const held = this.#heldBytes();
    const toCome = builder.finishBytes() + builder.largestDictionary * MAP_GROWTH_BYTES_PER_ENTRY;
    if (held + toCome <= memoryBytesMax) return;
    throw refused(
      'memory',
      `loading it takes more than ${inMib(memoryBytesMax)}, the most memory that a load may take: after ` +
        `${builder.eventCount} events it holds ${inMib(held)}, and their snapshot would take ${inMib(toCome)} more`,
    );
  }

  /** Bytes that are left for what follows once the image is finished. */
  bytesLeft(image: SnapshotImage): number {
    const { memoryBytesMax } = this.#bounds;
    if (memoryBytesMax === null) return Number.POSITIVE_INFINITY;
    return Math.max(0, memoryBytesMax - this.#heldBytes() - image.summary.bytes);
  }

  #heldBytes(): number {
    const onHeap = Math.max(0, heapBytes() - this.#heapBytesBefore);
    return this.#builder.heldBytes + this.#intake.heldBytes + onHeap + LOAD_BASE_BYTES;
  }

  #refuseGrowth(): never {
    const { served, percentMax } = this.#bounds.growth!;
    throw refused(
      'grown',
      `it has more than ${this.#recordsMax} records, and what is served has ${served}; ` +
        `at most ${percentMax} % more are let through`,
    );
  }
}

/** Records that a set may have beside one that is served. */
export function recordsMaxOf({ served, percentMax }: NonNullable<IntakeBounds['growth']>): number {
  return Math.max(GROWTH_RECORDS_MIN, Math.floor(served * (1 + percentMax / 100)));
}

/** That a thread, or the system, had no memory for a load: its estimate was too low, or there is less than it looked. */
export function outOfMemory(): RefusedLoad {
  return refused('memory', 'loading it took all the memory that there is');
}

function refused(code: RefusalCode, detail: string): RefusedLoad {
  return new RefusedLoad({ code, detail });
}

function heapBytes(): number {
  const { total_physical_size, malloced_memory } = getHeapStatistics();
  return total_physical_size + malloced_memory;
}

function inMib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}
