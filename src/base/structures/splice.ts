import { Dictionary, type DictionaryImage, NO_CODE } from './dictionary.js';
import type { CodeColumn } from './posting-lists.js';
import { shared } from './slabs.js';

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Items [from, to) of the old sequence are at [at, at + to - from) of the new sequence. */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

/** How a sequence becomes another: some items are removed, some are added, and the others keep their order. */
export class Splice {
  /** Lengths of the old and the new sequence. */
  readonly before: number;
  readonly after: number;
  /** Old places of removed items, ascending. */
  readonly removed: Uint32Array;
  /** New places of added items, ascending. */
  readonly inserted: Uint32Array;
  readonly #runs: readonly Run[];
  #newPlaces: Uint32Array | null = null;

  /**
   * @param removed old places, ascending
   * @param insertedBefore for each added item, the old place of the item after it, ascending; `before` for the
   * end
   */
  constructor(before: number, removed: ArrayLike<number>, insertedBefore: ArrayLike<number>) {
    const runs: Run[] = [];
    this.before = before;
    this.after = before - removed.length + insertedBefore.length;
    this.removed = Uint32Array.from(removed);
    this.inserted = new Uint32Array(insertedBefore.length);
    let from = 0;
    let at = 0;
    let g = 0;
    let c = 0;
    // Terminates: each round takes one item of `removed` or `insertedBefore`.
    while (g < removed.length || c < insertedBefore.length) {
      const nextRemoved = removed[g] ?? before;
      const nextInserted = insertedBefore[c] ?? Number.POSITIVE_INFINITY;
      const to = Math.min(nextRemoved, nextInserted);
      if (to > from) {
        runs.push({ from, to, at });
        at += to - from;
        from = to;
      }
      if (nextInserted <= nextRemoved) this.inserted[c++] = at++;
      else {
        g++;
        from = to + 1;
      }
    }
    if (from < before) runs.push({ from, to: before, at });
    this.#runs = runs;
  }

  /** Replaces the items at these places, which are ascending. */
  static inPlace(length: number, places: readonly number[]): Splice {
    return new Splice(
      length,
      places,
      places.map((place) => place + 1),
    );
  }

  get isEmpty(): boolean {
    return this.removed.length === 0 && this.inserted.length === 0;
  }

  /** Whether a remaining item gets another place. */
  get isShifted(): boolean {
    return this.#runs.some(({ from, at }) => from !== at);
  }

  /** The new place of an item, or -1 if it is removed or does not exist. */
  newPlaceOf(place: number): number {
    const run = this.#runs.findLast(({ from, to }) => from <= place && place < to);
    return run === undefined ? -1 : run.at + place - run.from;
  }

  /** Copies the remaining items, as bytes. The caller decides types and contents of added items. */
  copy<Items extends Numbers>(old: Items, next: Items): Items {
    for (const { from, to, at } of this.#runs) next.set(old.subarray(from, to), at);
    return next;
  }

  /** Copies numbers of the remaining items, each as `map[number]`; numbers without an entry become NO_CODE. */
  copyMapped(old: CodeColumn, next: CodeColumn, map: Uint32Array): void {
    for (const { from, to, at } of this.#runs) {
      for (let place = from, m = at; place < to; place++, m++) {
        const number = old[place]!;
        next[m] = number < map.length ? map[number]! : NO_CODE;
      }
    }
  }

  /** For each old place, the new place, or NO_CODE for a removed item. */
  get newPlaces(): Uint32Array {
    if (this.#newPlaces !== null) return this.#newPlaces;
    const places = new Uint32Array(this.before).fill(NO_CODE);
    for (const { from, to, at } of this.#runs) {
      for (let place = from, next = at; place < to; place++, next++) places[place] = next;
    }
    this.#newPlaces = places;
    return places;
  }

  /**
   * Returns `start` for the new sequence. Item n of a sequence has pieces [start[n], start[n + 1]). `lengths`
   * are the lengths of the added items.
   */
  starts(start: Uint32Array, lengths: ArrayLike<number>): Uint32Array {
    const next = shared.uint32(this.after + 1);
    next[0] = start[0]!;
    let c = 0;
    const takeUpTo = (place: number): void => {
      for (; c < this.inserted.length && this.inserted[c]! < place; c++) {
        next[this.inserted[c]! + 1] = next[this.inserted[c]!]! + lengths[c]!;
      }
    };
    for (const { from, to, at } of this.#runs) {
      takeUpTo(at);
      const shift = next[at]! - start[from]!;
      if (shift === 0) next.set(start.subarray(from + 1, to + 1), at + 1);
      else for (let n = from + 1, m = at + 1; n <= to; n++, m++) next[m] = start[n]! + shift;
    }
    takeUpTo(this.after);
    return next;
  }

  /** Copies the pieces of the remaining items. */
  copyPieces<Items extends Numbers>(
    start: Uint32Array,
    old: Items,
    nextStart: Uint32Array,
    next: Items,
  ): Items {
    for (const { from, to, at } of this.#runs) {
      next.set(old.subarray(start[from], start[to]), nextStart[at]);
    }
    return next;
  }
}

/**
 * Removes values from a dictionary and adds others. The result equals what DictionaryBuilder makes from the
 * same values.
 *
 * @param removed codes, ascending
 * @param inserted distinct values that the dictionary does not have
 * @returns `splice` of the codes, and the new values in the order of `splice.inserted`
 */
export function spliceDictionary(
  image: DictionaryImage,
  removed: readonly number[],
  inserted: Iterable<string>,
): { image: DictionaryImage; splice: Splice; values: readonly string[] } {
  const dictionary = new Dictionary(image);
  const values = [...inserted].map((value) => ({ value, bytes: Buffer.from(value, 'utf8') }));
  values.sort((a, b) => a.bytes.compare(b.bytes));
  const places = values.map(({ bytes }) => dictionary.placeOf(bytes));
  const splice = new Splice(dictionary.size, removed, places);
  const texts = values.map(({ value }) => value);
  if (splice.isEmpty) return { image, splice, values: texts };
  const lengths = values.map(({ bytes }) => bytes.length);
  const start = splice.starts(image.start, lengths);
  const bytes = splice.copyPieces(image.start, image.bytes, start, shared.uint8(start[splice.after]!));
  for (const [n, value] of values.entries()) bytes.set(value.bytes, start[splice.inserted[n]!]);
  return { image: { bytes, start }, splice, values: texts };
}
