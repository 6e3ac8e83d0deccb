import { isUtf8 } from 'node:buffer';
import { ID_PROBES_MAX, INTERVALS_PER_TREE_MAX } from '../limits.js';
import { IDENTIFIER_MODES, REJECTION_CODES } from '../model/event.js';
import { isExpansionWindow } from '../model/expansion.js';
import {
  CONFLICT_DIMENSIONS,
  FIELDS,
  INDEXED_FIELDS,
  NAMED_FIELDS,
  OUTPUT_FIELDS,
  UNINDEXED_FIELDS,
} from '../model/fields.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../model/time.js';
import { viewOf } from '../structures/byte-strings.js';
import type { DictionaryImage } from '../structures/dictionary.js';
import type { HashIndexImage } from '../structures/hash-index.js';
import { buildIntervalIndex } from '../structures/interval-index.js';
import { isHashSeed, KeyedHash, randomHashSeed } from '../structures/keyed-hash.js';
import { buildPostingLists, type CodeColumn, isCodeColumn } from '../structures/posting-lists.js';
import { clustersOfEvents, entryByteLengths } from './clusters.js';
import { longestOf } from './columns.js';
import { contentVersionOf, digestWeeks, WEEK_DIGEST_BYTES, weeksOf } from './content-version.js';
import { buildNames } from './display-names.js';
import type {
  ClustersImage,
  ColumnImage,
  FieldImage,
  NamesImage,
  RowsImage,
  SlotsImage,
  SnapshotImage,
} from './image.js';
import { readImageFile, type StoredImage, unusable } from './image-file.js';
import { ID_OFFSET, PACKED_ROW_FRAME_BYTES, packedByteLength, packedTextLength, ROW_FRAME } from './rows.js';
import type { SnapshotSummary } from './summary.js';

/** `restart`: served until the source answers. `pin`: served instead of the source. */
export type ImageUse = 'restart' | 'pin';

/**
 * Reads an image to serve. For `restart` the file must belong to this account, and checkRowsOf must follow.
 *
 * @throws LecternError like readImageFile; `image-unusable` also for a file that is not an image
 */
export function readCheckedImage(path: string, use: ImageUse): StoredImage {
  const stored = readImageFile(path, use === 'restart');
  naming(path, () => checkImage(stored.image));
  if (use === 'pin') checkRowsOf(path, stored.image);
  return stored;
}

/** Checks rows and the arrays derived from them. @throws LecternError `image-unusable` */
export function checkRowsOf(path: string, image: SnapshotImage): void {
  const { summary, hashSeed, slots, rows, weekDigests, ids, clusters } = image;
  naming(path, () => {
    checkHashes(ids, checkRows(rows, summary.events, new KeyedHash(hashSeed)));
    for (const kind of ['merged', 'unmerged'] as const) {
      within(`clusters.${kind}`, () => expectDerived(clusters[kind], entryByteLengths(clusters[kind], rows)));
    }
    expectDerived({ weekDigests }, { weekDigests: digestWeeks(slots, rows) });
    if (contentVersionOf(summary.identifiers, image) !== summary.id) {
      throw new Error('its id does not match its content');
    }
  });
}

/**
 * Checks the lengths of arrays, the range of every number and the derived arrays, so that every answer ends
 * in bounded time.
 */
function checkImage(image: SnapshotImage): void {
  const { summary, hashSeed, slots, fields, columns, names, rows, weekDigests, ids, clusters } = image;
  checkSummary(summary);
  if (!isHashSeed(hashSeed)) throw new Error('its seed is not two numbers of 32 bits');
  const count = summary.events;
  checkSlots(slots, summary);
  for (const { name } of INDEXED_FIELDS) within(name, () => checkField(fields[name], slots, count));
  for (const { name } of UNINDEXED_FIELDS) within(name, () => checkColumn(columns[name], count));
  // Not with the file's seed, because its writer could choose colliding values.
  const expectedNames = buildNames(fields, columns, new KeyedHash(randomHashSeed()));
  for (const { name } of NAMED_FIELDS) {
    within(`names.${name}`, () => checkNames(names[name], expectedNames[name]));
  }
  checkRowPlaces(rows, count);
  expectArray('weekDigests', weekDigests, Uint8Array, WEEK_DIGEST_BYTES * weeksOf(slots).length);
  checkHashIndex(ids, count);
  for (const kind of ['merged', 'unmerged'] as const) {
    within(`clusters.${kind}`, () => checkClusters(clusters[kind], count));
  }
}

