import type { Rejection } from '../base/model/event.js';
import type { ReadRules } from '../base/model/read-rules.js';
import { copyText, viewOf } from '../base/structures/byte-strings.js';
import { type Names, NULL, PLAIN, Row, STRIDE, TEXT } from '../base/structures/row.js';
import { MAPPED_FIELDS } from './field-map.js';
import type { RowSink } from './source.js';

/** An entry begins with numbers of eight bytes, then words of four bytes, then texts. Each entry begins at a multiple of eight. */
const ALIGNMENT_BYTES = 8;
const RECORD = 0;
const LINE = 1;
const BYTE = 2;
const FLOATS = 3;
/** Words after the numbers: where the entry ends, what it is, the page, places in the list of objects + 1 or 0, how many names. */
const END = 2 * FLOATS;
const KIND = END + 1;
const PAGE = END + 2;
const SOURCE = END + 3;
const RULES = END + 4;
const RECORD_ID = END + 5;
const NAMES = END + 6;
const SPANS = END + 7;
const SPAN_WORDS = STRIDE * MAPPED_FIELDS.length;
const HEAD_BYTES = 4 * (SPANS + SPAN_WORDS);
/** An entry that has only an object. */
const OBJECT_BYTES = 4 * SPANS;

/** Kinds of entries. */
const ROW = 0;
const RETRACTION = 1;
const FAULT = 2;

/**
 * What a sink takes, in its order, in memory that crosses threads. A row has the values of the fields and what stands beside
 * them, so that a sink cannot tell it from the row of a reader.
 */
export class RowBatch {
  readonly memory: SharedArrayBuffer;
  /** Bytes in use. */
  length = 0;
  /** What is no number: faults, names of sources, rules. These are few, and cross threads as copies. */
  readonly objects: unknown[];
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #words: Int32Array;
  readonly #floats: Float64Array;

  constructor(memory: SharedArrayBuffer, length = 0, objects: unknown[] = []) {
    this.memory = memory;
    this.length = length;
    this.objects = objects;
    this.#bytes = Buffer.from(memory);
    this.#view = viewOf(this.#bytes);
    this.#words = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
  }

  /** Bytes that a batch needs for this row. */
  static bytesOf({ spans, names }: Row): number {
    let bytes = HEAD_BYTES;
    for (let place = 0; place < SPAN_WORDS; place += STRIDE) {
      if ((spans[place + 3] as number) > NULL)
        bytes += (spans[place + 1] as number) - (spans[place] as number);
    }
    for (let n = 0; n < names.count; n++)
      bytes += 8 + (names.places[2 * n + 1] as number) - (names.places[2 * n] as number);
    return aligned(bytes);
  }

  /** @returns false if the row does not fit */
  row(row: Row, rules: ReadRules): boolean {
    const { names } = row;
    const at = this.length / 4;
    const valuesFrom = this.length + HEAD_BYTES + 8 * names.count;
    let end = this.#putValues(row, at + SPANS, valuesFrom);
    if (end !== -1 && names.count > 0) end = this.#putNames(names, at + SPANS + SPAN_WORDS, end);
    if (end === -1) return false;
    const words = this.#words;
    const float = this.length / 8;
    this.#floats[float + RECORD] = row.record;
    this.#floats[float + LINE] = row.line;
    this.#floats[float + BYTE] = row.byte;
    words[at + KIND] = ROW;
    words[at + PAGE] = row.page;
    words[at + SOURCE] = this.#numberOf(row.source);
    words[at + RULES] = this.#numberOf(rules);
    words[at + RECORD_ID] = this.#numberOf(row.recordId);
    words[at + NAMES] = names.count;
    this.#end(at, end);
    return true;
  }

  /** @returns false if the fault does not fit */
  fault(rejection: Rejection): boolean {
    return this.#plain(FAULT, rejection);
  }

