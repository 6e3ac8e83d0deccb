import { isUtf8 } from 'node:buffer';
import { PROPERTY_NAME_UNITS_MAX, RECORD_BYTES_MAX } from '../../base/limits.js';
import { FIELDS } from '../../base/model/fields.js';
import { InstantTexts } from '../../base/model/instant-texts.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { INSTANT_MS_MAX } from '../../base/model/time.js';
import { viewOf } from '../../base/structures/byte-strings.js';
import { addWord, endHash, HASH_BEGIN, quickHash } from '../../base/structures/quick-hash.js';
import { type Names, NULL, namesOf } from '../../base/structures/row.js';
import { entriesOf, type FieldTable, LEFT_OUT, MAPPED_FIELDS, spellingsOf } from '../field-map.js';
import { longestName, longName, malformed, notUtf8, tooLong } from '../formats/reader.js';
import { columnsOf } from '../map-value.js';
import type { Database } from './database.js';
import { type DescribedRows, PADDED_TYPE, quoteIdentifier } from './described-rows.js';

/** The form of a received value: 16 bytes, UTF-8, microseconds since 2000, or JSON. */
export type BinaryForm = 'uuid' | 'text' | 'instant' | 'json';

export interface BinaryColumn {
  readonly name: string;
  readonly form: BinaryForm;
}

const SIGNATURE: Buffer = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** The signature, flags, and the length of an extension. */
const HEADER_BYTES = SIGNATURE.length + 8;
const TRAILER = -1;
const NULL_LENGTH = -1;
const INCOMPLETE = -1;

const DASH = 0x2d;
const UUID_BYTES = 16;
const UUID_TEXT_BYTES = 36;
const INSTANT_BYTES = 8;

/** The two digits of each byte, as a little-endian number. */
const DIGITS: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);

/**
 * Reads rows of COPY in the binary format of PostgreSQL ("Binary Format" in the page of COPY). Texts stay where they are
 * in the received bytes; the texts of identifiers are written behind the rows in the same buffer.
 */
export class BinaryRows {
  /** Rows so far, rejected ones included. */
  records = 0;
  readonly #sourceName: string;
  readonly #table: FieldTable;
  readonly #columns: readonly BinaryColumn[];
  readonly #names: Names;
  readonly #isChecked: boolean;
  /** For each column: its slot of the row, or LEFT_OUT. */
  readonly #slots: Int32Array;
  /** For each column of identifiers: the place in `#bytes` for its text. */
  readonly #textPlaces: Int32Array;
  readonly #instants = new InstantTexts();
  /** Received rows that have not been read, followed by the written texts of values. */
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #held = 0;
  #hasHeader = false;
  #hasEnded = false;
  /** The decoded JSON of the last row, by column. A row that is looked at has nothing else. */
  readonly #decoded: Record<string, unknown> = Object.create(null);
  /** Why the last row cannot be read. */
  #fault: Parameters<FieldTable['reject']> | null = null;
  /**
   * Set while a row that is too long is skipped: bytes left to skip, columns after them, and bytes skipped so
   * far.
   */
  #skip: { bytes: number; columns: number; skipped: number } | null = null;

