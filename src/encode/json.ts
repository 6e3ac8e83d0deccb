import { BODY_GATHER_BYTES_MAX, BODY_WHOLE_BYTES_MAX } from '../limits.js';
import type { Origin, Selection } from '../query/selection.js';
import type { Rows } from '../snapshot/rows.js';
import { allocateBody, type Body, madeBody, slicedBody, wholeBody } from './body.js';
import { copyPicked, JSON_LAYOUT, type KeyRows, pickedLength } from './key-rows.js';
import type { RowCache } from './row-cache.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;

/** A large result of at most this many runs is sent as views of the arena; more would cost more in system calls. */
const VIEW_RUNS_MAX = 16;

/**
 * The selected rows as one JSON array. Everything at once is the arena itself; large results of few runs are views of
 * it; others are gathered into one buffer, or where they are long, into slices.
 */
export function jsonRows(rows: Rows, selection: Selection, cache: RowCache | null = null): Body {
  if (selection.count === rows.count) return wholeBody(rows.bytes);
  const { origin } = selection;
  const keyRows = origin === null || cache === null ? null : cache.find(origin, JSON_LAYOUT, selection.count);
  if (origin !== null && keyRows !== null) return jsonKeyRows(selection, origin, keyRows);
  let runs = 0;
  let byteLength = selection.count === 0 ? 2 : 1;
  selection.forEachRun((first, end) => {
    runs++;
    byteLength += rows.start[end]! - rows.start[first]!;
  });
  if (byteLength > BODY_GATHER_BYTES_MAX && runs <= VIEW_RUNS_MAX) {
    return { byteLength, chunks: [OPENING, ...jsonRowPieces(rows, selection), CLOSING] };
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

/** The selected rows from lists that lie side by side; each row is followed by its comma there. */
function jsonKeyRows(selection: Selection, origin: Origin, keyRows: readonly KeyRows[]): Body {
  const byteLength = Math.max(2, 1 + pickedLength(selection, origin, keyRows));
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
