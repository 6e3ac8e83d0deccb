import { LESSON_ID_UNITS_MAX } from '../base/limits.js';
import type { IdentifierMode, NormalisedEvent, RecordPosition, Rejection } from '../base/model/event.js';
import { FIELDS, type FieldName, type KnownField, slotOf } from '../base/model/fields.js';
import { isCanonicalUuid } from '../base/model/identifier.js';
import type { AmbiguousTimes } from '../base/model/zone.js';
import { ByteStrings, copyText, isAscii, isSame, viewOf } from '../base/structures/byte-strings.js';
import { NO_CODE } from '../base/structures/dictionary.js';
import type { KeyedHash } from '../base/structures/keyed-hash.js';
import { RecentValues } from '../base/structures/recent-values.js';
import { HALVED, NULL, type Row, STRIDE, WHOLE } from '../base/structures/row.js';
import type { SnapshotBuilder } from './builder.js';
import type { Column } from './columns.js';

/** What the rules for records say: {@link Normaliser} of src/normalise/normalise.ts, without an import of it. */
interface RowRules {
  /** The canonical form of a text; null if it is refused. */
  value(field: KnownField, text: string): string | null;
  /** Epoch milliseconds, or a clause on the fault. Counts ambiguous times. */
  instant(text: string): number | string;
  readonly ambiguousTimes: AmbiguousTimes;
  /** The event of a row, or why the row cannot be served. */
  event(row: Row): NormalisedEvent | Rejection;
}

const ID = placeOf('id');
const TIME = placeOf('time');
const END_TIME = placeOf('endTime');
const MODIFIED = placeOf('modified');
/** Instead of a spelling's number: NONE if the field has no value, REFUSED if the record is rejected. */
const NONE = -1;
const REFUSED = -2;
const UNUSED = 0xfffffffe;
const SPELLINGS_REMEMBERED = 4096;
const INSTANT_BYTES_MAX = 32;
const ID_BYTES_MAX = 512;
const LESSON_BYTES_KEPT = 256;

/** How often clocks show a local time. */
const EXACT = 0;
const GAP = 1;
const OVERLAP = 2;

/**
 * Adds rows to a builder. Each spelling of a value is read as text once, and then recognised by its bytes. A row that is
 * refused is read as text again, for the messages.
 */
export class RowIntake {
  readonly #builder: SnapshotBuilder;
  /** Whether a canonical UUID is an id as it is. */
  readonly #isUuid: boolean;
  /** Whether numbers are no ids. */
  readonly #isUuidOnly: boolean;
  readonly #rules: RowRules;
  readonly #spellings: readonly Spellings[];
  readonly #instants: InstantMemo;
  /** Most times of change differ, and would push the others out of the memo. */
  readonly #modified: InstantMemo;
  readonly #numbers: Int32Array;
  readonly #codes: Uint32Array;
  readonly #times: Float64Array = new Float64Array(3);
  readonly #idBytes: Buffer = Buffer.alloc(ID_BYTES_MAX);
  readonly #idView: DataView = viewOf(this.#idBytes);

