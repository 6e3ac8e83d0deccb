import { isUtf8 } from 'node:buffer';
import { INTERVALS_PER_TREE_MAX } from '../limits.js';
import { CONFLICT_DIMENSIONS, INDEXED_FIELDS } from '../model/fields.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../model/time.js';
import { type CodeColumn, isCodeColumn } from '../structures/code-column.js';
import type { DictionaryImage } from '../structures/dictionary.js';
import { buildHashIndex } from '../structures/hash-index.js';
import { buildIntervalIndex, type IntervalIndexImage } from '../structures/interval-index.js';
import { buildPostingLists, type PostingListsImage } from '../structures/posting-lists.js';
import { checkRows } from './check-rows.js';
import { clustersOfEvents } from './clusters.js';
import { entryByteLengths } from './entry-lengths.js';
import type { ClustersImage, FieldImage, RowsImage, SlotsImage, SnapshotImage } from './image.js';
import { readImageFile, type StoredImage, unusable } from './image-file.js';
import type { SnapshotSummary } from './summary.js';

/**
 * As readImageFile, and the image can be read without a fault. Apart from it, as to write images takes none of what this needs.
 *
 * @param isThorough whether rows are gone through, and whatever follows from other arrays is compared with what does: 1.2 s for
 *   1,000,000 events. Otherwise every number leads to something, and what reads a row that is none fails.
 * @throws LecternError as readImageFile does, `image-unusable` also where what was written is no image
 */
export function readCheckedImage(path: string, isThorough: boolean): StoredImage {
  const stored = readImageFile(path);
  try {
    checkImage(stored.image, isThorough);
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
  return stored;
}

/**
 * Whether an image that came from elsewhere can be read: every array is there and of the right length, every number in it leads to
 * something, and, if thorough, rows are rows and whatever follows from other arrays is what follows from them, so that nothing fails.
 * A checksum says that bytes are those that were written; this says that what was written is an image. What it does not compare is
 * rows with the columns.
 *
 * @throws Error that says what is wrong; any other error means the same
 */
function checkImage(image: SnapshotImage, isThorough: boolean): void {
  const { summary, slots, fields, rows, ids, clusters } = image;
  checkSummary(summary);
  const count = summary.events;
  checkSlots(slots, summary, isThorough);
  for (const { name } of INDEXED_FIELDS)
    within(name, () => checkField(fields[name], slots, count, isThorough));
  checkRowPlaces(rows, count);
  if (isThorough) {
    const hashes = checkRows(rows, count);
    const expected = buildHashIndex(count, (ordinal) => hashes[ordinal]!);
    expectSame('ids', u32(ids), expected);
  } else checkHashIndex(u32(ids), count);
  for (const kind of ['merged', 'unmerged'] as const) {
    within(`clusters.${kind}`, () => checkClusters(clusters[kind], rows, count, isThorough));
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

/** Every look-up ends, and at an event. */
function checkHashIndex(table: Uint32Array, count: number): void {
  if (table.length < 2 || (table.length & (table.length - 1)) !== 0) throw new Error('ids is no table');
  let free = 0;
  for (const entry of table) {
    if (entry === 0) free++;
    else if (entry > count) throw new Error('ids leads to no event');
  }
  if (free === 0) throw new Error('ids is full');
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
  const { id, identifiers, rejectedByCode, rejections, fields } = summary;
  if (typeof id !== 'string' || !/^[\w-]{22}$/.test(id)) throw new Error('its summary has no id');
  if (identifiers !== 'uuid' && identifiers !== 'any')
    throw new Error('its summary names no kind of identifiers');
  const isRejection = (rejection: SnapshotSummary['rejections'][number]): boolean =>
    typeof rejection.code === 'string' &&
    typeof rejection.detail === 'string' &&
    typeof rejection.position === 'object' &&
    rejection.position !== null;
  if (!Object.values(rejectedByCode).every(Number.isSafeInteger) || !rejections.every(isRejection)) {
    throw new Error('its summary has no rejections');
  }
  const isField = (field: SnapshotSummary['fields'][number]): boolean =>
    typeof field.name === 'string' &&
    Number.isSafeInteger(field.values) &&
    Number.isSafeInteger(field.events);
  if (!fields.every(isField)) throw new Error('its summary has no fields');
}

function checkSlots(
  { startMs, endMs, first, index }: SlotsImage,
  { slots, events }: SnapshotSummary,
  isThorough: boolean,
): void {
  expectLength('slots.startMs', f64(startMs), slots);
  expectLength('slots.endMs', f64(endMs), slots);
  expectLength('slots.first', u32(first), slots + 1);
  expectPartition('slots.first', first, events);
  checkInstants('slots', startMs, endMs);
  for (let slot = 1; slot < slots; slot++) {
    if (startMs[slot] === startMs[slot - 1] && endMs[slot]! <= endMs[slot - 1]!)
      throw new Error('slots are out of order');
  }
  checkIntervalIndex('slots.index', index, startMs, endMs, isThorough);
}

function checkField(
  { dictionary, codes, postings, longestMs }: FieldImage,
  slots: SlotsImage,
  count: number,
  isThorough: boolean,
): void {
  const size = checkDictionary(dictionary);
  expectLength('codes', codeColumn(codes, size), count);
  const noCode = 2 ** (8 * codes.BYTES_PER_ELEMENT) - 1;
  for (const code of codes) if (code >= size && code !== noCode) throw new Error('a code has no value');
  expectLength('longestMs', f64(longestMs), size);
  if (!isThorough) {
    for (const ms of longestMs) if (!(ms >= 0)) throw new Error('longestMs has what is no time');
    checkPostings('postings', postings, size, count);
    return;
  }
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

function checkClusters(
  clusters: ClustersImage,
  rows: RowsImage,
  eventCount: number,
  isThorough: boolean,
): void {
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
  if (isThorough) {
    expectSamePostings('clustersOf', clusters.clustersOf, clustersOfEvents(eventCount, first, events));
    const { jsonBytes, packedBytes } = entryByteLengths(clusters, rows);
    expectSame('jsonBytes', clusters.jsonBytes, jsonBytes);
    expectSame('packedBytes', clusters.packedBytes, packedBytes);
  } else checkPostings('clustersOf', clusters.clustersOf, eventCount, count);
  checkIntervalIndex('index', clusters.index, startMs, endMs, isThorough);
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
  isThorough: boolean,
): void {
  if (!isThorough) {
    const { members, bucketStart, bucketLast } = index;
    expectPartition(`${name}.bucketStart`, u32(bucketStart), u32(members).length, 0);
    expectLength(`${name}.bucketLast`, f64(bucketLast), bucketStart.length - 1);
    expectBelow(`${name}.members`, members, startMs.length);
    return;
  }
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

/** Lists of numbers below `bound`, one for each value. */
function checkPostings(
  name: string,
  { start, ordinals }: PostingListsImage,
  values: number,
  bound: number,
): void {
  expectLength(`${name}.start`, u32(start), values + 1);
  expectPartition(`${name}.start`, start, u32(ordinals).length, 0);
  expectBelow(name, ordinals, bound);
}

function expectBelow(name: string, numbers: Uint32Array, bound: number): void {
  for (const number of numbers) if (number >= bound) throw new Error(`${name} leads to nothing`);
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
