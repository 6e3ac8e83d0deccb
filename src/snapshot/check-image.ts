import { INDEXED_FIELDS, NAMED_FIELDS, UNINDEXED_FIELDS } from '../base/model/fields.js';
import type { DictionaryImage } from '../base/structures/dictionary.js';
import { type CodeColumn, isCodeColumn } from '../base/structures/posting-lists.js';
import { contentVersionOf, DAY_DIGEST_BYTES, daysOf } from './content-version.js';
import type { ClustersImage, FieldImage, SnapshotImage } from './image.js';

/**
 * Checks that an image has the arrays of this version, and the content that its id names. The bytes have good
 * checksums and come from an account or a publisher that is trusted, so no entry of an array is checked. Takes milliseconds.
 *
 * @throws Error
 */
export function checkImage(image: SnapshotImage): void {
  checkShape(image);
  const { id, identifiers } = image.summary;
  if (contentVersionOf(identifiers, image) !== id) throw new Error('its id does not match its content');
}

/** Presence, type and length of every array. */
function checkShape(image: SnapshotImage): void {
  const { summary, slots, fields, columns, names, rows, modified, dayDigests, ids, clusters } = image;
  const { events: count } = summary;
  expectArray('slots.startMs', slots?.startMs, Float64Array, summary.slots);
  expectArray('slots.endMs', slots.endMs, Float64Array, summary.slots);
  expectArray('slots.first', slots.first, Uint32Array, summary.slots + 1);
  for (const { name } of INDEXED_FIELDS) within(name, () => checkFieldShape(fields?.[name], count));
  for (const { name } of UNINDEXED_FIELDS) {
    within(name, () => checkCodesShape(columns?.[name], isOmitted(columns[name]?.dictionary) ? 0 : count));
  }
  for (const { name } of NAMED_FIELDS) {
    within(`names.${name}`, () => checkCodesShape(names?.[name], fields[name].dictionary.start.length - 1));
  }
  expectArray('rows.start', rows?.start, Uint32Array, count + 1);
  expectArray('rows.packedStart', rows.packedStart, Uint32Array, count + 1);
  expectArray('rows.bytes', rows.bytes, Uint8Array, count === 0 ? 2 : rows.start[count]!);
  expectArray('modified', modified, Uint32Array, count);
  expectArray('dayDigests', dayDigests, Uint8Array, DAY_DIGEST_BYTES * daysOf(slots).length);
  expectArray('ids.hashes', ids?.hashes, Uint32Array, count);
  const { length } = expectArray('ids.table', ids.table, Uint32Array);
  if (length < 2 || (length & (length - 1)) !== 0) throw new Error('ids is no table');
  for (const kind of ['merged', 'unmerged'] as const) {
    within(`clusters.${kind}`, () => checkClustersShape(clusters?.[kind]));
  }
}

function isOmitted(dictionary: DictionaryImage | undefined): boolean {
  return dictionary?.start.length === 1;
}

function checkFieldShape(field: FieldImage | undefined, count: number): void {
  const size = checkCodesShape(field, count);
  expectArray('postings.start', field?.postings?.start, Uint32Array, size + 1);
  expectArray('postings.ordinals', field?.postings.ordinals, Uint32Array);
  expectArray('longestMs', field?.longestMs, Float64Array, size);
}

/** Returns the size of the dictionary. */
function checkCodesShape(
  column: { readonly dictionary: DictionaryImage; readonly codes: CodeColumn } | undefined,
  count: number,
): number {
  const size = checkDictionaryShape(column?.dictionary);
  const codes = column?.codes;
  if (!isCodeColumn(codes, size)) throw new Error(MISSING_ARRAY);
  if (codes.length !== count) throw new Error(`codes has ${codes.length} entries; expected ${count}`);
  return size;
}

function checkDictionaryShape(dictionary: DictionaryImage | undefined): number {
  const { length } = expectArray('start', dictionary?.start, Uint32Array);
  if (length === 0) throw new Error('a dictionary has no end');
  expectArray('bytes', dictionary?.bytes, Uint8Array);
  return length - 1;
}

function checkClustersShape(clusters: ClustersImage | undefined): void {
  const { length: count } = expectArray('peak', clusters?.peak, Uint32Array);
  if (clusters === undefined) return;
  checkDictionaryShape(clusters.keys);
  expectArray('startMs', clusters.startMs, Float64Array, count);
  expectArray('endMs', clusters.endMs, Float64Array, count);
  expectArray('by', clusters.by, Uint8Array, count);
  expectArray('key', clusters.key, Uint32Array, count);
  expectArray('first', clusters.first, Uint32Array, count + 1);
  expectArray('jsonBytes', clusters.jsonBytes, Uint32Array, count);
  expectArray('packedBytes', clusters.packedBytes, Uint32Array, count);
  expectArray('events', clusters.events, Uint32Array);
}

const MISSING_ARRAY = 'an array is missing, or of another type';

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

/** Names a part of the image in the error of its check. */
function within(name: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
