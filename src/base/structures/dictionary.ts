import { ByteStrings, hasSameBytes, viewOf } from './byte-strings.js';
import type { KeyedHash } from './keyed-hash.js';
import { firstWhere } from './search.js';
import { shared } from './slabs.js';
import type { TextMemo } from './text-memo.js';

export const NO_CODE = 0xffffffff;
const VALUE_BYTES_MIN = 512;
/** UTF-8 has at most three bytes for each UTF-16 unit. */
const BYTES_PER_UNIT = 3;

/** The flat form of a dictionary: value c is UTF-8 bytes [start[c], start[c + 1]). */
export interface DictionaryImage {
  readonly bytes: Uint8Array;
  readonly start: Uint32Array;
}

/** Numbers distinct strings by first appearance; `finish` renumbers them in order of their UTF-8 bytes. */
export class DictionaryBuilder {
  readonly #hash: KeyedHash;
  readonly #recent: TextMemo<number> | null;
  readonly #strings = new ByteStrings();
  #bytes: Buffer = Buffer.alloc(VALUE_BYTES_MIN);
  #view: DataView = viewOf(this.#bytes);

  /** @param recent a memo for repeated values, fast because V8 caches the hash of a string */
  constructor(hash: KeyedHash, recent: TextMemo<number> | null = null) {
    this.#hash = hash;
    this.#recent = recent;
  }

  get heldBytes(): number {
    return this.#strings.heldBytes;
  }

  /** Of all values. */
  get byteLength(): number {
    return this.#strings.byteLength;
  }

  get size(): number {
    return this.#strings.size;
  }

  /** Returns the code of a value, and adds the value if it is new. NO_CODE for null. */
  intern(value: string | null): number {
    if (value === null) return NO_CODE;
    const recent = this.#recent?.get(value);
    if (recent !== undefined) return recent;
    const length = this.#write(value);
    const code = this.internBytes(this.#view, 0, length);
    this.#recent?.set(value, code);
    return code;
  }

  /** The same for the UTF-8 bytes [from, to) of a value. */
  internBytes(view: DataView, from: number, to: number): number {
    const hash = this.#hash.bytes(view, from, to);
    const code = this.#strings.find(hash, view, from, to);
    return code === -1 ? this.#strings.add(hash, view, from, to) : code;
  }

  find(value: string): number {
    const length = this.#write(value);
    const code = this.#strings.find(this.#hash.bytes(this.#view, 0, length), this.#view, 0, length);
    return code === -1 ? NO_CODE : code;
  }

  /** Null for NO_CODE, and for every other code that no value has. */
  valueOf(code: number): string | null {
    return code < this.size ? this.#strings.textOf(code) : null;
  }

  /** `recode` maps the codes of this builder to the codes of the image. */
  finish(): { image: DictionaryImage; recode: Uint32Array } {
    const strings = this.#strings;
    const order = strings.sorted();
    const recode = new Uint32Array(order.length);
    const start = shared.uint32(order.length + 1);
    for (let code = 0; code < order.length; code++) {
      const number = order[code]!;
      recode[number] = code;
      start[code + 1] = start[code]! + strings.startOf(number + 1) - strings.startOf(number);
    }
    const bytes = shared.uint8(strings.byteLength);
    strings.copyInto(bytes, order);
    return { image: { bytes, start }, recode };
  }

  /** @returns the number of bytes */
  #write(value: string): number {
    const needed = BYTES_PER_UNIT * value.length;
    if (needed > this.#bytes.length) {
      this.#bytes = Buffer.alloc(2 * needed);
      this.#view = viewOf(this.#bytes);
    }
    return this.#bytes.write(value, 'utf8');
  }
}

/** Reads a flat image by binary search. Only existing values are remembered, which bounds the memo. */
export class Dictionary {
  /** UTF-8 of all values; value c is [start[c], start[c + 1]). */
  readonly bytes: Buffer;
  readonly start: Uint32Array;
  readonly #codes: Map<string, number>;
  /** The last value. Requests look up each value twice: to check the value, and to plan. */
  #lastValue: string | null = null;
  #lastCode = NO_CODE;
  readonly size: number;

  /** @param before shares its remembered values if it has the same values */
  constructor(image: DictionaryImage, before: Dictionary | null = null) {
    this.bytes = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength);
    this.start = image.start;
    this.size = image.start.length - 1;
    this.#codes = before !== null && this.hasSameValues(before) ? before.#codes : new Map();
  }

  hasSameValues({ bytes, start }: Dictionary): boolean {
    return hasSameBytes(bytes, this.bytes) && hasSameBytes(start, this.start);
  }

  codeOf(value: string): number {
    if (value === this.#lastValue) return this.#lastCode;
    let code = this.#codes.get(value);
    if (code === undefined) {
      const bytes = Buffer.from(value, 'utf8');
      const place = this.placeOf(bytes);
      code = place < this.size && this.#compareTo(bytes, place) === 0 ? place : NO_CODE;
      if (code !== NO_CODE) this.#codes.set(value, code);
    }
    this.#lastValue = value;
    this.#lastCode = code;
    return code;
  }

  valueOf(code: number): string {
    return this.bytes.toString('utf8', this.start[code]!, this.start[code + 1]!);
  }

  /** Compares by code point. */
  compare(code: number, other: Dictionary, otherCode: number): number {
    const { bytes, start } = other;
    const [from, to] = [start[otherCode], start[otherCode + 1]];
    return this.bytes.compare(bytes, from, to, this.start[code], this.start[code + 1]);
  }

  /** The first code whose value does not come before this value in UTF-8, or the size. */
  placeOf(value: Buffer): number {
    return firstWhere(0, this.size, (code) => this.#compareTo(value, code) >= 0);
  }

  /** Positive if the value of `code` comes after the given value. */
  #compareTo(value: Buffer, code: number): number {
    return this.bytes.compare(value, 0, value.length, this.start[code]!, this.start[code + 1]!);
  }
}
