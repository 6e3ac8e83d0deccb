import { INTERVALS_PER_TREE_MAX } from '../base/limits.js';
import type { ConflictEntry } from '../base/model/event.js';
import { CONFLICT_DIMENSIONS, LESSON_FIELDS } from '../base/model/fields.js';
import { formatInstant } from '../base/model/time.js';
import {
  Dictionary,
  DictionaryBuilder,
  type DictionaryImage,
  NO_CODE,
} from '../base/structures/dictionary.js';
import { Growable } from '../base/structures/growable.js';
import { buildIntervalIndex } from '../base/structures/interval-index.js';
import type { KeyedHash } from '../base/structures/keyed-hash.js';
import type { PostingListsImage } from '../base/structures/posting-lists.js';
import { sortByIntervals } from '../base/structures/radix-sort.js';
import { scratch, shared } from '../base/structures/slabs.js';
import { type OrderedColumn, type OrderedEvents, pickInto } from './columns.js';
import type { ClustersImage, RowsImage, SlotsImage, SnapshotImage } from './image.js';
import { jsonByteLength, packedArrayHeaderLength, packedByteLength, packedIntegerLength } from './rows.js';

/**
 * Finds the maximal sets of at least two lessons connected by overlaps, per dimension and key. A cluster has
 * only those rows of its lessons that have the key. O(n log n) in all cases.
 */
export function buildClusters(
  events: OrderedEvents,
  rows: RowsImage,
  hash: KeyedHash,
): SnapshotImage['clusters'] {
  const { slots, slotOf, order } = events;
  const columnOf = ({ codes, dictionary }: OrderedColumn): LessonColumn => ({
    codes,
    codeCount: dictionary.size,
  });
  const { lessonId } = events.columns;
  const lessons = lessonsOfRows(
    slotOf,
    LESSON_FIELDS.map((name) => columnOf(events.columns[name])),
    lessonId.codes.length === 0 ? null : columnOf(lessonId),
  );
  const { keyOf, keys } = conflictKeys(events, hash);
  const keyCount = keys.start.length - 1;
  const sweep = new ClusterSweep(slots, order.length);
  for (const [by, keysOfRows] of keyOf.entries()) {
    const { start, ...keyed } = sortByKey(slotOf, lessons, keysOfRows, keyCount);
    for (let key = 0; key < keyCount; key++) sweep.add(by, key, keyed, start[key]!, start[key + 1]!);
  }
  return {
    merged: imageOf(sweep.merged, keys, order.length, rows),
    unmerged: imageOf(sweep.unmerged, keys, order.length, rows),
  };
}

/**
 * The key of an event in a dimension: the text of its first field that is neither null nor empty. Zero-length
 * events have no key, because they overlap nothing. For each dimension and ordinal, `keyOf` has a code of
 * `keys`, or NO_CODE.
 */
function conflictKeys(
  { columns, slotOf, slots }: OrderedEvents,
  hash: KeyedHash,
): { keyOf: Uint32Array[]; keys: DictionaryImage } {
  const count = slotOf.length;
  const keys = new DictionaryBuilder(hash);
  const keyOf = CONFLICT_DIMENSIONS.map((dimension) => {
    const result = scratch.uint32(count).fill(NO_CODE);
    for (const name of dimension.keys) {
      const { codes, dictionary } = columns[name];
      const empty = dictionary.find('');
      const keyOfCode = new Uint32Array(dictionary.size).fill(NO_CODE);
      for (let ordinal = 0; ordinal < count; ordinal++) {
        const code = codes[ordinal]!;
        if (code === NO_CODE || code === empty || result[ordinal] !== NO_CODE) continue;
        if (keyOfCode[code] === NO_CODE) keyOfCode[code] = keys.intern(dictionary.valueOf(code));
        result[ordinal] = keyOfCode[code]!;
      }
    }
    return result;
  });
  const { image, recode } = keys.finish();
  for (const column of keyOf) {
    for (let ordinal = 0; ordinal < count; ordinal++) {
      const code = column[ordinal]!;
      const slot = slotOf[ordinal]!;
      const takesTime = slots.startMs[slot] !== slots.endMs[slot];
      column[ordinal] = code !== NO_CODE && takesTime ? recode[code]! : NO_CODE;
    }
  }
  return { keyOf, keys: image };
}

