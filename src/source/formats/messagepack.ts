import { isUtf8 } from 'node:buffer';
import { Unpackr } from 'msgpackr';
import { PROPERTY_NAME_UNITS_MAX } from '../../base/limits.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { FieldTable } from '../field-map.js';
import { Carry, type FormatReader, longName, malformed, notUtf8, tooLong } from './reader.js';

/** The longest headers of an array and of a map, plus one byte. */
const HEADS_BYTES = 5 + 5 + 1;

/**
 * MessagePack: one array of maps, or a sequence of maps. A scan finds the end of each value before msgpackr
 * decodes it. So a value in several chunks is decoded once, and a huge value is skipped.
 */
export class MessagePackReader implements FormatReader {
  readonly format = 'messagepack';
  records = 0;
  readonly #sourceName: string;
  readonly #table: FieldTable;
  readonly #unpackr: Unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true });
  readonly #scan: MessagePackScan = new MessagePackScan();
  readonly #carry: Carry = new Carry();
  /** Length of the array; -1 for a sequence; null while its header is incomplete. */
  #declared: number | null = null;
  #rest: Buffer = Buffer.alloc(0);
  #bytesBefore = 0;
  #inValue = false;
  #valueByte = 0;
  readonly #head: Buffer;
  /**
   * Whether a value looked like a record. The first byte alone proves little, because one binary file in
   * eight begins with such a byte.
   */
  #likely = false;

  constructor(sourceName: string, table: FieldTable, _rules: ReadRules, head: Buffer) {
    this.#head = Buffer.from(head.subarray(0, HEADS_BYTES));
    this.#sourceName = sourceName;
    this.#table = table;
  }

  get selfDelimiting(): boolean {
    return this.#declared !== -1;
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    if (this.#declared === null) {
      const headerBytes = arrayHeaderBytes(bytes[0]);
      if (headerBytes === 0) this.#declared = -1;
      else if (bytes.length >= headerBytes) this.#declared = arrayLength(bytes, 0);
      at = headerBytes;
    }
    at = this.#declared === null ? 0 : this.#readValues(bytes, at, false);
    this.#bytesBefore += at;
    this.#rest = Buffer.from(bytes.subarray(at));
  }

  finish(): void {
    const end = `the source ends at byte ${this.#bytesBefore + this.#rest.length}`;
    if (this.#declared === null) throw this.#malformed(`${end}, inside the header of an array`);
    this.#readValues(this.#rest, 0, true);
    if (this.#inValue) {
      throw this.#malformed(`${end}, in the middle of ${this.#present()}; expected the rest of it`);
    }
    if (this.#declared > this.records) {
      const missing = `after ${this.records} of the ${this.#declared} records that its array declares`;
      throw this.#malformed(`${end}, ${missing}; expected the rest of them`);
    }
    if (this.#declared < 0 && this.records > 1 && !this.#isLikely()) throw this.#neither();
  }

  /** @returns the end of the bytes, or the start of a cut header */
  #readValues(bytes: Buffer, start: number, isEnd: boolean): number {
    const scan = this.#scan;
    let at = start;
    while (at < bytes.length) {
      if (!this.#inValue) {
        this.#valueByte = this.#bytesBefore + at;
        if (this.records === this.#declared) {
          const array = `after the end of the array of ${this.#declared} records`;
          throw this.#malformed(`byte ${this.#valueByte}: found more bytes ${array}; expected nothing more`);
        }
        this.#inValue = true;
        scan.reset();
      }
      const isComplete = scan.scan(bytes, at, isEnd);
      const end = scan.position;
      if (scan.isCorrupt) {
        const where = `byte ${this.#bytesBefore + end}, in ${this.#present()}`;
        throw this.#malformed(`${where}: found 0xc1, which MessagePack never uses; the data is corrupt`);
      }
      if (!isComplete) {
        this.#carry.append(bytes, at, end);
        return end;
      }
      this.#endValue(this.#carry.end(bytes, at, end));
      at = end;
    }
    return at;
  }

  #endValue(bytes: Buffer | number): void {
    const scan = this.#scan;
    const table = this.#table;
    table.row.record = ++this.records;
    table.row.byte = this.#valueByte;
    this.#inValue = false;
    if (typeof bytes === 'number') {
      table.reject(tooLong(bytes), 'record-too-large');
      return;
    }
    this.#likely ||= scan.hasRecordStructure || beginsRecord(bytes, 0);
    const fault = this.#describeFault();
    if (fault !== null) {
      table.reject(fault);
      return;
    }
    if (scan.hasCutText) {
      // Scans again, now with every text in one piece.
      scan.reset();
      scan.scan(bytes, 0, true);
    }
    if (scan.hasBadText) {
      table.reject(notUtf8(), 'malformed-text');
      return;
    }
    let value: unknown;
    try {
      const units = scan.hasLongText ? longestName(IN_MAPS.unpack(bytes)) : 0;
      if (units > PROPERTY_NAME_UNITS_MAX) {
        table.reject(longName(units));
        return;
      }
      value = this.#unpackr.unpack(bytes);
    } catch (error) {
      table.reject(describeError(error));
      return;
    }
    table.object(value);
  }

