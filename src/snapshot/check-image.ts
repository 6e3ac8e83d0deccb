import { INDEXED_FIELDS, NAMED_FIELDS, UNINDEXED_FIELDS } from '../base/model/fields.js';
import type { DictionaryImage } from '../base/structures/dictionary.js';
import { isCodeColumn } from '../base/structures/posting-lists.js';
import { contentVersionOf, DAY_DIGEST_BYTES, daysOf } from './content-version.js';
import type { ClustersImage, ColumnImage, SnapshotImage } from './image.js';

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

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;
/** The type of each array of a part, and its length where another part determines it. */
type Shape = Readonly<Record<string, readonly [type: new () => Numbers, length?: number]>>;

/** Presence, type and length of every array. */
function checkShape(image: SnapshotImage): void {
  const { summary, slots, fields, columns, names, rows, modified, dayDigests, ids, clusters } = image;
  const { events: count, slots: slotCount } = summary;
  expect('slots', slots, {
    startMs: [Float64Array, slotCount],
    endMs: [Float64Array, slotCount],
    first: [Uint32Array, slotCount + 1],
  });
  for (const { name } of INDEXED_FIELDS) {
    const size = checkColumn(name, fields?.[name], () => count);
    expect(name, fields[name], { longestMs: [Float64Array, size] });
    expect(name, fields[name].postings, { start: [Uint32Array, size + 1], ordinals: [Uint32Array] });
  }
  // A column without values has no codes.
  for (const { name } of UNINDEXED_FIELDS)
    checkColumn(name, columns?.[name], (size) => (size === 0 ? 0 : count));
  for (const { name } of NAMED_FIELDS)
    checkColumn(`names.${name}`, names?.[name], () => fields[name].dictionary.start.length - 1);
  expect('rows', rows, { start: [Uint32Array, count + 1], packedStart: [Uint32Array, count + 1] });
  expect('rows', rows, { bytes: [Uint8Array, count === 0 ? 2 : rows.start[count]!] });
  const days = DAY_DIGEST_BYTES * daysOf(slots).length;
  expect(
    'events',
    { modified, dayDigests },
    { modified: [Uint32Array, count], dayDigests: [Uint8Array, days] },
  );
  expect('ids', ids, { hashes: [Uint32Array, count], table: [Uint32Array] });
  const { length } = ids.table;
  if (length < 2 || (length & (length - 1)) !== 0) throw new Error('ids is no table');
  for (const kind of ['merged', 'unmerged'] as const) checkClusters(`clusters.${kind}`, clusters?.[kind]);
}

/** @param countOf the length of the codes @returns the size of the dictionary */
function checkColumn(
  name: string,
  column: ColumnImage | undefined,
  countOf: (size: number) => number,
): number {
  const size = checkDictionary(name, column?.dictionary);
  const codes = column?.codes;
  if (!isCodeColumn(codes, size)) throw missing(name);
  expectLength(`${name}.codes`, codes, countOf(size));
  return size;
}

function checkDictionary(name: string, dictionary: DictionaryImage | undefined): number {
  expect(name, dictionary, { start: [Uint32Array], bytes: [Uint8Array] });
  if (dictionary?.start.length === 0) throw new Error(`${name}: a dictionary has no end`);
  return (dictionary as DictionaryImage).start.length - 1;
}

function checkClusters(name: string, clusters: ClustersImage | undefined): void {
  checkDictionary(name, clusters?.keys);
  expect(name, clusters, { peak: [Uint32Array], events: [Uint32Array], by: [Uint8Array] });
  const { length: count } = (clusters as ClustersImage).by;
  const [numbers, times] = [[Uint32Array, count] as const, [Float64Array, count] as const];
  const columns = { key: numbers, peak: numbers, jsonBytes: numbers, packedBytes: numbers };
  expect(name, clusters, { ...columns, startMs: times, endMs: times, first: [Uint32Array, count + 1] });
}

function expect(name: string, part: object | undefined, shape: Shape): void {
  for (const [member, [Type, length]] of Object.entries(shape)) {
    const array = (part as Readonly<Record<string, unknown>> | undefined)?.[member];
    if (!(array instanceof Type)) throw missing(name);
    if (length !== undefined) expectLength(`${name}.${member}`, array, length);
  }
}

function expectLength(name: string, array: Numbers, length: number): void {
  if (array.length !== length) throw new Error(`${name} has ${array.length} entries; expected ${length}`);
}

function missing(name: string): Error {
  return new Error(`${name}: an array is missing, or of another type`);
}
