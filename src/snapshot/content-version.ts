import { createHash, type Hash } from 'node:crypto';
import type { IdentifierMode } from '../model/event.js';
import { type FieldName, INDEXED_FIELDS, type IndexedFieldName } from '../model/fields.js';
import type { ByteStrings } from '../structures/byte-strings.js';
import { type DictionaryBuilder, NO_CODE } from '../structures/dictionary.js';
import { scratch } from '../structures/slabs.js';
import type { FieldImage, SlotsImage } from './image.js';

/** Changes whenever the meaning of the hashed bytes does. */
const SCHEME = 'lectern-content-3';
/** 128 bits: enough that two data sets never share a version. */
const VERSION_BYTES = 16;
/** Ids that are hashed at a time. */
const IDS_PER_PIECE = 4096;

/** Of values, about so many. */
const TEXT_UNITS_PER_PIECE = 65_536;

/** All events: what their rows are made of, and the one indexed field that rows do not show. */
export interface Content {
  /** For each ordinal the number of arrival. */
  readonly order: Uint32Array;
  /** By number of arrival. */
  readonly ids: ByteStrings;
  readonly slots: Pick<SlotsImage, 'startMs' | 'endMs' | 'first'>;
  /** Whose codes are in the order of their values. */
  readonly fields: Readonly<Record<IndexedFieldName, Pick<FieldImage, 'dictionary' | 'codes'>>>;
  /** The other texts: codes of the builder, by ordinal. */
  readonly columns: readonly {
    readonly name: FieldName;
    readonly dictionary: DictionaryBuilder;
    readonly codes: Uint32Array;
  }[];
}

/**
 * Identifies the content of a snapshot: everything that can change an answer, so that replicas and restarts with the
 * same data agree on entity tags, in whatever order the events came. Columns are hashed rather than rows, which repeat
 * every value and are five times as long.
 */
export function contentVersionOf(identifiers: IdentifierMode, content: Content): string {
  const { order, ids, slots, fields, columns } = content;
  const hash = createHash('sha256');
  hash.update(`${SCHEME}\n${identifiers}\n${order.length}\n${slots.startMs.length}\n`);
  hashIds(hash, order, ids);
  hash.update(slots.startMs);
  hash.update(slots.endMs);
  hash.update(slots.first);
  for (const { name } of INDEXED_FIELDS) {
    const { dictionary, codes } = fields[name];
    hash.update(`\n${name}\n`);
    hash.update(dictionary.start);
    hash.update(dictionary.bytes);
    hash.update(codes);
  }
  const numbers = scratch.uint32(order.length);
  for (const { name, dictionary, codes } of columns) {
    hash.update(`\n${name}\n`);
    hashColumn(hash, dictionary, codes, numbers);
  }
  return hash.digest().subarray(0, VERSION_BYTES).toString('base64url');
}

/** In order of the ordinals, each with its length: one after the other they could be others. */
function hashIds(hash: Hash, order: Uint32Array, ids: ByteStrings): void {
  const lengths = scratch.uint32(order.length);
  for (let from = 0; from < order.length; from += IDS_PER_PIECE) {
    const end = Math.min(order.length, from + IDS_PER_PIECE);
    let byteLength = 0;
    for (let ordinal = from; ordinal < end; ordinal++) {
      const arrival = order[ordinal]!;
      lengths[ordinal] = ids.startOf(arrival + 1) - ids.startOf(arrival);
      byteLength += lengths[ordinal]!;
    }
    hash.update(ids.copyOf(order.subarray(from, end), byteLength));
  }
  hash.update(lengths);
}

/**
 * Values are numbered as they come, in order of the ordinals: the builder's codes tell the order of arrival.
 *
 * @param numbers for the numbers by ordinal
 */
function hashColumn(
  hash: Hash,
  dictionary: DictionaryBuilder,
  codes: Uint32Array,
  numbers: Uint32Array,
): void {
  const numberOf = new Uint32Array(dictionary.size).fill(NO_CODE);
  let count = 0;
  let texts = '';
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const code = codes[ordinal]!;
    if (code !== NO_CODE && numberOf[code] === NO_CODE) {
      numberOf[code] = count++;
      texts += JSON.stringify(dictionary.valueOf(code));
      if (texts.length > TEXT_UNITS_PER_PIECE) {
        hash.update(texts);
        texts = '';
      }
    }
    numbers[ordinal] = code === NO_CODE ? NO_CODE : numberOf[code]!;
  }
  hash.update(texts);
  hash.update(numbers);
}
