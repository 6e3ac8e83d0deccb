import { shared } from './slabs.js';

/** Finds the ordinal of a key without holding the keys: an open-addressing table of ordinals, probed linearly. */
export interface HashIndexImage {
  /** By ordinal: the keyed hash of the UTF-8 form of its key, see keyed-hash.ts. */
  readonly hashes: Uint32Array;
  /** A power of two of slots, each 0 or an ordinal + 1. */
  readonly table: Uint32Array;
}

const SLOTS_PER_KEY = 2;

/** The table for these hashes of distinct keys; the same for the same hashes. */
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
 * @param isKey whether an ordinal has the key; asked of those with its hash
 * @returns the ordinal, or -1
 */
export function findInHashIndex(
  { hashes, table }: HashIndexImage,
  hash: number,
  isKey: (ordinal: number) => boolean,
): number {
  const wanted = hash >>> 0;
  const last = table.length - 1;
  // Terminates: at least half of the slots are free.
  for (let slot = wanted & last; table[slot] !== 0; slot = (slot + 1) & last) {
    const ordinal = table[slot]! - 1;
    if (hashes[ordinal] === wanted && isKey(ordinal)) return ordinal;
  }
  return -1;
}
