import type { IdentifierMode } from '../model/event.js';
import { FIELDS, type Field, type FieldName } from '../model/fields.js';
import { isCanonicalUuid } from '../model/identifier.js';
import { isPlainJsonText } from '../model/text.js';
import { ByteStrings, hashBytes } from '../structures/byte-strings.js';
import { NO_CODE } from '../structures/dictionary.js';
import { type CodedFieldName, isCoded, type SnapshotBuilder } from './builder.js';

/** The canonical value of a field's text, or null where a record that has it is rejected. */
export type ReadValue = (field: Field, text: string) => string | number | null;

const ID = numberOf('id');
const TIME = numberOf('time');
const END_TIME = numberOf('endTime');
/** A spelling that no event has had yet. */
const UNUSED = 0xfffffffe;
const INSTANTS_REMEMBERED = 4096;
const INSTANT_BYTES_MAX = 32;

/**
 * Adds events to a builder from the bytes of their values. Each spelling of a value is decoded and normalised once, and
 * known by its bytes from then on: of a record that brings no new value but its id and its times, no string is made. Rules
 * are the normaliser's, which is asked about every spelling; what it rejects, and what is not plain text, is left to whoever
 * decodes the record.
 */
export class ByteIntake {
  readonly #builder: SnapshotBuilder;
  readonly #identifiers: IdentifierMode;
  readonly #read: ReadValue;
  readonly #spellings: readonly Spellings[];
  readonly #instants: InstantMemo;
  /** For each of the coded fields the number of the present record's spelling, or -1. */
  readonly #numbers: Int32Array;
  readonly #codes: Uint32Array;

  constructor(builder: SnapshotBuilder, identifiers: IdentifierMode, read: ReadValue) {
    this.#builder = builder;
    this.#identifiers = identifiers;
    this.#read = read;
    this.#spellings = FIELDS.flatMap((field, n) =>
      isCoded(field) ? [new Spellings(field.name, n, (text) => read(field, text))] : [],
    );
    this.#instants = new InstantMemo((text) => read(FIELDS[TIME] as Field, text));
    this.#numbers = new Int32Array(this.#spellings.length);
    this.#codes = new Uint32Array(this.#spellings.length);
  }

  /**
   * Adds a record.
   *
   * @param bytes UTF-8
   * @param view the same bytes
   * @param spans by number of the field where its value stands, two each; -1 for none
   * @returns false where nothing was added, because the record has to be decoded: to be served, or to say why not
   */
  add(bytes: Uint8Array, view: DataView, spans: Int32Array): boolean {
    const from = spans[2 * ID]!;
    const to = spans[2 * ID + 1]!;
    if (from === -1 || spans[2 * TIME] === -1 || spans[2 * END_TIME] === -1) return false;
    if (this.#identifiers === 'uuid' ? !isCanonicalUuid(bytes, from, to) : !this.#isId(bytes, from, to)) {
      return false;
    }
    const timeMs = this.#instants.read(bytes, view, spans[2 * TIME]!, spans[2 * TIME + 1]!);
    const endTimeMs = this.#instants.read(bytes, view, spans[2 * END_TIME]!, spans[2 * END_TIME + 1]!);
    // Written so that NaN fails.
    if (!(timeMs <= endTimeMs)) return false;
    const spellings = this.#spellings;
    for (let column = 0; column < spellings.length; column++) {
      const spelling = spellings[column]!;
      const number = spelling.numberOf(bytes, view, spans[2 * spelling.field]!, spans[2 * spelling.field + 1]!);
      if (number === REFUSED) return false;
      this.#numbers[column] = number;
    }
    const hash = hashBytes(view, from, to);
    if (this.#builder.hasId(hash, view, from, to)) return false;
    // Only now: a dictionary holds no value that no event has.
    for (let column = 0; column < spellings.length; column++) {
      const spelling = spellings[column]!;
      const number = this.#numbers[column]!;
      let code = number === -1 ? NO_CODE : spelling.codes[number]!;
      if (code === UNUSED) {
        code = this.#builder.intern(spelling.name, spelling.values[number]!);
        spelling.use(number, code);
      }
      this.#codes[column] = code;
    }
    this.#builder.addCoded(hash, view, from, to, timeMs, endTimeMs, this.#codes);
    return true;
  }

  /** Whether it is an identifier and the canonical form of itself. */
  #isId(bytes: Uint8Array, from: number, to: number): boolean {
    if (!isPlainJsonText(bytes, from, to)) return false;
    const text = textOf(bytes, from, to);
    return this.#read(FIELDS[ID] as Field, text) === text;
  }
}

