import { FINISH_BYTES_PER_VALUE, VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX } from '../base/limits.js';
import { FIELDS, type Field, type FieldName, type RequiredFieldName } from '../base/model/fields.js';
import type { ByteStrings } from '../base/structures/byte-strings.js';
import { DictionaryBuilder, NO_CODE } from '../base/structures/dictionary.js';
import { Growable } from '../base/structures/growable.js';
import type { KeyedHash } from '../base/structures/keyed-hash.js';
import type { CodeColumn } from '../base/structures/posting-lists.js';
import { sortByIntervals } from '../base/structures/radix-sort.js';
import { scratch, shared } from '../base/structures/slabs.js';
import { TextMemo } from '../base/structures/text-memo.js';
import type { SlotsImage } from './image.js';
import { jsonByteLength } from './rows.js';
import type { FieldUse, SnapshotSummary } from './summary.js';

export type CodedField = Field & { readonly name: Exclude<FieldName, RequiredFieldName | 'modified'> };
export const CODED_FIELDS = FIELDS.filter(
  (field) => !field.required && field.kind !== 'instant',
) as readonly CodedField[];
/** Fields that no row shows. */
export const HIDDEN_FIELDS: readonly CodedField[] = CODED_FIELDS.filter((field) => !field.output);
/**
 * The number of columns that get a code with every event; these come first. The other columns hold display
 * names and lessons, which most sources lack, so they are filled late.
 */
export const FULL_COLUMNS: number = CODED_FIELDS.filter((field) => field.output || field.indexed).length;

export interface OrderedColumn {
  readonly dictionary: DictionaryBuilder;
  /** Codes by ordinal. Empty for a display name or lesson that no event has. */
  readonly codes: Uint32Array;
}

/** Each distinct value is held twice: as JSON, and in the dictionary of the image. */
const COPIES_OF_VALUES = 2;

export class Column {
  readonly name: CodedField['name'];
  readonly dictionary: DictionaryBuilder;
  /** Codes by arrival. A column past FULL_COLUMNS ends with its last value until {@link padTo}. */
  readonly codes: Growable<Uint32Array> = new Growable(Uint32Array);
  readonly #isOutput: boolean;
  readonly #jsonLengthOfCode = new Growable(Uint32Array);
  #eventsCounted = 0;
  #rowBytes = 0;

  constructor({ name, output }: CodedField, hash: KeyedHash) {
    this.name = name;
    this.#isOutput = output;
    // Lessons hardly repeat.
    const memo =
      name === 'lessonId' ? null : new TextMemo<number>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX);
    this.dictionary = new DictionaryBuilder(hash, memo);
  }

  /** Gives NO_CODE to all events before `count` that have no code yet. */
  padTo(count: number): void {
    while (this.codes.length < count) this.codes.push(NO_CODE);
  }

  /** Estimates the bytes in the image. Each call counts only new values. */
  finishBytes(): number {
    const { dictionary } = this;
    const ofValues = COPIES_OF_VALUES * dictionary.byteLength + FINISH_BYTES_PER_VALUE * dictionary.size;
    if (!this.#isOutput) return ofValues;
    for (let code = this.#jsonLengthOfCode.length; code < dictionary.size; code++) {
      this.#jsonLengthOfCode.push(jsonByteLength(dictionary.valueOf(code)));
    }
    const lengths = this.#jsonLengthOfCode.view();
    const codes = this.codes.view();
    const nullBytes = jsonByteLength(null);
    let bytes = 0;
    for (let arrival = this.#eventsCounted; arrival < codes.length; arrival++) {
      const code = codes[arrival]!;
      bytes += code === NO_CODE ? nullBytes : lengths[code]!;
    }
    this.#eventsCounted = codes.length;
    this.#rowBytes += bytes;
    return this.#rowBytes + ofValues;
  }

  countUse(): FieldUse {
    const codes = this.codes.view();
    let events = 0;
    for (let arrival = 0; arrival < codes.length; arrival++) if (codes[arrival] !== NO_CODE) events++;
    return { name: this.name, values: this.dictionary.size, events };
  }
}

/** The length of the longest event of each code, in milliseconds. */
export function longestOf(
  codes: CodeColumn,
  codeCount: number,
  { startMs, endMs, first }: Pick<SlotsImage, 'startMs' | 'endMs' | 'first'>,
): Float64Array {
  const longestMs = shared.float64(codeCount);
  for (let slot = 0; slot < startMs.length; slot++) {
    const lengthMs = endMs[slot]! - startMs[slot]!;
    for (let ordinal = first[slot]!; ordinal < first[slot + 1]!; ordinal++) {
      const code = codes[ordinal]!;
      if (code < codeCount && lengthMs > longestMs[code]!) longestMs[code] = lengthMs;
    }
  }
  return longestMs;
}

