import { isUtf8 } from 'node:buffer';
import { PROPERTY_NAME_UNITS_MAX } from '../../limits.js';

/** Values without inner values: numbers, constants, binary data. */
const OPAQUE = 0;
const EXTENSION = 1;
const TEXT = 2;
const ARRAY = 3;
const MAP = 4;

/** Headers 0xc0 to 0xdf: the kind, the size of the length field, and the payload's length if there is no such field. */
const HEADERS: readonly (readonly [of: number, lengthBytes: number, payload: number])[] = [
  ...[0, 0, 0, 0].map((payload) => [OPAQUE, 0, payload] as const),
  ...[1, 2, 4].map((lengthBytes) => [OPAQUE, lengthBytes, 0] as const),
  ...[1, 2, 4].map((lengthBytes) => [EXTENSION, lengthBytes, 0] as const),
  ...[4, 8, 1, 2, 4, 8, 1, 2, 4, 8].map((payload) => [OPAQUE, 0, payload] as const),
  ...[1, 2, 4, 8, 16].map((payload) => [EXTENSION, 0, payload] as const),
  ...[1, 2, 4].map((lengthBytes) => [TEXT, lengthBytes, 0] as const),
  ...[2, 4].map((lengthBytes) => [ARRAY, lengthBytes, 0] as const),
  ...[2, 4].map((lengthBytes) => [MAP, lengthBytes, 0] as const),
];

/** `timestamp`, the one extension type of the MessagePack specification (-1). */
const TIMESTAMP_TYPE = 0xff;
/**
 * An extension of msgpackr: the number of a record structure, its names, then the values of the first record.
 * Later records consist of this number and their values. The numbers are 0x40 to 0x7f or 0x6000 to 0x7fff; a
 * number of a known structure is not read as an integer.
 */
const RECORD_STRUCTURE_TYPE = 0x72;

/** Finds the end of a MessagePack value by counting the values that must still follow. */
export class MessagePackScan {
  position = 0;
  /** Whether `scan` stopped at 0xc1, which MessagePack never uses. */
  isCorrupt = false;
  /** Whether the value holds a record structure, which only msgpackr can read. */
  hasRecordStructure = false;
  /** Whether a text is not UTF-8. Decoders would replace its bytes. */
  hasBadText = false;
  /** Whether a text came in several chunks. Such a text was not checked for `hasBadText`. */
  hasCutText = false;
  /** Whether a text is so long that it may not be the name of a property. */
  hasLongText = false;
  /** An extension type that only its own application can read. */
  foreignExtension: number | null = null;

  #pending = 1;
  #payload = 0;
  /**
   * How many values a record has, by the number of its structure. A source has at most 64 numbers of one byte and
   * 8,192 numbers of two bytes.
   */
  readonly #structures: Map<number, number> = new Map();
  #numbersAreWide = false;

  reset(): void {
    this.isCorrupt = false;
    this.hasRecordStructure = false;
    this.hasBadText = false;
    this.hasCutText = false;
    this.hasLongText = false;
    this.foreignExtension = null;
    this.#pending = 1;
  }

