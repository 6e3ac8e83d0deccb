import type { ListPicks, ListRef, Selection } from '../query/selection.js';
import type { Rows } from '../snapshot/rows.js';
import { writeMessagePackRow } from './msgpack-row.js';

/** The rows of one posting list side by side, in one representation. */
export interface KeyRows {
  readonly bytes: Buffer;
  /** Row n of the list is bytes [start[n], start[n + 1]); in JSON with the comma behind it. */
  readonly start: Uint32Array;
}

/** How the rows of a list are laid out in one representation. */
export interface RowLayout {
  /** Its number among the layouts. */
  readonly number: number;
  /** Of the rows [first, end). */
  byteLength(rows: Rows, first: number, end: number): number;
  /** Writes one row and returns the offset behind it. */
  write(rows: Rows, ordinal: number, target: Buffer, offset: number): number;
}

const COMMA = 0x2c;

/** Each row with a comma behind it. */
export const JSON_LAYOUT: RowLayout = {
  number: 0,
  byteLength: ({ start }, first, end) => start[end]! - start[first]!,
  write({ bytes, start }, ordinal, target, offset) {
    const at = offset + bytes.copy(target, offset, start[ordinal]!, start[ordinal + 1]! - 1);
    target[at] = COMMA;
    return at + 1;
  },
};

export const MESSAGE_PACK_LAYOUT: RowLayout = {
  number: 1,
  byteLength: ({ packedStart }, first, end) => packedStart[end]! - packedStart[first]!,
  write: writeMessagePackRow,
};

/** The ordinals of a posting list. */
function ordinalsOf({ field, code }: ListRef): Uint32Array {
  return field.postings.subarray(field.start[code]!, field.start[code + 1]!);
}

/** What {@link buildKeyRows} will take, in bytes. Gives up, with Infinity, once it is more than `bytesMax`. */
export function keyRowsBytes(rows: Rows, list: ListRef, layout: RowLayout, bytesMax: number): number {
  const ordinals = ordinalsOf(list);
  let byteLength = (ordinals.length + 1) * Uint32Array.BYTES_PER_ELEMENT;
  for (const ordinal of ordinals) {
    byteLength += layout.byteLength(rows, ordinal, ordinal + 1);
    if (byteLength > bytesMax) return Number.POSITIVE_INFINITY;
  }
  return byteLength;
}

export function buildKeyRows(rows: Rows, list: ListRef, layout: RowLayout): KeyRows {
  const ordinals = ordinalsOf(list);
  const start = new Uint32Array(ordinals.length + 1);
  for (let n = 0; n < ordinals.length; n++) {
    start[n + 1] = start[n]! + layout.byteLength(rows, ordinals[n]!, ordinals[n]! + 1);
  }
  const bytes = Buffer.allocUnsafeSlow(start[ordinals.length]!);
  for (let n = 0; n < ordinals.length; n++) layout.write(rows, ordinals[n]!, bytes, start[n]!);
  return { bytes, start };
}

export const LAYOUTS: readonly RowLayout[] = [JSON_LAYOUT, MESSAGE_PACK_LAYOUT];

/** How many bytes the rows of a result take. */
export function pickedLength(selection: Selection, origin: ListPicks, keyRows: readonly KeyRows[]): number {
  let byteLength = 0;
  selection.forEachPiece(origin, (list, from, to) => {
    const { start } = keyRows[list]!;
    byteLength += start[to]! - start[from]!;
  });
  return byteLength;
}

/** Copies the rows of a result to `target` from `offset` on. */
export function copyPicked(
  selection: Selection,
  origin: ListPicks,
  keyRows: readonly KeyRows[],
  target: Buffer,
  offset: number,
): void {
  let at = offset;
  selection.forEachPiece(origin, (list, from, to) => {
    const { bytes, start } = keyRows[list]!;
    at += bytes.copy(target, at, start[from]!, start[to]!);
  });
}
