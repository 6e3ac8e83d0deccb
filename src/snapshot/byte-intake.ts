import type { IdentifierMode } from '../model/event.js';
import { FIELDS, type FieldName, type KnownField } from '../model/fields.js';
import { isCanonicalUuid } from '../model/identifier.js';
import { isPlainJsonText } from '../model/text.js';
import { ByteStrings, copyText, isSame } from '../structures/byte-strings.js';
import { NO_CODE } from '../structures/dictionary.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import type { SnapshotBuilder } from './builder.js';
import type { Column } from './columns.js';

/** The canonical value of a text, or null to reject the record. */
type ReadValue = (field: KnownField, text: string) => string | number | null;

const ID = placeOf('id');
const TIME = placeOf('time');
const END_TIME = placeOf('endTime');
/** Instead of a spelling's number: NONE if the field has no value, REFUSED if the record is rejected. */
const NONE = -1;
const REFUSED = -2;
const UNUSED = 0xfffffffe;
const SPELLINGS_REMEMBERED = 4096;
const INSTANTS_REMEMBERED = 4096;
const INSTANT_BYTES_MAX = 32;
const NO_INSTANT = 255;

/**
 * Adds events from the bytes of their values. Each spelling is decoded and normalised once, and then
 * recognised by its bytes. Records that the normaliser would reject must be decoded.
 */
export class ByteIntake {
  readonly #builder: SnapshotBuilder;
  readonly #identifiers: IdentifierMode;
  readonly #read: ReadValue;
  readonly #spellings: readonly Spellings[];
  readonly #instants: InstantMemo;
  readonly #numbers: Int32Array;
  readonly #codes: Uint32Array;
  /** Start and end of the current record. An array, because passing doubles around allocates memory. */
  readonly #times: Float64Array = new Float64Array(2);

  constructor(builder: SnapshotBuilder, identifiers: IdentifierMode, read: ReadValue) {
    this.#builder = builder;
    this.#identifiers = identifiers;
    this.#read = read;
    this.#spellings = builder.columns.map((column) => new Spellings(column, builder.hash, read));
    this.#instants = new InstantMemo(read);
    this.#numbers = new Int32Array(this.#spellings.length);
    this.#codes = new Uint32Array(this.#spellings.length);
  }

  get heldBytes(): number {
    let bytes = INSTANTS_REMEMBERED * INSTANT_BYTES_MAX;
    for (const spellings of this.#spellings) bytes += spellings.heldBytes;
    return bytes;
  }

  /**
   * @param bytes UTF-8, the same bytes as `view`
   * @param spans for each field: start of its value (-1 for none), end and quickHash
   * @param known start and end in epoch milliseconds, if known; the spans may then lack them
   * @returns false if nothing was added, because the record must be decoded
   */
  add(bytes: Uint8Array, view: DataView, spans: Int32Array, known?: Float64Array): boolean {
    const from = spans[ID]!;
    const to = spans[ID + 1]!;
    if (from === -1) return false;
    if (this.#identifiers === 'uuid' ? !isCanonicalUuid(bytes, from, to) : !this.#isId(bytes, from, to)) {
      return false;
    }
    const times = known ?? this.#times;
    if (known === undefined) {
      if (spans[TIME] === -1 || spans[END_TIME] === -1) return false;
      this.#instants.read(bytes, view, spans, TIME, times, 0);
      this.#instants.read(bytes, view, spans, END_TIME, times, 1);
    }
    // The comparison is negated, because NaN must fail, too.
    if (!(times[0]! <= times[1]!)) return false;
    const spellings = this.#spellings;
    for (let column = 0; column < spellings.length; column++) {
      const number = spellings[column]!.numberOf(bytes, view, spans);
      if (number === REFUSED) return false;
      this.#numbers[column] = number;
    }
    const hash = this.#builder.hash.bytes(view, from, to);
    if (this.#builder.hasId(hash, view, from, to)) return false;
    // Values are interned last, because dictionaries hold only values of events.
    for (let column = 0; column < spellings.length; column++) {
      const number = this.#numbers[column]!;
      this.#codes[column] = number === NONE ? NO_CODE : spellings[column]!.codeOf(number);
    }
    this.#builder.addCoded(hash, view, from, to, times, this.#codes);
    return true;
  }

  #isId(bytes: Uint8Array, from: number, to: number): boolean {
    if (!isPlainJsonText(bytes, from, to)) return false;
    const text = textOf(bytes, from, to);
    return this.#read(fieldOf('id'), text) === text;
  }
}

/** The spellings of one field. Texts made to have equal quick hashes only cause misses in `#recent`. */
class Spellings {
  readonly #column: Column;
  readonly #field: KnownField;
  readonly #place: number;
  readonly #hash: KeyedHash;
  readonly #read: ReadValue;
  readonly #strings = new ByteStrings();
  /** The canonical value of each spelling. Null once the spelling is refused or has a code. */
  readonly #values: (string | null)[] = [];
  /** For each spelling: a code of the column, UNUSED, or NO_CODE if refused. */
  #codes: Uint32Array = new Uint32Array(64);
  /** For each quick hash: the last spelling + 1, or 0. */
  readonly #recent: Int32Array = new Int32Array(SPELLINGS_REMEMBERED);

