import { KEY_ROWS_BYTES_MAX } from '../limits.js';
import type { ListPicks, ListRef } from '../query/selection.js';
import type { Rows } from '../snapshot/rows.js';
import type { FieldIndex } from '../snapshot/snapshot.js';
import { buildKeyRows, type KeyRows, keyRowsBytes, LAYOUTS, type RowLayout } from './key-rows.js';

/** Lists that one insertion may look at to make room. */
const EVICTION_STEPS_MAX = 8;

/** What a list takes besides its rows and their places: two buffers and four objects, measured as resident memory. */
const ENTRY_BYTES = 832;

/** One list that is kept. */
interface Entry {
  readonly shelf: Shelf;
  readonly code: number;
  readonly keyRows: KeyRows;
  readonly bytes: number;
  used: boolean;
}

/** The lists of one field in one representation. */
class Shelf {
  readonly layout: RowLayout;
  /** By code. */
  readonly entries: (Entry | undefined)[];
  /** For each code how many of its rows were gathered from the arena so far. */
  readonly gathered: Uint32Array;

  constructor(field: FieldIndex, layout: RowLayout) {
    this.layout = layout;
    this.entries = new Array(field.dictionary.size).fill(undefined);
    this.gathered = new Uint32Array(field.dictionary.size);
  }
}

/**
 * Posting lists with their rows laid side by side, so that a window of one is one copy from one place, and in MessagePack
 * nothing is transcoded. Bounded in bytes, besides a place and a count for each distinct value of a field.
 *
 * A list is laid out once as many of its rows were gathered one by one as it has: the layout costs about what has been
 * spent by then, so at most twice the least possible is ever spent, whatever is asked for. When the cache is full, a list
 * that was not used since the last look at it makes room (the CLOCK algorithm); where all that are looked at were used, the
 * new one has to be asked for as often again.
 */
export class RowCache {
  readonly #rows: Rows;
  readonly #bytesMax: number;
  /** By number of the field and of the layout; each is made when it is asked for. */
  #shelves: (Shelf | undefined)[] = [];
  #clock: Entry[] = [];
  #hand = 0;
  #bytes = 0;
  /** Results that were found here, and those that were not, since the cache was made. */
  hits = 0;
  misses = 0;

  constructor(rows: Rows, bytesMax: number) {
    this.#rows = rows;
    this.#bytesMax = bytesMax;
  }

  /** What is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  get listCount(): number {
    return this.#clock.length;
  }

  /**
   * The materialised lists of a result. At most one is laid out for it: that takes milliseconds, for which nobody should wait
   * several times.
   *
   * @param count entries of the result
   * @returns null where not all of them are there: then the caller gathers the rows from the arena
   */
  find(origin: ListPicks, layout: RowLayout, count: number): KeyRows[] | null {
    const found: KeyRows[] = [];
    let mayAdd = true;
    for (const [n, list] of origin.lists.entries()) {
      const shelf = this.#shelfOf(list.field, layout);
      const entry = shelf.entries[list.code];
      if (entry !== undefined) {
        entry.used = true;
        found.push(entry.keyRows);
      } else if (this.#isDue(shelf, list, entriesOf(origin, n, count)) && mayAdd) {
        mayAdd = false;
        const added = this.#add(shelf, list);
        if (added !== null) found.push(added);
      }
    }
    const isHit = found.length === origin.lists.length;
    if (isHit) this.hits++;
    else this.misses++;
    return isHit ? found : null;
  }

  /** Whether as many of its rows were asked for as it has, with those that are now. */
  #isDue(shelf: Shelf, { field, code }: ListRef, count: number): boolean {
    const gathered = shelf.gathered[code]! + count;
    shelf.gathered[code] = gathered;
    return gathered >= field.postingCount(code);
  }

  #shelfOf(field: FieldIndex, layout: RowLayout): Shelf {
    const place = field.number * LAYOUTS.length + layout.number;
    let shelf = this.#shelves[place];
    if (shelf === undefined) {
      shelf = new Shelf(field, layout);
      this.#shelves[place] = shelf;
    }
    return shelf;
  }

  #add(shelf: Shelf, list: ListRef): KeyRows | null {
    const { code } = list;
    shelf.gathered[code] = 0;
    const rowsBytesMax = Math.min(KEY_ROWS_BYTES_MAX, this.#bytesMax - ENTRY_BYTES);
    const bytes = ENTRY_BYTES + keyRowsBytes(this.#rows, list, shelf.layout, rowsBytesMax);
    if (bytes === Number.POSITIVE_INFINITY || !this.#makeRoom(bytes)) return null;
    const entry = { shelf, code, keyRows: buildKeyRows(this.#rows, list, shelf.layout), bytes, used: false };
    shelf.entries[code] = entry;
    this.#clock.push(entry);
    this.#bytes += bytes;
    return entry.keyRows;
  }

  #makeRoom(bytes: number): boolean {
    for (let step = 0; this.#bytes + bytes > this.#bytesMax; step++) {
      if (step === EVICTION_STEPS_MAX || this.#clock.length === 0) return false;
      if (this.#hand >= this.#clock.length) this.#hand = 0;
      const entry = this.#clock[this.#hand]!;
      if (entry.used) {
        entry.used = false;
        this.#hand++;
      } else this.#removeAtHand(entry);
    }
    return true;
  }

  #removeAtHand(entry: Entry): void {
    entry.shelf.entries[entry.code] = undefined;
    this.#bytes -= entry.bytes;
    const last = this.#clock.pop();
    if (last !== undefined && last !== entry) this.#clock[this.#hand] = last;
  }

  /** Drops everything. What was handed out stays valid. */
  clear(): void {
    this.#shelves = [];
    this.#clock = [];
    this.#hand = 0;
    this.#bytes = 0;
  }
}

/** How many entries of a result come from one of its lists. */
function entriesOf({ listOf }: ListPicks, list: number, count: number): number {
  if (listOf === null) return count;
  let entries = 0;
  for (const from of listOf) if (from === list) entries++;
  return entries;
}
