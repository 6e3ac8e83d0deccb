import { BODY_SLICE_BYTES } from '../base/limits.js';
import type { Rows } from '../snapshot/rows.js';
import { allocateSlice, releaseSlice } from './body.js';
import { type ListLayout, NO_ROOM } from './row-layout.js';

/** Longest time of a slice. Warm code fills a slice in less than a millisecond. */
const SLICE_MS = 4;
/**
 * The clock is read once for this many rows, which take far less than a millisecond even before the code is
 * compiled.
 */
const ROWS_BETWEEN_LOOKS = 8;

/** Ends slices in time. Until the code of a representation is compiled, a row takes twenty times as long. */
export class SliceClock {
  readonly #now: () => number;
  #rows = 0;
  #endMs = 0;

  /** @param now milliseconds; for tests */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  beginSlice(): void {
    this.#rows = 0;
    this.#endMs = this.#now() + SLICE_MS;
  }

  /** Call this after each row. @returns whether the slice has taken its time */
  isOver(): boolean {
    return ++this.#rows % ROWS_BETWEEN_LOOKS === 0 && this.#now() >= this.#endMs;
  }
}

/**
 * All rows of a snapshot in one representation. Readers share the chunks: the first reader writes a chunk,
 * and later readers reuse it.
 */
export class KeptRows {
  readonly #rows: Rows;
  readonly #layout: ListLayout;
  readonly #reserve: (bytes: number) => boolean;
  readonly #clock: SliceClock;
  readonly #chunks: Buffer[] = [];
  /** The first row after all chunks. */
  #next = 0;
  #byteLength = 0;
  #isGivenUp = false;

  /** @param reserve returns whether there is room for a chunk */
  constructor(
    rows: Rows,
    layout: ListLayout,
    reserve: (bytes: number) => boolean,
    clock: SliceClock = new SliceClock(),
  ) {
    this.#rows = rows;
    this.#layout = layout;
    this.#reserve = reserve;
    this.#clock = clock;
  }

  /** Whether all rows are written. */
  get isWhole(): boolean {
    return this.#next === this.#rows.count;
  }

  /** Null unless {@link isWhole}. */
  get byteLength(): number | null {
    return this.isWhole ? this.#byteLength : null;
  }

  /** The chunks so far, which hold all rows once {@link isWhole}. */
  get chunks(): readonly Buffer[] {
    return this.#chunks;
  }

  /** Null after the last chunk, or if there is no room for another chunk: see {@link nextRow}. */
  chunk(number: number): Buffer | null {
    const known = this.#chunks[number];
    if (known !== undefined || this.#isGivenUp || this.isWhole) return known ?? null;
    const { chunk, next } = writeChunk(this.#rows, this.#layout, this.#next, this.#clock);
    this.#isGivenUp = !this.#reserve(chunk.length);
    if (this.#isGivenUp) return null;
    this.#next = next;
    this.#byteLength += chunk.length;
    this.#chunks.push(chunk);
    return chunk;
  }

  /** The first row after the chunks. */
  get nextRow(): number {
    return this.#next;
  }
}

function writeChunk(
  rows: Rows,
  layout: ListLayout,
  first: number,
  clock: SliceClock,
): { chunk: Buffer; next: number } {
  clock.beginSlice();
  // Terminates: a row longer than the slice finally gets a longer slice.
  for (let bytes = BODY_SLICE_BYTES; ; bytes *= 2) {
    const slice = allocateSlice(bytes);
    let at = 0;
    let next = first;
    while (next < rows.count) {
      const end = layout.write(rows, next, slice, at);
      if (end === NO_ROOM) break;
      at = end;
      next++;
      if (clock.isOver()) break;
    }
    // Kept chunks have memory of their own length.
    const chunk = next > first ? Buffer.allocUnsafeSlow(at) : null;
    chunk?.set(slice.subarray(0, at));
    releaseSlice(slice);
    if (chunk !== null) return { chunk, next };
  }
}
