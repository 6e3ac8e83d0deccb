import { OUTPUT_FIELDS, type OutputFieldName } from '../base/model/fields.js';
import type { Rows } from '../snapshot/rows.js';
import type { Snapshot } from '../snapshot/snapshot.js';

const FIELD_COUNT = OUTPUT_FIELDS.length;

/** The number of a field in a row: the index of its span. */
export function fieldNumber(name: OutputFieldName): number {
  return OUTPUT_FIELDS.findIndex((field) => field.name === name);
}

/** Bytes of `{"name":` or `,"name":` in a row. */
const NAME_BYTES = OUTPUT_FIELDS.map(({ name }) => name.length + 4);
/** 1 for each field that is an instant: instants have one length and no characters to escape. */
const IS_INSTANT = Uint8Array.from(OUTPUT_FIELDS, ({ kind }) => Number(kind === 'instant'));
const INSTANT_CHARACTERS = 'YYYY-MM-DDTHH:mm:ss.sssZ'.length;
const LETTER_N = 0x6e;
const BACKSLASH = 0x5c;

/** Features of a text, each of which makes a plain copy wrong in some format. */
export const HAS_ESCAPE = 1;
export const HAS_COMMA = 2;
/** A semicolon, or the only control character that JSON does not escape. */
export const HAS_SEMICOLON_OR_DELETE = 4;
const IS_QUOTE = 8;
/** `&`, `<` or `>`. */
export const HAS_MARKUP = 16;

const CLASS_OF_BYTE = new Uint8Array(256);
CLASS_OF_BYTE[0x22] = IS_QUOTE;
CLASS_OF_BYTE[BACKSLASH] = HAS_ESCAPE;
CLASS_OF_BYTE[0x2c] = HAS_COMMA;
CLASS_OF_BYTE[0x3b] = HAS_SEMICOLON_OR_DELETE;
CLASS_OF_BYTE[0x7f] = HAS_SEMICOLON_OR_DELETE;
for (const byte of [0x26, 0x3c, 0x3e]) CLASS_OF_BYTE[byte] = HAS_MARKUP;

/** Where a row's values are in the arena, by the number of the field: bytes [from, to) between quotes. */
export class RowSpans {
  /** -1 for null. */
  readonly from: Float64Array = new Float64Array(FIELD_COUNT);
  readonly to: Float64Array = new Float64Array(FIELD_COUNT);
  /** HAS_… of each value. */
  readonly has: Uint8Array = new Uint8Array(FIELD_COUNT);

  /** @throws Error for a damaged row */
  read({ bytes, start }: Rows, ordinal: number): void {
    const end = start[ordinal + 1]!;
    let at = start[ordinal]!;
    for (let n = 0; n < FIELD_COUNT; n++) {
      at += NAME_BYTES[n]!;
      this.has[n] = 0;
      if (bytes[at] === LETTER_N) {
        this.from[n] = -1;
        at += 'null'.length;
        continue;
      }
      this.from[n] = ++at;
      let has = 0;
      if (IS_INSTANT[n] === 1) at += INSTANT_CHARACTERS;
      else {
        // Terminates: strings of a row are closed, or the row ends.
        for (;;) {
          while (CLASS_OF_BYTE[bytes[at]!] === 0) at++;
          const found = CLASS_OF_BYTE[bytes[at]!];
          if (found === IS_QUOTE) break;
          if (found === undefined || at >= end) throw new Error(`row ${ordinal} has no end`);
          has |= found;
          at += found === HAS_ESCAPE ? 2 : 1;
        }
      }
      this.has[n] = has;
      this.to[n] = at++;
    }
  }

  /** The value of a field as text, or null. */
  textOf({ bytes }: Rows, n: number): string | null {
    const from = this.from[n]!;
    if (from === -1) return null;
    const text = bytes.toString('utf8', from, this.to[n]);
    return this.has[n]! & HAS_ESCAPE ? (JSON.parse(`"${text}"`) as string) : text;
  }
}

/** Below this number of bytes, a loop is faster than Buffer.copy. */
const NATIVE_COPY_BYTES_MIN = 64;

/** Returns the offset after the copy. */
export function copyBytes(source: Buffer, from: number, to: number, target: Buffer, offset: number): number {
  if (to - from >= NATIVE_COPY_BYTES_MIN) return offset + source.copy(target, offset, from, to);
  let at = offset;
  for (let i = from; i < to; i++) target[at++] = source[i]!;
  return at;
}

/** Copies all bytes. Returns the offset after them. */
export function put(bytes: Buffer, target: Buffer, offset: number): number {
  return copyBytes(bytes, 0, bytes.length, target, offset);
}

/** The display name of an event's room or course, by ordinal; null if unknown. */
export type NameAt = (ordinal: number) => string | null;

export function namesAt(snapshot: Snapshot, field: 'roomId' | 'courseId'): NameAt {
  const { codes, dictionary } = snapshot.field(field);
  const known: (string | null | undefined)[] = [];
  return (ordinal) => {
    const code = codes[ordinal]!;
    if (code >= dictionary.size) return null;
    let name = known[code];
    if (name === undefined) {
      name = snapshot.nameOf(field, code);
      known[code] = name;
    }
    return name;
  };
}
