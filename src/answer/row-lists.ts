import { BODY_SLICE_BYTES, BODY_WHOLE_BYTES_MAX } from '../base/limits.js';
import type { Rows } from '../snapshot/rows.js';
import { allocateSlice, type Body, writtenBody } from './body.js';
import { type KeptRows, SliceClock } from './kept-rows.js';
import type { RowCache } from './row-cache.js';
import { type ListLayout, NO_ROOM, scratchForRows } from './row-layout.js';
import type { Selection } from './selection.js';
import type { LazyPiece } from './slices.js';

/** The facts in the opening of a feed. */
export interface FeedHead {
  readonly name: string;
  /** The last part of the feed's address, without its ending. Letters, digits, `-`, `_`, `.` and `/` only. */
  readonly file: string;
}

/** A representation with an opening, rows, and a closing. */
export interface RowListForm {
  readonly layout: ListLayout;
  readonly opening: Buffer;
  readonly closing: Buffer;
  /** The opening of a feed, if it differs from the usual opening. */
  readonly openingOf?: (head: FeedHead) => Buffer;
}

/** Every row is at least this long in any format: it has an id and two times. */
const ROW_BYTES_MIN = 50;

/** @param cache null if a row depends on others than those of its posting list */
export function rowList(
  rows: Rows,
  selection: Selection,
  form: RowListForm,
  cache: RowCache | null = null,
): Body {
  const { opening, closing } = form;
  const rowBytesMax = BODY_WHOLE_BYTES_MAX - opening.length - closing.length;
  const picked = cache?.pick(selection, form.layout) ?? null;
  if (picked !== null && picked.byteLength <= rowBytesMax) return wholeList(form, picked);
  const layout = form.layout.among?.(selection) ?? form.layout;
  if (selection.count * ROW_BYTES_MIN <= rowBytesMax) {
    const scratch = scratchForRows().subarray(0, rowBytesMax);
    const byteLength = writeSelection(rows, selection, layout, scratch);
    if (byteLength !== NO_ROOM) return wholeList(form, copyOf(scratch, byteLength));
  }
  const kept = selection.count === rows.count ? (cache?.keptRows(layout) ?? null) : null;
  const rowBytes = kept?.byteLength ?? lengthOf(rows, selection, layout);
  const byteLength = rowBytes === null ? null : opening.length + rowBytes + closing.length;
  if (kept?.isWhole) {
    const chunks = [opening, ...kept.chunks, closing].filter(isNotEmpty);
    return { byteLength, makeChunks: () => chunks };
  }
  const make = function* (): Generator<Uint8Array> {
    if (isNotEmpty(opening)) yield opening;
    yield* keptChunks(kept);
    yield* writtenSlices(rows, layout, selection, kept?.nextRow ?? 0);
    if (isNotEmpty(closing)) yield closing;
  };
  return { byteLength, makeChunks: () => ({ [Symbol.iterator]: make }) };
}

function wholeList({ opening, closing }: RowListForm, rows: LazyPiece): Body {
  return writtenBody(opening.length + rows.byteLength + closing.length, (target, offset) => {
    const at = offset + opening.copy(target, offset);
    rows.write(target, at);
    closing.copy(target, at + rows.byteLength);
  });
}

/** The next body uses the same scratch memory, so the bytes are copied at once. */
function copyOf(scratch: Buffer, byteLength: number): LazyPiece {
  const own = Buffer.from(scratch.subarray(0, byteLength));
  return {
    byteLength,
    write(target, offset) {
      own.copy(target, offset);
    },
  };
}

/** Returns the length, or NO_ROOM. */
function writeSelection(rows: Rows, selection: Selection, layout: ListLayout, target: Buffer): number {
  if (selection.ordinals !== null) rows.readAhead(selection.ordinals);
  let at = 0;
  for (const [first, end] of selection.runs()) {
    for (let ordinal = first; ordinal < end; ordinal++) {
      at = layout.write(rows, ordinal, target, at);
      if (at === NO_ROOM) return NO_ROOM;
    }
  }
  return at;
}

function lengthOf(rows: Rows, selection: Selection, { sums }: ListLayout): number | null {
  if (sums === null) return null;
  let byteLength = 0;
  selection.forEachRun((first, end) => {
    byteLength += rows[sums][end]! - rows[sums][first]!;
  });
  return byteLength;
}

function isNotEmpty(bytes: Uint8Array): boolean {
  return bytes.length > 0;
}

function* keptChunks(kept: KeptRows | null): Generator<Uint8Array> {
  if (kept === null) return;
  for (let number = 0; ; number++) {
    const chunk = kept.chunk(number);
    if (chunk === null) return;
    yield chunk;
  }
}

/**
 * Slices are made during sending: a slow reader holds one slice, and other requests wait for at most one
 * slice.
 */
function* writtenSlices(
  rows: Rows,
  layout: ListLayout,
  selection: Selection,
  from: number,
): Generator<Uint8Array> {
  const clock = new SliceClock();
  let slice = allocateSlice(BODY_SLICE_BYTES);
  let at = 0;
  clock.beginSlice();
  for (const [first, end] of selection.runs()) {
    for (let ordinal = Math.max(first, from); ordinal < end; ordinal++) {
      let next = layout.write(rows, ordinal, slice, at);
      if (at > 0 && (next === NO_ROOM || clock.isOver())) {
        yield slice.subarray(0, at);
        clock.beginSlice();
        slice = allocateSlice(BODY_SLICE_BYTES);
        next = layout.write(rows, ordinal, slice, 0);
      }
      // Terminates: the doubled memory finally has room for the row.
      for (let bytes = 2 * BODY_SLICE_BYTES; next === NO_ROOM; bytes *= 2) {
        slice = allocateSlice(bytes);
        next = layout.write(rows, ordinal, slice, 0);
      }
      at = next;
    }
  }
  if (at > 0) yield slice.subarray(0, at);
}
