import { NO_CODE } from '../structures/dictionary.js';
import { Growable } from '../structures/growable.js';
import { scratch } from '../structures/slabs.js';
import type { SlotsImage } from './image.js';

export class FoundClusters {
  readonly by: Growable<Uint32Array> = new Growable(Uint32Array);
  readonly key: Growable<Uint32Array> = new Growable(Uint32Array);
  readonly startMs: Growable<Float64Array> = new Growable(Float64Array);
  readonly endMs: Growable<Float64Array> = new Growable(Float64Array);
  readonly peak: Growable<Uint32Array> = new Growable(Uint32Array);
  readonly first: Growable<Uint32Array> = new Growable(Uint32Array);
  readonly events: Growable<Uint32Array> = new Growable(Uint32Array);

  constructor() {
    this.first.push(0);
  }
}

/** Rows of positive length, in time order for each key. */
export interface KeyedRows {
  readonly ordinals: Uint32Array;
  readonly slots: Uint32Array;
  /** The lesson of each row: equal numbers for rows of one lesson, NO_CODE for a row that is a separate lesson. */
  readonly lessons: Uint32Array;
}

/**
 * Goes through the rows of each key in time order. A row that starts before all earlier rows have ended joins
 * their cluster. Rows of one lesson are simultaneous, so merging changes only the counts.
 */
export class ClusterSweep {
  readonly merged: FoundClusters = new FoundClusters();
  readonly unmerged: FoundClusters = new FoundClusters();
  readonly #slots: Pick<SlotsImage, 'startMs' | 'endMs'>;
  /** For each lesson, the last call of `#findLessons` that found it. */
  readonly #seenIn: Uint32Array;
  #runs = 0;
  readonly #lessonSlots: Uint32Array;
  readonly #ends: Float64Array;

  /** @param rowCount a bound for the numbers of lessons and for the rows of a key */
  constructor(slots: Pick<SlotsImage, 'startMs' | 'endMs'>, rowCount: number) {
    this.#slots = slots;
    this.#seenIn = scratch.uint32(rowCount);
    this.#lessonSlots = scratch.uint32(rowCount);
    this.#ends = scratch.float64(rowCount);
  }

  /** Finds the clusters of one key of a dimension. The rows of the key are [from, end). */
  add(by: number, key: number, rows: KeyedRows, from: number, end: number): void {
    const { startMs, endMs } = this.#slots;
    const { slots } = rows;
    // Terminates: `next` > `first`.
    for (let first = from, next = from; first < end; first = next) {
      let clusterEndMs = endMs[slots[first]!]!;
      for (next = first + 1; next < end && startMs[slots[next]!]! < clusterEndMs; next++) {
        clusterEndMs = Math.max(clusterEndMs, endMs[slots[next]!]!);
      }
      if (next - first > 1) this.#take(by, key, rows, first, next, clusterEndMs);
    }
  }

  #take(by: number, key: number, rows: KeyedRows, first: number, end: number, endMs: number): void {
    const add = (found: FoundClusters, peak: number): void => {
      found.by.push(by);
      found.key.push(key);
      found.startMs.push(this.#slots.startMs[rows.slots[first]!]!);
      found.endMs.push(endMs);
      found.peak.push(peak);
      for (let place = first; place < end; place++) found.events.push(rows.ordinals[place]!);
      found.first.push(found.events.length);
    };
    add(this.unmerged, this.#peak(rows.slots.subarray(first, end)));
    const lessons = this.#findLessons(rows, first, end);
    if (lessons > 1) add(this.merged, this.#peak(this.#lessonSlots.subarray(0, lessons)));
  }

  /**
   * Writes the slots of the lessons to `#lessonSlots`, and returns their number. Code after the loop, in the
   * same method, would run unoptimised while the loop is hot.
   */
  #findLessons({ lessons, slots }: KeyedRows, first: number, end: number): number {
    const run = ++this.#runs;
    let count = 0;
    for (let place = first; place < end; place++) {
      const lesson = lessons[place]!;
      if (lesson !== NO_CODE) {
        if (this.#seenIn[lesson] === run) continue;
        this.#seenIn[lesson] = run;
      }
      this.#lessonSlots[count++] = slots[place]!;
    }
    return count;
  }

  /** The most lessons at one instant. Intervals are half-open, so ends come before starts. */
  #peak(slots: Uint32Array): number {
    const count = slots.length;
    // Two connected lessons overlap, and so do all lessons of one slot.
    if (count === 2 || slots[0] === slots[count - 1]) return count;
    const { startMs, endMs } = this.#slots;
    const ends = this.#ends.subarray(0, count);
    for (let n = 0; n < count; n++) ends[n] = endMs[slots[n]!]!;
    ends.sort();
    let ended = 0;
    let peak = 0;
    for (let started = 0; started < count; started++) {
      const start = startMs[slots[started]!]!;
      // Terminates: `ended` grows up to `count`.
      while (ended < count && ends[ended]! <= start) ended++;
      peak = Math.max(peak, started + 1 - ended);
    }
    return peak;
  }
}
