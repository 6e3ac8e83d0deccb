/** sfc32 of PractRand: a seed gives the same data on every version of Node. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param stream the number of an independent sequence of this seed, an unsigned 32-bit integer */
  constructor(seed: number, stream: number) {
    this.#a = mix32(seed);
    this.#b = mix32(Math.floor(seed / 2 ** 32) + 0x9e3779b9);
    this.#c = mix32(stream + 0x85ebca6b);
    // The first dozen outputs are not random enough, so they are skipped.
    for (let i = 0; i < 12; i++) this.fraction();
  }

  /** A number from 0 to below 1. */
  fraction(): number {
    const result = (this.#a + this.#b + this.#counter) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) | 0;
    this.#counter = (this.#counter + 1) | 0;
    return (result >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.fraction() * count);
  }

  chance(perMille: number): boolean {
    return this.below(1000) < perMille;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

const UUID_KINDS = { event: 1, room: 2, course: 3, group: 4, lecturer: 5 } as const;

/**
 * Makes UUIDs of version 4, one per call. RFC 9562 section 5.4 allows pseudo-random bits. The last 32 bits
 * are a bijection of the call number, so 2^32 UUIDs are distinct.
 */
export function uuids(seed: number, kind: keyof typeof UUID_KINDS): () => string {
  const low = mix32((seed >>> 0) + 0x9e3779b9);
  const high = mix32(Math.floor(seed / 2 ** 32) ^ 0x7f4a7c15);
  const key = mix32(low + high + UUID_KINDS[kind]);
  const key0 = mix32(key + 1);
  const key1 = mix32(key + 2);
  const key2 = mix32(key + 3);
  const bytes = Buffer.alloc(16);
  let made = 0;
  return () => {
    const word = mix32(made + key0);
    bytes.writeInt32BE(word, 0);
    bytes.writeInt32BE((mix32(word ^ key1) & 0xffff_0fff) | 0x4000, 4);
    bytes.writeInt32BE((mix32(word + key2) & 0x3fff_ffff) | 0x8000_0000, 8);
    bytes.writeInt32BE(mix32(made ^ key), 12);
    made++;
    const hex = bytes.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };
}

/** A bijection on 32-bit integers: the finaliser of MurmurHash3 by Austin Appleby. */
function mix32(word: number): number {
  let x = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
