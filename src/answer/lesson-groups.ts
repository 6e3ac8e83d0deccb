import { lowerBound } from '../base/structures/search.js';
import { results } from '../base/structures/slabs.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Selection } from './selection.js';

/** The rows of a selection, where those of one lesson at one time are joined under the first of them. */
export class LessonGroups {
  /** The first row of each group, ascending. */
  readonly #leaders: Uint32Array;
  /** Group g is [start[g], start[g + 1]) of `members`. */
  readonly #start: Uint32Array;
  readonly #members: Uint32Array;

  constructor(snapshot: Snapshot, selection: Selection) {
    const { codes, dictionary } = snapshot.lessons;
    const { count } = selection;
    const leaders: number[] = [];
    const sizes: number[] = [];
    const ordinals = new Uint32Array(count);
    const groupOf = new Uint32Array(count);
    /** The groups of the present slot, by the code of their lesson. */
    const known = new Map<number, number>();
    let slotEnd = 0;
    let n = 0;
    selection.forEach((ordinal) => {
      if (ordinal >= slotEnd) {
        known.clear();
        slotEnd = snapshot.firstOrdinal(snapshot.slotOf(ordinal) + 1);
      }
      const code = codes[ordinal] as number;
      let group = known.get(code);
      if (group === undefined || code >= dictionary.size) {
        group = leaders.push(ordinal) - 1;
        sizes.push(0);
        known.set(code, group);
      }
      sizes[group] = (sizes[group] as number) + 1;
      ordinals[n] = ordinal;
      groupOf[n++] = group;
    });
    this.#leaders = results.copyUint32(leaders);
    this.#start = new Uint32Array(leaders.length + 1);
    for (const [group, size] of sizes.entries())
      this.#start[group + 1] = (this.#start[group] as number) + size;
    this.#members = new Uint32Array(count);
    const next = this.#start.slice();
    for (let place = 0; place < count; place++) {
      const group = groupOf[place] as number;
      const at = next[group] as number;
      this.#members[at] = ordinals[place] as number;
      next[group] = at + 1;
    }
  }

  /** The rows of the group with this first row; null for another row. */
  membersOf(leader: number): Uint32Array | null {
    const group = lowerBound(this.#leaders, leader);
    if (this.#leaders[group] !== leader) return null;
    return this.#members.subarray(this.#start[group], this.#start[group + 1]);
  }
}