function sortByKey(
  slotOf: Uint32Array,
  lessons: Uint32Array,
  keyOf: Uint32Array,
  keyCount: number,
): KeyedRows & { readonly start: Uint32Array } {
  const start = scratch.uint32(keyCount + 1);
  for (let ordinal = 0; ordinal < keyOf.length; ordinal++) {
    if (keyOf[ordinal] !== NO_CODE) start[keyOf[ordinal]! + 1]!++;
  }
  for (let key = 0; key < keyCount; key++) start[key + 1]! += start[key]!;
  const total = start[keyCount]!;
  const next = start.slice(0, keyCount);
  const sorted = {
    start,
    ordinals: scratch.uint32(total),
    slots: scratch.uint32(total),
    lessons: scratch.uint32(total),
  };
  for (let ordinal = 0; ordinal < keyOf.length; ordinal++) {
    if (keyOf[ordinal] === NO_CODE) continue;
    const place = next[keyOf[ordinal]!]!++;
    sorted.ordinals[place] = ordinal;
    sorted.slots[place] = slotOf[ordinal]!;
    sorted.lessons[place] = lessons[ordinal]!;
  }
  return sorted;
}

function imageOf(
  found: FoundClusters,
  keys: DictionaryImage,
  eventCount: number,
  rows: RowsImage,
): ClustersImage {
  const clusters = { ...sortedClusters(found), keys };
  return {
    ...clusters,
    clustersOf: clustersOfEvents(eventCount, clusters.first, clusters.events),
    index: buildIntervalIndex(clusters.startMs, clusters.endMs, INTERVALS_PER_TREE_MAX),
    ...entryByteLengths(clusters, rows),
  };
}

type SortedClusters = Pick<ClustersImage, 'startMs' | 'endMs' | 'by' | 'key' | 'peak' | 'first' | 'events'>;

/** @param found by dimension, then by key */
export function sortedClusters(found: FoundClusters): SortedClusters {
  const count = found.by.length;
  const [foundStart, foundEnd] = [found.startMs.view(), found.endMs.view()];
  const order = scratch.uint32(count);
  for (let c = 0; c < count; c++) order[c] = c;
  sortByIntervals(order, foundStart, foundEnd);
  const [foundFirst, foundEvents] = [found.first.view(), found.events.view()];
  const first = shared.uint32(count + 1);
  const events = shared.uint32(foundEvents.length);
  let written = 0;
  for (let c = 0; c < count; c++) {
    const from = order[c]!;
    for (let e = foundFirst[from]!; e < foundFirst[from + 1]!; e++) events[written++] = foundEvents[e]!;
    first[c + 1] = written;
  }
  return {
    startMs: pickInto(foundStart, order, shared.float64(count)),
    endMs: pickInto(foundEnd, order, shared.float64(count)),
    by: pickInto(found.by.view(), order, shared.uint8(count)),
    key: pickInto(found.key.view(), order, shared.uint32(count)),
    peak: pickInto(found.peak.view(), order, shared.uint32(count)),
    first,
    events,
  };
}

export function clustersOfEvents(
  eventCount: number,
  first: Uint32Array,
  events: Uint32Array,
): PostingListsImage {
  const start = shared.uint32(eventCount + 1);
  for (let e = 0; e < events.length; e++) start[events[e]!]!++;
  // `start` first holds the ends of the lists. Filling each list from its end turns the ends into starts.
  for (let ordinal = 1; ordinal <= eventCount; ordinal++) start[ordinal]! += start[ordinal - 1]!;
  const clusters = shared.uint32(events.length);
  for (let cluster = first.length - 2; cluster >= 0; cluster--) {
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) clusters[--start[events[e]!]!] = cluster;
  }
  return { start, ordinals: clusters };
}

const INSTANT = formatInstant(0);
const EMPTY_ENTRY: Record<keyof ConflictEntry, unknown> = {
  by: 0,
  key: 0,
  startTime: INSTANT,
  endTime: INSTANT,
  peak: 0,
  events: [],
};
const JSON_FRAME_BYTES = JSON.stringify(EMPTY_ENTRY).length - '000'.length;
const PACKED_FRAME_BYTES =
  Object.keys(EMPTY_ENTRY).reduce((sum, name) => sum + packedByteLength(name), 1) +
  2 * packedByteLength(INSTANT);