  #describeFault(): string | null {
    const { hasRecordStructure, foreignExtension } = this.#scan;
    if (hasRecordStructure) {
      return 'the record holds a record structure of msgpackr; expected plain maps (write them with useRecords: false)';
    }
    if (foreignExtension === null) return null;
    const type = foreignExtension < 0x80 ? foreignExtension : foreignExtension - 0x100;
    return `the record holds a MessagePack extension of type ${type}; the only one allowed is the timestamp (-1)`;
  }

  #present(): string {
    return `record ${this.records + 1} (which begins at byte ${this.#valueByte})`;
  }

  #malformed(problem: string): Error {
    return this.#isLikely() ? malformed(this.#sourceName, problem) : this.#neither();
  }

  /** The guess of the format was wrong, so a position within MessagePack would not help. */
  #neither(): Error {
    const shown = [...this.#head.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, '0'));
    const found = `it begins with the bytes ${shown.join(' ')} (hexadecimal)`;
    return malformed(
      this.#sourceName,
      `it is neither JSON, NDJSON nor MessagePack: ${found}; expected one of them, plain or gzipped`,
    );
  }

  #isLikely(): boolean {
    return this.#likely || this.#declared === 0 || beginsRecord(this.#head, arrayHeaderBytes(this.#head[0]));
  }
}

/** Decodes maps as Maps, whose names V8 does not keep. */
const IN_MAPS = new Unpackr({ useRecords: false, mapsAsObjects: false });

function longestName(value: unknown): number {
  let longest = 0;
  const isMap = value instanceof Map;
  if (!isMap && !Array.isArray(value)) return longest;
  for (const [name, inner] of value.entries()) {
    if (isMap && typeof name === 'string') longest = Math.max(longest, name.length);
    longest = Math.max(longest, longestName(inner));
  }
  return longest;
}

/** Whether the bytes begin an empty map, or a map with a text as its first name. Missing bytes pass. */
function beginsRecord(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at];
  if (byte === undefined || byte === 0x80) return true;
  const isShort = byte > 0x80 && byte < 0x90;
  if (!isShort && byte !== 0xde && byte !== 0xdf) return false;
  const name = bytes[at + (isShort ? 1 : byte === 0xde ? 3 : 5)];
  return name === undefined || (name >= 0xa0 && name < 0xc0) || (name >= 0xd9 && name <= 0xdb);
}

/** The fault of well-formed bytes: the nesting is too deep, or a timestamp has a wrong length. */
function describeError(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return error instanceof RangeError && reason.includes('call stack')
    ? 'the record is nested too deeply to be decoded; expected an event, whose fields are texts'
    : `the record cannot be decoded: ${reason}`;
}

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
class MessagePackScan {
  position = 0;
  /** Whether `scan` stopped at 0xc1, which MessagePack never uses. */
  isCorrupt = false;
  /** Whether the value holds a record structure, which only msgpackr can read. */
  hasRecordStructure = false;
  /** Whether a text is not UTF-8. Decoders would replace its bytes. */
  hasBadText = false;
  /** Whether a text came in several chunks. Such a text was not checked for `hasBadText`. */
  hasCutText = false;
  /** Whether a text is too long for the name of a property. */
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
function arrayHeaderBytes(byte = 0): number {
  if (byte >= 0x90 && byte < 0xa0) return 1;
  return byte === 0xdc ? 3 : byte === 0xdd ? 5 : 0;
}

function arrayLength(bytes: Buffer, at: number): number {
  const headerBytes = arrayHeaderBytes(bytes[at]);
  return headerBytes === 1 ? (bytes[at] as number) & 0x0f : bytes.readUIntBE(at + 1, headerBytes - 1);
}
