import { isUtf8 } from 'node:buffer';
import { ID_PROBES_MAX, INTERVALS_PER_TREE_MAX } from '../limits.js';
import { REJECTION_CODES } from '../model/event.js';
import { CONFLICT_DIMENSIONS, INDEXED_FIELDS } from '../model/fields.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../model/time.js';
import type { DictionaryImage } from '../structures/dictionary.js';
import type { HashIndexImage } from '../structures/hash-index.js';
import { buildIntervalIndex, type IntervalIndexImage } from '../structures/interval-index.js';
import { isHashSeed, KeyedHash } from '../structures/keyed-hash.js';
import {
  buildPostingLists,
  type CodeColumn,
  isCodeColumn,
  type PostingListsImage,
} from '../structures/posting-lists.js';
import { checkRows } from './check-rows.js';
import { clustersOfEvents } from './clusters.js';
import { entryByteLengths } from './entry-lengths.js';
import type { ClustersImage, FieldImage, RowsImage, SlotsImage, SnapshotImage } from './image.js';
import { unusable } from './image-faults.js';
import { readImageFile, type StoredImage } from './image-file.js';
import type { SnapshotSummary } from './summary.js';

/**
 * As readImageFile, and the image can be served. Apart from it, as to write images takes none of what this needs.
 *
 * @param use `pin`: rows are checked, too. `restart`: they are not, which checkRowsOf makes up for; and the file must be this
 *   account's own
 * @throws LecternError as readImageFile does, `image-unusable` also where what was written is no image
 */
export function readCheckedImage(path: string, use: ImageUse): StoredImage {
  const stored = readImageFile(path, { mustBeOwn: use === 'restart' });
  naming(path, () => checkImage(stored.image));
  if (use === 'pin') checkRowsOf(path, stored.image);
  return stored;
}

/** What an image file is read for: to serve it until the source has been asked, or to serve it and nothing else. */
export type ImageUse = 'restart' | 'pin';

/**
 * Whether an image that came from elsewhere can be read: every array is there and of the right length, every number in it leads to
 * something, and whatever follows from other arrays is what follows from them. So whatever is asked, the answer ends, in bounded
 * time. A checksum says that bytes are those that were written; this says that what was written is an image.
 *
 * @throws Error that says what is wrong; any other error means the same
 */
function checkImage(image: SnapshotImage): void {
  const { summary, hashSeed, slots, fields, rows, ids, clusters } = image;
  checkSummary(summary);
  if (!isHashSeed(hashSeed)) throw new Error('its seed is no two numbers of 32 bits');
  const count = summary.events;
  checkSlots(slots, summary);
  for (const { name } of INDEXED_FIELDS) within(name, () => checkField(fields[name], slots, count));
  checkRowPlaces(rows, count);
  checkHashIndex(ids, count);
  for (const kind of ['merged', 'unmerged'] as const) {
    within(`clusters.${kind}`, () => checkClusters(clusters[kind], count));
  }
}

/**
 * The rest: rows are rows, and whatever follows from them does. It goes through every byte of them, 0.8 s for 1,000,000 events. What
 * it does not compare is rows with the columns.
 *
 * @param image that readCheckedImage gave
 * @throws LecternError `image-unusable`
 */
export function checkRowsOf(path: string, { summary, hashSeed, rows, ids, clusters }: SnapshotImage): void {
  naming(path, () => {
    checkHashes(ids, checkRows(rows, summary.events, new KeyedHash(hashSeed)));
    for (const kind of ['merged', 'unmerged'] as const) {
      within(`clusters.${kind}`, () => {
        const { jsonBytes, packedBytes } = entryByteLengths(clusters[kind], rows);
        expectSame('jsonBytes', clusters[kind].jsonBytes, jsonBytes);
        expectSame('packedBytes', clusters[kind].packedBytes, packedBytes);
      });
    }
  });
}

function naming(path: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
}

