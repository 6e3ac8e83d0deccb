import { CONFLICT_DIMENSIONS, type FieldName } from '../model/fields.js';
import { DictionaryBuilder, type DictionaryImage, NO_CODE } from '../structures/dictionary.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import { scratchUint32 } from '../structures/scratch.js';

/**
 * Numbers the lessons: rows equal in slot and in every lesson field are one, see LESSON_FIELDS. A row without a value in
 * the first of them is a lesson of its own (NO_CODE).
 *
 * @param slotOf by ordinal, ascending
 * @param columns the codes of each lesson field, by ordinal
 * @param hash keyed: whoever writes the source chooses slots and codes
 */
export function lessonNumbers(
  slotOf: Uint32Array,
  columns: readonly Uint32Array[],
  hash: KeyedHash,
): Uint32Array {
  const count = slotOf.length;
  const lessons = scratchUint32(count);
  const [required] = columns;
  let size = 2;
  while (size < 2 * count) size *= 2;
  /** The first row of each lesson, as its ordinal + 1, by a hash of what its rows have in common. */
  const table = scratchUint32(size);
  const common = new DataView(new ArrayBuffer(4 + 4 * columns.length));
  for (let ordinal = 0; ordinal < count; ordinal++) {
    if (required?.[ordinal] === NO_CODE) {
      lessons[ordinal] = NO_CODE;
      continue;
    }
    common.setUint32(0, slotOf[ordinal]!, true);
    for (let n = 0; n < columns.length; n++) common.setUint32(4 + 4 * n, columns[n]![ordinal]!, true);
    let place = hash.bytes(common, 0, common.byteLength) & (size - 1);
    // Terminates: at least half of the places are free.
    while (table[place] !== 0 && !isOneLesson(slotOf, columns, table[place]! - 1, ordinal)) {
      place = (place + 1) & (size - 1);
    }
    if (table[place] === 0) table[place] = ordinal + 1;
    // The ordinal of a lesson's first row is its number: unique over all slots.
    lessons[ordinal] = table[place]! - 1;
  }
  return lessons;
}

function isOneLesson(slotOf: Uint32Array, columns: readonly Uint32Array[], a: number, b: number): boolean {
  if (slotOf[a] !== slotOf[b]) return false;
  for (let n = 0; n < columns.length; n++) if (columns[n]![a] !== columns[n]![b]) return false;
  return true;
}

/**
 * The key of each event in each conflict dimension: the first of the dimension's fields that is not null. Keys are
 * compared as text, whichever field they come from. An empty text names nobody, and so is no key.
 */
export function conflictKeys(
  count: number,
  codesOf: (name: FieldName) => Uint32Array,
  dictionaryOf: (name: FieldName) => DictionaryBuilder,
  hash: KeyedHash,
): { keyOf: Uint32Array[]; keys: DictionaryImage } {
  const keys = new DictionaryBuilder(hash);
  const keyOf = CONFLICT_DIMENSIONS.map((dimension) => {
    const result = scratchUint32(count).fill(NO_CODE);
    for (const name of dimension.keys) {
      const codes = codesOf(name);
      const dictionary = dictionaryOf(name);
      const empty = dictionary.find('');
      const keyOfCode = new Uint32Array(dictionary.size).fill(NO_CODE);
      for (let ordinal = 0; ordinal < count; ordinal++) {
        const code = codes[ordinal]!;
        if (code === NO_CODE || code === empty || result[ordinal] !== NO_CODE) continue;
        if (keyOfCode[code] === NO_CODE) keyOfCode[code] = keys.intern(dictionary.valueOf(code));
        result[ordinal] = keyOfCode[code]!;
      }
    }
    return result;
  });
  const { image, recode } = keys.finish();
  for (const column of keyOf) {
    for (let ordinal = 0; ordinal < count; ordinal++) {
      const code = column[ordinal]!;
      if (code !== NO_CODE) column[ordinal] = recode[code]!;
    }
  }
  return { keyOf, keys: image };
}
