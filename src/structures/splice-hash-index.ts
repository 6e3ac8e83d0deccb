import { buildHashTable, type HashIndexImage, tableSize } from './hash-index.js';
import { shared } from './slabs.js';
import type { Splice } from './splice.js';

/**
 * The index after ordinals were removed or added. It equals the result of buildHashTable.
 *
 * Its layout is the one where only smaller ordinals lie between an ordinal and the slot of its hash. So
 * ordinals may be inserted in any order: each takes the place of the first larger one, which is then inserted
 * from there on.
 *
 * @param hashes of all ordinals after the change
 */
export function spliceHashIndex(
  { hashes: hashesBefore, table }: HashIndexImage,
  ordinals: Splice,
  hashes: Uint32Array,
): HashIndexImage {
  if (tableSize(hashes.length) !== table.length) return { hashes, table: buildHashTable(hashes) };
  const places = ordinals.newPlaces;
  const last = table.length - 1;
  const next = shared.uint32(table.length);
  for (let slot = 0; slot < table.length; slot++) {
    // NO_CODE becomes 0.
    if (table[slot] !== 0) next[slot] = places[table[slot]! - 1]! + 1;
  }
  const inserted = Array.from(ordinals.come);
  for (const ordinal of ordinals.gone) {
    let slot = hashesBefore[ordinal]! & last;
    // Terminates: the table has every earlier ordinal.
    while (table[slot] !== ordinal + 1) slot = (slot + 1) & last;
    // The rest of the run may move towards the free slot.
    for (; table[slot] !== 0; slot = (slot + 1) & last) {
      if (next[slot] !== 0) inserted.push(next[slot]! - 1);
      next[slot] = 0;
    }
  }
  for (const ordinal of inserted) insert(next, hashes, ordinal);
  return { hashes, table: next };
}

function insert(table: Uint32Array, hashes: Uint32Array, ordinal: number): void {
  const last = table.length - 1;
  let entry = ordinal + 1;
  // Terminates: at least half of the slots are free.
  for (let slot = hashes[ordinal]! & last; ; slot = (slot + 1) & last) {
    const there = table[slot]!;
    if (there === 0) {
      table[slot] = entry;
      return;
    }
    if (there > entry) {
      table[slot] = entry;
      entry = there;
    }
  }
}
