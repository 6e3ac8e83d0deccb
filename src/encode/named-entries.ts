/** Lists whose entries have an id, a name and further values: directories and free time. */
import { BODY_SLICE_BYTES, BODY_WHOLE_BYTES_MAX } from '../limits.js';
import { isPlainJsonText } from '../model/text.js';
import type { NamedEntries, Texts } from '../query/directory.js';
import { packedTextLength } from '../snapshot/rows.js';
import { results } from '../structures/slabs.js';
import { allocateBody, laterBody, type MeasuredBody } from './body.js';
import { arrayHeader, writePackedTextHeader } from './msgpack.js';
import { gather, type Piece, slicedBody } from './slices.js';

/** The texts before the id, the name and the further values, and the text at the end. */
export type EntryFrames = readonly [id: Buffer, name: Buffer, rest: Buffer, closing: Buffer];

/** The further values of the entry at place n of the list. `write` returns the offset after them. */
export interface EntryRest {
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
    const end = put(bytes, from, to, target, offset + 1);
    target[end] = QUOTE;
    return end + 1;
  },
};

const PACKED_TEXTS: TextLayout = {
  none: Buffer.of(0xc0),
  textLength: ({ start }, code) => packedTextLength(start[code + 1]! - start[code]!),
  writeText({ bytes, start }, code, target, offset) {
    const [from, to] = [start[code]!, start[code + 1]!];
    return put(bytes, from, to, target, writePackedTextHeader(target, offset, to - from));
  },
};

/** A list of entries in one format. */
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
      at = put(beforeRest, 0, beforeRest.length, target, at);
      at = this.#rest.write(n, target, at);
      at = put(closing, 0, closing.length, target, at);
    }
  }
}

/** @param frames the last one ends with a comma */
export function jsonEntries(
  frames: EntryFrames,
  named: NamedEntries,
  entries: Uint32Array,
  rest: EntryRest,
): MeasuredBody {
  if (entries.length === 0) return bodyOf(2, () => [Buffer.from('[]')]);
  const list = new EntryList(JSON_TEXTS, frames, named, entries, rest);
  return bodyOf(1 + list.byteLength, function* () {
    yield Buffer.from('[');
    yield* list.pieces(','.length);
    yield Buffer.from(']');
  });
}

export function messagePackEntries(
  frames: EntryFrames,
  named: NamedEntries,
  entries: Uint32Array,
  rest: EntryRest,
): MeasuredBody {
  const list = new EntryList(PACKED_TEXTS, frames, named, entries, rest);
  const header = arrayHeader(entries.length);
  return bodyOf(header.length + list.byteLength, function* () {
    yield header;
    yield* list.pieces(0);
  });
}

function bodyOf(byteLength: number, pieces: () => Iterable<Piece>): MeasuredBody {
  return byteLength > BODY_WHOLE_BYTES_MAX
    ? slicedBody(byteLength, pieces)
    : laterBody(byteLength, () => gather(pieces(), allocateBody(byteLength)));
}

/** Below this number of bytes, a loop is faster than Buffer.copy. */
const NATIVE_COPY_BYTES_MIN = 64;

/** Copies bytes [from, to). @returns the offset after the copy */
export function put(source: Buffer, from: number, to: number, target: Buffer, offset: number): number {
  if (to - from >= NATIVE_COPY_BYTES_MIN) source.copy(target, offset, from, to);
  else for (let i = from, at = offset; i < to; i++, at++) target[at] = source[i]!;
  return offset + to - from;
}

function escapedText(texts: Texts, code: number): string {
  return JSON.stringify(texts.valueOf(code));
}
