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
import { buildIntervalIndex } from '../base/structures/interval-index.js';
import type { KeyedHash } from '../base/structures/keyed-hash.js';
import type { PostingListsImage } from '../base/structures/posting-lists.js';
import { sortByIntervals } from '../base/structures/radix-sort.js';
import { scratch, shared } from '../base/structures/slabs.js';
import { ClusterSweep, type FoundClusters, type KeyedRows } from './cluster-sweep.js';
import { type OrderedColumn, type OrderedEvents, pickInto } from './columns.js';
import type { ClustersImage, RowsImage, SnapshotImage } from './image.js';
import { type LessonColumn, lessonsOfRows } from './lessons.js';
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
