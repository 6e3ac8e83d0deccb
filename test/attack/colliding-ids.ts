/** UUIDs with one unseeded hash, found as an attacker would find them: by meeting in the middle. */
import { HASH_BEGIN, quickHash } from '../../src/base/structures/quick-hash.js';

const MULTIPLIER = 0xcc9e2d51;
/** Its inverse modulo 2^32. */
const INVERSE = 0xdee13bb1;
const FORWARD_BITS = 22;
const FIRST = Buffer.from('00000000-0000-4000-8000-000000000000', 'latin1');
/** The last 16 characters are chosen; the first 20 are the same in all. */
const CHOSEN_FROM = 20;

function after(state: number, word: number): number {
  const mixed = Math.imul(state ^ word, MULTIPLIER);
  return (mixed << 13) | (mixed >>> 19);
}

function before(state: number, word: number): number {
  return Math.imul((state >>> 13) | (state << 19), INVERSE) ^ word;
}

/** Four characters as the number that the hash reads: the hexadecimal digits of n, below 65,536. */
function hexWord(n: number): number {
  const text = n.toString(16).padStart(4, '0');
  return Buffer.from(text, 'latin1').readInt32LE(0);
}

/** Three hexadecimal digits and a hyphen. */
function shortWord(n: number): number {
  return (hexWord(n) >>> 8) | 0x2d000000;
}

const HEX_WORDS: Int32Array = Int32Array.from({ length: 65_536 }, (_, n) => hexWord(n));

/** @returns this many different UUIDs with one quickHash */
export function collidingIds(count: number): string[] {
  const view = new DataView(FIRST.buffer, FIRST.byteOffset, FIRST.length);
  let common = HASH_BEGIN;
  for (let at = 0; at < CHOSEN_FROM; at += 4) common = after(common, view.getInt32(at, true));
  // Searching from the front: the states after two words. If several have the same slot, the last stays.
  const size = 2 ** FORWARD_BITS;
  const states = new Int32Array(size);
  const choices = new Int32Array(size).fill(-1);
  for (let n = 0; n < size; n++) {
    const state = after(after(common, shortWord(n >>> 16)), HEX_WORDS[n & 0xffff] as number);
    const place = state >>> (32 - FORWARD_BITS);
    states[place] = state;
    choices[place] = n;
  }
  // Searching from the end: the states before two words that lead to the common hash.
  const ids: string[] = [];
  const bytes = Buffer.from(FIRST);
  for (let n = 0; ids.length < count; n++) {
    const last = HEX_WORDS[n & 0xffff] as number;
    const third = HEX_WORDS[n >>> 16] as number;
    const state = before(before(0, last), third);
    const place = state >>> (32 - FORWARD_BITS);
    const choice = choices[place] as number;
    if (choice === -1 || states[place] !== state) continue;
    bytes.writeInt32LE(shortWord(choice >>> 16), CHOSEN_FROM);
    bytes.writeInt32LE(HEX_WORDS[choice & 0xffff] as number, CHOSEN_FROM + 4);
    bytes.writeInt32LE(third, CHOSEN_FROM + 8);
    bytes.writeInt32LE(last, CHOSEN_FROM + 12);
    ids.push(bytes.toString('latin1'));
  }
  return ids;
}

/** The hashes of texts without a seed. */
export function quickHashesOf(texts: readonly string[]): Set<number> {
  return new Set(
    texts.map((text) => {
      const bytes = Buffer.from(text, 'utf8');
      return quickHash(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length);
    }),
  );
}
