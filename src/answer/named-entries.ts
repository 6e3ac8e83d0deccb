/** Lists whose entries have an id, a name and further members: directories and free time. */

import { BODY_SLICE_BYTES } from '../base/limits.js';
import type { AnyFormatName } from '../base/model/format.js';
import { InstantTexts } from '../base/model/instant-texts.js';
import { DIRECTORY_ENTRY_SCHEMA, FREE_ENTRY_SCHEMA } from '../base/model/schemas.js';
import { isPlainJsonText } from '../base/model/text.js';
import { results } from '../base/structures/slabs.js';
import { packedIntegerLength, packedTextLength } from '../snapshot/rows.js';
import type { MeasuredBody } from './body.js';
import type { Directory, NamedEntries, Texts } from './directory.js';
import type { GapColumns } from './gaps.js';
import { arrayHeader, packPlain, writePackedTextHeader } from './msgpack.js';
import { copyBytes, put } from './row-spans.js';
import { bodyOfPieces, type Piece } from './slices.js';

/** How an entry is written. Functions that write return the offset after the value. */
interface Encoding {
  readonly none: Buffer;
  /** The bytes before and after the characters of an instant. */
  readonly instantFrame: readonly [before: Buffer, after: Buffer];
  readonly closing: Buffer;
  /** The bytes before the value of member n of an entry of this size. */
  before(name: string, n: number, size: number): Buffer;
  /** Members after others. */
  further(members: ReturnType<Further>): Buffer;
  textLength(texts: Texts, code: number): number;
  writeText(texts: Texts, code: number, target: Buffer, offset: number): number;
  countLength(value: number): number;
  writeCount(value: number, target: Buffer, offset: number): number;
}

/** Members that a list adds to each of its entries, of the same names for all. */
export type Further = (entry: number) => Readonly<Record<string, string | number | null>>;

/** The value of a member for the entry at place n of the list: a whole number, or an instant, where NaN is null. */
interface Values {
  readonly kind: 'count' | 'instant';
  at(n: number): number;
}

const QUOTE = 0x22;
const DIGIT_0 = 0x30;
const QUOTE_BYTES = Buffer.from('"');
const NOTHING = Buffer.alloc(0);

/** A comma follows each entry. */
const JSON_ENCODING: Encoding = {
  none: Buffer.from('null'),
  instantFrame: [QUOTE_BYTES, QUOTE_BYTES],
  closing: Buffer.from('},'),
  before: (name, n) => Buffer.from(`${n === 0 ? '{' : ','}"${name}":`),
  further: (members) => Buffer.from(`,${JSON.stringify(members).slice(1, -1)}`),
  textLength(texts, code) {
    const { bytes, start } = texts;
    const [from, to] = [start[code]!, start[code + 1]!];
    return isPlainJsonText(bytes, from, to) ? to - from + 2 : Buffer.byteLength(escapedText(texts, code));
  },
  writeText(texts, code, target, offset) {
    const { bytes, start } = texts;
    const [from, to] = [start[code]!, start[code + 1]!];
    if (!isPlainJsonText(bytes, from, to)) return offset + target.write(escapedText(texts, code), offset);
    target[offset] = QUOTE;
    const end = copyBytes(bytes, from, to, target, offset + 1);
    target[end] = QUOTE;
    return end + 1;
  },
  countLength: digitCountOf,
  writeCount(value, target, offset) {
    const end = offset + digitCountOf(value);
    let rest = value;
    for (let at = end - 1; at >= offset; at--) {
      target[at] = DIGIT_0 + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    return end;
  },
};

const INSTANT_CHARACTERS = 'YYYY-MM-DDTHH:mm:ss.sssZ'.length;
const [UINT8, UINT16, UINT32] = [0xcc, 0xcd, 0xce];

const PACKED_ENCODING: Encoding = {
  none: Buffer.of(0xc0),
  instantFrame: [Buffer.of(0xa0 | INSTANT_CHARACTERS), NOTHING],
  closing: NOTHING,
  before: (name, n, size) => Buffer.concat([n === 0 ? Buffer.of(0x80 | size) : NOTHING, packPlain(name)]),
  further: (members) => Buffer.concat(Object.entries(members).flat().map(packPlain)),
  textLength: ({ start }, code) => packedTextLength(start[code + 1]! - start[code]!),
  writeText({ bytes, start }, code, target, offset) {
    const [from, to] = [start[code]!, start[code + 1]!];
    return copyBytes(bytes, from, to, target, writePackedTextHeader(target, offset, to - from));
  },
  countLength: packedIntegerLength,
  writeCount(value, target, offset) {
    if (value < 0x80) {
      target[offset] = value;
      return offset + 1;
    }
    if (value < 0x100) {
      target[offset] = UINT8;
      target[offset + 1] = value;
      return offset + 2;
    }
    target[offset] = value < 0x10000 ? UINT16 : UINT32;
    return value < 0x10000
      ? target.writeUInt16BE(value, offset + 1)
      : target.writeUInt32BE(value, offset + 1);
  },
};

function escapedText(texts: Texts, code: number): string {
  return JSON.stringify(texts.valueOf(code));
}

function digitCountOf(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) length++;
  return length;
}