export interface OrderedEvents {
  readonly order: Uint32Array;
  readonly slotOf: Uint32Array;
  readonly slots: Pick<SlotsImage, 'startMs' | 'endMs' | 'first'>;
  readonly ids: ByteStrings;
  readonly columns: Readonly<Record<CodedField['name'], OrderedColumn>>;
  readonly modified: Uint32Array;
}

/** All events of a load, by arrival. */
export interface ArrivedEvents {
  readonly timeMs: Float64Array;
  readonly endTimeMs: Float64Array;
  /** The ids, with hashes that are keyed by the builder's seed. */
  readonly ids: ByteStrings;
  /** Each column has a code for every event, or no codes at all. */
  readonly columns: readonly Column[];
  /** Times of the last change as in SnapshotImage, as the source gives them. Empty if it gives none. */
  readonly modified: Uint32Array;
}

/** Orders events by (time, endTime, id). */
export function orderEvents({ timeMs, endTimeMs, ids, columns, modified }: ArrivedEvents): OrderedEvents {
  const count = ids.size;
  const order = scratch.uint32(count);
  for (let arrival = 0; arrival < count; arrival++) order[arrival] = arrival;
  if (!isInTimeOrder(timeMs, endTimeMs)) sortByIntervals(order, timeMs, endTimeMs);
  const slotOf = scratch.uint32(count);
  const first: number[] = [];
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const arrival = order[ordinal]!;
    const before = ordinal === 0 ? -1 : order[ordinal - 1]!;
    if (before === -1 || timeMs[arrival] !== timeMs[before] || endTimeMs[arrival] !== endTimeMs[before]) {
      first.push(ordinal);
    }
    slotOf[ordinal] = first.length - 1;
  }
  const arrivals = Uint32Array.from(first, (ordinal) => order[ordinal]!);
  const startMs = pickInto(timeMs, arrivals, shared.float64(first.length));
  const endMs = pickInto(endTimeMs, arrivals, shared.float64(first.length));
  first.push(count);
  for (let slot = 0; slot + 1 < first.length; slot++) {
    sortById(order.subarray(first[slot]!, first[slot + 1]!), ids);
  }
  const isSorted = order.every((arrival, ordinal) => arrival === ordinal);
  const ordered = columns.map(({ name, dictionary, codes }) => {
    const isInOrder = isSorted || codes.length === 0;
    return [
      name,
      { dictionary, codes: isInOrder ? codes.view() : pickInto(codes.view(), order, scratch.uint32(count)) },
    ];
  });
  return {
    order,
    slotOf,
    slots: { startMs, endMs, first: shared.copyUint32(first) },
    ids,
    columns: Object.fromEntries(ordered) as OrderedEvents['columns'],
    modified: modified.length === 0 ? shared.uint32(count) : pickInto(modified, order, shared.uint32(count)),
  };
}

function isInTimeOrder(timeMs: Float64Array, endTimeMs: Float64Array): boolean {
  for (let i = 1; i < timeMs.length; i++) {
    const byTime = timeMs[i]! - timeMs[i - 1]! || endTimeMs[i]! - endTimeMs[i - 1]!;
    if (byTime < 0) return false;
  }
  return true;
}

/** Sorts by code points, which is also the order of the UTF-8 bytes. */
function sortById(part: Uint32Array, ids: ByteStrings): void {
  for (let i = 1; i < part.length; i++) {
    if (ids.compare(part[i - 1]!, part[i]!) > 0) {
      part.sort((a, b) => ids.compare(a, b));
      return;
    }
  }
}

export function pickInto<Values extends Uint8Array | Uint32Array | Float64Array>(
  values: Uint32Array | Float64Array,
  places: Uint32Array,
  into: Values,
): Values {
  for (let i = 0; i < places.length; i++) into[i] = values[places[i]!]!;
  return into;
}

/** From the first start to the last end. */
export function spanOf({ startMs, endMs }: Pick<SlotsImage, 'startMs' | 'endMs'>): SnapshotSummary['span'] {
  if (startMs.length === 0) return null;
  return { startMs: startMs[0]!, endMs: endMs.reduce((max, end) => Math.max(max, end)) };
}
