import { NO_CODE } from '../structures/dictionary.js';
import { GrowableFloat64, GrowableUint32 } from '../structures/growable.js';
import type { PostingListsImage } from '../structures/posting-lists.js';
import type { SlotsImage } from './image.js';

/** Lessons of one cluster that are compared one by one; of more the numbers are kept in a set. */
const LESSONS_LOOKED_THROUGH_MAX = 8;

/** Clusters as they are found, in columns: in order of (by, key, start). */
export interface FoundClusters {
  readonly by: GrowableUint32;
  readonly key: GrowableUint32;
  readonly startMs: GrowableFloat64;
  readonly endMs: GrowableFloat64;
  readonly peak: GrowableUint32;
  /** Where the cluster's part of `events` begins. */
  readonly first: GrowableUint32;
  readonly events: GrowableUint32;
}

/** The events that have keys of one dimension, key by key and in order: all that a sweep reads lies side by side. */
export interface KeyedEvents {
  /** Those of key k are [start[k], start[k + 1]). */
  readonly start: Uint32Array;
  readonly ordinals: Uint32Array;
  readonly slots: Uint32Array;
  readonly lessons: Uint32Array;
}

/**
 * One sweep over the events of each key in time order: an event that starts before everything so far has ended belongs to
 * the present cluster.
 */
export class ClusterSweep {
  readonly found: FoundClusters = {
    by: new GrowableUint32(),
    key: new GrowableUint32(),
    startMs: new GrowableFloat64(),
    endMs: new GrowableFloat64(),
    peak: new GrowableUint32(),
    first: new GrowableUint32(),
    events: new GrowableUint32(),
  };
  readonly #slots: Pick<SlotsImage, 'startMs' | 'endMs'>;
  readonly #lessonRows: PostingListsImage | null;
  /**
   * One row of each lesson of the present cluster, as places among the events of all keys. Most clusters are one lesson, so
   * nothing is made anew for each.
   */
  #lessons: Uint32Array = new Uint32Array(64);
  #lessonCount = 0;
  /** The numbers of the lessons, once they are too many to be looked through. */
  readonly #seen = new Set<number>();

  /** @param lessonRows the rows of each lesson by its number; null where every row is a lesson */
  constructor(slots: Pick<SlotsImage, 'startMs' | 'endMs'>, lessonRows: PostingListsImage | null) {
    this.#slots = slots;
    this.#lessonRows = lessonRows;
  }

  /** Adds the clusters of one key. Keys come in order of (by, key). */
  add(events: KeyedEvents, by: number, key: number): void {
    const { startMs, endMs } = this.#slots;
    let clusterEndMs = Number.NEGATIVE_INFINITY;
    for (let place = events.start[key]!; place < events.start[key + 1]!; place++) {
      const slot = events.slots[place]!;
      const start = startMs[slot]!;
      const end = endMs[slot]!;
      // An empty event takes no time and cannot overlap anything.
      if (start === end) continue;
      if (start >= clusterEndMs) {
        if (this.#lessonCount > 1) this.#close(events, by, key, clusterEndMs);
        this.#clear();
        clusterEndMs = end;
      }
      if (!this.#isPresent(events.lessons, place)) this.#push(events.lessons, place);
      if (end > clusterEndMs) clusterEndMs = end;
    }
    if (this.#lessonCount > 1) this.#close(events, by, key, clusterEndMs);
    this.#clear();
  }

  #clear(): void {
    this.#lessonCount = 0;
    if (this.#seen.size > 0) this.#seen.clear();
  }

  /** Whether the lesson of a row is in the present cluster already. */
  #isPresent(lessonOf: Uint32Array, place: number): boolean {
    const number = lessonOf[place]!;
    if (this.#lessonRows === null || number === NO_CODE) return false;
    if (this.#seen.size > 0) return this.#seen.has(number);
    for (let n = 0; n < this.#lessonCount; n++) if (lessonOf[this.#lessons[n]!] === number) return true;
    return false;
  }

  #push(lessonOf: Uint32Array, place: number): void {
    if (this.#lessonCount === this.#lessons.length) {
      const larger = new Uint32Array(2 * this.#lessonCount);
      larger.set(this.#lessons);
      this.#lessons = larger;
    }
    this.#lessons[this.#lessonCount++] = place;
    if (this.#lessonRows === null || this.#lessonCount <= LESSONS_LOOKED_THROUGH_MAX) return;
    if (this.#seen.size > 0) this.#seen.add(lessonOf[place]!);
    else for (let n = 0; n < this.#lessonCount; n++) this.#seen.add(lessonOf[this.#lessons[n]!]!);
  }

  #close(events: KeyedEvents, by: number, key: number, clusterEndMs: number): void {
    const { found } = this;
    found.by.push(by);
    found.key.push(key);
    found.startMs.push(this.#slots.startMs[events.slots[this.#lessons[0]!]!]!);
    found.endMs.push(clusterEndMs);
    found.peak.push(this.#peak(events.slots));
    found.first.push(found.events.length);
    if (this.#lessonRows === null) {
      for (let n = 0; n < this.#lessonCount; n++) found.events.push(events.ordinals[this.#lessons[n]!]!);
    } else {
      for (const ordinal of this.#rows(events, this.#lessonRows)) found.events.push(ordinal);
    }
  }

  /** Every row of the lessons, ascending: also those whose own key is another, a second lecturer's for instance. */
  #rows(events: KeyedEvents, { start, ordinals }: PostingListsImage): Uint32Array {
    const rows: number[] = [];
    for (let n = 0; n < this.#lessonCount; n++) {
      const place = this.#lessons[n]!;
      const number = events.lessons[place]!;
      if (number === NO_CODE) rows.push(events.ordinals[place]!);
      else for (let r = start[number]!; r < start[number + 1]!; r++) rows.push(ordinals[r]!);
    }
    return Uint32Array.from(rows).sort();
  }

  /**
   * The largest number of lessons at one instant. Going through starts and ends in order, an end comes before a start at
   * the same instant, because intervals are half-open.
   */
  #peak(slotOf: Uint32Array): number {
    const count = this.#lessonCount;
    // They are connected, and the only two.
    if (count === 2) return 2;
    const { startMs, endMs } = this.#slots;
    const ends = new Float64Array(count);
    for (let n = 0; n < count; n++) ends[n] = endMs[slotOf[this.#lessons[n]!]!]!;
    ends.sort();
    let ended = 0;
    let peak = 0;
    for (let started = 0; started < count; started++) {
      const start = startMs[slotOf[this.#lessons[started]!]!]!;
      // Terminates: at most as many lessons have ended as there are.
      while (ended < count && ends[ended]! <= start) ended++;
      peak = Math.max(peak, started + 1 - ended);
    }
    return peak;
  }
}
