import { BODY_SLICE_BYTES } from '../limits.js';
import type { Rows } from '../snapshot/rows.js';
import { type ListLayout, NO_ROOM } from './row-layout.js';

/**
 * All rows of a snapshot in one representation. Readers share the chunks: the first reader writes a chunk,
 * and later readers reuse it.
 */
export class KeptRows {
  readonly #rows: Rows;
  readonly #layout: ListLayout;
  readonly #reserve: (bytes: number) => boolean;
  readonly #chunks: Buffer[] = [];
  /** The first row after all chunks. */
  #next = 0;
  #byteLength = 0;
  #isGivenUp = false;

  /** @param reserve returns whether there is room for a chunk */
  constructor(rows: Rows, layout: ListLayout, reserve: (bytes: number) => boolean) {
    this.#rows = rows;
    this.#layout = layout;
    this.#reserve = reserve;
  }

  /** All rows are written. */
  get isWhole(): boolean {
    return this.#next === this.#rows.count;
  }

  /** Null unless {@link isWhole}. */
  get byteLength(): number | null {
    return this.isWhole ? this.#byteLength : null;
  }

  /** All rows once {@link isWhole}. */
  get chunks(): readonly Buffer[] {
    return this.#chunks;
  }

  /** Null after the last chunk, or if there is no room for another: see {@link nextRow}. */
  chunk(number: number): Buffer | null {
    const known = this.#chunks[number];
    if (known !== undefined || this.#isGivenUp || this.isWhole) return known ?? null;
    const { chunk, next } = writeChunk(this.#rows, this.#layout, this.#next);
    this.#isGivenUp = !this.#reserve(chunk.buffer.byteLength);
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

function writeChunk(rows: Rows, layout: ListLayout, first: number): { chunk: Buffer; next: number } {
  // Terminates: a row longer than the chunk finally gets a longer chunk.
  for (let bytes = BODY_SLICE_BYTES; ; bytes *= 2) {
    const chunk = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    let next = first;
    for (; next < rows.count; next++) {
      const end = layout.write(rows, next, chunk, at);
      if (end === NO_ROOM) break;
      at = end;
    }
    if (next > first) return { chunk: chunk.subarray(0, at), next };
  }
}