/** Where rows begin and end, but not what is in them. */
function checkRowPlaces({ start, packedStart, bytes }: RowsImage, count: number): void {
  expectLength('rows.start', u32(start), count + 1);
  expectLength('rows.packedStart', u32(packedStart), count + 1);
  const { length } = u8(bytes);
  if (length !== (count === 0 ? 2 : start[count]!)) throw new Error('rows are of another length');
  // Behind the opening bracket, each with its braces and a separator.
  if (start[0] !== 1) throw new Error('rows begin wrongly');
  for (let n = 1; n <= count; n++) {
    if (start[n]! < start[n - 1]! + 3) throw new Error('rows.start is out of order');
  }
  if (packedStart[0] !== 0) throw new Error('rows.packedStart begins wrongly');
  for (let n = 1; n <= count; n++) {
    // MessagePack of a row is never longer than its JSON.
    const packed = packedStart[n]! - packedStart[n - 1]!;
    if (packed < 1 || packed > start[n]! - start[n - 1]!) throw new Error('rows.packedStart is out of order');
  }
}

/** Every look-up ends at an event or a free slot, after a bounded number of steps. */
function checkHashIndex({ hashes, table }: HashIndexImage, count: number): void {
  expectLength('ids.hashes', u32(hashes), count);
  if (u32(table).length < 2 || (table.length & (table.length - 1)) !== 0) throw new Error('ids is no table');
  let run = 0;
  // Twice around: a run may go on behind the end.
  for (let slot = 0; slot < 2 * table.length; slot++) {
    const entry = table[slot & (table.length - 1)]!;
    if (entry > count) throw new Error('ids leads to no event');
    run = entry === 0 ? 0 : run + 1;
    if (run > ID_PROBES_MAX) throw new Error('ids has look-ups that are too long');
  }
}

/** Every event is found by its id. Bounded by checkHashIndex, where to build the table anew is not. */
function checkHashes({ hashes, table }: HashIndexImage, expected: Uint32Array): void {
  expectSame('ids.hashes', hashes, expected);
  for (let ordinal = 0; ordinal < hashes.length; ordinal++) {
    let slot = hashes[ordinal]! & (table.length - 1);
    while (table[slot] !== ordinal + 1) {
      if (table[slot] === 0) throw new Error('ids does not follow from the rest');
      slot = (slot + 1) & (table.length - 1);
    }
  }
}

function checkSummary(summary: SnapshotSummary): void {
  const { events, slots, rejected, builtAtMs, buildMs, bytes, span } = summary;
  for (const number of [events, slots, rejected, bytes]) {
    if (!Number.isSafeInteger(number) || number < 0) throw new Error('its summary has no counts');
  }
  const times = span === null ? [builtAtMs, buildMs] : [builtAtMs, buildMs, span.startMs, span.endMs];
  if (!times.every(Number.isFinite) || !times.every((ms) => Math.abs(ms) <= INSTANT_MS_MAX)) {
    throw new Error('its summary has no times');
  }
  const { id, identifiers, rejectedByCode, rejections, fields, unserved } = summary;
  const isCode = (code: unknown): boolean => REJECTION_CODES.some((known) => known === code);
  const isShown = (text: unknown): boolean => typeof text === 'string' && !/\p{Cc}/u.test(text);
  if (typeof id !== 'string' || !/^[\w-]{22}$/.test(id)) throw new Error('its summary has no id');
  if (identifiers !== 'uuid' && identifiers !== 'any')
    throw new Error('its summary names no kind of identifiers');
  const isRejection = ({ code, field, detail, position }: SnapshotSummary['rejections'][number]): boolean =>
    isCode(code) &&
    (field === null || isShown(field)) &&
    isShown(detail) &&
    typeof position === 'object' &&
    Object.values(position).every((value) => typeof value === 'number' || isShown(value));
  if (
    !Object.entries(rejectedByCode).every(([code, n]) => isCode(code) && Number.isSafeInteger(n)) ||
    !rejections.every(isRejection)
  ) {
    throw new Error('its summary has no rejections');
  }
  const isField = (field: SnapshotSummary['fields'][number]): boolean =>
    isShown(field.name) && Number.isSafeInteger(field.values) && Number.isSafeInteger(field.events);
  if (!fields.every(isField)) throw new Error('its summary has no fields');
  // Names come from outside, so they may hold anything; they are quoted wherever they are shown.
  const isUnserved = (field: SnapshotSummary['unserved']['fields'][number]): boolean =>
    typeof field.name === 'string' &&
    Number.isSafeInteger(field.records) &&
    (field.suggestion === null || isShown(field.suggestion));
  if (!Number.isSafeInteger(unserved.others) || !unserved.fields.every(isUnserved)) {
    throw new Error('its summary has no other fields');
  }
}

