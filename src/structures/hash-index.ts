import { shared } from './slabs.js';

/**
 * Finds the ordinal of a key without holding the keys: an open-addressing table of ordinals, probed linearly. Hashes are
 * compared first; the keys themselves are compared wherever they are, by the function given.
 */
export interface HashIndexImage {
  /** By ordinal: the keyed hash of the UTF-8 form of its key, see keyed-hash.ts. */
  readonly hashes: Uint32Array;
  /** A power of two of slots, each 0 or an ordinal + 1. */
  readonly table: Uint32Array;
}

/** Slots of the table per key: at most half of them are taken, so a probe takes 1.5 steps on average. */
const SLOTS_PER_KEY = 2;

/**
 * @param hashes by ordinal; keys are distinct
 * @returns the table; the same for the same hashes
 */
export function buildHashTable(hashes: Uint32Array): Uint32Array {
  let size = 2;
  while (size < hashes.length * SLOTS_PER_KEY) size *= 2;
  const table = shared.uint32(size);
  for (let ordinal = 0; ordinal < hashes.length; ordinal++) {
    let slot = hashes[ordinal]! & (size - 1);
    // Terminates: at least half of the slots are free.
    while (table[slot] !== 0) slot = (slot + 1) & (size - 1);
    table[slot] = ordinal + 1;
  }
  return table;
}

/**
 * @param hash of the key
 * @param isKey whether an ordinal has the key; asked of those with its hash
 * @returns the ordinal, or -1
 */
export function findInHashIndex(
  { hashes, table }: HashIndexImage,
  hash: number,
  isKey: (ordinal: number) => boolean,
): number {
  const wanted = hash >>> 0;
  let slot = wanted & (table.length - 1);
  // Terminates: at least half of the slots are free.
  while (table[slot] !== 0) {
    const ordinal = table[slot]! - 1;
    if (hashes[ordinal] === wanted && isKey(ordinal)) return ordinal;
    slot = (slot + 1) & (table.length - 1);
  }
  return -1;
}
