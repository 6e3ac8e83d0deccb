import { CONFLICT_DIMENSIONS, type FieldName } from '../model/fields.js';
import { DictionaryBuilder, type DictionaryImage, NO_CODE } from '../structures/dictionary.js';

/**
 * Numbers the lessons: rows equal in slot and in every lesson field are one, see LESSON_FIELDS. A row without a value in
 * the first of them is a lesson of its own (NO_CODE).
 *
 * @param slotOf by ordinal, ascending
 * @param columns the codes of each lesson field, by ordinal
 */
export function lessonNumbers(slotOf: Uint32Array, columns: readonly Uint32Array[]): Uint32Array {
  const lessons = new Uint32Array(slotOf.length);
  const [required] = columns;
  let numbers = new Map<string, number>();
  let slot = -1;
  for (let ordinal = 0; ordinal < slotOf.length; ordinal++) {
    if (slotOf[ordinal] !== slot) {
      slot = slotOf[ordinal]!;
      numbers = new Map();
    }
    if (required?.[ordinal] === NO_CODE) {
      lessons[ordinal] = NO_CODE;
      continue;
    }
    let signature = '';
    for (const codes of columns) signature += `${codes[ordinal]} `;
    const known = numbers.get(signature);
    // The ordinal of a lesson's first row is its number: unique over all slots.
    lessons[ordinal] = known ?? ordinal;
    if (known === undefined) numbers.set(signature, ordinal);
  }
  return lessons;
}

/**
 * The key of each event in each conflict dimension: the first of the dimension's fields that is not null. Keys are
 * compared as text, whichever field they come from. An empty text names nobody, and so is no key.
 */
export function conflictKeys(
  count: number,
  codesOf: (name: FieldName) => Uint32Array,
  dictionaryOf: (name: FieldName) => DictionaryBuilder,
): { keyOf: Uint32Array[]; keys: DictionaryImage } {
  const keys = new DictionaryBuilder();
  const keyOf = CONFLICT_DIMENSIONS.map((dimension) => {
    const result = new Uint32Array(count).fill(NO_CODE);
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
