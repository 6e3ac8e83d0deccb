import { hashBytes, viewOf } from './byte-strings.js';
import { sharedUint32 } from './shared.js';

/**
 * Finds the ordinal of a key without holding the keys: an open-addressing table of ordinals, probed linearly. The keys
 * themselves are read from wherever they are, by the function given.
 */

/** Slots of the table per key: at most half of them are taken, so a probe takes 1.5 steps on average. */
const SLOTS_PER_KEY = 2;

/**
 * @param count keys
 * @param hashOf hashBytes of the UTF-8 form of the key of an ordinal from 0 to count - 1; keys are distinct
 * @returns the table: a power of two of slots, each 0 or an ordinal + 1
 */
export function buildHashIndex(count: number, hashOf: (ordinal: number) => number): Uint32Array {
  let size = 2;
  while (size < count * SLOTS_PER_KEY) size *= 2;
  const table = sharedUint32(size);
  for (let ordinal = 0; ordinal < count; ordinal++) {
    let slot = hashOf(ordinal) & (size - 1);
    // Terminates: at least half of the slots are free.
    while (table[slot] !== 0) slot = (slot + 1) & (size - 1);
    table[slot] = ordinal + 1;
  }
  return table;
}

/** The ordinal of `key`, or -1. */
export function findInHashIndex(table: Uint32Array, key: string, keyOf: (ordinal: number) => string): number {
  const bytes = Buffer.from(key, 'utf8');
  let slot = hashBytes(viewOf(bytes), 0, bytes.length) & (table.length - 1);
  // Terminates: at least half of the slots are free.
  while (table[slot] !== 0) {
    const ordinal = table[slot]! - 1;
    if (keyOf(ordinal) === key) return ordinal;
    slot = (slot + 1) & (table.length - 1);
  }
  return -1;
}
