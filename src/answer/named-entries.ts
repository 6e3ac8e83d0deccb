/** Lists whose entries have an id, a name and further values: directories and free time. */

import type { Schema } from 'fast-json-stringify';
import build from 'fast-json-stringify';
import { BODY_SLICE_BYTES } from '../limits.js';
import type { DirectoryEntry } from '../model/event.js';
import { InstantTexts } from '../model/instant-texts.js';
import { DIRECTORY_ENTRY_SCHEMA, FREE_ENTRY_SCHEMA } from '../model/schemas.js';
import { isPlainJsonText } from '../model/text.js';
import { packedIntegerLength, packedTextLength } from '../snapshot/rows.js';
import { results } from '../structures/slabs.js';
import type { MeasuredBody } from './body.js';
import type { Directory, NamedEntries, Texts } from './directory.js';
import type { GapColumns } from './gaps.js';
import { arrayHeader, packPlain, writePackedTextHeader } from './msgpack.js';
import { copyBytes } from './row-spans.js';
import { bodyOfPieces, type Piece } from './slices.js';

/** The texts before the id, the name and the further values, and the text at the end. */
type EntryFrames = readonly [id: Buffer, name: Buffer, rest: Buffer, closing: Buffer];

/** The further values of the entry at place n of the list. `write` returns the offset after them. */
interface EntryRest {
  length(n: number): number;
  write(n: number, target: Buffer, offset: number): number;
}

/** How texts are written. `writeText` returns the offset after the text. */
interface TextLayout {
  readonly none: Buffer;
  textLength(texts: Texts, code: number): number;
  writeText(texts: Texts, code: number, target: Buffer, offset: number): number;
}

const QUOTE = 0x22;

const JSON_TEXTS: TextLayout = {
  none: Buffer.from('null'),
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
};

const PACKED_TEXTS: TextLayout = {
  none: Buffer.of(0xc0),
  textLength: ({ start }, code) => packedTextLength(start[code + 1]! - start[code]!),
  writeText({ bytes, start }, code, target, offset) {
    const [from, to] = [start[code]!, start[code + 1]!];
    return copyBytes(bytes, from, to, target, writePackedTextHeader(target, offset, to - from));
  },
};

class EntryList {
  readonly #texts: TextLayout;
  readonly #frames: EntryFrames;
  readonly #named: NamedEntries;
  readonly #entries: Uint32Array;
  readonly #rest: EntryRest;
  /** Entry n is bytes [start[n], start[n + 1]). */
  readonly start: Uint32Array;

  constructor(
    texts: TextLayout,
    frames: EntryFrames,
    named: NamedEntries,
    entries: Uint32Array,
    rest: EntryRest,
  ) {
    this.#texts = texts;
    this.#frames = frames;
    this.#named = named;
    this.#entries = entries;
    this.#rest = rest;
    this.start = this.#places();
  }

  get byteLength(): number {
    return this.start[this.#entries.length]!;
  }

  #places(): Uint32Array {
    const { ids, names, nameCodes, texts } = this.#named;
    const layout = this.#texts;
    const frameBytes = this.#frames.reduce((sum, frame) => sum + frame.length, 0);
    const entries = this.#entries;
    const start = results.uint32(entries.length + 1);
    let at = 0;
    for (let n = 0; n < entries.length; n++) {
      start[n] = at;
      const entry = entries[n]!;
      at += frameBytes + this.#rest.length(n);
      if (entry >= ids.size) at += layout.none.length + layout.textLength(texts!, entry - ids.size);
      else {
        const nameCode = nameCodes[entry]!;
        at += layout.textLength(ids, entry);
        at += nameCode < names.size ? layout.textLength(names, nameCode) : layout.none.length;
      }
    }
    start[entries.length] = at;
    return start;
  }

  /** @param cut bytes to remove from the last entry: its comma */
  *pieces(cut: number): Generator<Piece> {
    const start = this.start;
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
    const layout = this.#texts;
    const { none } = layout;
    const [beforeId, beforeName, beforeRest, closing] = this.#frames;
    const entries = this.#entries;
    let at = 0;
    for (let n = first; n < end; n++) {
      const entry = entries[n]!;
      at = copyBytes(beforeId, 0, beforeId.length, target, at);
      if (entry >= ids.size) {
        at = copyBytes(none, 0, none.length, target, at);
        at = copyBytes(beforeName, 0, beforeName.length, target, at);
        at = layout.writeText(texts!, entry - ids.size, target, at);
      } else {
        const nameCode = nameCodes[entry]!;
        at = layout.writeText(ids, entry, target, at);
        at = copyBytes(beforeName, 0, beforeName.length, target, at);
        at =
          nameCode < names.size
            ? layout.writeText(names, nameCode, target, at)
            : copyBytes(none, 0, none.length, target, at);
      }
      at = copyBytes(beforeRest, 0, beforeRest.length, target, at);
      at = this.#rest.write(n, target, at);
      at = copyBytes(closing, 0, closing.length, target, at);
    }
  }
}