function checkSummary(summary: SnapshotSummary): void {
  const { id, identifiers, rejectedByCode, rejections, fields, unserved, ambiguousTimes, expanded } = summary;
  const { events, slots, rejected, builtAtMs, buildMs, bytes, span } = summary;
  const expect = (isGood: boolean, what: string): void => {
    if (!isGood) throw new Error(`its summary has no ${what}`);
  };
  const isWhole = (value: unknown): boolean => Number.isSafeInteger(value);
  const isCode = (code: unknown): boolean => REJECTION_CODES.some((known) => known === code);
  // Texts that are shown must fit on one line.
  const isShown = (text: unknown): boolean => typeof text === 'string' && !/\p{Cc}/u.test(text);
  expect(typeof id === 'string' && /^[\w-]{22}$/.test(id), 'id');
  expect(IDENTIFIER_MODES.includes(identifiers), 'kind of identifiers');
  for (const count of [events, slots, rejected, bytes]) expect(isWhole(count) && count >= 0, 'counts');
  const times = span === null ? [builtAtMs, buildMs] : [builtAtMs, buildMs, span.startMs, span.endMs];
  for (const ms of times) expect(Number.isFinite(ms) && Math.abs(ms) <= INSTANT_MS_MAX, 'times');
  for (const list of [rejections, fields, unserved.fields]) expect(Array.isArray(list), 'lists');
  for (const [code, count] of Object.entries(rejectedByCode)) {
    expect(isCode(code) && isWhole(count), 'rejections');
  }
  for (const { code, field, detail, position, more = [] } of rejections) {
    expect(Array.isArray(more) && more.length < FIELDS.length, 'rejections');
    for (const fault of [{ code, field, detail }, ...more]) {
      const { field } = fault;
      expect(isCode(fault.code) && (field === null || isShown(field)) && isShown(fault.detail), 'rejections');
    }
    expect(typeof position === 'object', 'rejections');
    for (const part of Object.values(position))
      expect(typeof part === 'number' || isShown(part), 'rejections');
  }
  for (const field of fields) {
    expect(isShown(field.name) && isWhole(field.values) && isWhole(field.events), 'fields');
  }
  expect(isWhole(ambiguousTimes.gaps) && isWhole(ambiguousTimes.overlaps), 'ambiguous times');
  expect(expanded === undefined || isExpansionWindow(expanded), 'days of recurring events');
  expect(isWhole(unserved.others), 'other fields');
  for (const { name, records, suggestion } of unserved.fields) {
    // Names may hold any character, and are quoted when shown.
    expect(typeof name === 'string' && isWhole(records), 'other fields');
    expect(suggestion === null || isShown(suggestion), 'other fields');
  }
}

function checkSlots({ startMs, endMs, first, index }: SlotsImage, { slots, events }: SnapshotSummary): void {
  expectArray('slots.startMs', startMs, Float64Array, slots);
  expectArray('slots.endMs', endMs, Float64Array, slots);
  expectArray('slots.first', first, Uint32Array, slots + 1);
  expectPartition('slots.first', first, events);
  checkInstants('slots', startMs, endMs);
  for (let slot = 1; slot < slots; slot++) {
    if (startMs[slot] === startMs[slot - 1] && endMs[slot]! <= endMs[slot - 1]!)
      throw new Error('slots are out of order');
  }
  expectDerived(index, buildIntervalIndex(startMs, endMs, INTERVALS_PER_TREE_MAX), 'slots.index.');
}

function checkField(field: FieldImage, slots: SlotsImage, count: number): void {
  const { dictionary, codes, postings, longestMs } = field;
  const size = checkCodes(dictionary, codes, count);
  expectAllUsed(codes, size);
  expectDerived(postings, buildPostingLists(codes, size), 'postings.');
  expectDerived({ longestMs }, { longestMs: longestOf(codes, size, slots) });
}

function checkColumn({ dictionary, codes }: ColumnImage, count: number): void {
  const isOmitted = dictionary.start.length === 1;
  expectAllUsed(codes, checkCodes(dictionary, codes, isOmitted ? 0 : count));
}

function checkNames({ dictionary, codes }: NamesImage, expected: NamesImage): void {
  expectDerived(dictionary, expected.dictionary);
  expectDerived({ codes }, { codes: expected.codes });
}

function expectAllUsed(codes: CodeColumn, size: number): void {
  const isUsed = new Uint8Array(size);
  for (const code of codes) if (code < size) isUsed[code] = 1;
  if (isUsed.includes(0)) throw new Error('a value is used by no event');
}

/** Returns the size of the dictionary. */
function checkCodes(dictionary: DictionaryImage, codes: CodeColumn, count: number): number {
  const size = checkDictionary(dictionary);
  if (!isCodeColumn(codes, size)) throw new Error(MISSING_ARRAY);
  if (codes.length !== count) throw new Error(`codes has ${codes.length} entries; expected ${count}`);
  const noCode = 2 ** (8 * codes.BYTES_PER_ELEMENT) - 1;
  for (const code of codes) if (code >= size && code !== noCode) throw new Error('a code has no value');
  return size;
}

