import { Unpackr } from 'msgpackr';
import { RECORD_BYTES_MAX } from '../../limits.js';
import type { RecordPosition } from '../../model/event.js';
import type { RecordSink } from '../source.js';
import { Carry } from './carry.js';
import { hasOnlyUtf8, MessagePackScan } from './messagepack-scan.js';
import { type FormatReader, malformed, rejectNotUtf8, rejectTooLarge, rejectUndecodable } from './reader.js';

/** Headers of an array: 1, 3 or 5 bytes. */
const ARRAY_HEADER_BYTES_MAX = 5;
/** The longest headers of an array and of a map, and the first byte behind them. */
const HEAD_BYTES = ARRAY_HEADER_BYTES_MAX + 5 + 1;

/**
 * MessagePack: either one array of maps, or maps one after the other to the end of the source. The header of the
 * array is read by hand, so it is never held whole. A scan finds the end of each value before msgpackr decodes it: so
 * nothing is decoded twice where a chunk cuts a value, and a value that claims to be huge is skipped, not held.
 */
export class MessagePackReader implements FormatReader {
  readonly format = 'messagepack';
  readonly #sourceName: string;
  readonly #sink: RecordSink;
  readonly #unpackr: Unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true });
  readonly #range: { start: number; end: number } = { start: 0, end: 0 };
  readonly #scan: MessagePackScan = new MessagePackScan();
  readonly #carry: Carry = new Carry();
  /** Records of the array, -1 for a sequence, null while the header has not come whole. */
  #declared: number | null = null;
  /** Bytes before the present chunk. */
  #bytesBefore = 0;
  /** Whether a value has begun, and where. */
  #inValue = false;
  #valueByte = 0;
  #records = 0;
  /** The first bytes, as many as tell whether they can be the beginning of a record. */
  #head: Buffer = Buffer.alloc(0);
  /** Whether anything looked like a record. The first byte alone is a guess: one binary file in eight begins like that. */
  #likely = false;

  constructor(sourceName: string, sink: RecordSink) {
    this.#sourceName = sourceName;
    this.#sink = sink;
  }

  get records(): number {
    return this.#records;
  }

  /** An array declares its length, a sequence does not. */
  get selfDelimiting(): boolean {
    return this.#declared !== -1;
  }

