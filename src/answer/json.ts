/** Turns event numbers into bytes. The modules of bytes select no events. */
import { BODY_WHOLE_BYTES_MAX } from '../base/limits.js';
import { copyText, viewOf } from '../base/structures/byte-strings.js';
import type { Rows } from '../snapshot/rows.js';
import { keptBody, type MeasuredBody, writtenBody } from './body.js';
import type { RowCache } from './row-cache.js';
import type { MeasuredLayout } from './row-layout.js';
import type { Selection } from './selection.js';
import { type LazyPiece, slicedBody } from './slices.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;

/** A comma follows each row. */
export const JSON_LAYOUT: MeasuredLayout = {
  number: 0,
  sums: 'start',
  write({ bytes, start }, ordinal, target, offset) {
    const at = offset + bytes.copy(target, offset, start[ordinal]!, start[ordinal + 1]! - 1);
    target[at] = COMMA;
    return at + 1;
  },
};

/** Longer runs of rows are sent as views of the arena: one more chunk costs less than a copy. */
const VIEW_BYTES_MIN = 32 * 1024;
/** Each view is one more chunk for the system. */
const VIEWS_MAX = 16;

/**
 * A JSON array: the arena itself for all rows, views of the arena for long runs, otherwise one buffer or
 * slices.
 */
export function jsonRows(rows: Rows, selection: Selection, cache: RowCache | null = null): MeasuredBody {
  if (selection.count === rows.count) return keptBody(rows.bytes);
  const picked = cache?.pick(selection, JSON_LAYOUT) ?? null;
  if (picked !== null && picked.byteLength < BODY_WHOLE_BYTES_MAX) return jsonArray(picked);
  let views = 0;
  let viewBytes = 0;
  let rowBytes = 0;
  selection.forEachRun((first, end) => {
    const runBytes = rows.start[end]! - rows.start[first]!;
    rowBytes += runBytes;
    if (runBytes < VIEW_BYTES_MIN) return;
    views++;
    viewBytes += runBytes;
  });
  const byteLength = 1 + rowBytes;
  if (views > 0 && views <= VIEWS_MAX && byteLength - viewBytes <= BODY_WHOLE_BYTES_MAX) {
    const chunks = jsonViews(rows, selection, byteLength - viewBytes + views);
    return { byteLength, makeChunks: () => chunks };
  }
  if (byteLength > BODY_WHOLE_BYTES_MAX) {
    return slicedBody(byteLength, function* () {
      yield OPENING;
      yield* jsonRowPieces(rows, selection);
      yield CLOSING;
    });
  }
  return jsonArray({
    byteLength: rowBytes,
    write(target, offset) {
      if (selection.ordinals !== null) rows.readAhead(selection.ordinals);
      const view = viewOf(target);
      let at = offset;
      selection.forEachRun((first, end) => {
        // The last byte is left out, because it may be the closing bracket.
        const from = rows.start[first]!;
        const to = rows.start[end]! - 1;
        copyText(rows.view, from, to, view, at);
        at += to - from;
        target[at++] = COMMA;
      });
    },
  });
}

export function jsonRow(rows: Rows, ordinal: number): MeasuredBody {
  return keptBody(rows.rowOf(ordinal));
}

/** @param rows each with a comma; the closing bracket replaces the last comma */
function jsonArray(rows: LazyPiece): MeasuredBody {
  const byteLength = Math.max(2, 1 + rows.byteLength);
  return writtenBody(byteLength, (target, offset) => {
    target[offset] = OPENING_BRACKET;
    rows.write(target, offset + 1);
    target[offset + byteLength - 1] = CLOSING_BRACKET;
  });
}

/** Long runs become views of the arena. The rows between them are gathered. */
function jsonViews(rows: Rows, selection: Selection, gatheredBytes: number): Uint8Array[] {
  const { start, bytes } = rows;
  const gathered = Buffer.allocUnsafe(gatheredBytes);
  const chunks: Uint8Array[] = [];
  gathered[0] = OPENING_BRACKET;
  let from = 0;
  let to = 1;
  selection.forEachRun((first, end) => {
    // The view leaves out the last byte, which may be the arena's closing bracket. A comma is added after
    // each run.
    const view = bytes.subarray(start[first]!, start[end]! - 1);
    if (view.length + 1 < VIEW_BYTES_MIN) to += view.copy(gathered, to);
    else {
      chunks.push(gathered.subarray(from, to), view);
      from = to;
    }
    gathered[to++] = COMMA;
  });
  gathered[to - 1] = CLOSING_BRACKET;
  chunks.push(gathered.subarray(from, to));
  return chunks;
}

export function* jsonRowPieces(rows: Rows, selection: Selection): Generator<Uint8Array> {
  let isFirst = true;
  for (const [first, end] of selection.runs()) {
    if (!isFirst) yield SEPARATOR;
    isFirst = false;
    yield rows.bytes.subarray(rows.start[first]!, rows.start[end]! - 1);
  }
}

const OPENING = Buffer.from('[');
const SEPARATOR = Buffer.from(',');
const CLOSING = Buffer.from(']');
