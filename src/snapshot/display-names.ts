import { NAMED_FIELDS, type NamedFieldName } from '../model/fields.js';
import { compareCodePoints } from '../model/text.js';
import { Dictionary, DictionaryBuilder, NO_CODE } from '../structures/dictionary.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import { type CodeColumn, sharedCodeColumn } from '../structures/posting-lists.js';
import type { OrderedColumn, OrderedEvents } from './columns.js';
import type { FieldImage, NamesImage, SnapshotImage } from './image.js';

/** Gives each value of a field its name by the rule of NAMED_FIELDS. The order of records does not matter. */
export function buildNames(
  { columns }: OrderedEvents,
  fields: SnapshotImage['fields'],
  hash: KeyedHash,
): SnapshotImage['names'] {
  const names = NAMED_FIELDS.map(({ name, namedBy }) => {
    const namedColumns = namedBy.map((by) => (columns as Readonly<Record<string, OrderedColumn>>)[by]!);
    return [name, namesOf(fields[name], namedColumns, hash)];
  });
  return Object.fromEntries(names) as Record<NamedFieldName, NamesImage>;
}

function namesOf(field: FieldImage, columns: readonly OrderedColumn[], hash: KeyedHash): NamesImage {
  const { start } = field.postings;
  const count = start.length - 1;
  const builder = new DictionaryBuilder(hash);
  const built = new Uint32Array(count).fill(NO_CODE);
  for (const column of columns) {
    if (column.codes.length === 0) continue;
    const counts = new Uint32Array(column.dictionary.size);
    for (let code = 0; code < count; code++) {
      if (built[code] !== NO_CODE) continue;
      const ordinals = field.postings.ordinals.subarray(start[code], start[code + 1]);
      built[code] = builder.intern(mostFrequentName(ordinals, column, counts));
    }
  }
  const { image, recode } = builder.finish();
  const codes = sharedCodeColumn(count, recode.length);
  for (let code = 0; code < count; code++) {
    codes[code] = built[code] === NO_CODE ? NO_CODE : recode[built[code]!]!;
  }
  return { dictionary: image, codes };
}

/** @param counts zero for each code of the column, before and after */
function mostFrequentName(
  ordinals: Uint32Array,
  { codes, dictionary }: OrderedColumn,
  counts: Uint32Array,
): string | null {
  for (let n = 0; n < ordinals.length; n++) {
    const code = codes[ordinals[n]!]!;
    if (code !== NO_CODE) counts[code]!++;
  }
  let best: string | null = null;
  let bestCount = 0;
  for (let n = 0; n < ordinals.length; n++) {
    const code = codes[ordinals[n]!]!;
    // Zero: seen before, or less frequent.
    if (code === NO_CODE || counts[code] === 0) continue;
    const name = dictionary.valueOf(code)!;
    const isBetter =
      counts[code]! > bestCount || (counts[code] === bestCount && compareCodePoints(name, best!) < 0);
    if (name !== '' && isBetter) {
      best = name;
      bestCount = counts[code]!;
    }
    counts[code] = 0;
  }
  return best;
}

/** Reads the names of one field. Their codes are in order of code points. */
export class DisplayNames {
  readonly dictionary: Dictionary;
  /** By code of the field. */
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
