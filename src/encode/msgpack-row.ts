import { OUTPUT_FIELDS } from '../model/fields.js';
import { writePackedTextHeader } from '../snapshot/byte-lengths.js';
import type { Rows } from '../snapshot/rows.js';

/** Below it a loop is faster than a call of Buffer.copy. */
const NATIVE_COPY_BYTES_MIN = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;
const NIL = 0xc0;
const FIXMAP = 0x80;
const FIXSTR = 0xa0;

/** With the length of `{"name":` or `,"name":` in JSON. */
const NAMES = OUTPUT_FIELDS.map((field) => ({
  encoded: Buffer.concat([Buffer.from([FIXSTR | field.name.length]), Buffer.from(field.name)]),
  jsonLength: field.name.length + 4,
}));

/**
 * Turns a row from JSON into MessagePack, a map of strings and nil, byte by byte: fields, order and types are fixed, so
 * nothing is parsed into an object. The MessagePack is never longer than the JSON, where a field has four quotes, a colon
 * and a comma besides name and value: it has up to five bytes before the value and one before the name.
 *
 * @returns the offset behind the row
 * @throws Error where the row is none, or has another length than `packedStart` tells
 */
export function writeMessagePackRow(rows: Rows, ordinal: number, target: Buffer, offset: number): number {
  const source = rows.bytes;
  let from = rows.start[ordinal]!;
  const end = rows.start[ordinal + 1]!;
  let to = offset;
  target[to++] = FIXMAP | NAMES.length;
  for (const name of NAMES) {
    from += name.jsonLength;
    for (let i = 0; i < name.encoded.length; i++) target[to++] = name.encoded[i]!;
    if (source[from] === LETTER_N) {
      target[to++] = NIL;
      from += 4;
      continue;
    }
    const open = from;
    let escaped = false;
    // Terminates: every string of a row is closed, or else the row ends.
    for (from++; source[from] !== QUOTE; from++) {
      if (from >= end) throw new Error(`row ${ordinal} does not end`);
      if (source[from] === BACKSLASH) {
        escaped = true;
        from++;
      }
    }
    from++;
    if (escaped) {
      const value = Buffer.from(JSON.parse(source.toString('utf8', open, from)) as string, 'utf8');
      to = writePackedTextHeader(target, to, value.length);
      to += value.copy(target, to);
    } else {
      const length = from - open - 2;
      to = writePackedTextHeader(target, to, length);
      if (length < NATIVE_COPY_BYTES_MIN) {
        for (let i = open + 1; i < from - 1; i++) target[to++] = source[i]!;
      } else to += source.copy(target, to, open + 1, from - 1);
    }
  }
  // Otherwise memory that was not written to would be sent.
  if (to - offset !== rows.packedStart[ordinal + 1]! - rows.packedStart[ordinal]!) {
    throw new Error(`row ${ordinal} has another length in MessagePack`);
  }
  return to;
}
