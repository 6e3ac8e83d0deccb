import { grownByteLength } from './growable.js';

const WORDS_MIN = 256;

/** Open addressing with linear probing; each hash is stored beside its number. Hashes of foreign keys must be keyed. */
export class HashTable {
  /**
   * Pairs of number + 1 (0 for a free slot) and hash. The length is a power of two, and at most half of the
   * slots are used.
   */
  #slots: Int32Array = new Int32Array(WORDS_MIN);
  #size = 0;

  get byteLength(): number {
    return this.#slots.byteLength;
  }

  first(hash: number): number {
    return this.#from((hash << 1) & (this.#slots.length - 2), hash);
  }

  next(slot: number, hash: number): number {
    return this.#from((slot + 2) & (this.#slots.length - 2), hash);
  }

  numberAt(slot: number): number {
    return this.#slots[slot]! - 1;
  }

  add(number: number, hash: number): void {
    if (4 * this.#size === this.#slots.length) this.#grow();
    this.#size++;
    place(this.#slots, number + 1, hash);
  }

  #from(start: number, hash: number): number {
    const slots = this.#slots;
    const last = slots.length - 2;
    // Terminates: at least half of the slots are free.
    for (let slot = start; slots[slot] !== 0; slot = (slot + 2) & last) {
      if (slots[slot + 1] === hash) return slot;
    }
    return -1;
  }

  #grow(): void {
    const before = this.#slots;
    const memory = new ArrayBuffer(grownByteLength(before.byteLength));
    this.#slots = new Int32Array(memory, 0, 2 * before.length);
    for (let slot = 0; slot < before.length; slot += 2) {
      if (before[slot] !== 0) place(this.#slots, before[slot]!, before[slot + 1]!);
    }
  }
}

function place(slots: Int32Array, entry: number, hash: number): void {
  const last = slots.length - 2;
  let slot = (hash << 1) & last;
  while (slots[slot] !== 0) slot = (slot + 2) & last;
  slots[slot] = entry;
  slots[slot + 1] = hash;
}
