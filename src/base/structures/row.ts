/**
 * One record on its way in: UTF-8 bytes, and for each field the start, the end and the hash of its value. A reader
 * points into the bytes of its source where the text is plain, and writes all other values into the row's own memory.
 * A reader fills one row again and again, so a sink keeps nothing of it.
 */
import { copyText, viewOf } from './byte-strings.js';
import { quickHash } from './quick-hash.js';

/** What a field holds. All kinds from TEXT on lie in the row's own memory. */
export const MISSING = 0;
export const NULL = 1;
/** A text in the bytes of the source. */
export const PLAIN = 2;
export const TEXT = 3;
/** A text with half of a surrogate pair, written as JSON, because UTF-8 cannot encode it. */
export const HALVED = 4;
/** The digits of a number that is whole and exact. */
export const WHOLE = 5;
/** Another number. */
export const NUMBER = 6;
export const BOOLEAN = 7;
/** Anything else, in words: "an array". */
export const OTHER = 8;
/** Several texts, numbers and nulls, in `lists`. */
export const LIST = 9;

export type Item = string | number | null;

/** Start, end, hash and kind of each field. The hash is the quickHash of the value. */
export const STRIDE = 4;

/** Names of columns that are no fields: start and end alternate. A name may occur twice. */
export interface Names {
  places: Int32Array;
  count: number;
  /** The bytes of the names: those of the record, or a header. */
  view: DataView;
}

/** The values of a row at one moment. */
export class RowState {
  readonly spans: Int32Array;
  /** How much of the row's own memory was used. */
  used = 0;

  constructor({ spans }: Row) {
    this.spans = new Int32Array(spans.length);
  }
}

const BYTES_MIN = 4096;
const BYTES_PER_UNIT = 3;
/** Shorter texts of ASCII are copied unit by unit, which is faster than a call of `write`. */
const SHORT_UNITS_MAX = 40;
const NO_BYTES: Buffer = Buffer.alloc(0);
const NO_NAMES: Names = { places: new Int32Array(0), count: 0, view: viewOf(NO_BYTES) };

export class Row {
  /** The bytes that PLAIN values lie in. */
  bytes: Buffer = NO_BYTES;
  view: DataView = viewOf(NO_BYTES);
  readonly spans: Int32Array;
  names: Names = NO_NAMES;
  /** 1-based number of the record, and its 1-based line or 0-based byte; 0 and -1 if it has none. */
  record = 0;
  line = 0;
  byte = -1;
  /** 1-based page of the line or byte; 0 on the first page. */
  page = 0;
  source: string | undefined;
  /** The field that holds the id of the record, if it has become several rows; -1 if not. */
  recordField = -1;
  /** The values of LIST fields. A list is not changed, so that it can stand for its values. */
  readonly lists: (readonly Item[])[] = [];
  /** Whether a list was written since `begin`. */
  hasLists = false;
  #own: Buffer = Buffer.alloc(BYTES_MIN);
  #ownView: DataView = viewOf(this.#own);
  #used = 0;

  constructor(fields: number) {
    this.spans = new Int32Array(STRIDE * fields);
  }

  /** Begins a record without values. @param bytes of the PLAIN values, with their view */
  begin(bytes: Buffer, view: DataView): void {
    this.bytes = bytes;
    this.view = view;
    this.spans.fill(0);
    this.names = NO_NAMES;
    this.hasLists = false;
    this.#used = 0;
  }

  /** The id of the record, if it has become several rows. */
  get recordId(): string | null {
    return this.recordField === -1 ? null : this.textOf(this.recordField);
  }

  get position(): { record: number; line?: number; byte?: number; page?: number; source?: string } {
    const { record, line, byte, page, source } = this;
    return {
      record,
      ...(line === 0 ? {} : { line }),
      ...(byte === -1 ? {} : { byte }),
      ...(page === 0 ? {} : { page }),
      ...(source === undefined ? {} : { source }),
    };
  }

  place(position: Row['position']): void {
    this.record = position.record;
    this.line = position.line ?? 0;
    this.byte = position.byte ?? -1;
    this.page = position.page ?? 0;
    this.source = position.source;
  }

  /** Notes the values of the row. */
  keep(state: RowState): void {
    state.spans.set(this.spans);
    state.used = this.#used;
  }

  /** Makes the row what it was when it was noted. */
  back({ spans, used }: RowState): void {
    this.spans.set(spans);
    this.#used = used;
  }

