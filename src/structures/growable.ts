const INITIAL_LENGTH = 1024;
const SMALL_BYTES_MAX = 256 * 1024;
/** More than the 32 MiB from which on glibc always gives a buffer memory of its own. */
const LARGE_BYTES_MIN = 34 * 1024 * 1024;

/**
 * How long a buffer should be that replaces a full one: twice as long, but nothing between small and large. Memory of a
 * large buffer comes from the system as it is written to, so room that is not used costs nothing, and goes back to the
 * system when the buffer goes. What is freed between the two teaches glibc to keep up to 64 MiB of freed memory at hand
 * (mallopt(3), M_MMAP_THRESHOLD), which then belongs to the process for good.
 */
export function grownByteLength(byteLength: number): number {
  return roomyByteLength(2 * byteLength);
}

/** How long a buffer should be that has to hold so many bytes and will be replaced, for the same reason. */
export function roomyByteLength(byteLength: number): number {
  return byteLength <= SMALL_BYTES_MAX ? byteLength : Math.max(byteLength, LARGE_BYTES_MIN);
}

/** An append-only column of unsigned 32-bit integers that doubles when full. Amortised O(1) per value. */
export class GrowableUint32 {
  #values: Uint32Array = new Uint32Array(INITIAL_LENGTH);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Uint32Array(grownByteLength(this.#values.byteLength) / 4);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  /** The values so far: a view that stays valid until the next push. */
  view(): Uint32Array {
    return this.#values.subarray(0, this.#length);
  }
}

/** An append-only column of doubles that doubles its capacity when full. Amortised O(1) per value. */
export class GrowableFloat64 {
  #values: Float64Array = new Float64Array(INITIAL_LENGTH);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(grownByteLength(this.#values.byteLength) / 8);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  /** The values so far: a view that stays valid until the next push. */
  view(): Float64Array {
    return this.#values.subarray(0, this.#length);
  }
}
