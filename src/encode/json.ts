/** Room encode/. From event numbers to bytes. It finds nothing and knows nothing of HTTP. */
import { BODY_WHOLE_BYTES_MAX } from '../limits.js';
import type { ListPicks, Selection } from '../query/selection.js';
import type { Rows } from '../snapshot/rows.js';
import { allocateBody, type Body, madeBody, wholeBody } from './body.js';
import { copyPicked, JSON_LAYOUT, type KeyRows, pickedLength } from './key-rows.js';
import type { RowCache } from './row-cache.js';
import { slicedBody } from './slices.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;

/** A run of rows of this length or more is sent as a view of the arena: writing one more piece costs less than copying it. */
const VIEW_BYTES_MIN = 32 * 1024;
/** At most so many in one answer: each is one more piece for the system to take. */
const VIEWS_MAX = 16;

/**
 * The selected rows as one JSON array. Everything at once is the arena itself; long runs are views of it; others are gathered
 * into one buffer, or where they are many, into slices.
 */
export function jsonRows(rows: Rows, selection: Selection, cache: RowCache | null = null): Body {
  if (selection.count === rows.count) return wholeBody(rows.bytes);
  const { origin } = selection;
  const keyRows = origin === null || cache === null ? null : cache.find(origin, JSON_LAYOUT, selection.count);
  if (origin !== null && keyRows !== null) {
    const body = jsonKeyRows(selection, origin, keyRows);
    if (body !== null) return body;
  }
  let views = 0;
  let viewBytes = 0;
  let byteLength = selection.count === 0 ? 2 : 1;
  selection.forEachRun((first, end) => {
    const runBytes = rows.start[end]! - rows.start[first]!;
    byteLength += runBytes;
    if (runBytes < VIEW_BYTES_MIN) return;
    views++;
    viewBytes += runBytes;
  });
  if (views > 0 && views <= VIEWS_MAX && byteLength - viewBytes <= BODY_WHOLE_BYTES_MAX) {
    return jsonViews(rows, selection, byteLength);
  }
  if (byteLength > BODY_WHOLE_BYTES_MAX) {
    return slicedBody(byteLength, function* () {
      yield OPENING;
      yield* jsonRowPieces(rows, selection);
      yield CLOSING;
    });
  }
  const gathered = allocateBody(byteLength);
  gathered[0] = OPENING_BRACKET;
  copyJsonRows(rows, selection, gathered, 1);
  gathered[byteLength - 1] = CLOSING_BRACKET;
  return madeBody(gathered);
}

/** Long runs as views of the arena, and what is before, between and behind them gathered. */
function jsonViews(rows: Rows, selection: Selection, byteLength: number): Body {
  const { start, bytes } = rows;
  let gatheredBytes = 2;
  selection.forEachRun((first, end) => {
    const runBytes = start[end]! - start[first]!;
    gatheredBytes += runBytes < VIEW_BYTES_MIN ? runBytes : 1;
  });
  const gathered = Buffer.allocUnsafe(gatheredBytes);
  const chunks: Uint8Array[] = [];
  gathered[0] = OPENING_BRACKET;
  let from = 0;
  let to = 1;
  selection.forEachRun((first, end) => {
    // Without what stands behind the last row: a comma follows in any case, in place of the last of which the array ends.
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
  return { byteLength, chunks };
}

/**
 * The selected rows from lists that lie side by side; each row is followed by its comma there.
 *
 * @returns null where they are too many to be made at once
 */
function jsonKeyRows(selection: Selection, origin: ListPicks, keyRows: readonly KeyRows[]): Body | null {
  const byteLength = Math.max(2, 1 + pickedLength(selection, origin, keyRows));
  if (byteLength > BODY_WHOLE_BYTES_MAX) return null;
  const target = allocateBody(byteLength);
  target[0] = OPENING_BRACKET;
  copyPicked(selection, origin, keyRows, target, 1);
  // In place of the last comma, where there is one.
  target[byteLength - 1] = CLOSING_BRACKET;
  return madeBody(target);
}

/**
 * Copies the selected rows, with a comma behind each, to `target` from `offset` on.
 *
 * @returns the offset behind the last comma
 */
export function copyJsonRows(rows: Rows, selection: Selection, target: Buffer, offset: number): number {
  let at = offset;
  selection.forEachRun((first, end) => {
    // A run includes the separators inside it; what stands behind its last row may be the arena's closing bracket.
    at += rows.bytes.copy(target, at, rows.start[first]!, rows.start[end]! - 1);
    target[at++] = COMMA;
  });
  return at;
}

/** The selected rows as views of the arena, with a comma between them. */
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