  constructor(builder: SnapshotBuilder, identifiers: IdentifierMode, rules: RowRules) {
    this.#builder = builder;
    this.#isUuid = identifiers !== 'any';
    this.#isUuidOnly = identifiers === 'uuid';
    this.#rules = rules;
    this.#spellings = builder.columns.map(
      (column) => new Spellings(column, builder.hash, rules, identifiers),
    );
    this.#instants = new InstantMemo(rules);
    this.#modified = new InstantMemo(rules);
    this.#numbers = new Int32Array(this.#spellings.length);
    this.#codes = new Uint32Array(this.#spellings.length);
  }

  get heldBytes(): number {
    let bytes = this.#instants.heldBytes + this.#modified.heldBytes;
    for (const spellings of this.#spellings) bytes += spellings.heldBytes;
    return bytes;
  }

  /** @param position of the row, read only if the row is refused or its id is not of the usual form */
  add(row: Row, position: (row: Row) => RecordPosition): void {
    if (!this.#addBytes(row)) {
      const event = this.#rules.event(row);
      if ('position' in event) this.#builder.reject(event);
      else this.#builder.add(event, position(row));
    }
    const { names } = row;
    if (names.count > 0) this.#builder.unserved.countNames(names.view, names.places, names.count);
  }

  /** @returns false if nothing was added */
  #addBytes(row: Row): boolean {
    const { spans } = row;
    if (spans[TIME + 3]! <= NULL || spans[END_TIME + 3]! <= NULL) return false;
    let view = row.viewOf(ID / STRIDE);
    let from = spans[ID]!;
    let to = spans[ID + 1]!;
    if (!this.#isUuid || !isCanonicalUuid(row.bytesOf(ID / STRIDE), from, to)) {
      const id = this.#idOf(row);
      if (id === null) return false;
      view = this.#idView;
      from = 0;
      to = this.#idBytes.write(id, 'utf8');
    }
    const startKind = this.#instants.read(row, TIME, this.#times, 0);
    const endKind = this.#instants.read(row, END_TIME, this.#times, 1);
    // The comparison is negated, because NaN must fail, too.
    if (!(this.#times[0]! <= this.#times[1]!)) return false;
    this.#times[2] = Number.NaN;
    if (spans[MODIFIED + 3]! > NULL) this.#modified.read(row, MODIFIED, this.#times, 2);
    const spellings = this.#spellings;
    for (let column = 0; column < spellings.length; column++) {
      const number = spellings[column]!.numberOf(row);
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
    this.#builder.addCoded(hash, view, from, to, this.#times, this.#codes, row.source);
    if (startKind !== EXACT) this.#count(startKind);
    if (endKind !== EXACT) this.#count(endKind);
    return true;
  }

  /** The id of a row; null if the row has none, or if it is refused. */
  #idOf(row: Row): string | null {
    const field = ID / STRIDE;
    const kind = row.kindOf(field);
    if (kind <= NULL || kind === HALVED || row.isEmptyText(field)) return null;
    if (!row.isText(field) && (kind !== WHOLE || this.#isUuidOnly)) return null;
    return this.#rules.value(fieldOf('id'), row.textOf(field));
  }

  #count(kind: number): void {
    const { ambiguousTimes } = this.#rules;
    if (kind === GAP) ambiguousTimes.gaps++;
    else ambiguousTimes.overlaps++;
  }
}

/** The spellings of one field. Texts made to have equal quick hashes only cause misses in `#recent`. */
class Spellings {
  readonly #column: Column;
  readonly #field: KnownField;
  readonly #slot: number;
  readonly #isLesson: boolean;
  readonly #lastLesson: Buffer = Buffer.alloc(LESSON_BYTES_KEPT);
  readonly #lastView: DataView = viewOf(this.#lastLesson);
  #lastLength = -1;
  readonly #hash: KeyedHash;
  readonly #rules: RowRules;
  /** Whether whole numbers stand for their digits. */
  readonly #takesNumbers: boolean;
  /** Whether an empty text means no value. */
  readonly #skipsEmpty: boolean;
  readonly #strings = new ByteStrings();
  /**
   * The canonical value of each spelling. Null once the spelling is refused or has a code, and for a lesson whose bytes
   * are canonical.
   */
  readonly #values: (string | null)[] = [];
  /** For each spelling: a code of the column, UNUSED, or NO_CODE if refused. */
  #codes: Uint32Array = new Uint32Array(64);
  /** For each quick hash: the last spelling + 1, or 0. */
  readonly #recent: Int32Array = new Int32Array(SPELLINGS_REMEMBERED);

  constructor(column: Column, hash: KeyedHash, rules: RowRules, identifiers: IdentifierMode) {
    this.#column = column;
    this.#field = fieldOf(column.name);
    this.#slot = placeOf(column.name) / STRIDE;
    this.#isLesson = column.name === 'lessonId';
    this.#hash = hash;
    this.#rules = rules;
    const isIdentifier = this.#field.kind === 'identifier';
    this.#takesNumbers = isIdentifier && identifiers !== 'uuid';
    this.#skipsEmpty = isIdentifier && identifiers === 'derived';
  }

  get heldBytes(): number {
    return this.#strings.heldBytes + this.#codes.byteLength;
  }

  /** The number of the spelling in a row, NONE or REFUSED. */
  numberOf(row: Row): number {
    const place = STRIDE * this.#slot;
    const { spans } = row;
    const kind = spans[place + 3]!;
    if (kind <= NULL) return NONE;
    if (kind >= HALVED && !(kind === WHOLE && this.#takesNumbers)) return REFUSED;
    const from = spans[place]!;
    const to = spans[place + 1]!;
    if (from === to && this.#skipsEmpty) return NONE;
    const view = row.viewOf(this.#slot);
    if (this.#isLesson) return this.#numberOfLesson(row, view, from, to);
    const entry = spans[place + 2]! & (SPELLINGS_REMEMBERED - 1);
    let number = this.#recent[entry]! - 1;
    if (number === -1 || !this.#strings.isAt(number, view, from, to)) {
      const hash = this.#hash.bytes(view, from, to);
      number = this.#strings.find(hash, view, from, to);
      if (number === -1) number = this.#learn(hash, view, from, to, row.textOf(this.#slot));
      this.#recent[entry] = number + 1;
    }
    return this.#codes[number] === NO_CODE ? REFUSED : number;
  }

  /** The caller must add an event with this spelling after the call. */
  codeOf(number: number): number {
    if (this.#codes[number] === UNUSED) {
      const { dictionary } = this.#column;
      const value = this.#values[number] as string | null;
      this.#codes[number] =
        value === null
          ? dictionary.internBytes(this.#lastView, 0, this.#lastLength)
          : dictionary.intern(value);
      this.#values[number] = null;
    }
    return this.#codes[number]!;
  }

  /** Lessons hardly repeat, but for the rows of one record: only the last is known. */
  #numberOfLesson(row: Row, view: DataView, from: number, to: number): number {
    const last = this.#lastLesson;
    if (this.#lastLength !== to - from || !isSame(this.#lastView, 0, view, from, to - from)) {
      const isCanonical = to - from <= LESSON_ID_UNITS_MAX && isAscii(view, from, to);
      const value = isCanonical ? null : this.#rules.value(this.#field, row.textOf(this.#slot));
      this.#values[0] = value;
      this.#codes[0] = value === null && !isCanonical ? NO_CODE : UNUSED;
      this.#lastLength = to - from <= last.length ? to - from : -1;
      if (this.#lastLength !== -1) copyText(view, from, to, this.#lastView, 0);
    }
    return this.#codes[0] === NO_CODE ? REFUSED : 0;
  }

  #learn(hash: number, view: DataView, from: number, to: number, text: string): number {
    const value = this.#rules.value(this.#field, text);
    const number = this.#strings.add(hash, view, from, to);
    if (number === this.#codes.length) {
      const larger = new Uint32Array(2 * number);
      larger.set(this.#codes);
      this.#codes = larger;
    }
    this.#values.push(value);
    this.#codes[number] = value === null ? NO_CODE : UNUSED;
    return number;
  }
}

class InstantMemo {
  readonly #rules: RowRules;
  readonly #recent = new RecentValues(INSTANT_BYTES_MAX);
  readonly #instantMs: Float64Array = new Float64Array(this.#recent.size);
  readonly #kinds: Uint8Array = new Uint8Array(this.#recent.size);

  constructor(rules: RowRules) {
    this.#rules = rules;
  }

  get heldBytes(): number {
    return this.#recent.heldBytes;
  }

  /** Writes epoch milliseconds to `times[n]`, or NaN for an unreadable value. @returns EXACT, GAP or OVERLAP */
  read(row: Row, place: number, times: Float64Array, n: number): number {
    const field = place / STRIDE;
    let entry = this.#recent.find(row, field);
    if (entry === -1) {
      if (!row.isText(field)) {
        times[n] = Number.NaN;
        return EXACT;
      }
      const kind = this.#learn(row, place, times, n);
      entry = Number.isNaN(times[n]) ? -1 : this.#recent.keep(row, field);
      if (entry === -1) return kind;
      this.#instantMs[entry] = times[n]!;
      this.#kinds[entry] = kind;
    }
    times[n] = this.#instantMs[entry]!;
    return this.#kinds[entry]!;
  }

  /** Reads the text without counting it: the row may still be refused. */
  #learn(row: Row, place: number, times: Float64Array, n: number): number {
    const { ambiguousTimes } = this.#rules;
    const { gaps, overlaps } = ambiguousTimes;
    const instantMs = this.#rules.instant(row.textOf(place / STRIDE));
    times[n] = typeof instantMs === 'number' ? instantMs : Number.NaN;
    const kind = ambiguousTimes.gaps > gaps ? GAP : ambiguousTimes.overlaps > overlaps ? OVERLAP : EXACT;
    ambiguousTimes.gaps = gaps;
    ambiguousTimes.overlaps = overlaps;
    return kind;
  }
}

function placeOf(name: FieldName): number {
  return STRIDE * slotOf(name);
}

function fieldOf(name: FieldName): KnownField {
  return FIELDS.find((field) => field.name === name) as KnownField;
}