  constructor(column: Column, hash: KeyedHash, read: ReadValue) {
    this.#column = column;
    this.#field = fieldOf(column.name);
    this.#place = placeOf(column.name);
    this.#hash = hash;
    this.#read = read;
  }

  get heldBytes(): number {
    return this.#strings.heldBytes + this.#codes.byteLength;
  }

  /** The number of the spelling in a record, NONE or REFUSED. */
  numberOf(bytes: Uint8Array, view: DataView, spans: Int32Array): number {
    const from = spans[this.#place]!;
    if (from === -1) return NONE;
    const to = spans[this.#place + 1]!;
    const entry = spans[this.#place + 2]! & (SPELLINGS_REMEMBERED - 1);
    let number = this.#recent[entry]! - 1;
    if (number === -1 || !this.#strings.isAt(number, view, from, to)) {
      const hash = this.#hash.bytes(view, from, to);
      number = this.#strings.find(hash, view, from, to);
      if (number === -1) number = this.#learn(hash, bytes, view, from, to);
      this.#recent[entry] = number + 1;
    }
    return this.#codes[number] === NO_CODE ? REFUSED : number;
  }

  /** The caller must add an event with this spelling after the call. */
  codeOf(number: number): number {
    if (this.#codes[number] === UNUSED) {
      this.#codes[number] = this.#column.dictionary.intern(this.#values[number]!);
      this.#values[number] = null;
    }
    return this.#codes[number]!;
  }

  #learn(hash: number, bytes: Uint8Array, view: DataView, from: number, to: number): number {
    const text = decode(bytes, from, to);
    const value = text === null ? null : this.#read(this.#field, text);
    const number = this.#strings.add(hash, view, from, to);
    if (number === this.#codes.length) {
      const larger = new Uint32Array(2 * number);
      larger.set(this.#codes);
      this.#codes = larger;
    }
    this.#values.push(typeof value === 'string' ? value : null);
    this.#codes[number] = typeof value === 'string' ? UNUSED : NO_CODE;
    return number;
  }
}

class InstantMemo {
  readonly #read: ReadValue;
  readonly #view: DataView = new DataView(new ArrayBuffer(INSTANTS_REMEMBERED * INSTANT_BYTES_MAX));
  /** NO_INSTANT marks a free entry. 0 would mean an empty text. */
  readonly #lengths: Uint8Array = new Uint8Array(INSTANTS_REMEMBERED).fill(NO_INSTANT);
  readonly #instantMs: Float64Array = new Float64Array(INSTANTS_REMEMBERED);

  constructor(read: ReadValue) {
    this.#read = read;
  }

  /** Writes epoch milliseconds to `times[n]`, or NaN for an unreadable value. */
  read(
    bytes: Uint8Array,
    view: DataView,
    spans: Int32Array,
    place: number,
    times: Float64Array,
    n: number,
  ): void {
    const from = spans[place]!;
    const length = spans[place + 1]! - from;
    const entry = spans[place + 2]! & (INSTANTS_REMEMBERED - 1);
    const start = entry * INSTANT_BYTES_MAX;
    if (this.#lengths[entry] !== length || !isSame(this.#view, start, view, from, length)) {
      const text = length > INSTANT_BYTES_MAX ? null : textOf(bytes, from, from + length);
      const instantMs = text === null ? null : this.#read(fieldOf('time'), text);
      if (typeof instantMs !== 'number') {
        times[n] = Number.NaN;
        return;
      }
      copyText(view, from, from + length, this.#view, start);
      this.#lengths[entry] = length;
      this.#instantMs[entry] = instantMs;
    }
    times[n] = this.#instantMs[entry]!;
  }
}

function decode(bytes: Uint8Array, from: number, to: number): string | null {
  const written = textOf(bytes, from, to);
  if (isPlainJsonText(bytes, from, to)) return written;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return null;
  }
}

function placeOf(name: FieldName): number {
  return 3 * FIELDS.findIndex((field) => field.name === name);
}

function fieldOf(name: FieldName): KnownField {
  return FIELDS.find((field) => field.name === name) as KnownField;
}

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8');
}
