/** Length of what {@link textDigest} returns. */
export const TEXT_DIGEST_CHARACTERS = 14;
const HALF = TEXT_DIGEST_CHARACTERS / 2;

/**
 * 64 bits that tell texts apart, as letters and digits: for names and places in tables, not against anybody who looks for
 * two texts with one digest. Two multiplicative hashes over UTF-16 units, each mixed with the other at the end
 * (multipliers and shifts of MurmurHash3); a third of the time of SHA-1 for a text of 150 characters, and no call into
 * another language.
 */
export function textDigest(text: string): string {
  let a = 0x2c1b3c6d;
  let b = 0x297a2d39;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0xcc9e2d51);
    a = (a << 15) | (a >>> 17);
    b = Math.imul(b ^ unit, 0x1b873593);
    b = (b << 13) | (b >>> 19);
  }
  a = mix(a ^ text.length ^ b);
  b = mix(b ^ a);
  return (a >>> 0).toString(36).padStart(HALF, '0') + (b >>> 0).toString(36).padStart(HALF, '0');
}

/** Every bit of the input changes half of the bits of the output. */
function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
