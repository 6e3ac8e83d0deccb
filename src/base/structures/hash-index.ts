import { shared } from './slabs.js';

/** Finds ordinals by keys that are stored elsewhere: open addressing, probed linearly. */
export interface HashIndexImage {
  /** For each ordinal, the keyed hash of its key in UTF-8. */
  readonly hashes: Uint32Array;
  /** Slots, each 0 or an ordinal + 1. The number of slots is a power of two. */
  readonly table: Uint32Array;
}

const SLOTS_PER_KEY = 2;

export function tableSize(keyCount: number): number {
  let size = 2;
  while (size < keyCount * SLOTS_PER_KEY) size *= 2;
  return size;
}

export function buildHashTable(hashes: Uint32Array): Uint32Array {
  const size = tableSize(hashes.length);
  const table = shared.uint32(size);
  for (let ordinal = 0; ordinal < hashes.length; ordinal++) {
    let slot = hashes[ordinal]! & (size - 1);
    // Terminates: at least half of the slots are free.
    while (table[slot] !== 0) slot = (slot + 1) & (size - 1);
    table[slot] = ordinal + 1;
  }
  return table;
}

/** Calls `isKey` for ordinals with this hash. Returns -1 if no ordinal has the key. */
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