  kindOf(field: number): number {
    return this.spans[STRIDE * field + 3] as number;
  }

  isText(field: number): boolean {
    const kind = this.kindOf(field);
    return kind >= PLAIN && kind <= HALVED;
  }

  isEmptyText(field: number): boolean {
    return this.isText(field) && this.spans[STRIDE * field] === this.spans[STRIDE * field + 1];
  }

  /** The bytes in which the value of a field lies. */
  bytesOf(field: number): Buffer {
    return this.spans[STRIDE * field + 3] === PLAIN ? this.bytes : this.#own;
  }

  /** The view in which the value of a field lies. */
  viewOf(field: number): DataView {
    return this.spans[STRIDE * field + 3] === PLAIN ? this.view : this.#ownView;
  }

  /** The text of a value, the digits of a number, the JSON of a list, the words for another value; an empty text if there is none. */
  textOf(field: number): string {
    const place = STRIDE * field;
    const kind = this.spans[place + 3] as number;
    if (kind === LIST) return JSON.stringify(this.lists[field]);
    const bytes = kind === PLAIN ? this.bytes : this.#own;
    const text = bytes.toString('utf8', this.spans[place], this.spans[place + 1]);
    return kind === HALVED ? (JSON.parse(text) as string) : text;
  }

  /** A value in words, with its article: "a number (17)", "an array". @param quote shows a text */
  describe(field: number, quote: (text: string) => string): string {
    const text = this.textOf(field);
    switch (this.kindOf(field)) {
      case MISSING:
        return 'undefined';
      case NULL:
        return 'null';
      case WHOLE:
      case NUMBER:
        return `a number (${text})`;
      case BOOLEAN:
        return `a boolean (${text})`;
      case OTHER:
        return text;
      case LIST:
        return 'an array';
      default:
        return `the string ${quote(text)}`;
    }
  }

  /** Sets a value that lies in the bytes of the source. */
  point(field: number, from: number, to: number, hash: number): void {
    this.#set(field, from, to, hash, PLAIN);
  }

  /** Sets MISSING or NULL. */
  clear(field: number, kind: number): void {
    this.#set(field, 0, 0, 0, kind);
  }

  copy(from: number, to: number): void {
    const { spans } = this;
    for (let n = 0; n < STRIDE; n++) spans[STRIDE * to + n] = spans[STRIDE * from + n] as number;
    if (this.kindOf(from) === LIST) this.lists[to] = this.lists[from] as readonly Item[];
  }

  /** Writes a value. */
  put(field: number, value: unknown): void {
    if (typeof value === 'string') this.#putText(field, value);
    else if (value === undefined || value === null) this.clear(field, value === null ? NULL : MISSING);
    else if (isList(value)) this.putList(field, value.map(itemOf));
    else this.putAs(kindOfValue(value), field, wordsFor(value));
  }

  putList(field: number, list: readonly Item[]): void {
    this.lists[field] = list;
    this.hasLists = true;
    this.#set(field, 0, 0, 0, LIST);
  }

  /** Makes the list of each of these fields one value, which is refused. */
  refuseLists(fields: Iterable<number>): void {
    for (const field of fields) {
      if (this.kindOf(field) === LIST) this.putAs(OTHER, field, 'an array');
    }
  }

