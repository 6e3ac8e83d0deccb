const INITIAL_LENGTH = 1024;
const SMALL_BYTES_MAX = 256 * 1024;
/** glibc maps every buffer above 32 MiB separately. */
export const LARGE_BYTES_MIN: number = 34 * 1024 * 1024;

/**
 * The length of a replacement for a full buffer: twice as long, but never of medium size. Freed medium
 * buffers would make glibc keep up to 64 MiB (mallopt(3), M_MMAP_THRESHOLD).
 */
export function grownByteLength(byteLength: number): number {
  const doubled = 2 * byteLength;
  return doubled <= SMALL_BYTES_MAX ? doubled : Math.max(doubled, LARGE_BYTES_MIN);
}

/** An append-only column of numbers that doubles when full. */
export class Growable<Values extends Uint32Array | Float64Array> {
  readonly #type: new (
    length: number,
  ) => Values;
  #values: Values;
  #length = 0;

  constructor(type: new (length: number) => Values) {
    this.#type = type;
    this.#values = new type(INITIAL_LENGTH);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) this.#grow();
    this.#values[this.#length++] = value;
  }

  at(n: number): number {
    return this.#values[n]!;
  }

  /** A view, valid until the next push. */
  view(): Values {
    return this.#values.subarray(0, this.#length) as Values;
  }

  #grow(): void {
    const { byteLength, BYTES_PER_ELEMENT } = this.#values;
    const larger = new this.#type(grownByteLength(byteLength) / BYTES_PER_ELEMENT);
    larger.set(this.#values);
    this.#values = larger;
  }
}
