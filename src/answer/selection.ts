import { countRuns } from '../base/structures/ordinal-set.js';
import { lowerBound } from '../base/structures/search.js';
import { results } from '../base/structures/slabs.js';
import type { FieldIndex } from '../snapshot/snapshot.js';

export interface ListRef {
  readonly field: FieldIndex;
  readonly code: number;
}

/** The positions of entries in posting lists, for the row cache. */
export interface ListPicks {
  readonly lists: readonly ListRef[];
  /** The list of each entry; null for a single list. */
  readonly listOf: Uint32Array | null;
  /** Positions in the lists; null for consecutive positions in a single list, from `first` on. */
  readonly positions: Uint32Array | null;
  readonly first: number;
}

/** Some entries of one posting list: at `positions` or, if null, `count` of them from `first` on. */
export interface Picks {
  readonly ref: ListRef;
  readonly positions: Uint32Array | null;
  readonly first: number;
  readonly count: number;
}

/** May be a view of the snapshot. */
export function ordinalsOf({ ref: { field, code }, positions, first, count }: Picks): Uint32Array {
  const start = field.start[code]!;
  if (positions === null) return field.postings.subarray(start + first, start + first + count);
  const ordinals = results.uint32(count);
  for (let i = 0; i < count; i++) ordinals[i] = field.postings[start + positions[i]!]!;
  return ordinals;
}

/** Ascending ordinals without repeats, as a list or runs. May be a view of the snapshot. */
export class Selection {
  readonly count: number;
  readonly origin: ListPicks | null;
  /** Null for runs, and until the ordinals are read. */
  #list: Uint32Array | null;
  /** Pairs [first, end), ascending and disjoint; null for a list. */
  readonly #runs: Uint32Array | null;

  private constructor(
    list: Uint32Array | null,
    runs: Uint32Array | null,
    origin: ListPicks | null,
    count: number,
  ) {
    this.#list = list;
    this.#runs = runs;
    this.origin = origin;
    this.count = count;
  }

  static ofList(list: Uint32Array, origin: ListPicks | null = null): Selection {
    return new Selection(list, null, origin, list.length);
  }

  /** Entries of one list, whose ordinals are read only if they are wanted. */
  static ofPicks({ ref, positions, first, count }: Picks): Selection {
    return new Selection(null, null, { lists: [ref], listOf: null, positions, first }, count);
  }

  static ofRuns(runs: Uint32Array): Selection {
    return new Selection(null, runs, null, countRuns(runs));
  }

  get ordinals(): Uint32Array | null {
    if (this.#list === null && this.#runs === null) {
      const { lists, positions, first } = this.origin as ListPicks;
      this.#list = ordinalsOf({ ref: lists[0]!, positions, first, count: this.count });
    }
    return this.#list;
  }

  positionOf(ordinal: number): number {
    const runs = this.#runs;
    if (runs === null) return lowerBound(this.ordinals!, ordinal);
    let position = 0;
    for (let r = 0; r < runs.length; r += 2) {
      if (ordinal < runs[r + 1]!) return position + Math.max(0, ordinal - runs[r]!);
      position += runs[r + 1]! - runs[r]!;
    }
    return position;
  }

  slice(from: number, to: number): Selection {
    if (from <= 0 && to >= this.count) return this;
    const runs = this.#runs;
    if (runs === null) {
      return Selection.ofList(this.ordinals!.subarray(from, to), slicePicks(this.origin, from, to));
    }
    const bounds: number[] = [];
    let position = 0;
    for (let r = 0; r < runs.length && position < to; r += 2) {
      const first = runs[r]!;
      const length = runs[r + 1]! - first;
      const low = Math.max(0, from - position);
      const high = Math.min(length, to - position);
      if (low < high) bounds.push(first + low, first + high);
      position += length;
    }
    return Selection.ofRuns(results.copyUint32(bounds));
  }

  last(): number {
    const runs = this.#runs;
    return runs === null ? this.ordinals!.at(-1)! : runs.at(-1)! - 1;
  }

  /** Visits maximal runs [first, end) in ascending order: adjacent runs are joined. */
  forEachRun(visit: (first: number, end: number) => void): void {
    const runs = this.#runs;
    if (runs !== null) {
      for (let r = 0; r < runs.length; r += 2) visit(runs[r]!, runs[r + 1]!);
      return;
    }
    const list = this.ordinals!;
    for (let from = 0, to = 0; from < list.length; from = to) {
      to = endOfRun(list, from);
      visit(list[from]!, list[to - 1]! + 1);
    }
  }

  /** Like forEachRun, for callers that may stop early. */
  *runs(): Generator<readonly [first: number, end: number]> {
    const runs = this.#runs;
    if (runs !== null) {
      for (let r = 0; r < runs.length; r += 2) yield [runs[r]!, runs[r + 1]!];
      return;
    }
    const list = this.ordinals!;
    for (let from = 0, to = 0; from < list.length; from = to) {
      to = endOfRun(list, from);
      yield [list[from]!, list[to - 1]! + 1];
    }
  }

  forEach(visit: (ordinal: number) => void): void {
    this.forEachRun((first, end) => {
      for (let ordinal = first; ordinal < end; ordinal++) visit(ordinal);
    });
  }

  /** Visits pieces of the posting lists in order: adjacent pieces of one list are joined. */
  forEachPiece(origin: ListPicks, visit: (list: number, from: number, to: number) => void): void {
    const { listOf, positions, first } = origin;
    if (positions === null) {
      if (this.count > 0) visit(0, first, first + this.count);
      return;
    }
    for (let from = 0, to = 0; from < positions.length; from = to) {
      const list = listOf === null ? 0 : listOf[from]!;
      to = from + 1;
      while (
        to < positions.length &&
        positions[to] === positions[to - 1]! + 1 &&
        (listOf === null || listOf[to] === list)
      ) {
        to++;
      }
      visit(list, positions[from]!, positions[to - 1]! + 1);
    }
  }
}

function slicePicks(origin: ListPicks | null, from: number, to: number): ListPicks | null {
  if (origin === null) return null;
  const { lists, listOf, positions, first } = origin;
  return {
    lists,
    listOf: listOf === null ? null : listOf.subarray(from, to),
    positions: positions === null ? null : positions.subarray(from, to),
    first: first + from,
  };
}

/** The end of the run that begins at `from`; at least `from` + 1, so loops over runs terminate. */
function endOfRun(list: Uint32Array, from: number): number {
  let to = from + 1;
  while (to < list.length && list[to] === list[to - 1]! + 1) to++;
  return to;
}
