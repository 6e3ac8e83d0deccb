import { hasSameBytes } from './byte-strings.js';
import { HashTable } from './hash-table.js';
import type { KeyedHash } from './keyed-hash.js';
import { firstWhere } from './search.js';
import { shared } from './slabs.js';
import type { TextMemo } from './text-memo.js';

export const NO_CODE = 0xffffffff;

/** The flat form of a dictionary: value c is UTF-8 bytes [start[c], start[c + 1]). */
export interface DictionaryImage {
  readonly bytes: Uint8Array;
  readonly start: Uint32Array;
}

/** Numbers distinct strings by first appearance; `finish` renumbers them in order of their UTF-8 bytes. */
export class DictionaryBuilder {
  readonly #hash: KeyedHash;
  readonly #table = new HashTable();
  readonly #recent: TextMemo<number> | null;
  readonly #values: string[] = [];

  /** @param recent a memo for repeated values, fast because V8 caches the hash of a string */
  constructor(hash: KeyedHash, recent: TextMemo<number> | null = null) {
    this.#hash = hash;
    this.#recent = recent;
  }

  get heldBytes(): number {
    return this.#table.byteLength;
  }

  get size(): number {
    return this.#values.length;
  }

  /** Returns the code of a value, and adds the value if it is new. NO_CODE for null. */
  intern(value: string | null): number {
    if (value === null) return NO_CODE;
    const recent = this.#recent?.get(value);
    if (recent !== undefined) return recent;
    const hash = this.#hash.text(value);
    let code = this.#search(hash, value);
    if (code === NO_CODE) {
      code = this.#values.length;
      this.#table.add(code, hash);
      this.#values.push(value);
    }
    this.#recent?.set(value, code);
    return code;
  }

  find(value: string): number {
    return this.#search(this.#hash.text(value), value);
  }

  valueOf(code: number): string | null {
    return code === NO_CODE ? null : (this.#values[code] ?? null);
  }

  #search(hash: number, value: string): number {
    for (let slot = this.#table.first(hash); slot !== -1; slot = this.#table.next(slot, hash)) {
      const code = this.#table.numberAt(slot);
      if (this.#values[code] === value) return code;
    }
    return NO_CODE;
  }

  /** `recode` maps the codes of this builder to the codes of the image. */
  finish(): { image: DictionaryImage; recode: Uint32Array } {
    const values = this.#values;
    const sortKeys = values.map(sortKeyOf);
    const order = Uint32Array.from(values.keys()).sort((a, b) => (sortKeys[a]! < sortKeys[b]! ? -1 : 1));
    const recode = new Uint32Array(order.length);
    const start = shared.uint32(order.length + 1);
    let byteLength = 0;
    for (let code = 0; code < order.length; code++) {
      recode[order[code]!] = code;
      byteLength += Buffer.byteLength(values[order[code]!]!, 'utf8');
      start[code + 1] = byteLength;
    }
    const bytes = shared.uint8(byteLength);
    const target = Buffer.from(bytes.buffer, bytes.byteOffset, byteLength);
    for (let code = 0; code < order.length; code++) target.write(values[order[code]!]!, start[code]!, 'utf8');
    return { image: { bytes, start }, recode };
  }
}

/** Makes `<` sort by UTF-8 bytes: surrogates swap places with the units from U+E000 on. */
function sortKeyOf(value: string): string {
  return value.replace(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800);
  });
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
