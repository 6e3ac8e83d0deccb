import { BODY_SLICE_BYTES, BODY_WHOLE_BYTES_MAX } from '../limits.js';
import type { Selection } from '../query/selection.js';
import type { Rows } from '../snapshot/rows.js';
import { allocateBody, allocateSlice, type Body, madeBody } from './body.js';
import type { RowCache } from './row-cache.js';
import {
  type MeasuredLayout,
  NO_ROOM,
  type RowLayout,
  scratchForRows,
  type UnmeasuredLayout,
} from './row-layout.js';
import { type LazyPiece, type Piece, slicedBody } from './slices.js';

/** A representation that is an opening, the rows, and a closing. */
export interface RowListForm<Layout extends RowLayout = RowLayout> {
  readonly layout: Layout;
  readonly opening: Buffer;
  readonly closing: Buffer;
}

export function rowList(
  rows: Rows,
  selection: Selection,
  form: RowListForm,
  cache: RowCache | null = null,
): Body {
  const { layout, opening, closing } = form;
  const rowBytesMax = BODY_WHOLE_BYTES_MAX - opening.length - closing.length;
  const picked = cache?.pick(selection, layout) ?? null;
  if (picked !== null && picked.byteLength <= rowBytesMax) return wholeList(form, picked);
  return layout.sums === null
    ? unmeasuredList(rows, selection, { layout, opening, closing }, cache)
    : measuredList(rows, selection, { layout, opening, closing }, rowBytesMax);
}

function wholeList({ opening, closing }: RowListForm, rows: LazyPiece): Body {
  const target = allocateBody(opening.length + rows.byteLength + closing.length);
  rows.write(target, opening.copy(target));
  closing.copy(target, opening.length + rows.byteLength);
  return madeBody(target);
}

function measuredList(
  rows: Rows,
  selection: Selection,
  form: RowListForm<MeasuredLayout>,
  rowBytesMax: number,
): Body {
  const { layout, opening, closing } = form;
  const sums = rows[layout.sums];
  let rowBytes = 0;
  selection.forEachRun((first, end) => {
    rowBytes += sums[end]! - sums[first]!;
  });
  if (rowBytes <= rowBytesMax) {
    return wholeList(form, {
      byteLength: rowBytes,
      write(target, offset) {
        let at = offset;
        selection.forEach((ordinal) => {
          at = layout.write(rows, ordinal, target, at);
        });
      },
    });
  }
  return slicedBody(opening.length + rowBytes + closing.length, function* () {
    yield opening;
    for (const [first, end] of selection.runs()) yield* rowPieces(rows, layout, first, end);
    yield closing;
  });
}

/** Rows [first, end) in pieces of about one slice. */
export function* rowPieces(rows: Rows, layout: MeasuredLayout, first: number, end: number): Generator<Piece> {
  const sums = rows[layout.sums];
  // Terminates: `to` > `from`.
  for (let from = first, to = first; from < end; from = to) {
    const room = sums[from]! + BODY_SLICE_BYTES;
    to = from + 1;
    while (to < end && sums[to + 1]! <= room) to++;
    yield rowPiece(rows, layout, from, to);
  }
}

function rowPiece(rows: Rows, layout: MeasuredLayout, first: number, end: number): Piece {
  const sums = rows[layout.sums];
  return {
    byteLength: sums[end]! - sums[first]!,
    write(target, offset) {
      let at = offset;
      for (let ordinal = first; ordinal < end; ordinal++) at = layout.write(rows, ordinal, target, at);
    },
  };
}

/** Large lists are written while they are sent, so that their lengths are unknown before. */
function unmeasuredList(
  rows: Rows,
  selection: Selection,
  form: RowListForm<UnmeasuredLayout>,
  cache: RowCache | null,
): Body {
  const { layout, opening, closing } = form;
  const scratch = scratchForRows();
  let at = 0;
  let isWhole = selection.count * ROW_BYTES_MIN <= BODY_WHOLE_BYTES_MAX;
  if (isWhole) {
    const target = scratch.subarray(0, BODY_WHOLE_BYTES_MAX);
    for (const [first, end] of selection.runs()) {
      for (let ordinal = first; at !== NO_ROOM && ordinal < end; ordinal++) {
        at = layout.write(rows, ordinal, target, at);
      }
      if (at === NO_ROOM) break;
    }
    isWhole = at !== NO_ROOM && opening.length + at + closing.length <= BODY_WHOLE_BYTES_MAX;
  }
  if (isWhole) {
    return wholeList(form, {
      byteLength: at,
      write(target, offset) {
        scratch.copy(target, offset, 0, at);
      },
    });
  }
  const kept = selection.count === rows.count ? (cache?.keptRows(layout) ?? null) : null;
  if (kept?.byteLength != null) {
    const chunks = [opening, ...kept.chunks, closing].filter((chunk) => chunk.length > 0);
    return { byteLength: opening.length + kept.byteLength + closing.length, chunks };
  }
  const makeChunks = function* (): Generator<Uint8Array> {
    yield opening;
    let from = 0;
    if (kept !== null) {
      for (let number = 0; ; number++) {
        const chunk = kept.chunk(number);
        if (chunk === null) break;
        yield chunk;
      }
      from = kept.nextRow;
    }
    yield* writtenSlices(rows, layout, ordinalsFrom(selection, from));
    if (closing.length > 0) yield closing;
  };
  return { byteLength: null, chunks: { [Symbol.iterator]: makeChunks } };
}

/** No row is shorter in any representation: it has an id and two times. */
const ROW_BYTES_MIN = 50;

function* ordinalsFrom(selection: Selection, from: number): Generator<number> {
  for (const [first, end] of selection.runs()) {
    for (let ordinal = Math.max(first, from); ordinal < end; ordinal++) yield ordinal;
  }
}

function* writtenSlices(
  rows: Rows,
  layout: UnmeasuredLayout,
  ordinals: Iterable<number>,
): Generator<Uint8Array> {
  let slice = allocateSlice(BODY_SLICE_BYTES);
  let at = 0;
  for (const ordinal of ordinals) {
    let end = layout.write(rows, ordinal, slice, at);
    if (end === NO_ROOM && at > 0) {
      yield slice.subarray(0, at);
      slice = allocateSlice(BODY_SLICE_BYTES);
      end = layout.write(rows, ordinal, slice, 0);
    }
    // Terminates: in the end there is room for the row.
    for (let bytes = 2 * BODY_SLICE_BYTES; end === NO_ROOM; bytes *= 2) {
      slice = allocateSlice(bytes);
      end = layout.write(rows, ordinal, slice, 0);
    }
    at = end;
  }
  if (at > 0) yield slice.subarray(0, at);
}
