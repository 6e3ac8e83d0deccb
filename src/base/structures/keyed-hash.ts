import { randomBytes } from 'node:crypto';
import { viewOf } from './byte-strings.js';

/** A secret of two unsigned 32-bit numbers. Clients must not learn it before their keys are stored. */
export type HashSeed = readonly [number, number];

export function randomHashSeed(): HashSeed {
  const bytes = randomBytes(8);
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
}

const TEXT_BYTES_MIN = 512;

/** HalfSipHash-1-3. Without the seed, attackers cannot choose collisions: see docs/decisions/0021-keyed-hashes.md. */
export class KeyedHash {
  readonly #low: number;
  readonly #high: number;
  #text: Buffer = Buffer.alloc(TEXT_BYTES_MIN);
  #textView: DataView = viewOf(this.#text);

  constructor(seed: HashSeed) {
    this.#low = seed[0] | 0;
    this.#high = seed[1] | 0;
  }

  /** The hash of bytes [from, to). The hash may be negative. */
  bytes(view: DataView, from: number, to: number): number {
    let v0 = this.#low;
    let v1 = this.#high;
    let v2 = v0 ^ 0x6c796765;
    let v3 = v1 ^ 0x74656462;
    let at = from;
    // Each word takes one round, written in line: a function could not return four numbers without
    // allocating.
    for (; at + 4 <= to; at += 4) {
      const word = view.getInt32(at, true);
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    // The last word holds the remaining bytes and the length. Three rounds without a word follow.
    let word = (to - from) << 24;
    for (let shift = 0; at < to; at++, shift += 8) word |= view.getUint8(at) << shift;
    v3 ^= word;
    for (let round = 0; round < 4; round++) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      if (round === 0) {
        v0 ^= word;
        v2 ^= 0xff;
      }
    }
    return v1 ^ v3;
  }

  /** Hashes UTF-16 units, so the result differs from the hash of the text in UTF-8. */
  text(text: string): number {
    const byteLength = 2 * text.length;
    if (byteLength > this.#text.length) {
      this.#text = Buffer.alloc(2 * byteLength);
      this.#textView = viewOf(this.#text);
    }
    this.#text.write(text, 'utf16le');
    return this.bytes(this.#textView, 0, byteLength);
  }
}
