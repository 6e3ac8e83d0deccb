import { createHash, type Hash } from 'node:crypto';
import type { IdentifierMode } from '../model/event.js';
import { INDEXED_FIELDS, NAMED_FIELDS } from '../model/fields.js';
import { NO_CODE } from '../structures/dictionary.js';
import { scratch } from '../structures/slabs.js';
import { CODED_FIELDS, type OrderedColumn, type OrderedEvents } from './columns.js';
import type { SnapshotImage } from './image.js';

/** Raise it when the hashed bytes change their meaning. */
const SCHEME = 'lectern-content-4';
const VERSION_BYTES = 16;
/** Ids, and approximate units of other texts, that are hashed at a time. */
const IDS_PER_PIECE = 4096;
const TEXT_UNITS_PER_PIECE = 65_536;

/** Equal for replicas and restarts with equal data. Hashes columns, because rows are five times as long. */
export function contentVersionOf(
  identifiers: IdentifierMode,
  events: OrderedEvents,
  { fields, names }: Pick<SnapshotImage, 'fields' | 'names'>,
): string {
  const { order, slots, columns } = events;
  const hash = createHash('sha256');
  hash.update(`${SCHEME}\n${identifiers}\n${order.length}\n${slots.startMs.length}\n`);
  hashIds(hash, events);
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
  for (const { name } of NAMED_FIELDS) {
    const { dictionary, codes } = names[name];
    hash.update(`\nnames of ${name}\n`);
    hash.update(dictionary.start);
    hash.update(dictionary.bytes);
    hash.update(codes);
  }
  for (const { name } of CODED_FIELDS.filter((field) => field.output && !field.indexed)) {
    hash.update(`\n${name}\n`);
    hashColumn(hash, columns[name], numbers);
  }
  return hash.digest().subarray(0, VERSION_BYTES).toString('base64url');
}

/** By ordinal. Includes lengths, since different ids could be equal when joined. */
function hashIds(hash: Hash, { order, ids }: OrderedEvents): void {
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

/** Renumbers values by ordinal, because codes depend on the order of arrival. */
function hashColumn(hash: Hash, { dictionary, codes }: OrderedColumn, numbers: Uint32Array): void {
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
