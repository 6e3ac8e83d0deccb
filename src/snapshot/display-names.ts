import { NAMED_FIELDS, type NamedFieldName } from '../base/model/fields.js';
import { Dictionary, DictionaryBuilder, NO_CODE } from '../base/structures/dictionary.js';
import type { KeyedHash } from '../base/structures/keyed-hash.js';
import { type CodeColumn, sharedCodeColumn } from '../base/structures/posting-lists.js';
import {
  type ColumnImage,
  columnsOf,
  type FieldImage,
  type NamesImage,
  type SnapshotImage,
} from './image.js';

type Columns = Pick<SnapshotImage, 'fields' | 'columns'>;

/** Gives each value of a field its name by the rule of NAMED_FIELDS. The order of records does not matter. */
export function buildNames(
  fields: SnapshotImage['fields'],
  columns: SnapshotImage['columns'],
  hash: KeyedHash,
): SnapshotImage['names'] {
  const names = NAMED_FIELDS.map(({ name }) => [
    name,
    namesOf(fields[name], namerOf(name, { fields, columns }), hash),
  ]);
  return Object.fromEntries(names) as Record<NamedFieldName, NamesImage>;
}

function namesOf({ postings }: FieldImage, namer: Namer, hash: KeyedHash): NamesImage {
  const { start, ordinals } = postings;
  const count = start.length - 1;
  const builder = new DictionaryBuilder(hash);
  const built = new Uint32Array(count);
  for (let code = 0; code < count; code++) {
    built[code] = builder.intern(namer.nameOf(ordinals.subarray(start[code], start[code + 1])));
  }
  const { image, recode } = builder.finish();
  const codes = sharedCodeColumn(count, recode.length);
  for (let code = 0; code < count; code++) {
    codes[code] = built[code] === NO_CODE ? NO_CODE : recode[built[code]!]!;
  }
  return { dictionary: image, codes };
}

export function namerOf(name: NamedFieldName, image: Columns): Namer {
  const all = columnsOf(image);
  const namedBy = NAMED_FIELDS.find((field) => field.name === name)?.namedBy ?? [];
  return new Namer(namedBy.map((by) => all[by]!));
}

/** Chooses names by the rule of NAMED_FIELDS. */
export class Namer {
  readonly #columns: readonly {
    readonly codes: CodeColumn;
    readonly dictionary: Dictionary;
    /** Indexed by code; zero before and after a choice. */
    readonly counts: Uint32Array;
  }[];

  constructor(columns: readonly ColumnImage[]) {
    this.#columns = columns.map(({ codes, dictionary }) => ({
      codes,
      dictionary: new Dictionary(dictionary),
      counts: new Uint32Array(dictionary.start.length - 1),
    }));
  }

  /** @param ordinals the events of a value @returns null if none of these events has a name for the value */
  nameOf(ordinals: Uint32Array): string | null {
    for (const { codes, dictionary, counts } of this.#columns) {
      if (dictionary.size === 0) continue;
      const best = mostFrequentCode(ordinals, codes, counts, dictionary.start[1] === 0 ? 1 : 0);
      if (best !== NO_CODE) return dictionary.valueOf(best);
    }
    return null;
  }
}

/**
 * Of equally frequent codes, the smallest: codes are in order of code points.
 *
 * @param firstName smaller codes are not names
 */
function mostFrequentCode(
  ordinals: Uint32Array,
  codes: CodeColumn,
  counts: Uint32Array,
  firstName: number,
): number {
  for (let n = 0; n < ordinals.length; n++) {
    const code = codes[ordinals[n]!]!;
    if (code < counts.length) counts[code]!++;
  }
  let best = NO_CODE;
  let bestCount = 0;
  for (let n = 0; n < ordinals.length; n++) {
    const code = codes[ordinals[n]!]!;
    // Zero: this code was counted before.
    if (code >= counts.length || counts[code] === 0) continue;
    const count = counts[code]!;
    counts[code] = 0;
    if (code < firstName || count < bestCount || (count === bestCount && code > best)) continue;
    best = code;
    bestCount = count;
  }
  return best;
}

/** Reads the names of one field. Codes of names are in order of code points. */
export class DisplayNames {
  readonly dictionary: Dictionary;
  /** Indexed by code of the field. */
  readonly codes: CodeColumn;

  constructor({ dictionary, codes }: NamesImage) {
    this.dictionary = new Dictionary(dictionary);
    this.codes = codes;
  }

  /** Null for no name, and for an unused code. */
  nameOf(code: number): string | null {
    const nameCode = this.codes[code] ?? NO_CODE;
    return nameCode < this.dictionary.size ? this.dictionary.valueOf(nameCode) : null;
  }
}