/** Lengths of the entries with their events, without separators. */
export function entryByteLengths(
  clusters: Pick<ClustersImage, 'by' | 'key' | 'keys' | 'peak' | 'first' | 'events'>,
  rows: RowsImage,
): Pick<ClustersImage, 'jsonBytes' | 'packedBytes'> {
  const { by, key, keys, peak, first, events } = clusters;
  const dictionary = new Dictionary(keys);
  // Zero: not yet known.
  const jsonKey = new Uint32Array(dictionary.size);
  const packedKey = new Uint32Array(dictionary.size);
  const jsonBytes = shared.uint32(peak.length);
  const packedBytes = shared.uint32(peak.length);
  for (let cluster = 0; cluster < peak.length; cluster++) {
    const dimension = CONFLICT_DIMENSIONS[by[cluster]!]!.by;
    const size = first[cluster + 1]! - first[cluster]!;
    if (jsonKey[key[cluster]!] === 0) {
      const text = dictionary.valueOf(key[cluster]!);
      jsonKey[key[cluster]!] = jsonByteLength(text);
      packedKey[key[cluster]!] = packedByteLength(text);
    }
    let json = JSON_FRAME_BYTES + jsonByteLength(dimension) + jsonKey[key[cluster]!]! + size - 1;
    json += String(peak[cluster]!).length;
    let packed = PACKED_FRAME_BYTES + packedByteLength(dimension) + packedKey[key[cluster]!]!;
    packed += packedIntegerLength(peak[cluster]!) + packedArrayHeaderLength(size);
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) {
      const ordinal = events[e]!;
      json += rows.start[ordinal + 1]! - rows.start[ordinal]! - 1;
      packed += rows.packedStart[ordinal + 1]! - rows.packedStart[ordinal]!;
    }
    jsonBytes[cluster] = json;
    packedBytes[cluster] = packed;
  }
  return { jsonBytes, packedBytes };
}

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

/** A column of lessonId or of one of LESSON_FIELDS. Codes from `codeCount` on mean null. */
export interface LessonColumn {
  readonly codes: Uint32Array;
  readonly codeCount: number;
}

/**
 * Rows with equal lessonId are one lesson. Of the other rows, adjacent ones with equal slot and LESSON_FIELDS are one
 * lesson. A lesson is numbered by its first row. Rows without a lessonId and without a value in the first field are
 * separate lessons (NO_CODE). Dividing groups is fast for all values, unlike hashing.
 *
 * @param slots by row; the rows of a slot, or of a slot and a key, are adjacent
 * @param columns by row, in the order of LESSON_FIELDS
 * @param lessonIds by row; null if no event has a lessonId
 */
export function lessonsOfRows(
  slots: Uint32Array,
  columns: readonly LessonColumn[],
  lessonIds: LessonColumn | null,
): Uint32Array {
  const lessons = scratch.uint32(slots.length);
  const { codes: required, codeCount } = columns[0]!;
  const all = lessonIds === null ? columns : [...columns, lessonIds];
  const { rows, first } = all.reduce(divide, runsOf(slots));
  for (let group = 0; group + 1 < first.length; group++) {
    const lesson = rows[first[group]!]!;
    for (let place = first[group]!; place < first[group + 1]!; place++) {
      const row = rows[place]!;
      lessons[row] = required[row]! < codeCount ? lesson : NO_CODE;
    }
  }
  if (lessonIds !== null) numberByLessonId(lessons, lessonIds);
  return lessons;
}

function numberByLessonId(lessons: Uint32Array, { codes, codeCount }: LessonColumn): void {
  const firstRow = scratch.uint32(codeCount).fill(NO_CODE);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code >= codeCount) continue;
    if (firstRow[code] === NO_CODE) firstRow[code] = row;
    lessons[row] = firstRow[code]!;
  }
}

/** Group g is rows [first[g], first[g + 1]), ascending. */
interface Groups {
  readonly rows: Uint32Array;
  readonly first: Uint32Array;
}

function runsOf(slots: Uint32Array): Groups {
  const count = slots.length;
  const rows = scratch.uint32(count);
  const first = scratch.uint32(count + 1);
  let groups = 0;
  for (let row = 0; row < count; row++) {
    rows[row] = row;
    if (row === 0 || slots[row] !== slots[row - 1]) first[groups++] = row;
  }
  first[groups] = count;
  return { rows, first: first.subarray(0, groups + 1) };
}

/** Divides groups by the codes of their rows, in time proportional to the rows. */
function divide({ rows, first }: Groups, { codes, codeCount }: LessonColumn): Groups {
  const divided = scratch.uint32(rows.length);
  const firsts = scratch.uint32(rows.length + 1);
  let groups = 0;
  /**
   * An entry for each code, and a last one for null. Each entry is first the number of rows, and later the
   * place of the next row.
   */
  const counts = scratch.uint32(codeCount + 1);
  const next = scratch.uint32(codeCount + 1);
  for (let group = 0; group + 1 < first.length; group++) {
    const from = first[group]!;
    const to = first[group + 1]!;
    for (let place = from; place < to; place++) counts[Math.min(codes[rows[place]!]!, codeCount)]!++;
    let end = from;
    for (let place = from; place < to; place++) {
      const code = Math.min(codes[rows[place]!]!, codeCount);
      if (counts[code] !== 0) {
        firsts[groups++] = next[code] = end;
        end += counts[code]!;
        counts[code] = 0;
      }
      divided[next[code]!++] = rows[place]!;
    }
  }
  firsts[groups] = rows.length;
  return { rows: divided, first: firsts.subarray(0, groups + 1) };
}
