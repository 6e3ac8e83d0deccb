const ENTRIES_MIN = 64;
const BYTES_PER_ENTRY = 16;

/**
 * 32 bits of a run of bytes: each four of them multiplied in (multipliers and shifts of MurmurHash3), then mixed. Not
 * against anybody who looks for collisions.
 */
export function hashBytes(view: DataView, from: number, to: number): number {
  let hash = 0x2c1b3c6d ^ (to - from);
  let at = from;
  for (; at + 4 <= to; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0xcc9e2d51);
    hash = (hash << 13) | (hash >>> 19);
  }
  for (; at < to; at++) hash = Math.imul(hash ^ view.getUint8(at), 0x1b873593);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A view of the same bytes, for reading several at a time. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * A set of byte strings, numbered in order of arrival: one arena of bytes and an open-addressing table, without an object
 * or a string for any of them. Amortised O(length) for each.
 */
export class ByteStrings {
  #bytes: Uint8Array = new Uint8Array(ENTRIES_MIN * BYTES_PER_ENTRY);
  #view: DataView = viewOf(this.#bytes);
  /** String n is bytes [start[n], start[n + 1]). */
  #start: Uint32Array = new Uint32Array(ENTRIES_MIN + 1);
  #hashes: Uint32Array = new Uint32Array(ENTRIES_MIN);
  /** A power of two of slots, at least twice as many as entries, each 0 or a number + 1. */
  #table: Uint32Array = new Uint32Array(2 * ENTRIES_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** All strings behind each other; valid until the next is added. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get view(): DataView {
    return this.#view;
  }

  /** Where string n begins; of `size`, where the last one ends. */
  startOf(n: number): number {
    return this.#start[n]!;
  }

  /** String n, which is UTF-8. */
  textOf(n: number): string {
    return Buffer.from(this.#bytes.buffer, this.#start[n]!, this.#start[n + 1]! - this.#start[n]!).toString();
  }

  hashOf(n: number): number {
    return this.#hashes[n]!;
  }

  /**
   * The number of a string, or -1.
   *
   * @param hash its hashBytes
   */
  find(hash: number, view: DataView, from: number, to: number): number {
    const table = this.#table;
    const mask = table.length - 1;
    let slot = hash & mask;
    // Terminates: at least half of the slots are free.
    for (;;) {
      const n = table[slot]! - 1;
      if (n === -1) return -1;
      if (this.#hashes[n] === hash && this.#equals(n, view, from, to)) return n;
      slot = (slot + 1) & mask;
    }
  }

  /** Adds a string that is not there yet, and gives its number. */
  add(hash: number, view: DataView, from: number, to: number): number {
    const n = this.#size;
    if (n === this.#hashes.length) this.#growEntries();
    const start = this.#start[n]!;
    const end = start + to - from;
    if (end > this.#bytes.length) this.#growBytes(end);
    const target = this.#view;
    let at = start;
    let i = from;
    for (; i + 4 <= to; i += 4, at += 4) target.setInt32(at, view.getInt32(i, true), true);
    for (; i < to; i++, at++) target.setUint8(at, view.getUint8(i));
    this.#start[n + 1] = end;
    this.#hashes[n] = hash;
    this.#size = n + 1;
    this.#place(n);
    return n;
  }

  /** Compares two of the strings byte by byte: negative, zero or positive. */
  compare(a: number, b: number): number {
    const bytes = this.#bytes;
    const aStart = this.#start[a]!;
    const bStart = this.#start[b]!;
    const aLength = this.#start[a + 1]! - aStart;
    const bLength = this.#start[b + 1]! - bStart;
    const length = aLength < bLength ? aLength : bLength;
    for (let i = 0; i < length; i++) {
      const difference = bytes[aStart + i]! - bytes[bStart + i]!;
      if (difference !== 0) return difference;
    }
    return aLength - bLength;
  }

  /** Lets go of the table: nothing can be found or added afterwards. */
  seal(): void {
    this.#table = new Uint32Array(1);
  }

  #equals(n: number, view: DataView, from: number, to: number): boolean {
    let at = this.#start[n]!;
    if (this.#start[n + 1]! - at !== to - from) return false;
    const own = this.#view;
    let i = from;
    for (; i + 4 <= to; i += 4, at += 4) {
      if (own.getInt32(at, true) !== view.getInt32(i, true)) return false;
    }
    for (; i < to; i++, at++) if (own.getUint8(at) !== view.getUint8(i)) return false;
    return true;
  }

  #place(n: number): void {
    const table = this.#table;
    const mask = table.length - 1;
    let slot = this.#hashes[n]! & mask;
    while (table[slot] !== 0) slot = (slot + 1) & mask;
    table[slot] = n + 1;
  }

  #growEntries(): void {
    const capacity = 2 * this.#hashes.length;
    const start = new Uint32Array(capacity + 1);
    start.set(this.#start);
    this.#start = start;
    const hashes = new Uint32Array(capacity);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
    this.#table = new Uint32Array(2 * capacity);
    for (let n = 0; n < this.#size; n++) this.#place(n);
  }

  #growBytes(length: number): void {
    const grown = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}
