import build, { type Schema } from 'fast-json-stringify';
import { BODY_SLICE_BYTES, BODY_WHOLE_BYTES_MAX } from '../limits.js';
import type { DirectoryEntry } from '../model/event.js';
import { DIRECTORY_ENTRY_SCHEMA } from '../model/schemas.js';
import { isPlainJsonText } from '../model/text.js';
import type { Directory } from '../query/directory.js';
import { packedIntegerLength, packedTextLength } from '../snapshot/rows.js';
import type { Dictionary } from '../structures/dictionary.js';
import { results } from '../structures/slabs.js';
import { allocateBody, laterBody, type MeasuredBody } from './body.js';
import { arrayHeader, packPlain, writePackedTextHeader } from './msgpack.js';
import { gather, type Piece, slicedBody } from './slices.js';

/** How entries are written. Writers return the offset after the written bytes. */
interface EntryLayout {
  /** The texts before the id, the name and the number of events, and the text at the end. */
  readonly frames: readonly [Buffer, Buffer, Buffer, Buffer];
  readonly none: Buffer;
  textLength(dictionary: Dictionary, code: number): number;
  writeText(dictionary: Dictionary, code: number, target: Buffer, offset: number): number;
  integerLength(value: number): number;
  writeInteger(value: number, target: Buffer, offset: number): number;
}

const QUOTE = 0x22;
const DIGIT_0 = 0x30;

const serialiseEntry: (entry: DirectoryEntry) => string = build(DIRECTORY_ENTRY_SCHEMA as unknown as Schema);
const [BEFORE_ID = '', BEFORE_NAME = '', BEFORE_EVENTS = '', CLOSING = ''] = serialiseEntry({
  id: '',
  name: '',
  events: 0,
}).split(/""|0/);

/** A comma follows each entry. */
const JSON_ENTRIES: EntryLayout = {
  frames: [
    Buffer.from(BEFORE_ID),
    Buffer.from(BEFORE_NAME),
    Buffer.from(BEFORE_EVENTS),
    Buffer.from(`${CLOSING},`),
  ],
  none: Buffer.from('null'),
  textLength(dictionary, code) {
    const { bytes, start } = dictionary;
    const [from, to] = [start[code]!, start[code + 1]!];
    return isPlainJsonText(bytes, from, to)
      ? to - from + 2
      : Buffer.byteLength(escapedText(dictionary, code));
  },
  writeText(dictionary, code, target, offset) {
    const { bytes, start } = dictionary;
    const [from, to] = [start[code]!, start[code + 1]!];
    if (!isPlainJsonText(bytes, from, to))
      return offset + target.write(escapedText(dictionary, code), offset);
    target[offset] = QUOTE;
    const end = put(bytes, from, to, target, offset + 1);
    target[end] = QUOTE;
    return end + 1;
  },
  integerLength(value) {
    let length = 1;
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) length++;
    return length;
  },
  writeInteger(value, target, offset) {
    const end = offset + JSON_ENTRIES.integerLength(value);
    let rest = value;
    for (let at = end - 1; at >= offset; at--) {
      target[at] = DIGIT_0 + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    return end;
  },
};

const MAP_OF_THREE = Buffer.of(0x83);
const UINT8 = 0xcc;
const UINT16 = 0xcd;
const UINT32 = 0xce;

