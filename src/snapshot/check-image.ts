import { isUtf8 } from 'node:buffer';
import { ID_PROBES_MAX, INTERVALS_PER_TREE_MAX } from '../limits.js';
import {
  CONFLICT_DIMENSIONS,
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
import { KeyedHash, randomHashSeed } from '../structures/keyed-hash.js';
import type { CodeColumn, PostingListsImage } from '../structures/posting-lists.js';
import { checkShape, expectArray, within } from './check-shape.js';
import { entryByteLengths } from './clusters.js';
import { longestOf } from './columns.js';
import { contentVersionOf, digestDays } from './content-version.js';
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
import { readImageFile, unusable } from './image-file.js';
import type { StoredImage } from './image-layout.js';
import { ID_OFFSET, PACKED_ROW_FRAME_BYTES, packedByteLength, packedTextLength, ROW_FRAME } from './rows.js';
import type { SnapshotSummary } from './summary.js';

/** `restart`: served until the source answers. `pin`: served instead of the source. */
export type ImageUse = 'restart' | 'pin';

/**
 * Reads an image to serve. For `restart` the file must belong to this account, and checkRowsOf must follow.
 *
 * @throws LecternError like readImageFile; `image-unusable` also for a file that is not an image
 */
export async function readCheckedImage(path: string, use: ImageUse): Promise<StoredImage> {
  const stored = await readImageFile(path, {
    mustBeOwn: use === 'restart',
    // None of these checks reads the rows.
    meanwhile: (image) => naming(path, () => checkImage(image)),
  });
  if (use === 'pin') checkRowsOf(path, stored.image);
  return stored;
}

/**
 * Checks an image from a store, whose bytes have the announced hash. A signed image comes from the publisher,
 * so only its shape is checked. The other checks guard against forged contents, and take longer than the rest
 * of the load.
 *
 * @param name for messages
 * @throws LecternError `image-unusable`
 */
export function checkFetchedImage(name: string, image: SnapshotImage, isSigned: boolean): void {
  naming(name, () => (isSigned ? checkShape : checkImage)(image));
  if (!isSigned) checkRowsOf(name, image);
}

/** Checks rows and the arrays derived from them. @throws LecternError `image-unusable` */
export function checkRowsOf(path: string, image: SnapshotImage): void {
  const { summary, hashSeed, slots, rows, dayDigests, ids, clusters } = image;
  naming(path, () => {
    checkHashes(ids, checkRows(rows, summary.events, new KeyedHash(hashSeed)));
    for (const kind of ['merged', 'unmerged'] as const) {
      within(`clusters.${kind}`, () => expectDerived(clusters[kind], entryByteLengths(clusters[kind], rows)));
    }
    expectDerived({ dayDigests }, { dayDigests: digestDays(slots, rows) });
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
  const { summary, slots, fields, columns, names, rows, ids, clusters } = image;
  checkShape(image);
  const count = summary.events;
  checkSlots(slots, summary);
  for (const { name } of INDEXED_FIELDS) within(name, () => checkField(fields[name], slots));
  for (const { name } of UNINDEXED_FIELDS) within(name, () => checkColumn(columns[name]));
  // The file's seed is not used, because its writer could choose colliding values.
  const expectedNames = buildNames(fields, columns, new KeyedHash(randomHashSeed()));
  for (const { name } of NAMED_FIELDS) {
    within(`names.${name}`, () => checkNames(names[name], expectedNames[name]));
  }
  checkRowPlaces(rows, count);
  checkHashIndex(ids, count);
  for (const kind of ['merged', 'unmerged'] as const) {
    within(`clusters.${kind}`, () => checkClusters(clusters[kind], count));
  }
}

function checkSlots({ startMs, endMs, first, index }: SlotsImage, { slots, events }: SnapshotSummary): void {
  expectPartition('slots.first', first, events);
  checkInstants('slots', startMs, endMs);
  for (let slot = 1; slot < slots; slot++) {
    if (startMs[slot] === startMs[slot - 1] && endMs[slot]! <= endMs[slot - 1]!)
      throw new Error('slots are out of order');
  }
  expectDerived(index, buildIntervalIndex(startMs, endMs, INTERVALS_PER_TREE_MAX), 'slots.index.');
}

function checkField(field: FieldImage, slots: SlotsImage): void {
  const { dictionary, postings, longestMs } = field;
  const size = checkDictionary(dictionary);
  const lists = new ListCheck('postings', postings, size, 1);
  const codes = checkCodes(field.codes, size, (code, ordinal) => lists.next(code, ordinal));
  lists.finish();
  expectDerived({ longestMs }, { longestMs: longestOf(codes, size, slots) });
}

function checkColumn({ dictionary, codes }: ColumnImage): void {
  const size = checkDictionary(dictionary);
  const isUsed = new Uint8Array(size);
  checkCodes(codes, size, (code) => {
    isUsed[code] = 1;
  });
  if (isUsed.includes(0)) throw new Error('a value is used by no event');
}

/** Returns the codes in one width: compiled code for arrays of several types takes three times as long. */
function checkCodes(
  column: CodeColumn,
  size: number,
  onCode: (code: number, ordinal: number) => void,
): Uint32Array {
  const noCode = 2 ** (8 * column.BYTES_PER_ELEMENT) - 1;
  const codes = new Uint32Array(column);
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const code = codes[ordinal]!;
    if (code < size) onCode(code, ordinal);
    else if (code !== noCode) throw new Error('a code has no value');
  }
  return codes;
}

/**
 * Compares posting lists with their items, which are given in ascending order. Comparing takes less time than
 * building the lists.
 */
class ListCheck {
  readonly #name: string;
  readonly #lists: PostingListsImage;
  readonly #next: Uint32Array;

  constructor(name: string, lists: PostingListsImage, size: number, itemsMin: number) {
    expectArray(`${name}.start`, lists.start, Uint32Array, size + 1);
    expectArray(`${name}.ordinals`, lists.ordinals, Uint32Array);
    expectPartition(`${name}.start`, lists.start, lists.ordinals.length, itemsMin);
    this.#name = name;
    this.#lists = lists;
    this.#next = lists.start.slice(0, size);
  }

  next(list: number, item: number): void {
    if (this.#lists.ordinals[this.#next[list]!++] !== item) this.#fail();
  }

  finish(): void {
    const { start } = this.#lists;
    for (let list = 0; list < this.#next.length; list++) {
      if (this.#next[list] !== start[list + 1]) this.#fail();
    }
  }

  #fail(): never {
    throw new Error(`${this.#name}.ordinals does not match its data`);
  }
}

function checkNames({ dictionary, codes }: NamesImage, expected: NamesImage): void {
  expectDerived(dictionary, expected.dictionary);
  expectDerived({ codes }, { codes: expected.codes });
}

function checkRowPlaces({ start, packedStart }: RowsImage, count: number): void {
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
function checkHashIndex({ table }: HashIndexImage, count: number): void {
  const empty = table.indexOf(0);
  let run = empty === -1 ? Number.POSITIVE_INFINITY : 0;
  // Runs wrap, so the count begins at an empty slot.
  for (let n = 1; n <= table.length; n++) {
    const entry = table[(empty + n) & (table.length - 1)]!;
    if (entry > count) throw new Error('ids.table has an event number out of range');
    run = entry === 0 ? 0 : run + 1;
    if (run > ID_PROBES_MAX) throw new Error('ids has look-ups that are too long');
  }
}

/**
 * Looks up every id, which must lead to its event. A look-up has bounded steps; building a table from foreign
 * hashes would not.
 */
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
  const { startMs, endMs, by, key, keys, first, events } = clusters;
  const { length: count } = startMs;
  const keyCount = checkDictionary(keys);
  expectPartition('first', first, events.length);
  checkInstants('clusters', startMs, endMs);
  for (const dimension of by)
    if (dimension >= CONFLICT_DIMENSIONS.length) throw new Error('by has an unknown conflict dimension');
  for (const code of key) if (code >= keyCount) throw new Error('a key has no value');
  // Without this check, a small file could announce answers of any length.
  const dimensionsOf = new Uint8Array(eventCount);
  const lists = new ListCheck('clustersOf', clusters.clustersOf, eventCount, 0);
  for (let cluster = 0; cluster < count; cluster++) {
    const dimension = 1 << by[cluster]!;
    let last = -1;
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) {
      const ordinal = events[e]!;
      if (ordinal <= last || ordinal >= eventCount) throw new Error('events are missing or out of order');
      if ((dimensionsOf[ordinal]! & dimension) !== 0)
        throw new Error('an event is in two clusters of one dimension');
      dimensionsOf[ordinal]! |= dimension;
      lists.next(ordinal, cluster);
      last = ordinal;
    }
  }
  lists.finish();
  expectDerived(clusters.index, buildIntervalIndex(startMs, endMs, INTERVALS_PER_TREE_MAX), 'index.');
}

function checkDictionary({ bytes, start }: DictionaryImage): number {
  expectPartition('dictionary', start, bytes.length, 0);
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
