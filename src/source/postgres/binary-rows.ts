import { RECORD_BYTES_MAX } from '../../limits.js';
import { FIELDS, type FieldName } from '../../model/fields.js';
import { viewOf } from '../../structures/byte-strings.js';
import { addByte, addWord, endHash, HASH_BEGIN } from '../../structures/quick-hash.js';
import { malformed, rejectTooLarge } from '../formats/reader.js';
import { type NameSpans, spansOf } from '../name-spans.js';
import type { RecordSink } from '../source.js';

/** The form of a received value: 16 bytes, UTF-8, or microseconds since 2000. */
export type BinaryForm = 'uuid' | 'text' | 'instant';

export interface BinaryColumn {
  readonly field: FieldName;
  readonly form: BinaryForm;
}

const SIGNATURE: Buffer = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** The signature, flags, and the length of an extension. */
const HEADER_BYTES = SIGNATURE.length + 8;
const TRAILER = -1;
const NULL = -1;
const INCOMPLETE = -1;

const BACKSLASH = 0x5c;
const FOUR_BACKSLASHES = 0x5c5c5c5c;
const DASH = 0x2d;
const UUID_BYTES = 16;
const UUID_TEXT_BYTES = 36;
const INSTANT_BYTES = 8;

/** The two digits of each byte, as a little-endian number. */
const DIGITS: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);

/**
 * Reads rows of COPY in the binary format of PostgreSQL ("Binary Format" in the page of COPY). Values go to the
 * sink as UTF-8. Texts come directly from the row; the texts of other values are written behind the rows in the same
 * buffer. A row that the sink does not take is decoded.
 */
export class BinaryRows {
  /** Rows so far, rejected ones included. */
  records = 0;
  readonly #sourceName: string;
  readonly #sink: RecordSink;
  readonly #columns: readonly BinaryColumn[];
  readonly #unserved: readonly string[];
  readonly #names: NameSpans;
  readonly #spans: Int32Array = new Int32Array(3 * FIELDS.length).fill(-1);
  /** For each column: the index of its value in the spans. */
  readonly #places: Int32Array;
  /** For each column of identifiers or instants: the place in `#bytes` for its text. */
  readonly #textPlaces: Int32Array;
  /** For each column of instants: their texts. */
  readonly #instants: readonly (BinaryInstants | null)[];
  /** Received rows that have not been read, followed by the written texts of values. */
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #held = 0;
  #hasHeader = false;
  #hasEnded = false;
  /** Whether the texts of the last row have no backslash. In the sink, a backslash begins an escape of JSON. */
  #isPlain = true;
  /**
   * Set while a row that is too long is skipped: bytes left to skip, columns after them, and bytes skipped so
   * far.
   */
  #skip: { bytes: number; columns: number; skipped: number } | null = null;

