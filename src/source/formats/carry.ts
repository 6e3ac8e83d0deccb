import { RECORD_BYTES_MAX } from '../../limits.js';

const CAPACITY_BYTES_MIN = 4096;

/**
 * Holds the beginning of one record whose end has not come yet. Counts every byte, and keeps at most
 * RECORD_BYTES_MAX of them: of a longer record nothing is kept but its length.
 */
export class Carry {
  #bytes: Buffer = Buffer.allocUnsafe(CAPACITY_BYTES_MIN);
  #length = 0;

  /** Bytes that were appended, whether they are kept or not. */
  get length(): number {
    return this.#length;
  }

  get overflown(): boolean {
    return this.#length > RECORD_BYTES_MAX;
  }

  /** Takes over the bytes of `chunk` from `start` to `end`. */
  append(chunk: Buffer, start: number, end: number): void {
    const length = this.#length + end - start;
    if (length <= RECORD_BYTES_MAX) {
      if (length > this.#bytes.length) this.#grow(length);
      chunk.copy(this.#bytes, this.#length, start, end);
    } else if (this.#bytes.length > CAPACITY_BYTES_MIN) {
      this.#bytes = Buffer.allocUnsafe(CAPACITY_BYTES_MIN);
    }
    this.#length = length;
  }

  /** What was appended; a view that is valid until the next call of any method. Not to be asked for when overflown. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Doubles, so that a record that comes byte by byte is copied a constant number of times. */
  #grow(length: number): void {
    const grown = Buffer.allocUnsafe(Math.min(RECORD_BYTES_MAX, Math.max(length, 2 * this.#bytes.length)));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
