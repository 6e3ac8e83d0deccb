const INITIAL_LENGTH = 1024;

/** An append-only column of unsigned 32-bit integers that doubles when full. Amortised O(1) per value. */
export class GrowableUint32 {
  #values: Uint32Array = new Uint32Array(INITIAL_LENGTH);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Uint32Array(this.#values.length * 2);
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
      const larger = new Float64Array(this.#values.length * 2);
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