  /** @param unserved names of the columns that are not fields; the server does not send their values */
  constructor(
    sourceName: string,
    sink: RecordSink,
    columns: readonly BinaryColumn[],
    unserved: readonly string[],
  ) {
    this.#sourceName = sourceName;
    this.#sink = sink;
    this.#columns = columns;
    this.#unserved = unserved;
    this.#names = spansOf(unserved);
    this.#places = Int32Array.from(
      columns,
      ({ field }) => 3 * FIELDS.findIndex(({ name }) => name === field),
    );
    this.#textPlaces = new Int32Array(columns.length);
    let byteLength = RECORD_BYTES_MAX;
    for (const [n, { form }] of columns.entries()) {
      this.#textPlaces[n] = byteLength;
      byteLength += form === 'uuid' ? UUID_TEXT_BYTES : form === 'instant' ? INSTANT_TEXTS_BYTES : 0;
    }
    this.#bytes = Buffer.alloc(byteLength);
    this.#view = viewOf(this.#bytes);
    this.#instants = columns.map(({ form }, n) =>
      form === 'instant' ? new BinaryInstants(this.#bytes, this.#textPlaces[n] as number) : null,
    );
  }

  push(chunk: Buffer): void {
    for (let from = 0; from < chunk.length && !this.#hasEnded; ) {
      const to = Math.min(chunk.length, from + RECORD_BYTES_MAX - this.#held);
      chunk.copy(this.#bytes, this.#held, from, to);
      this.#held += to - from;
      from = to;
      const used = this.#read(this.#held);
      if (used === 0 && this.#held === RECORD_BYTES_MAX) this.#beginSkip();
      this.#bytes.copyWithin(0, used, this.#held);
      this.#held -= used;
    }
  }

  finish(): void {
    if (!this.#hasEnded) throw this.#malformed('the rows end early');
  }

  /** @returns the number of bytes that are no longer needed */
  #read(end: number): number {
    let at = 0;
    if (!this.#hasHeader) {
      if (end < HEADER_BYTES) return 0;
      at = HEADER_BYTES + this.#view.getUint32(HEADER_BYTES - 4);
      if (!this.#bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE) || at > RECORD_BYTES_MAX)
        throw this.#malformed('these are not rows in the binary format of COPY');
      if (end < at) return 0;
      this.#hasHeader = true;
    }
    const { undecoded } = this.#sink;
    if (this.#skip !== null) at = this.#skipRow(at, end);
    while (this.#skip === null && !this.#hasEnded) {
      const next = this.#readRow(at, end);
      if (next === INCOMPLETE) break;
      at = next;
      if (this.#hasEnded) break;
      this.records++;
      if (this.#isPlain && undecoded?.(this.#bytes, this.#view, this.#spans, this.#names)) continue;
      this.#sink.record(this.#decoded(), { record: this.records });
    }
    return at;
  }

  /** @returns where the next row begins */
  #readRow(from: number, end: number): number {
    if (end - from < 2) return INCOMPLETE;
    const view = this.#view;
    const places = this.#places;
    const spans = this.#spans;
    const count = view.getInt16(from);
    if (count === TRAILER) {
      this.#hasEnded = true;
      return from + 2;
    }
    if (count !== places.length) throw this.#malformed(`row ${this.records + 1} has ${count} columns`);
    this.#isPlain = true;
    let at = from + 2;
    for (let n = 0; n < count; n++) {
      if (end - at < 4) return INCOMPLETE;
      const length = view.getInt32(at);
      at += 4;
      const place = places[n] as number;
      if (length === NULL) {
        spans[place] = -1;
        continue;
      }
      if (length < NULL) throw this.#malformed(`row ${this.records + 1} has a value of ${length} bytes`);
      if (end - at < length) return INCOMPLETE;
      const form = (this.#columns[n] as BinaryColumn).form;
      if (form === 'text') this.#readText(place, at, at + length);
      else if (form === 'uuid' && length === UUID_BYTES)
        this.#readUuid(place, at, this.#textPlaces[n] as number);
      else if (form === 'instant' && length === INSTANT_BYTES)
        (this.#instants[n] as BinaryInstants).read(this.#view, at, spans, place);
      else throw this.#malformed(`row ${this.records + 1} has a value of ${length} bytes as ${form}`);
      at += length;
    }
    return at;
  }

  /**
   * Hashes four bytes at a time. XOR turns a backslash into a zero byte, and the subtraction then sets the highest
   * bit of that byte.
   */
  #readText(place: number, from: number, to: number): void {
    const view = this.#view;
    let hash = HASH_BEGIN;
    let found = 0;
    let at = from;
    for (; at + 4 <= to; at += 4) {
      const word = view.getInt32(at, true);
      const zeroed = word ^ FOUR_BACKSLASHES;
      found |= (zeroed - 0x01010101) & ~zeroed & 0x80808080;
      hash = addWord(hash, word);
    }
    for (; at < to; at++) {
      const byte = view.getUint8(at);
      if (byte === BACKSLASH) found = 1;
      hash = addByte(hash, byte);
    }
    if (found !== 0) this.#isPlain = false;
    this.#found(place, from, to, hash);
  }

  #readUuid(place: number, from: number, to: number): void {
    const view = this.#view;
    let hash = HASH_BEGIN;
    let at = to;
    for (let n = 0; n < UUID_BYTES; n++) {
      if (n === 4 || n === 6 || n === 8 || n === 10) view.setUint8(at++, DASH);
      if (n % 4 === 0) hash = addWord(hash, view.getInt32(from + n, true));
      view.setUint16(at, DIGITS[view.getUint8(from + n)] as number, true);
      at += 2;
    }
    this.#found(place, to, at, hash);
  }

  #found(place: number, from: number, to: number, hash: number): void {
    const spans = this.#spans;
    spans[place] = from;
    spans[place + 1] = to;
    spans[place + 2] = endHash(hash);
  }

  /** The last row, as JSON would give it. */
  #decoded(): Record<string, string | null> {
    const values = this.#columns.map(({ field }, n) => {
      const place = this.#places[n] as number;
      const from = this.#spans[place] as number;
      const text = from === -1 ? null : this.#bytes.toString('utf8', from, this.#spans[place + 1] as number);
      return [field, text] as const;
    });
    return Object.fromEntries([...values, ...this.#unserved.map((name) => [name, null] as const)]);
  }

  #beginSkip(): void {
    this.#skip = { bytes: 2, columns: this.#columns.length, skipped: 0 };
  }

  #skipRow(from: number, end: number): number {
    const skip = this.#skip as { bytes: number; columns: number; skipped: number };
    for (let at = from; ; ) {
      const bytes = Math.min(skip.bytes, end - at);
      at += bytes;
      skip.bytes -= bytes;
      skip.skipped += bytes;
      if (skip.bytes === 0 && skip.columns === 0) {
        this.#skip = null;
        this.#sink.reject(rejectTooLarge({ record: ++this.records }, skip.skipped));
        return at;
      }
      if (skip.bytes > 0 || end - at < 4) return at;
      skip.bytes = Math.max(0, this.#view.getInt32(at));
      skip.columns--;
      skip.skipped += 4;
      at += 4;
    }
  }

  #malformed(problem: string): Error {
    return malformed(this.#sourceName, `${problem}; expected the output of COPY`);
  }
}

/** 2000-01-01T00:00:00Z, from which PostgreSQL counts. */
const EPOCH_MS = 946_684_800_000;
const INFINITY = (1n << 63n) - 1n;
/** 0001-01-01T00:00:00Z. */
const YEAR_1_MS = -62_135_596_800_000;
/** The last instant of `Date`, in the year 275760. The first instant is as far from 1970. */
const DATE_MS_MAX = 8_640_000_000_000_000;

const REMEMBERED = 4096;
/** The longest text is `-004713-11-24T00:00:00.000Z BC`. */
const ENTRY_BYTES = 32;

/** Memory for the texts of one column. */
const INSTANT_TEXTS_BYTES: number = REMEMBERED * ENTRY_BYTES;

/** The texts of a column of instants. Keeps the most recent texts. */
class BinaryInstants {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #high: Int32Array = new Int32Array(REMEMBERED);
  readonly #low: Int32Array = new Int32Array(REMEMBERED);
  /** 0 for a free entry. */
  readonly #lengths: Uint8Array = new Uint8Array(REMEMBERED);

  /** @param start where the INSTANT_TEXTS_BYTES bytes for the texts begin in `bytes` */
  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes;
    this.#start = start;
  }

  /** Reads a big-endian number of microseconds. Writes start, end and hash of the text to `spans`. */
  read(view: DataView, at: number, spans: Int32Array, place: number): void {
    const high = view.getInt32(at);
    const low = view.getInt32(at + 4);
    const hash = endHash(Math.imul(high, 0x9e3779b1) ^ low);
    const entry = hash & (REMEMBERED - 1);
    const start = this.#start + entry * ENTRY_BYTES;
    if (this.#lengths[entry] === 0 || this.#low[entry] !== low || this.#high[entry] !== high) {
      this.#lengths[entry] = this.#bytes.write(instantText(view.getBigInt64(at)), start, 'latin1');
      this.#low[entry] = low;
      this.#high[entry] = high;
    }
    spans[place] = start;
    spans[place + 1] = start + (this.#lengths[entry] as number);
    spans[place + 2] = hash;
  }
}

/**
 * The text of an instant: RFC 3339 in UTC for the years 1 to 9999, with milliseconds, because finer fractions
 * would be cut anyway. The normaliser refuses all other instants, both in these texts and in the texts of
 * `row_to_json`.
 */
export function instantText(microseconds: bigint): string {
  if (microseconds === INFINITY) return 'infinity';
  if (microseconds === -INFINITY - 1n) return '-infinity';
  const cut = microseconds < 0n ? (microseconds - 999n) / 1000n : microseconds / 1000n;
  const epochMs = Number(cut) + EPOCH_MS;
  if (Math.abs(epochMs) > DATE_MS_MAX) return 'beyond the year 275760';
  const text = new Date(epochMs).toISOString();
  return epochMs < YEAR_1_MS ? `${text} BC` : text;
}
