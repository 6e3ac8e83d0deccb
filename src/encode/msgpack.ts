import { Packr } from 'msgpackr';
import { BODY_SLICE_BYTES, BODY_WHOLE_BYTES_MAX } from '../limits.js';
import type { ListPicks, Selection } from '../query/selection.js';
import { packedArrayHeaderLength } from '../snapshot/byte-lengths.js';
import type { Rows } from '../snapshot/rows.js';
import { allocateBody, type Body, madeBody } from './body.js';
import { copyPicked, type KeyRows, MESSAGE_PACK_LAYOUT, pickedLength } from './key-rows.js';
import { writeMessagePackRow } from './msgpack-row.js';
import type { RowCache } from './row-cache.js';
import { type Piece, slicedBody } from './slices.js';

const FIXARRAY = 0x90;
const ARRAY16 = 0xdc;
const ARRAY32 = 0xdd;
/** Longest header of an array. */
const ARRAY_HEADER_BYTES_MAX = 5;

/** Plain MessagePack: objects as maps of the smallest size, no records, no extension types. */
const packr = new Packr({ useRecords: false, variableMapSize: true });

/** Plain MessagePack of a small value: strings, whole numbers, arrays and objects of them. */
export function packPlain(value: string | number | object): Uint8Array {
  return packr.pack(value);
}

/** The header of an array. */
export function arrayHeader(count: number): Buffer {
  const header = Buffer.allocUnsafe(ARRAY_HEADER_BYTES_MAX);
  return header.subarray(0, writeArrayHeader(header, 0, count));
}

/** Writes the header of an array and returns the offset behind it. */
function writeArrayHeader(target: Buffer, offset: number, count: number): number {
  if (count < 16) {
    target[offset] = FIXARRAY | count;
    return offset + 1;
  }
  if (count < 0x10000) {
    target[offset] = ARRAY16;
    return target.writeUInt16BE(count, offset + 1);
  }
  target[offset] = ARRAY32;
  return target.writeUInt32BE(count, offset + 1);
}

/** The selected rows as one MessagePack array. */
export function messagePackRows(rows: Rows, selection: Selection, cache: RowCache | null = null): Body {
  const { origin } = selection;
  const keyRows =
    origin === null || cache === null ? null : cache.find(origin, MESSAGE_PACK_LAYOUT, selection.count);
  if (origin !== null && keyRows !== null) {
    const body = packedKeyRows(selection, origin, keyRows);
    if (body !== null) return body;
  }
  const header = arrayHeader(selection.count);
  const byteLength = header.length + packedRowsLength(rows, selection);
  if (byteLength > BODY_WHOLE_BYTES_MAX) {
    return slicedBody(byteLength, function* () {
      yield header;
      yield* packedRowPieces(rows, selection);
    });
  }
  const target = allocateBody(byteLength);
  copyMessagePackRows(rows, selection, target, header.copy(target));
  return madeBody(target);
}

/** The selected rows from lists that lie side by side; null where they are too many to be made at once. */
function packedKeyRows(selection: Selection, origin: ListPicks, keyRows: readonly KeyRows[]): Body | null {
  const { count } = selection;
  const byteLength = packedArrayHeaderLength(count) + pickedLength(selection, origin, keyRows);
  if (byteLength > BODY_WHOLE_BYTES_MAX) return null;
  const target = allocateBody(byteLength);
  copyPicked(selection, origin, keyRows, target, writeArrayHeader(target, 0, count));
  return madeBody(target);
}

/** Bytes of the selected rows, without the array's header. */
function packedRowsLength(rows: Rows, selection: Selection): number {
  let byteLength = 0;
  selection.forEachRun((first, end) => {
    byteLength += rows.packedStart[end]! - rows.packedStart[first]!;
  });
  return byteLength;
}

/** The selected rows in pieces of at most about one slice. */
export function* packedRowPieces(rows: Rows, selection: Selection): Generator<Piece> {
  const { packedStart } = rows;
  for (const [first, end] of selection.runs()) {
    // Terminates: `to` is at least one behind `from`.
    for (let from = first; from < end; ) {
      const room = packedStart[from]! + BODY_SLICE_BYTES;
      let to = from + 1;
      while (to < end && packedStart[to + 1]! <= room) to++;
      yield packedPiece(rows, from, to);
      from = to;
    }
  }
}

/** The rows [first, end). */
function packedPiece(rows: Rows, first: number, end: number): Piece {
  return {
    byteLength: rows.packedStart[end]! - rows.packedStart[first]!,
    write(target, offset) {
      let at = offset;
      for (let ordinal = first; ordinal < end; ordinal++) at = writeMessagePackRow(rows, ordinal, target, at);
    },
  };
}

/** Writes the selected rows one behind the other and returns the offset behind the last. */
export function copyMessagePackRows(
  rows: Rows,
  selection: Selection,
  target: Buffer,
  offset: number,
): number {
  let at = offset;
  selection.forEach((ordinal) => {
    at = writeMessagePackRow(rows, ordinal, target, at);
  });
  return at;
}
