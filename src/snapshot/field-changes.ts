import { INDEXED_FIELDS } from '../base/model/fields.js';
import type { FieldIndex, Snapshot } from './snapshot.js';

/** One field of two consecutive snapshots. */
export interface FieldChange {
  readonly after: FieldIndex;
  /** The new code of the value that had `code`; NO_CODE if no event has the value any more. */
  codeAfter(code: number): number;
  /** Whether the posting lists of `code` and of its new code have the same rows. */
  hasSameList(code: number): boolean;
}

/**
 * The changes of all fields, by the number of the field.
 *
 * @param ids of all events that differ
 */
export function fieldChanges(before: Snapshot, after: Snapshot, ids: readonly string[]): FieldChange[] {
  const ordinals = ids.map((id) => [before.ordinalOf(id), after.ordinalOf(id)] as const);
  return INDEXED_FIELDS.map(({ name }) => {
    const [old, present] = [before.field(name), after.field(name)];
    const isSame = present.dictionary.hasSameValues(old.dictionary);
    const touched = new Set<number>();
    for (const [b, a] of ordinals) {
      if (b !== -1) touched.add(old.codes[b]!);
      const code = a === -1 ? present.dictionary.size : present.codes[a]!;
      if (code < present.dictionary.size) {
        touched.add(isSame ? code : old.dictionary.codeOf(present.dictionary.valueOf(code)));
      }
    }
    return {
      after: present,
      codeAfter: (code) => (isSame ? code : present.dictionary.codeOf(old.dictionary.valueOf(code))),
      hasSameList: (code) => !touched.has(code),
    };
  });
}