function checkRowPlaces({ start, packedStart, bytes }: RowsImage, count: number): void {
  expectArray('rows.start', start, Uint32Array, count + 1);
  expectArray('rows.packedStart', packedStart, Uint32Array, count + 1);
  expectArray('rows.bytes', bytes, Uint8Array, count === 0 ? 2 : start[count]!);
  if (start[0] !== 1) throw new Error('rows begin wrongly');
  if (packedStart[0] !== 0) throw new Error('rows.packedStart begins wrongly');
  for (let n = 1; n <= count; n++) {
    const length = start[n]! - start[n - 1]!;
    if (length < 3) throw new Error('rows.start is out of order');
    // A row is never longer in MessagePack than in JSON.
    const packed = packedStart[n]! - packedStart[n - 1]!;
    if (packed < 1 || packed > length) throw new Error('rows.packedStart is out of order');
  }
}

/** Bounds the steps of every look-up. */
function checkHashIndex({ hashes, table }: HashIndexImage, count: number): void {
  expectArray('ids.hashes', hashes, Uint32Array, count);
  expectArray('ids.table', table, Uint32Array);
  if (table.length < 2 || (table.length & (table.length - 1)) !== 0) throw new Error('ids is not a table');
  let run = 0;
  // Twice around, since runs wrap.
  for (let slot = 0; slot < 2 * table.length; slot++) {
    const entry = table[slot & (table.length - 1)]!;
    if (entry > count) throw new Error('ids.table has an event number out of range');
    run = entry === 0 ? 0 : run + 1;
    if (run > ID_PROBES_MAX) throw new Error('ids has look-ups that are too long');
  }
}

/** Every id must lead to its event. Building a table from foreign hashes would be unbounded, but look-ups are bounded. */
function checkHashes({ hashes, table }: HashIndexImage, expected: Uint32Array): void {
  expectDerived({ hashes }, { hashes: expected }, 'ids.');
  for (let ordinal = 0; ordinal < hashes.length; ordinal++) {
    let slot = hashes[ordinal]! & (table.length - 1);
    while (table[slot] !== ordinal + 1) {
      if (table[slot] === 0) throw new Error('ids does not match its data');
      slot = (slot + 1) & (table.length - 1);
    }
  }
}

function checkClusters(clusters: ClustersImage, eventCount: number): void {
  const { startMs, endMs, by, key, keys, peak, first, events, jsonBytes, packedBytes } = clusters;
  const { length: count } = expectArray('peak', peak, Uint32Array);
  const keyCount = checkDictionary(keys);
  expectArray('startMs', startMs, Float64Array, count);
  expectArray('endMs', endMs, Float64Array, count);
  expectArray('by', by, Uint8Array, count);
  expectArray('key', key, Uint32Array, count);
  expectArray('first', first, Uint32Array, count + 1);
  expectArray('jsonBytes', jsonBytes, Uint32Array, count);
  expectArray('packedBytes', packedBytes, Uint32Array, count);
  expectPartition('first', first, expectArray('events', events, Uint32Array).length);
  checkInstants('clusters', startMs, endMs);
  for (const dimension of by)
    if (dimension >= CONFLICT_DIMENSIONS.length) throw new Error('by has an unknown conflict dimension');
  for (const code of key) if (code >= keyCount) throw new Error('a key has no value');
  // Bounds answers, because a small file could otherwise announce answers of any length.
  const dimensionsOf = new Uint8Array(eventCount);
  for (let cluster = 0; cluster < count; cluster++) {
    const dimension = 1 << by[cluster]!;
    let last = -1;
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) {
      const ordinal = events[e]!;
      if (ordinal <= last || ordinal >= eventCount) throw new Error('events are missing or out of order');
      if ((dimensionsOf[ordinal]! & dimension) !== 0)
        throw new Error('an event is in two clusters of one dimension');
      dimensionsOf[ordinal]! |= dimension;
      last = ordinal;
    }
  }
  expectDerived(clusters.clustersOf, clustersOfEvents(eventCount, first, events), 'clustersOf.');
  expectDerived(clusters.index, buildIntervalIndex(startMs, endMs, INTERVALS_PER_TREE_MAX), 'index.');
}

function checkDictionary({ bytes, start }: DictionaryImage): number {
  if (expectArray('start', start, Uint32Array).length === 0) throw new Error('a dictionary has no end');
  expectPartition('dictionary', start, expectArray('bytes', bytes, Uint8Array).length, 0);
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isUtf8(source)) throw new Error('values are not UTF-8');
  for (let code = 2; code < start.length; code++) {
    const order = source.compare(source, start[code - 1]!, start[code]!, start[code - 2]!, start[code - 1]!);
    if (order >= 0) throw new Error('values are out of order');
  }
  return start.length - 1;
}

