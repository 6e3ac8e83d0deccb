import type { IdentifierMode } from '../model/event.js';
import { FIELDS, type Field, type FieldName } from '../model/fields.js';
import { isCanonicalUuid } from '../model/identifier.js';
import { isPlainJsonText } from '../model/text.js';
import { ByteStrings, copyText, isSame } from '../structures/byte-strings.js';
import { NO_CODE } from '../structures/dictionary.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import { type CodedFieldName, isCoded, type SnapshotBuilder } from './builder.js';

/** The canonical value of a field's text, or null where a record that has it is rejected. */
export type ReadValue = (field: Field, text: string) => string | number | null;

/** Where the three numbers of these fields stand among the spans. */
const ID = placeOf('id');
const TIME = placeOf('time');
const END_TIME = placeOf('endTime');
/** A spelling that no event has had yet. */
const UNUSED = 0xfffffffe;
/** Spellings of one field that are found without a keyed hash: 16 KiB of numbers. */
const SPELLINGS_REMEMBERED = 4096;
const INSTANTS_REMEMBERED = 4096;
const INSTANT_BYTES_MAX = 32;

/**
 * Adds events to a builder from the bytes of their values. Each spelling of a value is decoded and normalised once, and
 * known by its bytes from then on: of a record that brings no new value but its id and its times, no string is made. Rules
 * are the normaliser's, which is asked about every spelling; what it rejects, and what is no text of JSON, is left to whoever
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
  /** Beginning and end of the present record, epoch milliseconds. In an array, since doubles that are passed around are objects. */
  readonly #times: Float64Array = new Float64Array(2);

  constructor(builder: SnapshotBuilder, identifiers: IdentifierMode, read: ReadValue) {
    this.#builder = builder;
    this.#identifiers = identifiers;
    this.#read = read;
    this.#spellings = FIELDS.flatMap((field, n) =>
      isCoded(field) ? [new Spellings(field.name, 3 * n, builder.hash, (text) => read(field, text))] : [],
    );
    this.#instants = new InstantMemo((text) => read(fieldOf('time'), text));
    this.#numbers = new Int32Array(this.#spellings.length);
    this.#codes = new Uint32Array(this.#spellings.length);
  }

  /** Bytes of typed arrays in use. */
  get heldBytes(): number {
    return this.#spellings.reduce(
      (bytes, each) => bytes + each.heldBytes,
      INSTANTS_REMEMBERED * INSTANT_BYTES_MAX,
    );
  }

  /**
   * Adds a record.
   *
   * @param bytes UTF-8
   * @param view the same bytes
   * @param spans by number of the field three numbers: where its value begins, or -1 for none; where it ends; its quickHash
   * @returns false where nothing was added, because the record has to be decoded: to be served, or to say why not
   */
  add(bytes: Uint8Array, view: DataView, spans: Int32Array): boolean {
    const from = spans[ID]!;
    const to = spans[ID + 1]!;
    if (from === -1 || spans[TIME] === -1 || spans[END_TIME] === -1) return false;
    if (this.#identifiers === 'uuid' ? !isCanonicalUuid(bytes, from, to) : !this.#isId(bytes, from, to)) {
      return false;
    }
    const times = this.#times;
    this.#instants.read(bytes, view, spans, TIME, times, 0);
    this.#instants.read(bytes, view, spans, END_TIME, times, 1);
    // Written so that NaN fails.
    if (!(times[0]! <= times[1]!)) return false;
    const spellings = this.#spellings;
    for (let column = 0; column < spellings.length; column++) {
      const number = spellings[column]!.numberOf(bytes, view, spans);
      if (number === REFUSED) return false;
      this.#numbers[column] = number;
    }
    const hash = this.#builder.hash.bytes(view, from, to);
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
    this.#builder.addCoded(hash, view, from, to, times, this.#codes);
    return true;
  }

  /** Whether it is an identifier and the canonical form of itself. */
  #isId(bytes: Uint8Array, from: number, to: number): boolean {
    if (!isPlainJsonText(bytes, from, to)) return false;
    const text = textOf(bytes, from, to);
    return this.#read(fieldOf('id'), text) === text;
  }
}