function checkSlots({ startMs, endMs, first, index }: SlotsImage, { slots, events }: SnapshotSummary): void {
  expectLength('slots.startMs', f64(startMs), slots);
  expectLength('slots.endMs', f64(endMs), slots);
  expectLength('slots.first', u32(first), slots + 1);
  expectPartition('slots.first', first, events);
  checkInstants('slots', startMs, endMs);
  for (let slot = 1; slot < slots; slot++) {
    if (startMs[slot] === startMs[slot - 1] && endMs[slot]! <= endMs[slot - 1]!)
      throw new Error('slots are out of order');
  }
  checkIntervalIndex('slots.index', index, startMs, endMs);
}

function checkField(
  { dictionary, codes, postings, longestMs }: FieldImage,
  slots: SlotsImage,
  count: number,
): void {
  const size = checkDictionary(dictionary);
  expectLength('codes', codeColumn(codes, size), count);
  const noCode = 2 ** (8 * codes.BYTES_PER_ELEMENT) - 1;
  for (const code of codes) if (code >= size && code !== noCode) throw new Error('a code has no value');
  expectLength('longestMs', f64(longestMs), size);
  expectSamePostings('postings', postings, buildPostingLists(codes, size));
  const longest = new Float64Array(size);
  const { startMs, endMs, first } = slots;
  for (let slot = 0; slot < startMs.length; slot++) {
    const lengthMs = endMs[slot]! - startMs[slot]!;
    for (let ordinal = first[slot]!; ordinal < first[slot + 1]!; ordinal++) {
      const code = codes[ordinal]!;
      if (code < size && lengthMs > longest[code]!) longest[code] = lengthMs;
    }
  }
  expectSame('longestMs', longestMs, longest);
}

function checkClusters(clusters: ClustersImage, eventCount: number): void {
  const { startMs, endMs, by, key, keys, peak, first, events } = clusters;
  const { length: count } = u32(peak);
  const keyCount = checkDictionary(keys);
  expectLength('startMs', f64(startMs), count);
  expectLength('endMs', f64(endMs), count);
  expectLength('by', u8(by), count);
  expectLength('key', u32(key), count);
  expectLength('first', u32(first), count + 1);
  expectPartition('first', first, u32(events).length);
  checkInstants('clusters', startMs, endMs);
  for (const dimension of by)
    if (dimension >= CONFLICT_DIMENSIONS.length) throw new Error('by names no dimension');
  for (const code of key) if (code >= keyCount) throw new Error('a key has no value');
  // An answer is as long as the clusters in it: without this a small file could announce one of any length.
  const dimensionsOf = new Uint8Array(eventCount);
  for (let cluster = 0; cluster < count; cluster++) {
    const dimension = 1 << by[cluster]!;
    let last = -1;
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) {
      const ordinal = events[e]!;
      if (ordinal <= last || ordinal >= eventCount) throw new Error('events are out of order, or none');
      if ((dimensionsOf[ordinal]! & dimension) !== 0) throw new Error('an event is in two of one kind');
      dimensionsOf[ordinal]! |= dimension;
      last = ordinal;
    }
  }
  expectLength('jsonBytes', u32(clusters.jsonBytes), count);
  expectLength('packedBytes', u32(clusters.packedBytes), count);
  expectSamePostings('clustersOf', clusters.clustersOf, clustersOfEvents(eventCount, first, events));
  checkIntervalIndex('index', clusters.index, startMs, endMs);
}