  /**
   * Continues from `start`. Stops before a cut header, which the next call must get whole.
   *
   * @returns whether the value is complete
   */
  scan(bytes: Buffer, start: number, isEnd: boolean): boolean {
    let at = start;
    for (;;) {
      const taken = Math.min(this.#payload, bytes.length - at);
      this.#payload -= taken;
      at += taken;
      this.position = at;
      if (this.#payload > 0) return false;
      if (this.#pending === 0) return true;
      if (at === bytes.length) return false;
      at = this.#readHeader(bytes, at, isEnd);
      if (at === -1) return false;
    }
  }

  /** @returns the position to continue from; -1 if the header is cut or corrupt */
  #readHeader(bytes: Buffer, at: number, isEnd: boolean): number {
    const byte = bytes[at] as number;
    if (byte >= 0xa0 && byte < 0xc0) return this.#takeText(bytes, at + 1, byte & 0x1f);
    if (byte < 0x80 || byte >= 0xe0) return this.#takeInteger(bytes, at, byte);
    if (byte < 0x90) return this.#take(at + 1, 2 * (byte & 0x0f), 0);
    if (byte < 0xa0) return this.#take(at + 1, byte & 0x0f, 0);
    if (byte === 0xc1) {
      this.isCorrupt = true;
      return -1;
    }
    const [of, lengthBytes, payload] = HEADERS[byte - 0xc0] as (typeof HEADERS)[number];
    const next = at + 1 + lengthBytes + (of === EXTENSION ? 1 : 0);
    if (next > bytes.length) return -1;
    const length = lengthBytes === 0 ? payload : bytes.readUIntBE(at + 1, lengthBytes);
    if (of === TEXT) return this.#takeText(bytes, next, length);
    if (of === ARRAY) return this.#take(next, length, 0);
    if (of === MAP) return this.#take(next, 2 * length, 0);
    return of === EXTENSION ? this.#takeExtension(bytes, next, length, isEnd) : this.#take(next, 0, length);
  }

  /** Counts a value, and the values or payload bytes in it. */
  #take(next: number, values: number, payload: number): number {
    this.#pending += values - 1;
    this.#payload = payload;
    return next;
  }

  #takeText(bytes: Buffer, start: number, length: number): number {
    const end = start + length;
    if (length > PROPERTY_NAME_UNITS_MAX) this.hasLongText = true;
    if (end > bytes.length) {
      this.hasCutText = true;
      return this.#take(start, 0, length);
    }
    let bits = 0;
    for (let i = start; i < end; i++) bits |= bytes[i] as number;
    if (bits >= 0x80 && !isUtf8(bytes.subarray(start, end))) this.hasBadText = true;
    return this.#take(end, 0, 0);
  }

  /** An integer of one byte, or the number of a record structure before a record's values. */
  #takeInteger(bytes: Buffer, at: number, byte: number): number {
    const mayRefer = byte >= 0x40 && byte < 0x80 && this.#structures.size > 0;
    if (!mayRefer) return this.#take(at + 1, 0, 0);
    const isWide = this.#numbersAreWide && byte >= 0x60;
    if (isWide && at + 1 === bytes.length) return -1;
    const values = this.#structures.get(isWide ? bytes.readUInt16BE(at) : byte);
    if (values !== undefined) this.hasRecordStructure = true;
    return this.#take(at + (isWide ? 2 : 1), values ?? 0, 0);
  }

  #takeExtension(bytes: Buffer, start: number, length: number, isEnd: boolean): number {
    const type = bytes[start - 1] as number;
    if (type === RECORD_STRUCTURE_TYPE && (length === 1 || length === 2)) {
      const namesAt = start + length;
      const isCut = namesAt + Math.max(1, arrayHeaderBytes(bytes[namesAt])) > bytes.length;
      if (isCut && !isEnd) return -1;
      const number = isCut ? 0 : bytes.readUIntBE(start, length);
      if (isStructureNumber(number) && arrayHeaderBytes(bytes[namesAt]) > 0) {
        const names = arrayLength(bytes, namesAt);
        this.#structures.set(number, names);
        this.#numbersAreWide ||= number > 0xff;
        this.hasRecordStructure = true;
        return this.#take(namesAt + arrayHeaderBytes(bytes[namesAt]), 2 * names, 0);
      }
    }
    if (type !== TIMESTAMP_TYPE) this.foreignExtension ??= type;
    return this.#take(start, 0, length);
  }
}

function isStructureNumber(number: number): boolean {
  return (number >= 0x40 && number < 0x80) || (number >= 0x6000 && number < 0x8000);
}

/** Length of the array header that begins with this byte; 0 if no array header does. */
export function arrayHeaderBytes(byte = 0): number {
  if (byte >= 0x90 && byte < 0xa0) return 1;
  return byte === 0xdc ? 3 : byte === 0xdd ? 5 : 0;
}

export function arrayLength(bytes: Buffer, at: number): number {
  const headerBytes = arrayHeaderBytes(bytes[at]);
  return headerBytes === 1 ? (bytes[at] as number) & 0x0f : bytes.readUIntBE(at + 1, headerBytes - 1);
}
