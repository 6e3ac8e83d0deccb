import { NO_CODE } from '../base/structures/dictionary.js';
import { Growable } from '../base/structures/growable.js';
import { scratch } from '../base/structures/slabs.js';
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
 * their cluster. So merging changes only the counts: of two connected lessons, two rows overlap.
 */
export class ClusterSweep {
  readonly merged: FoundClusters = new FoundClusters();
  readonly unmerged: FoundClusters = new FoundClusters();
  readonly #slots: Pick<SlotsImage, 'startMs' | 'endMs'>;
  /** For each lesson, the last call of `#findLessons` that found it. */
  readonly #seenIn: Uint32Array;
  /** For each lesson that the last call found, its last interval. */
  readonly #intervalOf: Uint32Array;
  #runs = 0;
  /** The number of lessons that the last call found. */
  #lessons = 0;
  /** Intervals, by start. */
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;

  /** @param rowCount a bound for the numbers of lessons and for the rows of a key */
  constructor(slots: Pick<SlotsImage, 'startMs' | 'endMs'>, rowCount: number) {
    this.#slots = slots;
    this.#seenIn = scratch.uint32(rowCount);
    this.#intervalOf = scratch.uint32(rowCount);
    this.#starts = scratch.float64(rowCount);
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
    this.#findRows(rows, first, end);
    add(this.unmerged, this.#peak(end - first));
    const intervals = this.#findLessons(rows, first, end);
    if (this.#lessons > 1) add(this.merged, this.#peak(intervals));
  }

  #findRows({ slots }: KeyedRows, first: number, end: number): void {
    const { startMs, endMs } = this.#slots;
    for (let place = first; place < end; place++) {
      this.#starts[place - first] = startMs[slots[place]!]!;
      this.#ends[place - first] = endMs[slots[place]!]!;
    }
  }

  /**
   * Writes the intervals of the lessons, and counts both. Rows of a lesson that overlap or touch are one interval. Code
   * after the loop, in the same method, would run unoptimised while the loop is hot.
   */
  #findLessons({ lessons, slots }: KeyedRows, first: number, end: number): number {
    const { startMs, endMs } = this.#slots;
    const run = ++this.#runs;
    this.#lessons = 0;
    let count = 0;
    for (let place = first; place < end; place++) {
      const lesson = lessons[place]!;
      const start = startMs[slots[place]!]!;
      const rowEnd = endMs[slots[place]!]!;
      if (lesson === NO_CODE || this.#seenIn[lesson] !== run) this.#lessons++;
      else {
        const last = this.#intervalOf[lesson]!;
        if (start <= this.#ends[last]!) {
          this.#ends[last] = Math.max(this.#ends[last]!, rowEnd);
          continue;
        }
      }
      if (lesson !== NO_CODE) {
        this.#seenIn[lesson] = run;
        this.#intervalOf[lesson] = count;
      }
      this.#starts[count] = start;
      this.#ends[count++] = rowEnd;
    }
    return count;
  }

  /**
   * The most intervals at one instant. Intervals are half-open, so ends come before starts.
   *
   * @param count of the intervals, which are of at least two lessons
   */
  #peak(count: number): number {
    const starts = this.#starts;
    // Two connected lessons overlap, and so do all that start together.
    if (count === 2 || starts[0] === starts[count - 1]) return count;
    const ends = this.#ends.subarray(0, count).sort();
    let ended = 0;
    let peak = 0;
    for (let started = 0; started < count; started++) {
      const start = starts[started]!;
      // Terminates: `ended` grows up to `count`.
      while (ended < count && ends[ended]! <= start) ended++;
      peak = Math.max(peak, started + 1 - ended);
    }
    return peak;
  }
}