/** @returns the number of values */
function checkDictionary({ bytes, start }: DictionaryImage): number {
  if (u32(start).length === 0) throw new Error('a dictionary has no end');
  expectPartition('dictionary', start, u8(bytes).length, 0);
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isUtf8(source)) throw new Error('values are not UTF-8');
  for (let code = 2; code < start.length; code++) {
    const order = source.compare(source, start[code - 1]!, start[code]!, start[code - 2]!, start[code - 1]!);
    if (order >= 0) throw new Error('values are out of order');
  }
  return start.length - 1;
}

/** Half-open intervals, ascending by their start. */
function checkInstants(name: string, startMs: Float64Array, endMs: Float64Array): void {
  let last = INSTANT_MS_MIN;
  for (let n = 0; n < startMs.length; n++) {
    const start = startMs[n]!;
    const end = endMs[n]!;
    const isInOrder = last <= start && start <= end && end <= INSTANT_MS_MAX;
    if (!isInOrder || !Number.isInteger(start) || !Number.isInteger(end))
      throw new Error(`times of ${name} are none`);
    last = start;
  }
}

function checkIntervalIndex(
  name: string,
  index: IntervalIndexImage,
  startMs: Float64Array,
  endMs: Float64Array,
): void {
  const expected = buildIntervalIndex(startMs, endMs, INTERVALS_PER_TREE_MAX);
  expectSame(`${name}.members`, u32(index.members), expected.members);
  expectSame(`${name}.bucketStart`, u32(index.bucketStart), expected.bucketStart);
  expectSame(`${name}.bucketLast`, f64(index.bucketLast), expected.bucketLast);
}

/** `start` cuts what has this length into pieces, none shorter than `pieceMin`. */
function expectPartition(name: string, start: Uint32Array, length: number, pieceMin = 1): void {
  if (start[0] !== 0 || start[start.length - 1] !== length) throw new Error(`${name} covers something else`);
  for (let n = 1; n < start.length; n++) {
    if (start[n]! < start[n - 1]! + pieceMin) throw new Error(`${name} is out of order`);
  }
}

function expectSamePostings(name: string, is: PostingListsImage, expected: PostingListsImage): void {
  expectSame(`${name}.start`, u32(is.start), expected.start);
  expectSame(`${name}.ordinals`, u32(is.ordinals), expected.ordinals);
}

function expectSame<A extends Uint32Array | Float64Array>(name: string, is: A, expected: A): void {
  expectLength(name, is, expected.length);
  for (let n = 0; n < expected.length; n++) {
    if (is[n] !== expected[n]) throw new Error(`${name} does not follow from the rest`);
  }
}

function expectLength(name: string, array: ArrayLike<number>, length: number): void {
  if (array.length !== length) throw new Error(`${name} has ${array.length} entries; expected ${length}`);
}

function within(name: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function u8(array: Uint8Array): Uint8Array {
  if (array instanceof Uint8Array) return array;
  throw new Error('an array is missing, or of another type');
}

function codeColumn(array: CodeColumn, codeCount: number): CodeColumn {
  if (isCodeColumn(array, codeCount)) return array;
  throw new Error('an array is missing, or of another type');
}

function u32(array: Uint32Array): Uint32Array {
  if (array instanceof Uint32Array) return array;
  throw new Error('an array is missing, or of another type');
}

function f64(array: Float64Array): Float64Array {
  if (array instanceof Float64Array) return array;
  throw new Error('an array is missing, or of another type');
}