  #putText(field: number, text: string): void {
    const { length } = text;
    const start = this.#reserve(BYTES_PER_UNIT * length);
    if (length <= SHORT_UNITS_MAX) {
      const own = this.#own;
      let n = 0;
      for (; n < length; n++) {
        const unit = text.charCodeAt(n);
        if (unit > 0x7f) break;
        own[start + n] = unit;
      }
      if (n === length) {
        this.#written(field, start, start + length, TEXT);
        return;
      }
    }
    if (text.isWellFormed()) this.putAs(TEXT, field, text);
    else this.putAs(HALVED, field, JSON.stringify(text));
  }

  /** Writes a well-formed text as a value of this kind. */
  putAs(kind: number, field: number, text: string): void {
    const start = this.#reserve(BYTES_PER_UNIT * text.length);
    this.#written(field, start, start + this.#own.write(text, start, 'utf8'), kind);
  }

  /** Writes the bytes of a quoted cell, of which each second quote is left out. */
  putUndoubled(field: number, bytes: Buffer, from: number, to: number, quote: number): void {
    const start = this.#reserve(to - from);
    const own = this.#own;
    let end = start;
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number;
      own[end++] = byte;
      if (byte === quote) at++;
    }
    this.#written(field, start, end, TEXT);
  }

  /**
   * Joins texts and the values of other fields. The result is NULL if one of these has no value or an empty one, and
   * in words if it is neither text nor number.
   */
  join(field: number, parts: readonly (Uint8Array | number)[]): void {
    let length = 0;
    let isHalved = false;
    for (const part of parts) {
      if (typeof part !== 'number') {
        length += part.length;
        continue;
      }
      const kind = this.kindOf(part);
      const bytes = (this.spans[STRIDE * part + 1] as number) - (this.spans[STRIDE * part] as number);
      if (kind >= OTHER) {
        this.putAs(OTHER, field, this.describe(part, String));
        return;
      }
      if (bytes === 0) {
        this.clear(field, NULL);
        return;
      }
      if (kind === HALVED) isHalved = true;
      length += bytes;
    }
    if (isHalved) {
      const texts = parts.map((part) =>
        typeof part === 'number' ? this.textOf(part) : Buffer.from(part).toString('utf8'),
      );
      this.put(field, texts.join(''));
      return;
    }
    const start = this.#reserve(length);
    let at = start;
    for (const part of parts) {
      if (typeof part !== 'number') {
        this.#own.set(part, at);
        at += part.length;
        continue;
      }
      const from = this.spans[STRIDE * part] as number;
      const to = this.spans[STRIDE * part + 1] as number;
      copyText(this.viewOf(part), from, to, this.#ownView, at);
      at += to - from;
    }
    this.#written(field, start, at, TEXT);
  }

  #written(field: number, from: number, to: number, kind: number): void {
    this.#used = to;
    this.#set(field, from, to, quickHash(this.#ownView, from, to), kind);
  }

  #set(field: number, from: number, to: number, hash: number, kind: number): void {
    const { spans } = this;
    const place = STRIDE * field;
    spans[place] = from;
    spans[place + 1] = to;
    spans[place + 2] = hash;
    spans[place + 3] = kind;
  }

  /** @returns where the next value begins in the row's own memory */
  #reserve(bytes: number): number {
    const needed = this.#used + bytes;
    if (needed > this.#own.length) {
      const larger = Buffer.alloc(Math.max(needed, 2 * this.#own.length));
      this.#own.copy(larger, 0, 0, this.#used);
      this.#own = larger;
      this.#ownView = viewOf(larger);
    }
    return this.#used;
  }
}

function kindOfValue(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return Number.isSafeInteger(value) ? WHOLE : NUMBER;
    case 'bigint':
      // 64-bit integers of MessagePack, with and without sign. JSON numbers beyond 2^53 have lost digits.
      return BigInt.asIntN(65, value) === value ? WHOLE : OTHER;
    case 'boolean':
      return BOOLEAN;
    default:
      return OTHER;
  }
}

function isList(value: unknown): value is readonly unknown[] {
  return (
    Array.isArray(value) &&
    value.every((item) => item === null || ['string', 'number', 'bigint', 'undefined'].includes(typeof item))
  );
}

function itemOf(value: unknown): Item {
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'string' || Number.isFinite(value) ? (value as Item) : null;
}

/** A value in words, with its article: "an array". Numbers and booleans are only themselves. */
function wordsFor(value: unknown): string {
  switch (typeof value) {
    case 'bigint':
      return BigInt.asIntN(65, value) === value ? String(value) : 'a number';
    case 'number':
    case 'boolean':
      return String(value);
    case 'object':
      if (Array.isArray(value)) return 'an array';
      // Only MessagePack and in-process sources have these values.
      if (value instanceof Date) return 'a timestamp instead of text';
      return value instanceof Uint8Array ? 'binary data' : 'an object';
    default:
      return `a ${typeof value}`;
  }
}

/** The names in bytes of their own. */
export function namesOf(names: readonly string[]): Names {
  const places = new Int32Array(2 * names.length);
  let at = 0;
  for (const [n, name] of names.entries()) {
    places[2 * n] = at;
    at += Buffer.byteLength(name);
    places[2 * n + 1] = at;
  }
  return { places, count: names.length, view: viewOf(Buffer.from(names.join(''), 'utf8')) };
}

/** The names as texts. */
export function textsOf({ places, count, view }: Names): string[] {
  const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  return Array.from({ length: count }, (_, n) => bytes.toString('utf8', places[2 * n], places[2 * n + 1]));
}
