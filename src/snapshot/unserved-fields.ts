import {
  CALENDAR_PROPERTIES_MAX,
  UNSERVED_FIELDS_KEPT_MAX,
  UNSERVED_NAME_UNITS_MAX,
} from '../base/limits.js';
import type { FieldName } from '../base/model/fields.js';
import { suggest } from '../base/model/suggest.js';
import { compareCodePoints } from '../base/model/text.js';
import { isSame, viewOf } from '../base/structures/byte-strings.js';

/** Names in records that are not fields of events. Such names are not faults, but may be typos. */
export interface UnservedFields {
  /** Most frequent first. */
  readonly fields: readonly {
    /** The name as spelled in the records. */
    readonly name: string;
    /** Records that have this name, whether they are served or left out. */
    readonly records: number;
    /** The field that was probably meant, or null. */
    readonly suggestion: FieldName | null;
  }[];
  /** Occurrences of names that were too many or too long to keep. */
  readonly others: number;
}

/**
 * The number of remembered positions. Most sources write names in one order, so each position remembers its
 * last name.
 */
const PLACES_MAX: number = CALENDAR_PROPERTIES_MAX;

interface CountedName {
  readonly name: string;
  records: number;
  /** Number of the last record counted for this name, because a line of JSON may repeat a name. */
  lastRecord: number;
}

export class UnservedFieldCounter {
  readonly #counted = new Map<string, CountedName>();
  #others = 0;
  #record = 0;
  readonly #places: { view: DataView; length: number; counted: CountedName | null }[] = [];

  /** @param names start and end of each of `count` names in the view, UTF-8 */
  countNames(view: DataView, names: Int32Array, count: number): void {
    this.#record++;
    for (let n = 0; n < count; n++) {
      const from = names[2 * n]!;
      const length = names[2 * n + 1]! - from;
      const place = this.#places[n];
      const isKnown = place?.length === length && isSame(place.view, 0, view, from, length);
      this.#count(isKnown ? place.counted : this.#learn(view, from, length, n));
    }
  }

  #learn(view: DataView, from: number, length: number, n: number): CountedName | null {
    if (length > 3 * UNSERVED_NAME_UNITS_MAX) return null;
    const bytes = Buffer.from(view.buffer, view.byteOffset + from, length);
    const counted = this.#find(bytes.toString('utf8'));
    if (n < PLACES_MAX) this.#places[n] = { view: viewOf(Uint8Array.from(bytes)), length, counted };
    return counted;
  }

  #find(name: string): CountedName | null {
    if (name.length > UNSERVED_NAME_UNITS_MAX) return null;
    const known = this.#counted.get(name);
    if (known !== undefined) return known;
    if (this.#counted.size >= UNSERVED_FIELDS_KEPT_MAX) return null;
    const counted = { name, records: 0, lastRecord: 0 };
    this.#counted.set(name, counted);
    return counted;
  }

  #count(counted: CountedName | null): void {
    if (counted === null) this.#others++;
    else if (counted.lastRecord !== this.#record) {
      counted.lastRecord = this.#record;
      counted.records++;
    }
  }

  /** @param incomplete fields that some record lacks; only these are suggested */
  finish(incomplete: readonly FieldName[]): UnservedFields {
    const fields = [...this.#counted.values()].map(({ name, records }) => ({
      name,
      records,
      suggestion: suggest(name, incomplete) as FieldName | null,
    }));
    fields.sort((a, b) => b.records - a.records || compareCodePoints(a.name, b.name));
    return { fields, others: this.#others };
  }
}
