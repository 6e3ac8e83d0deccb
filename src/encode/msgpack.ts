import { Packr } from 'msgpackr';
import type { Selection } from '../query/selection.js';
import type { Rows } from '../snapshot/rows.js';
import type { Body } from './body.js';
import { jsonRowsLength } from './json.js';
import { writeMessagePackRow } from './msgpack-row.js';

const FIXARRAY = 0x90;
const ARRAY16 = 0xdc;
const ARRAY32 = 0xdd;
/** Longest header of an array. */
export const ARRAY_HEADER_BYTES_MAX = 5;

/** Plain MessagePack: objects as maps of the smallest size, no records, no extension types. */
const packr = new Packr({ useRecords: false, variableMapSize: true });

/** Plain MessagePack of a small value: strings, whole numbers, arrays of them. */
export function packPlain(value: string | number | readonly string[]): Uint8Array {
  return packr.pack(value);
}

/** Writes the header of an array and returns the offset behind it. */
export function writeArrayHeader(target: Buffer, offset: number, count: number): number {
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
export function messagePackRows(rows: Rows, selection: Selection): Body {
  // An upper bound: a row is never longer than its JSON.
  const target = Buffer.allocUnsafe(ARRAY_HEADER_BYTES_MAX + jsonRowsLength(rows, selection));
  const end = copyMessagePackRows(rows, selection, target, writeArrayHeader(target, 0, selection.count));
  return { byteLength: end, chunks: [target.subarray(0, end)] };
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
