const FIXSTR = 0xa0;
const STR8 = 0xd9;
const STR16 = 0xda;
const STR32 = 0xdb;

/** Writes the MessagePack header of a text of so many bytes of UTF-8 and returns the offset behind it. */
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
