import { FINISH_BYTES_PER_VALUE, VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX } from '../limits.js';
import { FIELDS, type Field, type FieldName, type RequiredFieldName } from '../model/fields.js';
import { DictionaryBuilder, NO_CODE } from '../structures/dictionary.js';
import { Growable } from '../structures/growable.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import type { CodeColumn } from '../structures/posting-lists.js';
import { shared } from '../structures/slabs.js';
import { TextMemo } from '../structures/text-memo.js';
import { jsonByteLength } from './byte-lengths.js';
import type { SlotsImage } from './image.js';
import type { FieldUse } from './summary.js';

/** A field that events may lack: its values are kept as codes. */
export type CodedField = Field & { readonly name: Exclude<FieldName, RequiredFieldName> };
export const CODED_FIELDS = FIELDS.filter((field) => !field.required) as readonly CodedField[];

export interface OrderedColumn {
  /** Values in order of first appearance. */
  readonly dictionary: DictionaryBuilder;
  readonly codes: Uint32Array;
}

/** The text of a distinct value is held again as JSON and in the image's dictionary. */
const COPIES_OF_VALUES = 2;

export class Column {
  readonly name: CodedField['name'];
  readonly dictionary: DictionaryBuilder;
  readonly codes: Growable<Uint32Array> = new Growable(Uint32Array);
  /** By code: bytes of the value as JSON. */
  readonly #jsonLengths = new Growable(Uint32Array);
  #valueBytes = 0;
  #eventsCounted = 0;
  #rowBytes = 0;

  constructor(name: CodedField['name'], hash: KeyedHash) {
    this.name = name;
    this.dictionary = new DictionaryBuilder(hash, new TextMemo(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX));
  }

  /** About the bytes that the image needs for it. Each call counts only what is new. */
  finishBytes(): number {
    const { dictionary } = this;
    for (let code = this.#jsonLengths.length; code < dictionary.size; code++) {
      const length = jsonByteLength(dictionary.valueOf(code));
      this.#jsonLengths.push(length);
      this.#valueBytes += length;
    }
    const lengths = this.#jsonLengths.view();
    const codes = this.codes.view();
    const nullBytes = jsonByteLength(null);
    let bytes = 0;
    for (let arrival = this.#eventsCounted; arrival < codes.length; arrival++) {
      const code = codes[arrival]!;
      bytes += code === NO_CODE ? nullBytes : lengths[code]!;
    }
    this.#eventsCounted = codes.length;
    this.#rowBytes += bytes;
    return this.#rowBytes + COPIES_OF_VALUES * this.#valueBytes + FINISH_BYTES_PER_VALUE * dictionary.size;
  }

  countUse(): FieldUse {
    const codes = this.codes.view();
    let events = 0;
    for (let arrival = 0; arrival < codes.length; arrival++) if (codes[arrival] !== NO_CODE) events++;
    return { name: this.name, values: this.dictionary.size, events };
  }
}

/** For each code the length of its longest event, in milliseconds. */
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
