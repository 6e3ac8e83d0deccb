import { CONFLICT_DIMENSIONS, type FieldName } from '../model/fields.js';
import { DictionaryBuilder, type DictionaryImage, NO_CODE } from '../structures/dictionary.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import { radixSort } from '../structures/radix-sort.js';
import { scratch } from '../structures/slabs.js';

/**
 * Numbers the lessons: rows equal in slot and in every lesson field are one, see LESSON_FIELDS. A row without a value in
 * the first of them is a lesson of its own (NO_CODE).
 *
 * Rows are sorted, not hashed: no choice of values makes this slow.
 *
 * @param slotOf by ordinal, ascending
 * @param columns the codes of each lesson field, by ordinal
 * @returns for each ordinal the ordinal of its lesson's first row
 */
export function lessonNumbers(slotOf: Uint32Array, columns: readonly Uint32Array[]): Uint32Array {
  const count = slotOf.length;
  const [required] = columns;
  const order = scratch.uint32(count);
  for (let ordinal = 0; ordinal < count; ordinal++) order[ordinal] = ordinal;
  const keys = scratch.float64(count);
  // The sort is stable: by slot in the end, and in order within each lesson.
  for (const column of [...columns, slotOf]) {
    // NO_CODE becomes 0, so that the numbers stay as short as there are codes.
    for (let ordinal = 0; ordinal < count; ordinal++) keys[ordinal] = (column[ordinal]! + 1) >>> 0;
    radixSort(order, keys);
  }
  const lessons = scratch.uint32(count);
  let first = 0;
  for (let n = 0; n < count; n++) {
    const ordinal = order[n]!;
    if (n === 0 || !isOneLesson(slotOf, columns, first, ordinal)) first = ordinal;
    lessons[ordinal] = required?.[ordinal] === NO_CODE ? NO_CODE : first;
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
    const result = scratch.uint32(count).fill(NO_CODE);
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
