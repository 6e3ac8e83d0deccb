import { endHash } from './quick-hash.js';

export const DIGEST_CHARACTERS = 11;

const ALPHABET = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', 'latin1');
const float = new Float64Array(1);
const words = new Uint32Array(float.buffer);

/**
 * Two multiplicative hashes, 64 bits together, of a sequence of texts and numbers. The digest is not safe
 * against deliberate collisions.
 */
export class Digest {
  #a = 0x2c1b3c6d;
  #b = 0x297a2d39;

  word(value: number): void {
    const a = Math.imul(this.#a ^ value, 0xcc9e2d51);
    const b = Math.imul(this.#b ^ value, 0x1b873593);
    this.#a = (a << 15) | (a >>> 17);
    this.#b = (b << 13) | (b >>> 19);
  }

  number(value: number): void {
    float[0] = value;
    this.word(words[0]!);
    this.word(words[1]!);
  }

  /** Adds a text with its length, so that adjacent texts are not joined. */
  text(value: string): void {
    let a = this.#a ^ value.length;
    let b = this.#b ^ value.length;
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      a = Math.imul(a ^ unit, 0xcc9e2d51);
      a = (a << 15) | (a >>> 17);
      b = Math.imul(b ^ unit, 0x1b873593);
      b = (b << 13) | (b >>> 19);
    }
    this.#a = a;
    this.#b = b;
    // Distinguishes an empty text from null.
    this.word(~value.length);
  }

  writeTo(target: Uint8Array, offset: number): void {
    let high = endHash(this.#a ^ this.#b);
    let low = endHash(this.#b ^ high);
    for (let i = DIGEST_CHARACTERS - 1; i >= 0; i--) {
      target[offset + i] = ALPHABET[low & 63]!;
      low = (low >>> 6) | ((high & 63) << 26);
      high >>>= 6;
    }
  }
}