  /**
   * @param unserved names of the columns that are not fields; the server does not send their values
   * @param isChecked whether texts may be no UTF-8
   */
  constructor(
    sourceName: string,
    table: FieldTable,
    columns: readonly BinaryColumn[],
    unserved: readonly string[],
    isChecked = false,
  ) {
    this.#sourceName = sourceName;
    this.#table = table;
    this.#columns = columns;
    this.#names = namesOf(unserved);
    this.#isChecked = isChecked;
    const places = table.placesOf(columns.map(({ name }) => name));
    this.#slots = Int32Array.from(places, (place) => place ?? LEFT_OUT);
    this.#textPlaces = new Int32Array(columns.length);
    let byteLength = RECORD_BYTES_MAX;
    for (const [n, { form }] of columns.entries()) {
      this.#textPlaces[n] = byteLength;
      if (form === 'uuid') byteLength += UUID_TEXT_BYTES;
    }
    this.#bytes = Buffer.alloc(byteLength);
    this.#view = viewOf(this.#bytes);
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
    if (this.#skip !== null) at = this.#skipRow(at, end);
    while (this.#skip === null && !this.#hasEnded) {
      const next = this.#readRow(at, end);
      if (next === INCOMPLETE) break;
      at = next;
      if (!this.#hasEnded) this.#give();
    }
    return at;
  }

  #give(): void {
    const table = this.#table;
    const { row } = table;
    row.record = ++this.records;
    if (this.#fault !== null) table.reject(...this.#fault);
    else if (table.needsObjects) table.object({ ...this.#decoded });
    else {
      table.fillPaths(this.#decoded);
      row.names = this.#names;
      table.give();
    }
  }

  /** @returns where the next row begins */
  #readRow(from: number, end: number): number {
    if (end - from < 2) return INCOMPLETE;
    const view = this.#view;
    const { row } = this.#table;
    const count = view.getInt16(from);
    if (count === TRAILER) {
      this.#hasEnded = true;
      return from + 2;
    }
    if (count !== this.#columns.length) throw this.#malformed(`row ${this.records + 1} has ${count} columns`);
    row.begin(this.#bytes, view);
    this.#fault = null;
    let at = from + 2;
    for (let n = 0; n < count; n++) {
      if (end - at < 4) return INCOMPLETE;
      const length = view.getInt32(at);
      at += 4;
      if (length < NULL_LENGTH)
        throw this.#malformed(`row ${this.records + 1} has a value of ${length} bytes`);
      if (length > end - at) return INCOMPLETE;
      this.#readValue(n, at, length);
      if (length > 0) at += length;
    }
    return at;
  }

  #readValue(n: number, at: number, length: number): void {
    const { row } = this.#table;
    const slot = this.#slots[n] as number;
    const { form } = this.#columns[n] as BinaryColumn;
    if (form === 'json') this.#readJson(n, at, length);
    else if (slot === LEFT_OUT) return;
    else if (length === NULL_LENGTH) row.clear(slot, NULL);
    else if (form === 'text') {
      if (this.#isChecked) this.#check(at, at + length);
      row.point(slot, at, at + length, quickHash(this.#view, at, at + length));
    } else if (form === 'uuid' && length === UUID_BYTES)
      this.#readUuid(slot, at, this.#textPlaces[n] as number);
    else if (form === 'instant' && length === INSTANT_BYTES)
      row.put(slot, instantText(this.#view.getBigInt64(at), this.#instants));
    else throw this.#malformed(`row ${this.records + 1} has a value of ${length} bytes as ${form}`);
  }

  #readJson(n: number, at: number, length: number): void {
    const { name } = this.#columns[n] as BinaryColumn;
    let value: unknown = null;
    if (length !== NULL_LENGTH) {
      if (this.#isChecked) this.#check(at, at + length);
      const text = this.#bytes.toString('utf8', at, at + length);
      const units = longestName(text);
      if (units > PROPERTY_NAME_UNITS_MAX) this.#fault ??= [longName(units)];
      else value = JSON.parse(text);
    }
    this.#decoded[name] = value;
    const slot = this.#slots[n] as number;
    if (slot !== LEFT_OUT) this.#table.row.put(slot, value);
  }

  #check(from: number, to: number): void {
    const bytes = this.#bytes.subarray(from, to);
    if (!isUtf8(bytes)) this.#fault ??= [notUtf8(bytes), 'malformed-text'];
  }

  #readUuid(slot: number, from: number, to: number): void {
    const view = this.#view;
    let hash = HASH_BEGIN;
    let at = to;
    for (let n = 0; n < UUID_BYTES; n++) {
      if (n === 4 || n === 6 || n === 8 || n === 10) view.setUint8(at++, DASH);
      if (n % 4 === 0) hash = addWord(hash, view.getInt32(from + n, true));
      view.setUint16(at, DIGITS[view.getUint8(from + n)] as number, true);
      at += 2;
    }
    this.#table.row.point(slot, to, at, endHash(hash));
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
        this.#table.row.record = ++this.records;
        this.#table.reject(tooLong(skip.skipped), 'record-too-large');
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

/**
 * The text of an instant: RFC 3339 in UTC for the years 1 to 9999, with milliseconds, because finer fractions
 * would be cut anyway. The normaliser refuses all other instants, both in these texts and in the texts of
 * `row_to_json`.
 */
export function instantText(microseconds: bigint, texts: InstantTexts): string {
  if (microseconds === INFINITY) return 'infinity';
  if (microseconds === -INFINITY - 1n) return '-infinity';
  const cut = microseconds < 0n ? (microseconds - 999n) / 1000n : microseconds / 1000n;
  const epochMs = Number(cut) + EPOCH_MS;
  if (Math.abs(epochMs) > DATE_MS_MAX) return 'beyond the year 275760';
  if (epochMs >= YEAR_1_MS && epochMs <= INSTANT_MS_MAX) return texts.of(epochMs);
  const text = new Date(epochMs).toISOString();
  return epochMs < YEAR_1_MS ? `${text} BC` : text;
}

/** Forms by the OID of the type, in which a value has the text that its JSON has. */
const FORMS: ReadonlyMap<number, BinaryForm> = new Map([
  [19, 'text'], // name
  [25, 'text'],
  [PADDED_TYPE, 'text'], // char(n)
  [1043, 'text'], // varchar
  [2950, 'uuid'],
]);
/** timestamptz, whose JSON is another text of the same instant. */
const INSTANT_TYPE = 1184;
const INSTANT_SLOTS = [...FIELDS.keys()].filter((slot) => FIELDS[slot]?.kind === 'instant');

/**
 * The rows, with null in the columns that are neither fields nor named by the map: a load only lists the names of
 * these columns.
 */
export function neededRows(rows: DescribedRows, rules: ReadRules): DescribedRows {
  const { columns, select } = rows;
  const named = [...entriesOf(rules, 'postgresql').values()].flatMap(columnsOf);
  const needed = new Set(
    [...MAPPED_FIELDS, ...named, ...named.map((name) => name.split('.')[0] as string)].flatMap(spellingsOf),
  );
  if (columns.every((column) => needed.has(column)) || hasTwins(columns)) return rows;
  const list = columns.map((column) => {
    const quoted = quoteIdentifier(column);
    return needed.has(column) ? `t.${quoted}` : `NULL AS ${quoted}`;
  });
  return { ...rows, select: `SELECT ${list.join(', ')} FROM (${select}\n) t` };
}

/** Whether two columns have one name, so that a name does not tell which column is meant. */
function hasTwins(columns: readonly string[]): boolean {
  return new Set(columns).size < columns.length;
}

export interface BinaryCopy {
  readonly statement: string;
  readonly columns: readonly BinaryColumn[];
  /** Names of columns that are not fields. */
  readonly unserved: readonly string[];
  /** Whether the server does not check that texts are UTF-8. */
  readonly isChecked: boolean;
}

/**
 * COPY in the binary format of the columns that the table of fields needs. Values that have no form of their own come as
 * JSON. A row that is looked at comes whole, and as JSON.
 */
export async function binaryCopyOf(
  database: Database,
  { columns, types, select }: DescribedRows,
  table: FieldTable,
): Promise<BinaryCopy> {
  const [facts] = await database.query<{ readonly encoding: string; readonly enums: readonly number[] }>(
    `SELECT current_setting('server_encoding') AS encoding,
       ARRAY(SELECT oid::int8::float8 FROM pg_type WHERE typtype = 'e' AND oid = ANY ($1::oid[])) AS enums`,
    [types],
  );
  const roots = new Set(table.pathRoots);
  const places = table.placesOf(columns);
  // Of several columns with one name, the last counts, as in JSON.
  const isUsed = (name: string, n: number): boolean =>
    columns.lastIndexOf(name) === n &&
    (table.needsObjects || roots.has(name) || (places[n] ?? LEFT_OUT) !== LEFT_OUT);
  const formOf = (name: string, n: number): BinaryForm => {
    const type = types[n] as number;
    if (table.needsObjects || roots.has(name)) return 'json';
    if (type === INSTANT_TYPE && INSTANT_SLOTS.includes(places[n] as number)) return 'instant';
    return facts?.enums.includes(type) ? 'text' : (FORMS.get(type) ?? 'json');
  };
  const sent = columns.flatMap((name, n) => {
    if (!isUsed(name, n)) return [];
    const form = formOf(name, n);
    const isPadded = types[n] === PADDED_TYPE;
    const value = `t.c${n}${isPadded ? '::text' : ''}`;
    return [{ name, form, value: form === 'json' ? `to_json(${value})::text` : value }];
  });
  const aliases = columns.map((_, n) => `c${n}`).join(', ');
  const list = sent.map(({ value }) => value).join(', ');
  return {
    statement: `COPY (SELECT ${list} FROM (${select}\n) t(${aliases})) TO STDOUT (FORMAT binary)`,
    columns: sent,
    unserved: [...new Set(columns)].filter((name) => !table.places.has(name)),
    isChecked: facts?.encoding === 'SQL_ASCII',
  };
}