const instants = new InstantTexts();

class EntryList {
  readonly #encoding: Encoding;
  readonly #named: NamedEntries;
  readonly #entries: Uint32Array;
  readonly #values: readonly Values[];
  /** The bytes before each value. */
  readonly #frames: readonly Buffer[];
  /** The further members of each entry; null if there are none. */
  readonly #further: readonly Buffer[] | null;
  /** Entry n is bytes [start[n], start[n + 1]). */
  readonly #start: Uint32Array;

  /** @param names of the members, without the further ones */
  constructor(
    encoding: Encoding,
    names: readonly string[],
    named: NamedEntries,
    entries: Uint32Array,
    values: readonly Values[],
    further: Further | null,
  ) {
    const [first] = entries;
    const added = further === null || first === undefined ? 0 : Object.keys(further(first)).length;
    this.#encoding = encoding;
    this.#named = named;
    this.#entries = entries;
    this.#values = values;
    this.#frames = names.map((name, n) => encoding.before(name, n, names.length + added));
    this.#further = further && Array.from(entries, (entry) => encoding.further(further(entry)));
    this.#start = this.#places();
  }

  get byteLength(): number {
    return this.#start[this.#entries.length]!;
  }

  #places(): Uint32Array {
    const { ids, names, nameCodes, texts } = this.#named;
    const encoding = this.#encoding;
    const { none, closing } = encoding;
    const frameBytes = this.#frames.reduce((sum, frame) => sum + frame.length, closing.length);
    const entries = this.#entries;
    const values = this.#values;
    const further = this.#further;
    const start = results.uint32(entries.length + 1);
    let at = 0;
    for (let n = 0; n < entries.length; n++) {
      start[n] = at;
      const entry = entries[n]!;
      at += frameBytes;
      if (entry >= ids.size) at += none.length + encoding.textLength(texts!, entry - ids.size);
      else {
        const nameCode = nameCodes[entry]!;
        at += encoding.textLength(ids, entry);
        at += nameCode < names.size ? encoding.textLength(names, nameCode) : none.length;
      }
      for (let m = 0; m < values.length; m++) at += lengthOf(encoding, values[m]!, n);
      if (further !== null) at += further[n]!.length;
    }
    start[entries.length] = at;
    return start;
  }

  /** @param cut bytes to remove from the last entry: its comma */
  *pieces(cut: number): Generator<Piece> {
    const start = this.#start;
    const count = this.#entries.length;
    // Terminates: `to` > `from`.
    for (let from = 0, to = 0; from < count; from = to) {
      const first = from;
      for (to = from + 1; to < count; to++) {
        if (start[to + 1]! - start[first]! > BODY_SLICE_BYTES) break;
      }
      const end = to;
      const byteLength = start[end]! - start[first]! - (end === count ? cut : 0);
      yield {
        byteLength,
        write: (target, offset) => this.#write(first, end, target.subarray(offset, offset + byteLength)),
      };
    }
  }

  /** Bytes after the end of `target` are not written. */
  #write(first: number, end: number, target: Buffer): void {
    const { ids, names, nameCodes, texts } = this.#named;
    const encoding = this.#encoding;
    const { none } = encoding;
    const { closing } = encoding;
    const frames = this.#frames;
    const [beforeId, beforeName] = frames as readonly [Buffer, Buffer];
    const entries = this.#entries;
    const values = this.#values;
    const further = this.#further;
    let at = 0;
    for (let n = first; n < end; n++) {
      const entry = entries[n]!;
      at = put(beforeId, target, at);
      if (entry >= ids.size) {
        at = put(beforeName, target, put(none, target, at));
        at = encoding.writeText(texts!, entry - ids.size, target, at);
      } else {
        const nameCode = nameCodes[entry]!;
        at = put(beforeName, target, encoding.writeText(ids, entry, target, at));
        if (nameCode < names.size) at = encoding.writeText(names, nameCode, target, at);
        else at = put(none, target, at);
      }
      for (let m = 0; m < values.length; m++)
        at = writeValue(encoding, values[m]!, n, target, put(frames[m + 2]!, target, at));
      if (further !== null) at = put(further[n]!, target, at);
      at = put(closing, target, at);
    }
  }
}

