import { isUtf8 } from 'node:buffer';

/**
 * Finds where a MessagePack value ends, without decoding it and without keeping it: bytes may come in any pieces, and
 * none is looked at twice. A single number of values still to come replaces a stack, because where a value ends does
 * not depend on how its parts are nested.
 */

/** What follows a header's length bytes. Of the last three, the names of a record structure and its number when it is defined and used. */
const NONE = 0;
const STRING = 1;
const BINARY = 2;
const EXTENSION = 3;
const ARRAY = 4;
const MAP = 5;
const NAMES = 6;
const DEFINITION = 7;
const REFERENCE = 8;

/** `timestamp`, the one extension type of the MessagePack specification (-1). */
const TIMESTAMP_TYPE = 0xff;
/**
 * An extension of msgpackr's own: one or two bytes that number a record structure, behind it an array of names, behind that
 * the values of the first record. Later records are the number and their values. Numbers of one byte are 0x40 to 0x7f; those of
 * two begin with 0x60 to 0x7f. Where they are in use, plain integers are not written like that.
 */
const RECORD_STRUCTURE_TYPE = 0x72;

export class MessagePackScan {
  /** Where `scan` stopped. */
  position = 0;
  /** Whether it stopped at 0xc1, which MessagePack never uses. */
  isCorrupt = false;
  /** Whether the value holds a record structure, which only msgpackr can read. */
  hasRecordStructure = false;
  /** Whether some text of the value is not ASCII. */
  hasNonAscii = false;
  /** An extension type that only its own application can read, or null. */
  foreignExtension: number | null = null;

  /** Values that are still to come. */
  #pending = 1;
  /** Bytes of a header's length that are still to come, what they are so far, and what they are the length of. */
  #lengthBytes = 0;
  #length = 0;
  #of = NONE;
  /** Bytes of the payload that are still to come, and whether they are text. */
  #payload = 0;
  #payloadIsText = false;
  #typeBytes = 0;
  /** A structure whose names are still to come, or 0. */
  #defining = 0;
  /** By number of a structure: how many values its records have. At most 64 of one byte and 8,192 of two. */
  readonly #structures: Map<number, number> = new Map();
  #numbersAreWide = false;

  /** Forgets the last value and awaits another. */
  reset(): void {
    this.isCorrupt = false;
    this.hasRecordStructure = false;
    this.hasNonAscii = false;
    this.foreignExtension = null;
    this.#pending = 1;
  }

  /**
   * Reads on from `start` and leaves `position` behind the value, or at `end`, or at the fault.
   *
   * @returns whether the value is complete
   */
  scan(chunk: Buffer, start: number, end: number): boolean {
    let i = start;
    while (i < end) {
      // In the order in which the parts of a value come.
      if (this.#typeBytes > 0) {
        this.#takeType(chunk[i++] as number);
      } else if (this.#payload > 0) {
        i = this.#skipPayload(chunk, i, end);
      } else if (this.#lengthBytes > 0) {
        this.#length = this.#length * 256 + (chunk[i++] as number);
        if (--this.#lengthBytes === 0) this.#take(this.#of, this.#length);
      } else {
        const byte = chunk[i] as number;
        if (byte === 0xc1) {
          this.isCorrupt = true;
          break;
        }
        if (this.#defining !== 0) {
          if (isArrayHeader(byte)) {
            i++;
            this.#takeNames(byte);
            continue;
          }
          // No structure after all, but an extension of another program, which is whole.
          this.endDefinition();
          if (this.#pending === 0) {
            this.position = i;
            return true;
          }
        }
        i++;
        this.#pending--;
        // The commonest first: short text, text of up to 255 bytes, small numbers.
        if (byte >= 0xa0 && byte < 0xc0) this.#take(STRING, byte & 0x1f);
        else if (byte >= 0xc0 && byte < 0xe0) this.#takeHeader(byte);
        else if (byte >= 0x80 && byte < 0x90) this.#take(MAP, byte & 0x0f);
        else if (byte >= 0x90 && byte < 0xa0) this.#take(ARRAY, byte & 0x0f);
        else if (byte >= 0x40 && byte < 0x80 && this.#structures.size > 0) this.#takeReference(byte);
      }
      if (this.#pending === 0 && this.#defining === 0 && !this.#isInside()) {
        this.position = i;
        return true;
      }
    }
    this.position = i;
    return false;
  }

  #isInside(): boolean {
    return this.#payload > 0 || this.#lengthBytes > 0 || this.#typeBytes > 0;
  }

  /** To be asked at the end of the bytes: whether the value is complete if no names of a structure follow. */
  endDefinition(): boolean {
    if (this.#defining === 0) return false;
    this.#defining = 0;
    this.foreignExtension ??= RECORD_STRUCTURE_TYPE;
    return this.#pending === 0;
  }

  #skipPayload(chunk: Buffer, start: number, end: number): number {
    const stop = Math.min(end, start + this.#payload);
    if (this.#payloadIsText && !this.hasNonAscii) {
      let bits = 0;
      for (let i = start; i < stop; i++) bits |= chunk[i] as number;
      if (bits >= 0x80) this.hasNonAscii = true;
    }
    this.#payload -= stop - start;
    return stop;
  }

  #takeType(type: number): void {
    this.#typeBytes = 0;
    if (type === RECORD_STRUCTURE_TYPE && (this.#payload === 1 || this.#payload === 2)) {
      this.#await(DEFINITION, this.#payload);
      this.#payload = 0;
    } else if (type !== TIMESTAMP_TYPE) this.foreignExtension ??= type;
  }

  #await(of: number, lengthBytes: number): void {
    this.#of = of;
    this.#length = 0;
    this.#lengthBytes = lengthBytes;
  }

  /** The header of the array of names. */
  #takeNames(byte: number): void {
    if (byte < 0xa0) this.#take(NAMES, byte & 0x0f);
    else this.#await(NAMES, byte === 0xdc ? 2 : 4);
  }