  /** @returns false if the id does not fit */
  retract(id: string, rules: ReadRules): boolean {
    return this.#plain(RETRACTION, [id, rules]);
  }

  /** Gives all entries to a sink. */
  replay(sink: RowSink): void {
    const row = new Row(MAPPED_FIELDS.length);
    const words = this.#words;
    const names: Names = { places: new Int32Array(0), count: 0, view: this.#view };
    row.adopt(this.#bytes, this.#view);
    const noNames = row.names;
    for (let from = 0; from < this.length; ) {
      const at = from / 4;
      const kind = words[at + KIND];
      const object = this.#object(words[at + SOURCE] as number);
      if (kind === FAULT) sink.fault(object as Rejection);
      else if (kind === RETRACTION) sink.retract?.(...(object as [string, ReadRules]));
      else {
        row.record = this.#floats[from / 8 + RECORD] as number;
        row.line = this.#floats[from / 8 + LINE] as number;
        row.byte = this.#floats[from / 8 + BYTE] as number;
        row.page = words[at + PAGE] as number;
        row.source = object as string | undefined;
        row.recordId = (this.#object(words[at + RECORD_ID] as number) as string | undefined) ?? null;
        for (let word = 0; word < SPAN_WORDS; word++) row.spans[word] = words[at + SPANS + word] as number;
        names.count = words[at + NAMES] as number;
        if (names.count === 0) row.names = noNames;
        else {
          const first = at + SPANS + SPAN_WORDS;
          names.places = words.subarray(first, first + 2 * names.count);
          row.names = names;
        }
        sink.row(row, this.#object(words[at + RULES] as number) as ReadRules);
      }
      from = words[at + END] as number;
    }
  }

  /** @returns where the values end; -1 if they do not fit */
  #putValues(row: Row, firstWord: number, from: number): number {
    const { spans, view } = row;
    const words = this.#words;
    const endMax = this.memory.byteLength;
    if (from > endMax) return -1;
    let at = from;
    for (let place = 0; place < SPAN_WORDS; place += STRIDE) {
      const word = firstWord + place;
      const kind = spans[place + 3] as number;
      words[word] = at;
      if (kind > NULL) {
        const start = spans[place] as number;
        const end = spans[place + 1] as number;
        if (at + end - start > endMax) return -1;
        copyText(kind === PLAIN ? view : row.viewOf(place / STRIDE), start, end, this.#view, at);
        at += end - start;
      }
      words[word + 1] = at;
      words[word + 2] = spans[place + 2] as number;
      words[word + 3] = kind === TEXT ? PLAIN : kind;
    }
    return at;
  }

  #plain(kind: number, object: unknown): boolean {
    const end = this.length + OBJECT_BYTES;
    if (end > this.memory.byteLength) return false;
    const at = this.length / 4;
    this.#words[at + KIND] = kind;
    this.#words[at + SOURCE] = this.objects.push(object);
    this.#end(at, end);
    return true;
  }

  #end(at: number, end: number): void {
    this.length = aligned(end);
    this.#words[at + END] = this.length;
  }

  /** @returns where the names end; -1 if they do not fit */
  #putNames({ places, count, view }: Names, word: number, from: number): number {
    let at = from;
    for (let n = 0; n < count; n++) {
      const [start, end] = [places[2 * n] as number, places[2 * n + 1] as number];
      if (at + end - start > this.memory.byteLength) return -1;
      copyText(view, start, end, this.#view, at);
      this.#words[word + 2 * n] = at;
      at += end - start;
      this.#words[word + 2 * n + 1] = at;
    }
    return at;
  }

  /** The rows of a batch mostly have one source and one set of rules, and the rows of a record one id. */
  #numberOf(object: unknown): number {
    if (object === undefined || object === null) return 0;
    const known = this.objects.lastIndexOf(object);
    return known === -1 ? this.objects.push(object) : known + 1;
  }

  #object(number: number): unknown {
    return number === 0 ? undefined : this.objects[number - 1];
  }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
}
