import { IDENTIFIER_MODES, REJECTION_CODES } from '../model/event.js';
import { isExpansionWindow } from '../model/expansion.js';
import { FIELDS, INDEXED_FIELDS, NAMED_FIELDS, UNINDEXED_FIELDS } from '../model/fields.js';
import { INSTANT_MS_MAX } from '../model/time.js';
import type { DictionaryImage } from '../structures/dictionary.js';
import { isHashSeed } from '../structures/keyed-hash.js';
import { type CodeColumn, isCodeColumn } from '../structures/posting-lists.js';
import { DAY_DIGEST_BYTES, daysOf } from './content-version.js';
import type { ClustersImage, FieldImage, SnapshotImage } from './image.js';
import type { SnapshotSummary } from './summary.js';

/**
 * Checks the summary, and the presence, type and length of every array. The check reads no entry, so it takes
 * milliseconds. This check is enough for the signed image of a trusted publisher.
 *
 * @throws Error
 */
export function checkShape(image: SnapshotImage): void {
  const { summary, hashSeed, slots, fields, columns, names, rows, dayDigests, ids, clusters } = image;
  checkSummary(summary);
  if (!isHashSeed(hashSeed)) throw new Error('its seed is not two numbers of 32 bits');
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

/** @throws Error */
export function checkSummary(summary: SnapshotSummary): void {
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

const MISSING_ARRAY = 'an array is missing, or of another type';

export function expectArray<Numbers extends CodeColumn | Float64Array>(
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
export function within(name: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
