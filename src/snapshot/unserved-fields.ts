import { UNSERVED_FIELDS_KEPT_MAX, UNSERVED_NAME_UNITS_MAX } from '../limits.js';
import { FIELDS, type FieldName } from '../model/fields.js';
import { compareCodePoints } from '../model/text.js';
import { isSame, viewOf } from '../structures/byte-strings.js';
import { suggest } from '../structures/suggest.js';

/** Names in records that are no field of an event: no fault, but perhaps a slip. */
export interface UnservedFields {
  /** The commonest first. */
  readonly fields: readonly {
    /** As records spell it. */
    readonly name: string;
    /** Records that have it, whether they are served or left out. */
    readonly records: number;
    /** The field that may have been meant, or null. */
    readonly suggestion: FieldName | null;
  }[];
  /** How often names came up that are not kept, since there are too many or they are too long. */
  readonly others: number;
}

export const NO_UNSERVED_FIELDS: UnservedFields = { fields: [], others: 0 };

const SERVED: ReadonlySet<string> = new Set(FIELDS.map(({ name }) => name));
/** Names of one record by which the next is recognised: most sources write the same names in the same order. */
const SHAPE_NAMES_MAX = 64;
/** A name that is not kept. */
const OTHER = -1;

/** Counts them while a source is read. */
export class UnservedFieldCounter {
  readonly #numberByName = new Map<string, number>();
  /** By number: records, and the last record counted, since a line of JSON may have a name twice. */
  readonly #counts: number[] = [];
  readonly #lastRecord: number[] = [];
  #others = 0;
  #record = 0;
  /** Of the last decoded record: all its names, and the numbers of those that are not served. */
  #shape: readonly string[] = [];
  #shapeNumbers: readonly number[] = [];
  /** Of the last lines, by place in the line: the bytes of a name that is not served, and its number. */
  readonly #places: { readonly view: DataView; readonly length: number; readonly number: number }[] = [];

  countRecord(record: unknown): void {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return;
    if (ArrayBuffer.isView(record)) return;
    let names: string[];
    try {
      names = Object.keys(record);
    } catch {
      // A proxy of the embedding program: the normaliser has rejected it.
      return;
    }
    let numbers = this.#shapeNumbers;
    if (!isSameList(names, this.#shape)) {
      numbers = names.filter((name) => !SERVED.has(name)).map((name) => this.#numberOf(name));
      if (names.length <= SHAPE_NAMES_MAX) [this.#shape, this.#shapeNumbers] = [names, numbers];
    }
    this.#record++;
    for (const number of numbers) this.#count(number);
  }

  /**
   * @param view of the bytes that the names stand in, as UTF-8
   * @param names where each name begins and ends, in turn
   * @param count of these places
   */
  countNames(view: DataView, names: Int32Array, count: number): void {
    this.#record++;
    for (let n = 0; n < count; n++) {
      const from = names[2 * n]!;
      const length = names[2 * n + 1]! - from;
      const place = this.#places[n];
      const isKnown = place?.length === length && isSame(place.view, 0, view, from, length);
      this.#count(isKnown ? place.number : this.#learn(view, from, length, n));
    }
  }

  #learn(view: DataView, from: number, length: number, n: number): number {
    if (length > 3 * UNSERVED_NAME_UNITS_MAX) return OTHER;
    const bytes = Buffer.from(view.buffer, view.byteOffset + from, length);
    const number = this.#numberOf(bytes.toString('utf8'));
    if (n < SHAPE_NAMES_MAX) this.#places[n] = { view: viewOf(Uint8Array.from(bytes)), length, number };
    return number;
  }

  #numberOf(name: string): number {
    if (name.length > UNSERVED_NAME_UNITS_MAX) return OTHER;
    const known = this.#numberByName.get(name);
    if (known !== undefined) return known;
    const number = this.#counts.length;
    if (number >= UNSERVED_FIELDS_KEPT_MAX) return OTHER;
    this.#numberByName.set(name, number);
    this.#counts.push(0);
    this.#lastRecord.push(0);
    return number;
  }

  #count(number: number): void {
    if (number === OTHER) this.#others++;
    else if (this.#lastRecord[number] !== this.#record) {
      this.#lastRecord[number] = this.#record;
      this.#counts[number]!++;
    }
  }

  /** @param incomplete fields that some record lacks: only these can have been meant */
  finish(incomplete: readonly FieldName[]): UnservedFields {
    const fields = [...this.#numberByName].map(([name, number]) => ({
      name,
      records: this.#counts[number]!,
      suggestion: suggest(name, incomplete) as FieldName | null,
    }));
    fields.sort((a, b) => b.records - a.records || compareCodePoints(a.name, b.name));
    return { fields, others: this.#others };
  }
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let n = 0; n < a.length; n++) if (a[n] !== b[n]) return false;
  return true;
}