const PACKED_ENTRIES: EntryLayout = {
  frames: [
    Buffer.concat([MAP_OF_THREE, packPlain('id')]),
    Buffer.from(packPlain('name')),
    Buffer.from(packPlain('events')),
    Buffer.alloc(0),
  ],
  none: Buffer.of(0xc0),
  textLength: ({ start }, code) => packedTextLength(start[code + 1]! - start[code]!),
  writeText({ bytes, start }, code, target, offset) {
    const [from, to] = [start[code]!, start[code + 1]!];
    return put(bytes, from, to, target, writePackedTextHeader(target, offset, to - from));
  },
  integerLength: packedIntegerLength,
  writeInteger(value, target, offset) {
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

/** @param counts events by entry */
export function jsonDirectory(directory: Directory, entries: Uint32Array, counts: Uint32Array): MeasuredBody {
  if (entries.length === 0) return bodyOf(2, () => [Buffer.from('[]')]);
  const start = placesOf(JSON_ENTRIES, directory, entries, counts);
  const byteLength = 1 + start[entries.length]!;
  return bodyOf(byteLength, function* () {
    yield Buffer.from('[');
    yield* entryPieces(JSON_ENTRIES, directory, entries, counts, start, ','.length);
    yield Buffer.from(']');
  });
}

export function messagePackDirectory(
  directory: Directory,
  entries: Uint32Array,
  counts: Uint32Array,
): MeasuredBody {
  const start = placesOf(PACKED_ENTRIES, directory, entries, counts);
  const header = arrayHeader(entries.length);
  return bodyOf(header.length + start[entries.length]!, function* () {
    yield header;
    yield* entryPieces(PACKED_ENTRIES, directory, entries, counts, start, 0);
  });
}

function bodyOf(byteLength: number, pieces: () => Iterable<Piece>): MeasuredBody {
  return byteLength > BODY_WHOLE_BYTES_MAX
    ? slicedBody(byteLength, pieces)
    : laterBody(byteLength, () => gather(pieces(), allocateBody(byteLength)));
}

/** Entry n is bytes [start[n], start[n + 1]). */
function placesOf(
  layout: EntryLayout,
  { ids, names, nameCodes, texts }: Directory,
  entries: Uint32Array,
  counts: Uint32Array,
): Uint32Array {
  const { none, frames } = layout;
  const frameBytes = frames.reduce((sum, frame) => sum + frame.length, 0);
  const start = results.uint32(entries.length + 1);
  let at = 0;
  for (let n = 0; n < entries.length; n++) {
    start[n] = at;
    const entry = entries[n]!;
    at += frameBytes + layout.integerLength(counts[entry]!);
    if (entry >= ids.size) at += none.length + layout.textLength(texts!, entry - ids.size);
    else {
      const nameCode = nameCodes[entry]!;
      at += layout.textLength(ids, entry);
      at += nameCode < names.size ? layout.textLength(names, nameCode) : none.length;
    }
  }
  start[entries.length] = at;
  return start;
}

/** @param cut bytes to remove from the last entry: its comma */
function* entryPieces(
  layout: EntryLayout,
  directory: Directory,
  entries: Uint32Array,
  counts: Uint32Array,
  start: Uint32Array,
  cut: number,
): Generator<Piece> {
  // Terminates: `to` > `from`.
  for (let from = 0, to = 0; from < entries.length; from = to) {
    const first = from;
    for (to = from + 1; to < entries.length; to++) {
      if (start[to + 1]! - start[first]! > BODY_SLICE_BYTES) break;
    }
    const part = entries.subarray(first, to);
    const byteLength = start[to]! - start[first]! - (to === entries.length ? cut : 0);
    yield {
      byteLength,
      write(target, offset) {
        writeEntries(layout, directory, part, counts, target.subarray(offset, offset + byteLength));
      },
    };
  }
}

/** Bytes after the end of `target` are not written. */
function writeEntries(
  layout: EntryLayout,
  { ids, names, nameCodes, texts }: Directory,
  entries: Uint32Array,
  counts: Uint32Array,
  target: Buffer,
): void {
  const { none } = layout;
  const [beforeId, beforeName, beforeEvents, closing] = layout.frames;
  let at = 0;
  for (let n = 0; n < entries.length; n++) {
    const entry = entries[n]!;
    at = put(beforeId, 0, beforeId.length, target, at);
    if (entry >= ids.size) {
      at = put(none, 0, none.length, target, at);
      at = put(beforeName, 0, beforeName.length, target, at);
      at = layout.writeText(texts!, entry - ids.size, target, at);
    } else {
      const nameCode = nameCodes[entry]!;
      at = layout.writeText(ids, entry, target, at);
      at = put(beforeName, 0, beforeName.length, target, at);
      at =
        nameCode < names.size
          ? layout.writeText(names, nameCode, target, at)
          : put(none, 0, none.length, target, at);
    }
    at = put(beforeEvents, 0, beforeEvents.length, target, at);
    at = layout.writeInteger(counts[entry]!, target, at);
    at = put(closing, 0, closing.length, target, at);
  }
}

/** A loop copies fewer bytes faster than Buffer.copy. */
const NATIVE_COPY_BYTES_MIN = 64;

function put(source: Buffer, from: number, to: number, target: Buffer, offset: number): number {
  if (to - from >= NATIVE_COPY_BYTES_MIN) source.copy(target, offset, from, to);
  else for (let i = from, at = offset; i < to; i++, at++) target[at] = source[i]!;
  return offset + to - from;
}

function escapedText(dictionary: Dictionary, code: number): string {
  return JSON.stringify(dictionary.valueOf(code));
}
