import { Packr } from 'msgpackr';
import { BODY_SLICE_BYTES, BODY_WHOLE_BYTES_MAX } from '../limits.js';
import type { Selection } from '../query/selection.js';
import { packedArrayHeaderLength, type Rows } from '../snapshot/rows.js';
import { allocateBody, type Body, madeBody } from './body.js';
import { writeMessagePackRow } from './msgpack-row.js';
import { MESSAGE_PACK_LAYOUT, type RowCache } from './row-cache.js';
import { type LazyPiece, type Piece, slicedBody } from './slices.js';

const FIXARRAY = 0x90;
const ARRAY16 = 0xdc;
const ARRAY32 = 0xdd;

/** Objects as maps of the smallest size, no records, no extension types. */
const packr = new Packr({ useRecords: false, variableMapSize: true });

export function packPlain(value: string | number | object): Uint8Array {
  return packr.pack(value);
}

export function arrayHeader(count: number): Buffer {
  const header = Buffer.allocUnsafe(packedArrayHeaderLength(count));
  writeArrayHeader(header, count);
  return header;
}

/** Returns the length of the header. */
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

/** The selected rows as a MessagePack array. */
export function messagePackRows(rows: Rows, selection: Selection, cache: RowCache | null = null): Body {
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
      let at = offset;
      selection.forEach((ordinal) => {
        at = writeMessagePackRow(rows, ordinal, target, at);
      });
    },
  });
}

function packedArray(count: number, rows: LazyPiece): Body {
  const target = allocateBody(packedArrayHeaderLength(count) + rows.byteLength);
  rows.write(target, writeArrayHeader(target, count));
  return madeBody(target);
}

/** The selected rows in pieces of about one slice. */
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
