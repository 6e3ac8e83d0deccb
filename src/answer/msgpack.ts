import { Packr } from 'msgpackr';
import { BODY_SLICE_BYTES, BODY_WHOLE_BYTES_MAX } from '../base/limits.js';
import { OUTPUT_FIELDS } from '../base/model/fields.js';
import { packedArrayHeaderLength, type Rows } from '../snapshot/rows.js';
import { type MeasuredBody, writtenBody } from './body.js';
import type { RowCache } from './row-cache.js';
import type { MeasuredLayout } from './row-layout.js';
import type { Selection } from './selection.js';
import { type LazyPiece, type Piece, slicedBody } from './slices.js';

/** Below this number of bytes, a loop is faster than Buffer.copy. */
const NATIVE_COPY_BYTES_MIN = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;
const NIL = 0xc0;
const FIXMAP = 0x80;
const FIXSTR = 0xa0;
const STR8 = 0xd9;
const STR16 = 0xda;
const STR32 = 0xdb;
const FIXARRAY = 0x90;
const ARRAY16 = 0xdc;
const ARRAY32 = 0xdd;

/** `jsonLength` counts `{"name":` or `,"name":`. */
const NAMES = OUTPUT_FIELDS.map((field) => ({
  encoded: Buffer.concat([Buffer.from([FIXSTR | field.name.length]), Buffer.from(field.name)]),
  jsonLength: field.name.length + 4,
}));

/** Objects as maps of the smallest size, no records, no extension types. */
const packr = new Packr({ useRecords: false, variableMapSize: true });

export function packPlain(value: string | number | object | null): Uint8Array {
  return packr.pack(value);
}

export function arrayHeader(count: number): Buffer {
  const header = Buffer.allocUnsafe(packedArrayHeaderLength(count));
  writeArrayHeader(header, count);
  return header;
}

function writeArrayHeader(target: Buffer, count: number): number {
  if (count < 16) {
    target[0] = FIXARRAY | count;
    return 1;
  }
  if (count < 0x10000) {
    target[0] = ARRAY16;
    return target.writeUInt16BE(count, 1);
  }
  target[0] = ARRAY32;
  return target.writeUInt32BE(count, 1);
}

export const MESSAGE_PACK_LAYOUT: MeasuredLayout = {
  number: 1,
  sums: 'packedStart',
  write: writeMessagePackRow,
};

export function messagePackRows(
  rows: Rows,
  selection: Selection,
  cache: RowCache | null = null,
): MeasuredBody {
  const { count } = selection;
  const rowBytesMax = BODY_WHOLE_BYTES_MAX - packedArrayHeaderLength(count);
  const picked = cache?.pick(selection, MESSAGE_PACK_LAYOUT) ?? null;
  if (picked !== null && picked.byteLength <= rowBytesMax) return packedArray(count, picked);
  let byteLength = 0;
  selection.forEachRun((first, end) => {
    byteLength += rows.packedStart[end]! - rows.packedStart[first]!;
  });
  if (byteLength > rowBytesMax) {
    return slicedBody(packedArrayHeaderLength(count) + byteLength, function* () {
      yield arrayHeader(count);
      yield* packedRowPieces(rows, selection);
    });
  }
  return packedArray(count, {
    byteLength,
    write(target, offset) {
      if (selection.ordinals !== null) rows.readAhead(selection.ordinals);
      let at = offset;
      selection.forEach((ordinal) => {
        at = writeMessagePackRow(rows, ordinal, target, at);
      });
    },
  });
}

export function messagePackRow(rows: Rows, ordinal: number): MeasuredBody {
  const byteLength = rows.packedStart[ordinal + 1]! - rows.packedStart[ordinal]!;
  return writtenBody(byteLength, (target, offset) => {
    writeMessagePackRow(rows, ordinal, target, offset);
  });
}

function packedArray(count: number, rows: LazyPiece): MeasuredBody {
  const headerBytes = packedArrayHeaderLength(count);
  return writtenBody(headerBytes + rows.byteLength, (target, offset) => {
    writeArrayHeader(target.subarray(offset), count);
    rows.write(target, offset + headerBytes);
  });
}

export function* packedRowPieces(rows: Rows, selection: Selection): Generator<Piece> {
  const { packedStart } = rows;
  for (const [first, end] of selection.runs()) {
    // Terminates: `to` > `from`.
    for (let from = first, to = first; from < end; from = to) {
      const room = packedStart[from]! + BODY_SLICE_BYTES;
      to = from + 1;
      while (to < end && packedStart[to + 1]! <= room) to++;
      yield packedPiece(rows, from, to);
    }
  }
}

function packedPiece(rows: Rows, first: number, end: number): Piece {
  return {
    byteLength: rows.packedStart[end]! - rows.packedStart[first]!,
    write(target, offset) {
      let at = offset;
      for (let ordinal = first; ordinal < end; ordinal++) at = writeMessagePackRow(rows, ordinal, target, at);
    },
  };
}

/**
 * Converts a row from JSON to a MessagePack map byte by byte: fields, order and types are fixed. The result
 * is never longer than the JSON: JSON uses six bytes per field besides name and value, and MessagePack at
 * most six.
 *
 * @returns the offset after the row
 * @throws Error for a damaged row, or if the length differs from the one in `packedStart`
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
    // Terminates: strings of a row are closed, or the row ends.
    for (from++; source[from] !== QUOTE; from++) {
      if (from >= end) throw new Error(`row ${ordinal} has no end`);
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
  // Without this check, uninitialised memory would be sent.
  if (to - offset !== rows.packedStart[ordinal + 1]! - rows.packedStart[ordinal]!) {
    throw new Error(`row ${ordinal} has another length in MessagePack`);
  }
  return to;
}

export function writePackedTextHeader(target: Buffer, offset: number, byteLength: number): number {
  if (byteLength < 32) {
    target[offset] = FIXSTR | byteLength;
    return offset + 1;
  }
  if (byteLength < 0x100) {
    target[offset] = STR8;
    target[offset + 1] = byteLength;
    return offset + 2;
  }
  if (byteLength < 0x10000) {
    target[offset] = STR16;
    return target.writeUInt16BE(byteLength, offset + 1);
  }
  target[offset] = STR32;
  return target.writeUInt32BE(byteLength, offset + 1);
}
