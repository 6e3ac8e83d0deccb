import { NO_CODE } from '../base/structures/dictionary.js';
import { scratch } from '../base/structures/slabs.js';

/** A column of lessonId or of one of LESSON_FIELDS. Codes from `codeCount` on mean null. */
export interface LessonColumn {
  readonly codes: Uint32Array;
  readonly codeCount: number;
}

/**
 * Rows with equal lessonId are one lesson. Of the other rows, adjacent ones with equal slot and LESSON_FIELDS are one
 * lesson. A lesson is numbered by its first row. Rows without a lessonId and without a value in the first field are
 * separate lessons (NO_CODE). Dividing groups is fast for all values, unlike hashing.
 *
 * @param slots by row; the rows of a slot, or of a slot and a key, are adjacent
 * @param columns by row, in the order of LESSON_FIELDS
 * @param lessonIds by row; null if no event has a lessonId
 */
export function lessonsOfRows(
  slots: Uint32Array,
  columns: readonly LessonColumn[],
  lessonIds: LessonColumn | null,
): Uint32Array {
  const lessons = scratch.uint32(slots.length);
  const { codes: required, codeCount } = columns[0]!;
  const all = lessonIds === null ? columns : [...columns, lessonIds];
  const { rows, first } = all.reduce(divide, runsOf(slots));
  for (let group = 0; group + 1 < first.length; group++) {
    const lesson = rows[first[group]!]!;
    for (let place = first[group]!; place < first[group + 1]!; place++) {
      const row = rows[place]!;
      lessons[row] = required[row]! < codeCount ? lesson : NO_CODE;
    }
  }
  if (lessonIds !== null) numberByLessonId(lessons, lessonIds);
  return lessons;
}

function numberByLessonId(lessons: Uint32Array, { codes, codeCount }: LessonColumn): void {
  const firstRow = scratch.uint32(codeCount).fill(NO_CODE);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code >= codeCount) continue;
    if (firstRow[code] === NO_CODE) firstRow[code] = row;
    lessons[row] = firstRow[code]!;
  }
}

/** Group g is rows [first[g], first[g + 1]), ascending. */
interface Groups {
  readonly rows: Uint32Array;
  readonly first: Uint32Array;
}

function runsOf(slots: Uint32Array): Groups {
  const count = slots.length;
  const rows = scratch.uint32(count);
  const first = scratch.uint32(count + 1);
  let groups = 0;
  for (let row = 0; row < count; row++) {
    rows[row] = row;
    if (row === 0 || slots[row] !== slots[row - 1]) first[groups++] = row;
  }
  first[groups] = count;
  return { rows, first: first.subarray(0, groups + 1) };
}

/** Divides groups by the codes of their rows, in time proportional to the rows. */
function divide({ rows, first }: Groups, { codes, codeCount }: LessonColumn): Groups {
  const divided = scratch.uint32(rows.length);
  const firsts = scratch.uint32(rows.length + 1);
  let groups = 0;
  /**
   * An entry for each code, and a last one for null. Each entry is first the number of rows, and later the
   * place of the next row.
   */
  const counts = scratch.uint32(codeCount + 1);
  const next = scratch.uint32(codeCount + 1);
  for (let group = 0; group + 1 < first.length; group++) {
    const from = first[group]!;
    const to = first[group + 1]!;
    for (let place = from; place < to; place++) counts[Math.min(codes[rows[place]!]!, codeCount)]!++;
    let end = from;
    for (let place = from; place < to; place++) {
      const code = Math.min(codes[rows[place]!]!, codeCount);
      if (counts[code] !== 0) {
        firsts[groups++] = next[code] = end;
        end += counts[code]!;
        counts[code] = 0;
      }
      divided[next[code]!++] = rows[place]!;
    }
  }
  firsts[groups] = rows.length;
  return { rows: divided, first: firsts.subarray(0, groups + 1) };
}
