/**
 * How long values are in the two representations. Lengths are known before anything is written, so that buffers are
 * allocated once, and Content-Length is known before a long body is made.
 */

/** Texts of which every character is one byte in JSON and in MessagePack. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** The UTF-8 length of a string as a JSON value, quotes and escapes included; of `null` for null. */
export function jsonByteLength(value: string | null): number {
  if (value === null) return 4;
  return PLAIN.test(value) ? value.length + 2 : Buffer.byteLength(JSON.stringify(value), 'utf8');
}

/** The length of a string in MessagePack, its header included; of nil for null. */
export function packedByteLength(value: string | null): number {
  if (value === null) return 1;
  return packedTextLength(Buffer.byteLength(value, 'utf8'));
}

/** The length of a string of so many bytes of UTF-8 in MessagePack, its header included. */
export function packedTextLength(byteLength: number): number {
  if (byteLength < 32) return 1 + byteLength;
  if (byteLength < 0x100) return 2 + byteLength;
  return (byteLength < 0x10000 ? 3 : 5) + byteLength;
}

/** The length of the header of a MessagePack array. */
export function packedArrayHeaderLength(count: number): number {
  if (count < 16) return 1;
  return count < 0x10000 ? 3 : 5;
}

/** The length of a whole number that is not negative and below 2^32, in MessagePack. */
export function packedIntegerLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x100) return 2;
  return value < 0x10000 ? 3 : 5;
}
