import { highWord, lowWord, mix32 } from './random.js';

/** What an identifier is for; identifiers of one kind never repeat. */
export const UUID_KINDS = { event: 1, room: 2, course: 3, group: 4, lecturer: 5 } as const;

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * Makes the UUIDs of one kind: version 4 in form (RFC 9562 section 5.4 allows pseudo-random bits), a function of seed
 * and index alone. The last 32 bits are a bijection of the index, so up to 2^32 of them are distinct by construction.
 */
export function createUuids(seed: number, kind: keyof typeof UUID_KINDS): (index: number) => string {
  const key = mix32(
    mix32(lowWord(seed) + 0x9e3779b9) + mix32(highWord(seed) ^ 0x7f4a7c15) + UUID_KINDS[kind],
  );
  const key0 = mix32(key + 1);
  const key1 = mix32(key + 2);
  const key2 = mix32(key + 3);
  return (index) => {
    const word0 = mix32(index + key0);
    const word1 = (mix32(word0 ^ key1) & 0xffff_0fff) | 0x4000;
    const word2 = (mix32(word0 + key2) & 0x3fff_ffff) | 0x8000_0000;
    const word3 = mix32(index ^ key);
    return `${hex16(word0 >>> 16)}${hex16(word0)}-${hex16(word1 >>> 16)}-${hex16(word1)}-${hex16(word2 >>> 16)}-${hex16(word2)}${hex16(word3 >>> 16)}${hex16(word3)}`;
  };
}

/** Four hexadecimal digits of the low 16 bits. */
function hex16(word: number): string {
  return `${HEX[(word >>> 8) & 0xff]}${HEX[word & 0xff]}`;
}
