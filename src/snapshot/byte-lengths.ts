/** Lengths are known before anything is written: buffers are allocated once, and Content-Length is known early. */

const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** In UTF-8, quotes and escapes included. */
export function jsonByteLength(value: string | null): number {
  if (value === null) return 4;
  return PLAIN.test(value) ? value.length + 2 : Buffer.byteLength(JSON.stringify(value), 'utf8');
}

export function packedByteLength(value: string | null): number {
  return value === null ? 1 : packedTextLength(Buffer.byteLength(value, 'utf8'));
}

/** Of a text of so many bytes of UTF-8 in MessagePack, its header included. */
export function packedTextLength(byteLength: number): number {
  if (byteLength < 32) return 1 + byteLength;
  if (byteLength < 0x100) return 2 + byteLength;
  return (byteLength < 0x10000 ? 3 : 5) + byteLength;
}

export function packedArrayHeaderLength(count: number): number {
  if (count < 16) return 1;
  return count < 0x10000 ? 3 : 5;
}

/** @param value a whole number from 0 to 2^32 - 1 */
export function packedIntegerLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x100) return 2;
  return value < 0x10000 ? 3 : 5;
}

const FIXSTR = 0xa0;
const STR8 = 0xd9;
const STR16 = 0xda;
const STR32 = 0xdb;

/** Of a text of so many bytes of UTF-8. @returns the offset behind the header */
export function writePackedTextHeader(target: Buffer, offset: number, byteLength: number): number {
  if (byteLength < 32) {
    target[offset] = FIXSTR | byteLength;
    return offset + 1;
  }
  if (byteLength < 0x100) {
    target[offset] = STR8;
    target[offset + 1] = byteLength;
    return offset + 2;
  }
  if (byteLength < 0x10000) {
    target[offset] = STR16;
    return target.writeUInt16BE(byteLength, offset + 1);
  }
  target[offset] = STR32;
  return target.writeUInt32BE(byteLength, offset + 1);
}
