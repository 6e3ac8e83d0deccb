import { grownByteLength } from './growable.js';
import { HashTable } from './hash-table.js';

const ENTRIES_MIN = 64;
const BYTES_PER_ENTRY = 16;

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
 * A set of texts as UTF-8, numbered in order of arrival: one arena of bytes and a table of hashes, without an object or a
 * string for any of them. Amortised O(length) for each, as long as hashes are keyed: see keyed-hash.ts.
 */
export class ByteStrings {
  #bytes: Uint8Array = new Uint8Array(ENTRIES_MIN * BYTES_PER_ENTRY);
  #view: DataView = viewOf(this.#bytes);
  /** String n is bytes [start[n], start[n + 1]). */
  #start: Uint32Array = new Uint32Array(ENTRIES_MIN + 1);
  #hashes: Int32Array = new Int32Array(ENTRIES_MIN);
  #table: HashTable = new HashTable();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Bytes of all strings together. */
  get byteLength(): number {
    return this.#start[this.#size]!;
  }

  /** Bytes of memory in use: of the strings, of their places and hashes, and of the table. */
  get heldBytes(): number {
    return this.byteLength + 8 * this.#size + this.#table.byteLength;
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

  /** Whether string n is these bytes. */
  isAt(n: number, view: DataView, from: number, to: number): boolean {
    const start = this.#start[n]!;
    const length = this.#start[n + 1]! - start;
    return length === to - from && isSame(this.#view, start, view, from, length);
  }

  /** The number of a string, or -1. */
  find(hash: number, view: DataView, from: number, to: number): number {
    const table = this.#table;
    for (let slot = table.first(hash); slot !== -1; slot = table.next(slot, hash)) {
      const n = table.numberAt(slot);
      if (this.isAt(n, view, from, to)) return n;
    }
    return -1;
  }

  /** Adds a string that is not there yet, and gives its number. */
  add(hash: number, view: DataView, from: number, to: number): number {
    const n = this.#size;
    if (n === this.#hashes.length) this.#growEntries();
    const start = this.#start[n]!;
    const end = start + to - from;
    if (end > this.#bytes.length) this.#growBytes(end);
    copyText(view, from, to, this.#view, start);
    this.#start[n + 1] = end;
    this.#hashes[n] = hash;
    this.#size = n + 1;
    this.#table.add(n, hash);
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
    this.#table = new HashTable();
  }

  #growEntries(): void {
    const length = grownByteLength(this.#hashes.byteLength) / 4;
    const start = new Uint32Array(length + 1);
    start.set(this.#start);
    this.#start = start;
    const hashes = new Int32Array(length);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
  }

  #growBytes(length: number): void {
    const grown = new Uint8Array(Math.max(length, grownByteLength(this.#bytes.length)));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}