  /** The first byte of a number of a structure, if it is one. */
  #takeReference(byte: number): void {
    if (this.#numbersAreWide && byte >= 0x60) {
      this.#await(REFERENCE, 1);
      this.#length = byte;
    } else this.#take(REFERENCE, byte);
  }

  /** What belongs to a record structure. */
  #takeOfStructure(of: number, count: number): void {
    if (of === DEFINITION) {
      const isWide = count >= 0x100;
      const first = isWide ? count >> 8 : count;
      if (first >= (isWide ? 0x60 : 0x40) && first < 0x80) {
        this.#defining = count;
        this.#numbersAreWide ||= isWide;
      } else this.foreignExtension ??= RECORD_STRUCTURE_TYPE;
      return;
    }
    const values = of === NAMES ? count : this.#structures.get(count);
    if (values === undefined) return;
    this.hasRecordStructure = true;
    this.#pending += values;
    if (of !== NAMES) return;
    this.#pending += count;
    this.#structures.set(this.#defining, count);
    this.#defining = 0;
  }

  /** What a header announces: `count` bytes, elements or entries. */
  #take(of: number, count: number): void {
    if (of === ARRAY) {
      this.#pending += count;
    } else if (of === MAP) {
      this.#pending += 2 * count;
    } else if (of >= NAMES) {
      this.#takeOfStructure(of, count);
    } else {
      this.#payload = count;
      this.#payloadIsText = of === STRING;
      if (of === EXTENSION) this.#typeBytes = 1;
    }
  }

  /** Headers 0xc0 to 0xdf. */
  #takeHeader(byte: number): void {
    const of = HEADER_OF[byte - 0xc0] as number;
    const bytes = HEADER_BYTES[byte - 0xc0] as number;
    if (byte >= 0xca && byte <= 0xd8) {
      this.#take(of, bytes);
    } else if (bytes > 0) this.#await(of, bytes);
  }
}

function isArrayHeader(byte: number): boolean {
  return (byte >= 0x90 && byte < 0xa0) || byte === 0xdc || byte === 0xdd;
}

/** What the headers 0xc0 to 0xdf are of. */
const HEADER_OF: Uint8Array = new Uint8Array(32)
  .fill(BINARY)
  .fill(NONE, 0, 4) // nil, reserved, false, true
  .fill(EXTENSION, 7, 10)
  .fill(EXTENSION, 20, 25)
  .fill(STRING, 25, 28)
  .fill(ARRAY, 28, 30)
  .fill(MAP, 30, 32);

/** 0xca to 0xd8: the bytes of the payload. The others: the bytes of the length. */
const HEADER_BYTES: Uint8Array = Uint8Array.of(
  ...[0, 0, 0, 0], // nil, reserved, false, true
  ...[1, 2, 4], // binary
  ...[1, 2, 4], // extension
  ...[4, 8], // floating point
  ...[1, 2, 4, 8], // unsigned integer
  ...[1, 2, 4, 8], // signed integer
  ...[1, 2, 4, 8, 16], // extension of a fixed size
  ...[1, 2, 4], // string
  ...[2, 4], // array
  ...[2, 4], // map
);

/**
 * Whether every text of one whole, well-formed value is UTF-8. MessagePack decoders do not ask; they put replacement
 * characters, or worse, where the bytes are wrong.
 */
export function hasOnlyUtf8(bytes: Buffer, start: number, end: number): boolean {
  let i = start;
  while (i < end) {
    const byte = bytes[i] as number;
    let text = -1;
    let header = 1;
    let skipped = 0;
    if (byte >= 0xa0 && byte < 0xc0) {
      text = byte & 0x1f;
    } else if (byte >= 0xd9 && byte <= 0xdb) {
      const lengthBytes = 1 << (byte - 0xd9);
      text = bytes.readUIntBE(i + 1, lengthBytes);
      header += lengthBytes;
    } else if (byte >= 0xc4 && byte <= 0xc9) {
      const lengthBytes = 1 << ((byte - 0xc4) % 3);
      skipped = bytes.readUIntBE(i + 1, lengthBytes);
      // The extensions have a type byte behind the length.
      header += lengthBytes + (byte >= 0xc7 ? 1 : 0);
    } else {
      skipped = FIXED_BYTES[byte] as number;
    }
    i += header;
    if (text > 0 && !isUtf8(bytes.subarray(i, i + text))) return false;
    i += text > 0 ? text : skipped;
  }
  return true;
}

/** Bytes that follow a header of fixed length: numbers, the lengths of arrays and maps, fixed extensions with type. */
const FIXED_BYTES: Uint8Array = (() => {
  const table = new Uint8Array(256);
  table.set([4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17], 0xca);
  table.set([2, 4, 2, 4], 0xdc);
  return table;
})();
