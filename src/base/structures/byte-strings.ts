import { Growable, grownByteLength } from './growable.js';
import { HashTable } from './hash-table.js';
import { radixSort } from './radix-sort.js';

const BYTES_MIN = 1024;
/** Strings are sorted by so many bytes at first: keys of the radix sort are below 2^53. */
const KEY_BYTES = 6;

/** Copies UTF-8 eight bytes at a time, as doubles. Only a NaN could lose bits, and valid UTF-8 never forms one. */
export function copyText(source: DataView, from: number, to: number, target: DataView, offset: number): void {
  let at = offset;
  let i = from;
  for (; i + 8 <= to; i += 8, at += 8) target.setFloat64(at, source.getFloat64(i, true), true);
  if (i === to) return;
  // The last eight bytes overlap bytes that are already copied.
  if (to - from >= 8) target.setFloat64(at + to - i - 8, source.getFloat64(to - 8, true), true);
  else for (; i < to; i++, at++) target.setUint8(at, source.getUint8(i));
}

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

export function isAscii(view: DataView, from: number, to: number): boolean {
  let bits = 0;
  let at = from;
  for (; at + 4 <= to; at += 4) bits |= view.getInt32(at, true) & 0x80808080;
  for (; at < to; at++) bits |= view.getUint8(at) & 0x80;
  return bits === 0;
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * A set of UTF-8 texts, numbered in order of arrival, without an object per text. Hashes must be keyed: see
 * keyed-hash.ts.
 */
export class ByteStrings {
  bytes: Uint8Array = new Uint8Array(BYTES_MIN);
  view: DataView = viewOf(this.bytes);
  /** String n is bytes [start[n], start[n + 1]). */
  readonly #start = new Growable(Uint32Array);
  readonly #hashes = new Growable(Uint32Array);
  #table: HashTable = new HashTable();

  constructor() {
    this.#start.push(0);
  }

  get size(): number {
    return this.#hashes.length;
  }

  get byteLength(): number {
    return this.#start.at(this.size);
  }

  get heldBytes(): number {
    return this.byteLength + 8 * this.size + this.#table.byteLength;
  }

  /** `startOf(size)` is the end of the last string. */
  startOf(n: number): number {
    return this.#start.at(n);
  }

  textOf(n: number): string {
    const start = this.#start.at(n);
    return Buffer.from(this.bytes.buffer, start, this.#start.at(n + 1) - start).toString();
  }

  hashOf(n: number): number {
    return this.#hashes.at(n);
  }

  isAt(n: number, view: DataView, from: number, to: number): boolean {
    const start = this.#start.at(n);
    const length = this.#start.at(n + 1) - start;
    return length === to - from && isSame(this.view, start, view, from, length);
  }

  /** Returns -1 for an unknown string. */
  find(hash: number, view: DataView, from: number, to: number): number {
    const table = this.#table;
    for (let slot = table.first(hash); slot !== -1; slot = table.next(slot, hash)) {
      const n = table.numberAt(slot);
      if (this.isAt(n, view, from, to)) return n;
    }
    return -1;
  }

  add(hash: number, view: DataView, from: number, to: number): number {
    const n = this.size;
    const start = this.#start.at(n);
    const end = start + to - from;
    if (end > this.bytes.length) this.#grow(end);
    copyText(view, from, to, this.view, start);
    this.#start.push(end);
    this.#hashes.push(hash);
    this.#table.add(n, hash);
    return n;
  }

  /** Writes strings one behind the other. */
  copyInto(copy: Uint8Array, numbers: Uint32Array): void {
    const target = viewOf(copy);
    let at = 0;
    for (let i = 0; i < numbers.length; i++) {
      const from = this.#start.at(numbers[i]!);
      const to = this.#start.at(numbers[i]! + 1);
      copyText(this.view, from, to, target, at);
      at += to - from;
    }
  }

  /** All numbers in the order of the bytes: first by the bytes behind the beginning that all strings share. */
  sorted(): Uint32Array {
    const order = Uint32Array.from({ length: this.size }, (_, n) => n);
    const shared = this.#sharedLength();
    const keys = Float64Array.from(order, (n) => this.#keyAt(n, shared));
    radixSort(order, keys);
    for (let from = 0, to = 1; from < order.length; from = to, to++) {
      while (to < order.length && keys[order[to]!] === keys[order[from]!]) to++;
      if (to - from > 1) order.subarray(from, to).sort((a, b) => this.compare(a, b));
    }
    return order;
  }

  /** Bytes at the beginning that all strings share. */
  #sharedLength(): number {
    const { bytes } = this;
    let length = this.size === 0 ? 0 : this.#start.at(1);
    for (let n = 1; n < this.size && length > 0; n++) {
      const start = this.#start.at(n);
      length = Math.min(length, this.#start.at(n + 1) - start);
      let same = 0;
      while (same < length && bytes[start + same] === bytes[same]) same++;
      length = same;
    }
    return length;
  }

  /** The next bytes of a string as a number, with zeros after its end. */
  #keyAt(n: number, from: number): number {
    const start = this.#start.at(n) + from;
    const end = this.#start.at(n + 1);
    let key = 0;
    for (let at = start; at < start + KEY_BYTES; at++) key = 256 * key + (at < end ? this.bytes[at]! : 0);
    return key;
  }

  compare(a: number, b: number): number {
    const bytes = this.bytes;
    const aStart = this.#start.at(a);
    const bStart = this.#start.at(b);
    const aLength = this.#start.at(a + 1) - aStart;
    const bLength = this.#start.at(b + 1) - bStart;
    const length = Math.min(aLength, bLength);
    for (let i = 0; i < length; i++) {
      const difference = bytes[aStart + i]! - bytes[bStart + i]!;
      if (difference !== 0) return difference;
    }
    return aLength - bLength;
  }

  /** Frees the table. After this call, strings can only be read. */
  seal(): void {
    this.#table = new HashTable();
  }

  #grow(length: number): void {
    const grown = new Uint8Array(Math.max(length, grownByteLength(this.bytes.length)));
    grown.set(this.bytes);
    this.bytes = grown;
    this.view = viewOf(grown);
  }
}

/** Whether two views hold the same bytes. On each thread, views of shared memory are different objects. */
export function hasSameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  return bytesOf(a).equals(bytesOf(b));
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