const REFUSED = -2;

/**
 * The spellings of one field's values. Those that came lately are found by the quick hash that the reader has made; a memo
 * with one number a place, so texts that collide on purpose only miss the memo. The others are found by a keyed hash.
 */
class Spellings {
  readonly name: CodedFieldName;
  /** Where its numbers stand among the spans. */
  readonly #place: number;
  /** By spelling: the canonical value, or null for what is refused or was handed over. */
  readonly values: (string | null)[] = [];
  /** By spelling: the builder's code, UNUSED or NO_CODE for what is refused. */
  codes: Uint32Array = new Uint32Array(64);
  readonly #read: (text: string) => string | number | null;
  readonly #hash: KeyedHash;
  readonly #strings = new ByteStrings();
  /** By the quick hash: the number + 1 of the spelling that came last, or 0. */
  readonly #recent: Int32Array = new Int32Array(SPELLINGS_REMEMBERED);

  constructor(
    name: CodedFieldName,
    place: number,
    hash: KeyedHash,
    read: (text: string) => string | number | null,
  ) {
    this.name = name;
    this.#place = place;
    this.#hash = hash;
    this.#read = read;
  }

  get heldBytes(): number {
    return this.#strings.heldBytes + this.codes.byteLength;
  }

  /** The number of a spelling; -1 for none, REFUSED for one that a decoded record has to be rejected for. */
  numberOf(bytes: Uint8Array, view: DataView, spans: Int32Array): number {
    const from = spans[this.#place]!;
    if (from === -1) return -1;
    const to = spans[this.#place + 1]!;
    const entry = spans[this.#place + 2]! & (SPELLINGS_REMEMBERED - 1);
    let number = this.#recent[entry]! - 1;
    if (number === -1 || !this.#strings.isAt(number, view, from, to)) {
      const hash = this.#hash.bytes(view, from, to);
      number = this.#strings.find(hash, view, from, to);
      if (number === -1) number = this.#learn(hash, bytes, view, from, to);
      this.#recent[entry] = number + 1;
    }
    return this.codes[number] === NO_CODE ? REFUSED : number;
  }

  /** Notes the code of a spelling, whose value nobody needs any more. */
  use(number: number, code: number): void {
    this.codes[number] = code;
    this.values[number] = null;
  }

  #learn(hash: number, bytes: Uint8Array, view: DataView, from: number, to: number): number {
    const text = decode(bytes, from, to);
    const value = text === null ? null : this.#read(text);
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
  /** 255 where nothing is remembered: an empty text is a spelling, too. */
  readonly #lengths: Uint8Array = new Uint8Array(INSTANTS_REMEMBERED).fill(255);
  readonly #instantMs: Float64Array = new Float64Array(INSTANTS_REMEMBERED);

  constructor(read: (text: string) => string | number | null) {
    this.#read = read;
  }

  /** Puts the epoch milliseconds of the value at `place` of the spans into `times[n]`; NaN for what cannot be read. */
  read(
    bytes: Uint8Array,
    view: DataView,
    spans: Int32Array,
    place: number,
    times: Float64Array,
    n: number,
  ): void {
    const from = spans[place]!;
    const to = spans[place + 1]!;
    const entry = spans[place + 2]! & (INSTANTS_REMEMBERED - 1);
    const start = entry * INSTANT_BYTES_MAX;
    if (this.#lengths[entry] !== to - from || !isSame(this.#view, start, view, from, to - from)) {
      const instantMs = to - from > INSTANT_BYTES_MAX ? null : this.#read(textOf(bytes, from, to));
      if (typeof instantMs !== 'number') {
        times[n] = Number.NaN;
        return;
      }
      copyText(view, from, to, this.#view, start);
      this.#lengths[entry] = to - from;
      this.#instantMs[entry] = instantMs;
    }
    times[n] = this.#instantMs[entry]!;
  }
}

/** The text that stands between two quotes of JSON, or null where it is none. */
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

function fieldOf(name: FieldName): Field {
  return FIELDS.find((field) => field.name === name) as Field;
}

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8');
}