function checkInstants(name: string, startMs: Float64Array, endMs: Float64Array): void {
  let last = INSTANT_MS_MIN;
  for (let n = 0; n < startMs.length; n++) {
    const start = startMs[n]!;
    const end = endMs[n]!;
    const isInOrder = last <= start && start <= end && end <= INSTANT_MS_MAX;
    if (!isInOrder || !Number.isInteger(start) || !Number.isInteger(end))
      throw new Error(`times of ${name} are invalid or out of order`);
    last = start;
  }
}

/** Checks that `start` cuts `length` into pieces of at least `pieceMin`. */
function expectPartition(name: string, start: Uint32Array, length: number, pieceMin = 1): void {
  if (start[0] !== 0 || start[start.length - 1] !== length)
    throw new Error(`${name} does not cover its array`);
  for (let n = 1; n < start.length; n++) {
    if (start[n]! < start[n - 1]! + pieceMin) throw new Error(`${name} is out of order`);
  }
}

const MISSING_ARRAY = 'an array is missing or has another type';

function expectArray<Numbers extends CodeColumn | Float64Array>(
  name: string,
  array: Numbers | undefined,
  Type: new () => Numbers,
  length?: number,
): Numbers {
  if (!(array instanceof Type)) throw new Error(MISSING_ARRAY);
  if (length !== undefined && array.length !== length) {
    throw new Error(`${name} has ${array.length} entries; expected ${length}`);
  }
  return array;
}

function expectDerived<Part extends Record<keyof Part, CodeColumn | Float64Array>>(
  is: Part,
  expected: Part,
  prefix = '',
): void {
  for (const name of Object.keys(expected) as (keyof Part & string)[]) {
    const [array, derived] = [is[name], expected[name]];
    expectArray(prefix + name, array, derived.constructor as new () => typeof derived, derived.length);
    for (let n = 0; n < derived.length; n++) {
      if (array[n] !== derived[n]) throw new Error(`${prefix}${name} does not match its data`);
    }
  }
}

function within(name: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function naming(path: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
}

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;

/** Control characters must be escaped: RFC 8259 section 7. */
const TEXT = String.raw`"([^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)"`;
const VALUES = OUTPUT_FIELDS.map(({ name }) => (name === 'id' ? TEXT : `(?:${TEXT}|null)`));
/** A row as latin1, with a group per field: undefined for null. */
const ROW = new RegExp(
  `^${ROW_FRAME.map((frame, n) => frame.replace(/[{}]/, '\\$&') + (VALUES[n] ?? '')).join('')}$`,
);

function checkRows({ bytes, start, packedStart }: RowsImage, count: number, hash: KeyedHash): Uint32Array {
  const hashes = new Uint32Array(count);
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const view = viewOf(source);
  if (source[0] !== OPENING_BRACKET) throw new Error('rows begin wrongly');
  if (source[source.length - 1] !== CLOSING_BRACKET) throw new Error('rows end wrongly');
  if (!isUtf8(source)) throw new Error('rows are not UTF-8');
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const end = start[ordinal + 1]! - 1;
    const row = ROW.exec(source.toString('latin1', start[ordinal]!, end));
    if (row === null) throw new Error(`row ${ordinal} is not a row`);
    const [, id = '', ...others] = row;
    const idStart = start[ordinal]! + ID_OFFSET;
    if (id.includes('\\')) {
      const text = unescaped(id);
      hashes[ordinal] = hash.bytes(viewOf(text), 0, text.length);
    } else hashes[ordinal] = hash.bytes(view, idStart, idStart + id.length);
    let packed = PACKED_ROW_FRAME_BYTES + packedLengthOf(id);
    for (const text of others as (string | undefined)[]) packed += packedLengthOf(text);
    if (packedStart[ordinal + 1]! - packedStart[ordinal]! !== packed) {
      throw new Error(`row ${ordinal} has another length in MessagePack`);
    }
    if (ordinal + 1 < count && source[end] !== COMMA) throw new Error(`no comma follows row ${ordinal}`);
  }
  return hashes;
}

function packedLengthOf(text: string | undefined): number {
  if (text === undefined) return packedByteLength(null);
  return packedTextLength(text.includes('\\') ? unescaped(text).length : text.length);
}

/** Throws for invalid escapes. */
function unescaped(text: string): Buffer {
  return Buffer.from(JSON.parse(`"${Buffer.from(text, 'latin1').toString('utf8')}"`) as string);
}
