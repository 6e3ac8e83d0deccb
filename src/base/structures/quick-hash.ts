/**
 * A hash without a secret, computed during scanning. The hash is only for memos with one entry per slot,
 * where a collision is only a miss.
 */
export const HASH_BEGIN = 0x2c1b3c6d;

/** Mixes in four bytes. Multipliers and shifts are those of MurmurHash3. */
export function addWord(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0xcc9e2d51);
  return (mixed << 13) | (mixed >>> 19);
}

export function addByte(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x1b873593);
}

/** Spreads every input bit over the result, which may be negative. */
export function endHash(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

export function quickHash(view: DataView, from: number, to: number): number {
  let hash = HASH_BEGIN;
  let at = from;
  for (; at + 4 <= to; at += 4) hash = addWord(hash, view.getInt32(at, true));
  for (; at < to; at++) hash = addByte(hash, view.getUint8(at));
  return endHash(hash);
}