  push(chunk: Buffer): void {
    if (this.#head.length < HEAD_BYTES) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, HEAD_BYTES - this.#head.length)]);
    }
    let i = 0;
    if (this.#declared === null) {
      i = this.#readArrayHeader(chunk);
      if (this.#declared === null) return;
    }
    while (i < chunk.length) {
      if (!this.#inValue) {
        if (this.#records === this.#declared) throw this.#trailingBytes(this.#bytesBefore + i);
        this.#inValue = true;
        this.#valueByte = this.#bytesBefore + i;
        this.#scan.reset();
      }
      const complete = this.#scan.scan(chunk, i, chunk.length);
      const end = this.#scan.position;
      if (this.#scan.isCorrupt) throw this.#corrupt(this.#bytesBefore + end);
      if (complete) this.#endValue(chunk, i, end);
      else this.#carry.append(chunk, i, end);
      i = end;
    }
    this.#bytesBefore += chunk.length;
  }

  finish(): void {
    const end = `the source ends at byte ${this.#bytesBefore}`;
    if (this.#declared === null) throw this.#malformed(`${end}, inside the header of an array`);
    if (this.#inValue && this.#scan.endDefinition()) this.#endValue(Buffer.alloc(0), 0, 0);
    if (this.#inValue) {
      const where = `in the middle of record ${this.#records + 1} (which begins at byte ${this.#valueByte})`;
      throw this.#malformed(`${end}, ${where}; expected the rest of it`);
    }
    if (this.#declared > this.#records) {
      const missing = `after ${this.#records} of the ${this.#declared} records that its array declares`;
      throw this.#malformed(`${end}, ${missing}; expected the rest of them`);
    }
    if (this.#declared < 0 && this.#records > 1 && !this.#isLikely()) throw this.#neither();
  }

  /** @returns the offset of the first byte behind the header; `#declared` stays null until the header is whole */
  #readArrayHeader(chunk: Buffer): number {
    const before = this.#carry.length;
    const taken = Math.min(chunk.length, ARRAY_HEADER_BYTES_MAX - before);
    this.#carry.append(chunk, 0, taken);
    const bytes = this.#carry.view();
    const byte = bytes[0] as number;
    let headerBytes = 1;
    if (byte >= 0x90 && byte < 0xa0) {
      this.#declared = byte & 0x0f;
    } else if (byte === 0xdc || byte === 0xdd) {
      headerBytes = byte === 0xdc ? 3 : 5;
      if (bytes.length >= headerBytes) this.#declared = bytes.readUIntBE(1, headerBytes - 1);
    } else {
      headerBytes = 0;
      this.#declared = -1;
    }
    if (this.#declared === null) {
      this.#bytesBefore += chunk.length;
      return chunk.length;
    }
    this.#carry.clear();
    return headerBytes === 0 ? 0 : headerBytes - before;
  }

  #endValue(chunk: Buffer, start: number, end: number): void {
    const position: RecordPosition = { record: ++this.#records, byte: this.#valueByte };
    this.#inValue = false;
    if (this.#carry.length === 0) {
      this.#decode(chunk, start, end, position);
      return;
    }
    this.#carry.append(chunk, start, end);
    const byteLength = this.#carry.length;
    if (this.#carry.overflown) this.#sink.reject(rejectTooLarge(position, byteLength));
    else this.#decode(this.#carry.view(), 0, byteLength, position);
    this.#carry.clear();
  }

  #decode(bytes: Buffer, start: number, end: number, position: RecordPosition): void {
    if (!this.#likely) this.#likely = beginsRecord(bytes, start);
    if (end - start > RECORD_BYTES_MAX) {
      this.#sink.reject(rejectTooLarge(position, end - start));
      return;
    }
    if (this.#scan.hasRecordStructure) {
      this.#likely = true;
      const problem =
        "the record holds a record structure of msgpackr's own; expected plain maps (write them with useRecords: false)";
      this.#sink.reject(rejectUndecodable(position, problem));
      return;
    }
    const extension = this.#scan.foreignExtension;
    if (extension !== null) {
      const type = extension < 0x80 ? extension : extension - 0x100;
      const problem = `the record holds a MessagePack extension of type ${type}; expected none but timestamps (-1)`;
      this.#sink.reject(rejectUndecodable(position, problem));
      return;
    }
    if (this.#scan.hasNonAscii && !hasOnlyUtf8(bytes, start, end)) {
      this.#sink.reject(rejectNotUtf8(position));
      return;
    }
    let value: unknown;
    this.#range.start = start;
    this.#range.end = end;
    try {
      value = this.#unpackr.unpack(bytes, this.#range);
    } catch (error) {
      // The bytes are well formed, so this is nesting too deep for the decoder, or a timestamp of no known length.
      const reason = error instanceof Error ? error.message : String(error);
      const problem =
        error instanceof RangeError && reason.includes('call stack')
          ? 'the record is nested too deeply to be decoded; expected an event, whose fields are texts'
          : `the record cannot be decoded: ${reason}`;
      this.#sink.reject(rejectUndecodable(position, problem));
      return;
    }
    this.#sink.record(value, position);
  }

  #trailingBytes(at: number): Error {
    const array = `behind the end of the array of ${this.#declared} records`;
    return this.#malformed(`byte ${at}: found more bytes ${array}; expected nothing more`);
  }

  #corrupt(at: number): Error {
    const where = `byte ${at}, in record ${this.#records + 1} (which begins at byte ${this.#valueByte})`;
    return this.#malformed(`${where}: found 0xc1, which MessagePack never uses; the data is corrupt`);
  }

  #malformed(problem: string): Error {
    return this.#isLikely() ? malformed(this.#sourceName, problem) : this.#neither();
  }

  /** The guess was wrong: where exactly it is no MessagePack helps nobody. */
  #neither(): Error {
    const shown = [...this.#head.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, '0'));
    const found = `it begins with the bytes ${shown.join(' ')} (hexadecimal)`;
    return malformed(
      this.#sourceName,
      `it is neither JSON, NDJSON nor MessagePack: ${found}; expected one of them, plain or gzipped`,
    );
  }

  #isLikely(): boolean {
    // Behind an array of nothing there is no record to look at.
    return this.#likely || this.#declared === 0 || beginsRecord(this.#head, arrayHeaderBytes(this.#head[0]));
  }
}

/** A map whose first name is a text, as far as the bytes go; of a map without entries, the map. */
function beginsRecord(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at];
  if (byte === undefined || byte === 0x80) return true;
  const isShort = byte > 0x80 && byte < 0x90;
  if (!isShort && byte !== 0xde && byte !== 0xdf) return false;
  const name = bytes[at + (isShort ? 1 : byte === 0xde ? 3 : 5)];
  return name === undefined || (name >= 0xa0 && name < 0xc0) || (name >= 0xd9 && name <= 0xdb);
}

/** Bytes of the header of the array that the first byte begins; 0 where it begins none. */
function arrayHeaderBytes(byte = 0): number {
  if (byte >= 0x90 && byte < 0xa0) return 1;
  return byte === 0xdc ? 3 : byte === 0xdd ? 5 : 0;
}
