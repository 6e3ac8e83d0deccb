import { BODY_GATHER_BYTES_MAX, BODY_WHOLE_BYTES_MAX } from '../limits.js';
import type { Selection } from '../query/selection.js';
import type { Rows } from '../snapshot/rows.js';
import { type Body, slicedBody, wholeBody } from './body.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;

/** A large result of at most this many runs is sent as views of the arena; more would cost more in system calls. */
const VIEW_RUNS_MAX = 16;

/**
 * The selected rows as one JSON array. Everything at once is the arena itself; large results of few runs are views of
 * it; others are gathered into one buffer, or where they are long, into slices.
 */
export function jsonRows(rows: Rows, selection: Selection): Body {
  if (selection.count === rows.count) return wholeBody(rows.bytes);
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
  const gathered = Buffer.allocUnsafe(byteLength);
  gathered[0] = OPENING_BRACKET;
  copyJsonRows(rows, selection, gathered, 1);
  gathered[byteLength - 1] = CLOSING_BRACKET;
  return wholeBody(gathered);
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
