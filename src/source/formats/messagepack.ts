import { Unpackr } from 'msgpackr';
import { PROPERTY_NAME_UNITS_MAX } from '../../limits.js';
import type { RecordPosition } from '../../model/event.js';
import type { RecordSink } from '../source.js';
import { arrayHeaderBytes, arrayLength, MessagePackScan } from './messagepack-scan.js';
import {
  Carry,
  type FormatReader,
  malformed,
  rejectFault,
  rejectLongName,
  rejectNotUtf8,
  rejectTooLarge,
} from './reader.js';

/** The longest headers of an array and of a map, plus one byte. */
const HEAD_BYTES = 5 + 5 + 1;

/**
 * MessagePack: one array of maps, or a sequence of maps. A scan finds the end of each value before msgpackr
 * decodes it. So a value in several chunks is decoded once, and a huge value is skipped.
 */
export class MessagePackReader implements FormatReader {
  readonly format = 'messagepack';
  records = 0;
  readonly #sourceName: string;
  readonly #sink: RecordSink;
  readonly #unpackr: Unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true });
  readonly #scan: MessagePackScan = new MessagePackScan();
  readonly #carry: Carry = new Carry();
  /** Length of the array; -1 for a sequence; null while its header is incomplete. */
  #declared: number | null = null;
  #rest: Buffer = Buffer.alloc(0);
  #bytesBefore = 0;
  #inValue = false;
  #valueByte = 0;
  #head: Buffer = Buffer.alloc(0);
  /**
   * Whether a value looked like a record. The first byte alone proves little, because one binary file in
   * eight begins with such a byte.
   */
  #likely = false;

  constructor(sourceName: string, sink: RecordSink) {
    this.#sourceName = sourceName;
    this.#sink = sink;
  }

  get selfDelimiting(): boolean {
    return this.#declared !== -1;
  }

  push(chunk: Buffer): void {
    if (this.#head.length < HEAD_BYTES) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, HEAD_BYTES - this.#head.length)]);
    }
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
    const position: RecordPosition = { record: ++this.records, byte: this.#valueByte };
    this.#inValue = false;
    if (typeof bytes === 'number') {
      this.#sink.reject(rejectTooLarge(position, bytes));
      return;
    }
    this.#likely ||= scan.hasRecordStructure || beginsRecord(bytes, 0);
    const fault = this.#describeFault();
    if (fault !== null) {
      this.#sink.reject(rejectFault(position, fault));
      return;
    }
    if (scan.hasCutText) {
      // Scans again, now with every text in one piece.
      scan.reset();
      scan.scan(bytes, 0, true);
    }
    if (scan.hasBadText) {
      this.#sink.reject(rejectNotUtf8(position));
      return;
    }
    let value: unknown;
    try {
      const units = scan.hasLongText ? longestName(IN_MAPS.unpack(bytes)) : 0;
      if (units > PROPERTY_NAME_UNITS_MAX) {
        this.#sink.reject(rejectLongName(position, units));
        return;
      }
      value = this.#unpackr.unpack(bytes);
    } catch (error) {
      this.#sink.reject(rejectFault(position, describeError(error)));
      return;
    }
    this.#sink.record(value, position);
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
