import { grownByteLength, roomyByteLength } from './growable.js';

const ENTRIES_MIN = 64;
const BYTES_PER_ENTRY = 16;

/** Where a hash of bytes begins, see addWord. */
export const HASH_BEGIN = 0x2c1b3c6d;

/** Adds four bytes to a hash, as the number that they are. Multipliers and shifts are those of MurmurHash3. */
export function addWord(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0xcc9e2d51);
  return (mixed << 13) | (mixed >>> 19);
}

/** Adds one of the last bytes, of which there are fewer than four. */
export function addByte(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x1b873593);
}

/** Every bit of what was added changes half of the bits of the result, which may be negative. */
export function endHash(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** 32 bits of a run of bytes; not against anybody who looks for collisions. */
export function hashBytes(view: DataView, from: number, to: number): number {
  let hash = HASH_BEGIN;
  let at = from;
  for (; at + 4 <= to; at += 4) hash = addWord(hash, view.getInt32(at, true));
  for (; at < to; at++) hash = addByte(hash, view.getUint8(at));
  return endHash(hash);
}

/**
 * Copies UTF-8. In a loop: for a few dozen bytes a call into the engine costs more than they do. Eight at a time as a
 * double, which keeps all bits of it but those of a NaN; and no eight bytes of UTF-8 are one: its last byte would be 7F or
 * FF, which cannot follow F0 or above. What is left over at the end is copied with bytes before it once more.
 */
export function copyText(source: DataView, from: number, to: number, target: DataView, offset: number): void {
  let at = offset;
  let i = from;
  for (; i + 8 <= to; i += 8, at += 8) target.setFloat64(at, source.getFloat64(i, true), true);
  if (i === to) return;
  if (to - from >= 8) target.setFloat64(at + to - i - 8, source.getFloat64(to - 8, true), true);
  else for (; i < to; i++, at++) target.setUint8(at, source.getUint8(i));
}

/** Whether so many bytes are the same in two places. */
export function isSame(a: DataView, aFrom: number, b: DataView, bFrom: number, length: number): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) {
    if (a.getInt32(aFrom + i, true) !== b.getInt32(bFrom + i, true)) return false;
  }
  if (i === length) return true;
  if (length >= 4) return a.getInt32(aFrom + length - 4, true) === b.getInt32(bFrom + length - 4, true);
  for (; i < length; i++) if (a.getUint8(aFrom + i) !== b.getUint8(bFrom + i)) return false;
  return true;
}

/** A view of the same bytes, for reading several at a time. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * A set of texts as UTF-8, numbered in order of arrival: one arena of bytes and an open-addressing table, without an object
 * or a string for any of them. Amortised O(length) for each.
 */
export class ByteStrings {
  #bytes: Uint8Array = new Uint8Array(ENTRIES_MIN * BYTES_PER_ENTRY);
  #view: DataView = viewOf(this.#bytes);
  /** String n is bytes [start[n], start[n + 1]). */
  #start: Uint32Array = new Uint32Array(ENTRIES_MIN + 1);
  #hashes: Int32Array = new Int32Array(ENTRIES_MIN);
  /**
   * A power of two of slots, at least twice as many as entries. Each is a number + 1, or 0, and the hash beside it, so that
   * to look at a slot is to wait for memory once.
   */
  #table: Int32Array = new Int32Array(4 * ENTRIES_MIN);
  #size = 0;
  /** Entries that the table has room for: half of its slots. */
  #capacity = ENTRIES_MIN;

  get size(): number {
    return this.#size;
  }

  /** Bytes of all strings together. */
  get byteLength(): number {
    return this.#start[this.#size]!;
  }

  /** Bytes of memory in use: of the strings, of their places and hashes, and of the table. */
  get heldBytes(): number {
    return this.byteLength + 8 * this.#size + 16 * this.#capacity;
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
    const last = table.length - 2;
    let slot = (hash << 1) & last;
    // Terminates: at least half of the slots are free.
    while (table[slot] !== 0) {
      if (table[slot + 1] === hash) {
        const n = table[slot]! - 1;
        const start = this.#start[n]!;
        const length = this.#start[n + 1]! - start;
        if (length === to - from && isSame(this.#view, start, view, from, length)) return n;
      }
      slot = (slot + 2) & last;
    }
    return -1;
  }

  /** Adds a string that is not there yet, and gives its number. */
  add(hash: number, view: DataView, from: number, to: number): number {
    const n = this.#size;
    if (n === this.#capacity) this.#growEntries();
    const start = this.#start[n]!;
    const end = start + to - from;
    if (end > this.#bytes.length) this.#growBytes(end);
    copyText(view, from, to, this.#view, start);
    this.#start[n + 1] = end;
    this.#hashes[n] = hash;
    this.#size = n + 1;
    this.#place(n);
    return n;
  }

  /** Some of the strings behind each other: `byteLength` bytes. */
  copyOf(numbers: Uint32Array, byteLength: number): Uint8Array {
    const copy = new Uint8Array(byteLength);
    const target = viewOf(copy);
    let at = 0;
    for (let i = 0; i < numbers.length; i++) {
      const from = this.#start[numbers[i]!]!;
      const to = this.#start[numbers[i]! + 1]!;
      copyText(this.#view, from, to, target, at);
      at += to - from;
    }
    return copy;
  }

  /** Compares two of the strings byte by byte: negative, zero or positive. */
  compare(a: number, b: number): number {
    const bytes = this.#bytes;
    const aStart = this.#start[a]!;
    const bStart = this.#start[b]!;
    const aLength = this.#start[a + 1]! - aStart;
    const bLength = this.#start[b + 1]! - bStart;
    const length = Math.min(aLength, bLength);
    for (let i = 0; i < length; i++) {
      const difference = bytes[aStart + i]! - bytes[bStart + i]!;
      if (difference !== 0) return difference;
    }
    return aLength - bLength;
  }

  /** Lets go of the table: nothing can be found or added afterwards. */
  seal(): void {
    this.#table = new Int32Array(2);
  }

  #place(n: number): void {
    const table = this.#table;
    const last = table.length - 2;
    const hash = this.#hashes[n]!;
    let slot = (hash << 1) & last;
    while (table[slot] !== 0) slot = (slot + 2) & last;
    table[slot] = n + 1;
    table[slot + 1] = hash;
  }

  #growEntries(): void {
    const capacity = 2 * this.#capacity;
    if (capacity > this.#hashes.length) {
      const length = grownByteLength(this.#hashes.byteLength) / 4;
      const start = new Uint32Array(length + 1);
      start.set(this.#start);
      this.#start = start;
      const hashes = new Int32Array(length);
      hashes.set(this.#hashes);
      this.#hashes = hashes;
    }
    this.#capacity = capacity;
    this.#table = new Int32Array(new ArrayBuffer(roomyByteLength(16 * capacity)), 0, 4 * capacity);
    for (let n = 0; n < this.#size; n++) this.#place(n);
  }

  #growBytes(length: number): void {
    const grown = new Uint8Array(Math.max(length, grownByteLength(this.#bytes.length)));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}