/** @param frames the last one ends with a comma */
function jsonEntries(
  frames: EntryFrames,
  named: NamedEntries,
  entries: Uint32Array,
  rest: EntryRest,
): MeasuredBody {
  if (entries.length === 0) return bodyOfPieces(2, () => [Buffer.from('[]')]);
  const list = new EntryList(JSON_TEXTS, frames, named, entries, rest);
  return bodyOfPieces(1 + list.byteLength, function* () {
    yield Buffer.from('[');
    yield* list.pieces(','.length);
    yield Buffer.from(']');
  });
}

function messagePackEntries(
  frames: EntryFrames,
  named: NamedEntries,
  entries: Uint32Array,
  rest: EntryRest,
): MeasuredBody {
  const list = new EntryList(PACKED_TEXTS, frames, named, entries, rest);
  const header = arrayHeader(entries.length);
  return bodyOfPieces(header.length + list.byteLength, function* () {
    yield header;
    yield* list.pieces(0);
  });
}

function escapedText(texts: Texts, code: number): string {
  return JSON.stringify(texts.valueOf(code));
}

const DIGIT_0 = 0x30;

const serialiseDirectoryEntry: (entry: DirectoryEntry) => string = build(
  DIRECTORY_ENTRY_SCHEMA as unknown as Schema,
);
const [BEFORE_ID = '', BEFORE_NAME = '', BEFORE_EVENTS = '', CLOSING = ''] = serialiseDirectoryEntry({
  id: '',
  name: '',
  events: 0,
}).split(/""|0/);

/** Members that a list adds to each of its entries, of the same names for all. */
export type Further = (entry: number) => Readonly<Record<string, string | number | null>>;

/** The further values of entries, followed by their further members. */
function withFurther(
  rest: EntryRest,
  entries: Uint32Array,
  further: Further | null,
  encode: (members: ReturnType<Further>) => Buffer,
): EntryRest {
  if (further === null) return rest;
  const added = Array.from(entries, (entry) => encode(further(entry)));
  return {
    length: (n) => rest.length(n) + added[n]!.length,
    write: (n, target, offset) =>
      copyBytes(added[n]!, 0, added[n]!.length, target, rest.write(n, target, offset)),
  };
}

function jsonMembers(members: ReturnType<Further>): Buffer {
  return Buffer.from(`,${JSON.stringify(members).slice(1, -1)}`);
}

function packedMembers(members: ReturnType<Further>): Buffer {
  return Buffer.concat(Object.entries(members).flat().map(packPlain));
}

/** @param size members of an entry without the further ones */
function withMapHeader(
  [id, ...others]: EntryFrames,
  size: number,
  entries: Uint32Array,
  further: Further | null,
): EntryFrames {
  const [first] = entries;
  const added = further === null || first === undefined ? 0 : Object.keys(further(first)).length;
  return [Buffer.concat([Buffer.of(0x80 | (size + added)), id]), ...others];
}

/** A comma follows each entry. */
const JSON_FRAMES: EntryFrames = [
  Buffer.from(BEFORE_ID),
  Buffer.from(BEFORE_NAME),
  Buffer.from(BEFORE_EVENTS),
  Buffer.from(`${CLOSING},`),
];

/** Without the header of the map. */
const PACKED_FRAMES: EntryFrames = [
  Buffer.from(packPlain('id')),
  Buffer.from(packPlain('name')),
  Buffer.from(packPlain('events')),
  Buffer.alloc(0),
];
const UINT8 = 0xcc;
const UINT16 = 0xcd;
const UINT32 = 0xce;

/** @param counts events by entry */
export function jsonDirectory(
  directory: Directory,
  entries: Uint32Array,
  counts: Uint32Array,
  further: Further | null,
): MeasuredBody {
  const rest: EntryRest = {
    length: (n) => digitCountOf(counts[entries[n]!]!),
    write: (n, target, offset) => writeDigits(counts[entries[n]!]!, target, offset),
  };
  return jsonEntries(JSON_FRAMES, directory, entries, withFurther(rest, entries, further, jsonMembers));
}

