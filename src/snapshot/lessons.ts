import { CONFLICT_DIMENSIONS, LESSON_FIELDS } from '../model/fields.js';
import { DictionaryBuilder, type DictionaryImage, NO_CODE } from '../structures/dictionary.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import { radixSort } from '../structures/radix-sort.js';
import { scratch } from '../structures/slabs.js';
import type { OrderedEvents } from './order.js';

/**
 * Rows equal in slot and in LESSON_FIELDS are one lesson, numbered by its first ordinal. A row without a value in the first
 * field is a lesson of its own (NO_CODE). Rows are sorted, not hashed: no choice of values makes this slow.
 */
export function lessonNumbers({ slotOf, columns }: OrderedEvents): Uint32Array {
  const count = slotOf.length;
  const fields = LESSON_FIELDS.map((name) => columns[name].codes);
  const required = fields[0]!;
  const order = scratch.uint32(count);
  for (let ordinal = 0; ordinal < count; ordinal++) order[ordinal] = ordinal;
  const keys = scratch.float64(count);
  // The sort is stable: by slot in the end, and in order within each lesson.
  for (const column of [...fields, slotOf]) {
    // NO_CODE becomes 0, so that the numbers stay as short as there are codes.
    for (let ordinal = 0; ordinal < count; ordinal++) keys[ordinal] = (column[ordinal]! + 1) >>> 0;
    radixSort(order, keys);
  }
  const lessons = scratch.uint32(count);
  let first = 0;
  for (let n = 0; n < count; n++) {
    const ordinal = order[n]!;
    if (n === 0 || !isOneLesson(slotOf, fields, first, ordinal)) first = ordinal;
    lessons[ordinal] = required[ordinal] === NO_CODE ? NO_CODE : first;
  }
  return lessons;
}

function isOneLesson(slotOf: Uint32Array, fields: readonly Uint32Array[], a: number, b: number): boolean {
  if (slotOf[a] !== slotOf[b]) return false;
  for (let n = 0; n < fields.length; n++) if (fields[n]![a] !== fields[n]![b]) return false;
  return true;
}

/**
 * The key of each event in each dimension: its first field that is not null, as text, whichever field it is. An empty text
 * is no key, and an event of zero length has none: it overlaps nothing.
 *
 * @returns `keyOf`: by dimension and ordinal a code of `keys`, or NO_CODE
 */
export function conflictKeys(
  { columns, slotOf, slots }: OrderedEvents,
  hash: KeyedHash,
): { keyOf: Uint32Array[]; keys: DictionaryImage } {
  const count = slotOf.length;
  const keys = new DictionaryBuilder(hash);
  const keyOf = CONFLICT_DIMENSIONS.map((dimension) => {
    const result = scratch.uint32(count).fill(NO_CODE);
    for (const name of dimension.keys) {
      const { codes, dictionary } = columns[name];
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
      const slot = slotOf[ordinal]!;
      const takesTime = slots.startMs[slot] !== slots.endMs[slot];
      column[ordinal] = code !== NO_CODE && takesTime ? recode[code]! : NO_CODE;
    }
  }
  return { keyOf, keys: image };
}