function lengthOf({ none, instantFrame, countLength }: Encoding, { kind, at }: Values, n: number): number {
  const value = at(n);
  if (kind === 'count') return countLength(value);
  return Number.isNaN(value)
    ? none.length
    : instantFrame[0].length + INSTANT_CHARACTERS + instantFrame[1].length;
}

function writeValue(
  { none, instantFrame, writeCount }: Encoding,
  values: Values,
  n: number,
  target: Buffer,
  offset: number,
): number {
  const value = values.at(n);
  if (values.kind === 'count') return writeCount(value, target, offset);
  if (Number.isNaN(value)) return put(none, target, offset);
  const at = put(instantFrame[0], target, offset);
  target.write(instants.of(value), at, 'latin1');
  return put(instantFrame[1], target, at + INSTANT_CHARACTERS);
}

function entriesBody(
  format: AnyFormatName,
  names: readonly string[],
  named: NamedEntries,
  entries: Uint32Array,
  values: readonly Values[],
  further: Further | null,
): MeasuredBody {
  const isJson = format === 'json';
  const list = new EntryList(
    isJson ? JSON_ENCODING : PACKED_ENCODING,
    names,
    named,
    entries,
    values,
    further,
  );
  // A closing bracket takes the place of the last comma.
  const cut = isJson && entries.length > 0 ? 1 : 0;
  const opening = isJson ? Buffer.from('[') : arrayHeader(entries.length);
  const closing = isJson ? Buffer.from(']') : NOTHING;
  return bodyOfPieces(opening.length + list.byteLength - cut + closing.length, function* () {
    yield opening;
    yield* list.pieces(cut);
    yield closing;
  });
}

const DIRECTORY_NAMES = Object.keys(DIRECTORY_ENTRY_SCHEMA.properties as object);
const FREE_NAMES = Object.keys(FREE_ENTRY_SCHEMA.properties as object);

/** @param counts events by entry */
export function directoryBody(
  format: AnyFormatName,
  directory: Directory,
  entries: Uint32Array,
  counts: Uint32Array,
  further: Further | null,
): MeasuredBody {
  const events: Values = { kind: 'count', at: (n) => counts[entries[n]!]! };
  return entriesBody(format, DIRECTORY_NAMES, directory, entries, [events], further);
}

export function freeBody(
  format: AnyFormatName,
  named: NamedEntries,
  entries: Uint32Array,
  { fromMs, untilMs }: GapColumns,
  further: Further | null,
): MeasuredBody {
  const ends = [fromMs, untilMs].map((column): Values => ({ kind: 'instant', at: (n) => column[n]! }));
  return entriesBody(format, FREE_NAMES, named, entries, ends, further);
}