const REFUSED = -2;

/** The spellings of one field's values. */
class Spellings {
  readonly name: CodedFieldName;
  /** Its number in the descriptor table. */
  readonly field: number;
  /** By spelling: the canonical value, or null for what is refused or was handed over. */
  readonly values: (string | null)[] = [];
  /** By spelling: the builder's code, UNUSED or NO_CODE for what is refused. */
  codes: Uint32Array = new Uint32Array(64);
  readonly #read: (text: string) => string | number | null;
  readonly #strings = new ByteStrings();

  constructor(name: CodedFieldName, field: number, read: (text: string) => string | number | null) {
    this.name = name;
    this.field = field;
    this.#read = read;
  }

  /** The number of a spelling; -1 for none, REFUSED for one that a decoded record has to be rejected for. */
  numberOf(bytes: Uint8Array, view: DataView, from: number, to: number): number {
    if (from === -1) return -1;
    const hash = hashBytes(view, from, to);
    let number = this.#strings.find(hash, view, from, to);
    if (number === -1) number = this.#learn(hash, bytes, view, from, to);
    return this.codes[number] === NO_CODE ? REFUSED : number;
  }

  /** Notes the code of a spelling, whose value nobody needs any more. */
  use(number: number, code: number): void {
    this.codes[number] = code;
    this.values[number] = null;
  }

  #learn(hash: number, bytes: Uint8Array, view: DataView, from: number, to: number): number {
    const value = isPlainJsonText(bytes, from, to) ? this.#read(textOf(bytes, from, to)) : null;
    const number = this.#strings.add(hash, view, from, to);
    if (number === this.codes.length) {
      const larger = new Uint32Array(2 * number);
      larger.set(this.codes);
      this.codes = larger;
    }
    this.values.push(typeof value === 'string' ? value : null);
    this.codes[number] = typeof value === 'string' ? UNUSED : NO_CODE;
    return number;
  }
}

/** Times come in runs or again and again: the last ones of each hash are remembered, by their bytes. */
class InstantMemo {
  readonly #read: (text: string) => string | number | null;
  readonly #bytes: Uint8Array = new Uint8Array(INSTANTS_REMEMBERED * INSTANT_BYTES_MAX);
  readonly #view: DataView = new DataView(this.#bytes.buffer);
  readonly #lengths: Uint8Array = new Uint8Array(INSTANTS_REMEMBERED);
  readonly #instantMs: Float64Array = new Float64Array(INSTANTS_REMEMBERED);

  constructor(read: (text: string) => string | number | null) {
    this.#read = read;
  }

  /** Epoch milliseconds; NaN for what cannot be read. */
  read(bytes: Uint8Array, view: DataView, from: number, to: number): number {
    const length = to - from;
    if (length > INSTANT_BYTES_MAX) return Number.NaN;
    const place = hashBytes(view, from, to) % INSTANTS_REMEMBERED;
    if (this.#lengths[place] === length && this.#isAt(place, view, from, to)) return this.#instantMs[place]!;
    const instantMs = this.#read(textOf(bytes, from, to));
    if (typeof instantMs !== 'number') return Number.NaN;
    this.#bytes.set(bytes.subarray(from, to), place * INSTANT_BYTES_MAX);
    this.#lengths[place] = length;
    this.#instantMs[place] = instantMs;
    return instantMs;
  }

  #isAt(place: number, view: DataView, from: number, to: number): boolean {
    let at = place * INSTANT_BYTES_MAX;
    let i = from;
    for (; i + 4 <= to; i += 4, at += 4) {
      if (this.#view.getInt32(at, true) !== view.getInt32(i, true)) return false;
    }
    for (; i < to; i++, at++) if (this.#bytes[at] !== view.getUint8(i)) return false;
    return true;
  }
}

function numberOf(name: FieldName): number {
  return FIELDS.findIndex((field) => field.name === name);
}

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8');
}