export function messagePackDirectory(
  directory: Directory,
  entries: Uint32Array,
  counts: Uint32Array,
  further: Further | null,
): MeasuredBody {
  const rest: EntryRest = {
    length: (n) => packedIntegerLength(counts[entries[n]!]!),
    write: (n, target, offset) => writePackedInteger(counts[entries[n]!]!, target, offset),
  };
  const whole = withFurther(rest, entries, further, packedMembers);
  return messagePackEntries(withMapHeader(PACKED_FRAMES, 3, entries, further), directory, entries, whole);
}

function digitCountOf(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) length++;
  return length;
}

function writeDigits(value: number, target: Buffer, offset: number): number {
  const end = offset + digitCountOf(value);
  let rest = value;
  for (let at = end - 1; at >= offset; at--) {
    target[at] = DIGIT_0 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return end;
}

function writePackedInteger(value: number, target: Buffer, offset: number): number {
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
  return value < 0x10000 ? target.writeUInt16BE(value, offset + 1) : target.writeUInt32BE(value, offset + 1);
}

const INSTANT_CHARACTERS = 'YYYY-MM-DDTHH:mm:ss.sssZ'.length;

/** How instants are written. */
interface InstantLayout {
  readonly frames: EntryFrames;
  readonly none: Buffer;
  /** The bytes before and after the characters of an instant. */
  readonly before: Buffer;
  readonly after: Buffer;
  /** The text between both instants. */
  readonly between: Buffer;
}

const NAMES = Object.keys(FREE_ENTRY_SCHEMA.properties as object);
const [FREE_ID = '', FREE_NAME = '', BEFORE_FROM = '', BEFORE_UNTIL = '', FREE_CLOSING = ''] = JSON.stringify(
  Object.fromEntries(NAMES.map((name) => [name, ''])),
).split('""');

const QUOTE_BYTES = Buffer.from('"');

const JSON_INSTANTS: InstantLayout = {
  // A comma follows each entry.
  frames: [
    Buffer.from(FREE_ID),
    Buffer.from(FREE_NAME),
    Buffer.from(BEFORE_FROM),
    Buffer.from(`${FREE_CLOSING},`),
  ],
  none: Buffer.from('null'),
  before: QUOTE_BYTES,
  after: QUOTE_BYTES,
  between: Buffer.from(BEFORE_UNTIL),
};

const [PACKED_ID, PACKED_NAME, PACKED_FROM, PACKED_UNTIL] = NAMES.map((name) =>
  Buffer.from(packPlain(name)),
) as [Buffer, Buffer, Buffer, Buffer];

const PACKED_INSTANTS: InstantLayout = {
  frames: [PACKED_ID, PACKED_NAME, PACKED_FROM, Buffer.alloc(0)],
  none: Buffer.of(0xc0),
  before: Buffer.of(0xa0 | INSTANT_CHARACTERS),
  after: Buffer.alloc(0),
  between: PACKED_UNTIL,
};

const instants = new InstantTexts();

export function jsonFree(
  named: NamedEntries,
  entries: Uint32Array,
  gaps: GapColumns,
  further: Further | null,
): MeasuredBody {
  const rest = restOf(JSON_INSTANTS, gaps);
  const whole = withFurther(rest, entries, further, jsonMembers);
  return jsonEntries(JSON_INSTANTS.frames, named, entries, whole);
}

export function messagePackFree(
  named: NamedEntries,
  entries: Uint32Array,
  gaps: GapColumns,
  further: Further | null,
): MeasuredBody {
  const rest = restOf(PACKED_INSTANTS, gaps);
  const whole = withFurther(rest, entries, further, packedMembers);
  const frames = withMapHeader(PACKED_INSTANTS.frames, 4, entries, further);
  return messagePackEntries(frames, named, entries, whole);
}

function restOf(layout: InstantLayout, { fromMs, untilMs }: GapColumns): EntryRest {
  const { between } = layout;
  return {
    length: (n) => lengthOf(layout, fromMs[n]!) + between.length + lengthOf(layout, untilMs[n]!),
    write(n, target, offset) {
      const at = writeInstant(layout, fromMs[n]!, target, offset);
      return writeInstant(layout, untilMs[n]!, target, copyBytes(between, 0, between.length, target, at));
    },
  };
}

function lengthOf({ none, before, after }: InstantLayout, instantMs: number): number {
  return Number.isNaN(instantMs) ? none.length : before.length + INSTANT_CHARACTERS + after.length;
}

function writeInstant(
  { none, before, after }: InstantLayout,
  instantMs: number,
  target: Buffer,
  offset: number,
): number {
  if (Number.isNaN(instantMs)) return copyBytes(none, 0, none.length, target, offset);
  const at = copyBytes(before, 0, before.length, target, offset);
  target.write(instants.of(instantMs), at, 'latin1');
  return copyBytes(after, 0, after.length, target, at + INSTANT_CHARACTERS);
}
