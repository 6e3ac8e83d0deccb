import { BODY_SLICE_BYTES } from '../limits.js';
import { allocateSlice, type Body, type SharedSlices } from './body.js';

/** A part of a body that is written only when needed: a shared slice saves writing it. */
export interface LazyPiece {
  readonly byteLength: number;
  write(target: Buffer, offset: number): void;
}

export type Piece = Uint8Array | LazyPiece;

/**
 * A body that is made while it is sent: a slow reader costs one slice of memory, and other requests wait for at most one.
 *
 * @param byteLength of all pieces
 * @param pieces starts anew with each call, with equal pieces
 */
export function slicedBody(byteLength: number, pieces: () => Iterable<Piece>): Body {
  return {
    byteLength,
    chunks: { [Symbol.iterator]: () => slices(measured(pieces(), byteLength), null, '') },
    chunksFrom: (shared, name) => ({
      [Symbol.iterator]: () => slices(measured(pieces(), byteLength), shared, name),
    }),
  };
}

/**
 * Passes the pieces on. Clients would take extra bytes for the next answer, so none pass.
 *
 * @throws Error when the total differs from `byteLength`
 */
export function* measured(pieces: Iterable<Piece>, byteLength: number): Generator<Piece> {
  let left = byteLength;
  for (const piece of pieces) {
    left -= piece.byteLength;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new Error('a body has another length than was announced');
}

/** Gathers small pieces into slices; large existing pieces pass unchanged. */
function* slices(pieces: Iterable<Piece>, shared: SharedSlices | null, name: string): Generator<Uint8Array> {
  let number = 0;
  let gathered: Piece[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (length + piece.byteLength > BODY_SLICE_BYTES) {
      if (gathered.length > 0) {
        yield slice(gathered, length, shared, `${number++} ${name}`);
        gathered = [];
        length = 0;
      }
      if (piece instanceof Uint8Array && piece.length >= BODY_SLICE_BYTES / 2) {
        yield piece;
        continue;
      }
    }
    gathered.push(piece);
    length += piece.byteLength;
  }
  if (gathered.length > 0) yield slice(gathered, length, shared, `${number} ${name}`);
}

function slice(
  pieces: readonly Piece[],
  byteLength: number,
  shared: SharedSlices | null,
  key: string,
): Uint8Array {
  const found = shared?.find(key);
  if (found !== undefined) return found;
  const target = gather(pieces, allocateSlice(byteLength));
  shared?.add(key, target);
  return target;
}

/** Concatenates pieces into `target`, which has their exact length. */
export function gather(pieces: Iterable<Piece>, target: Buffer): Buffer {
  let at = 0;
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) target.set(piece, at);
    else piece.write(target, at);
    at += piece.byteLength;
  }
  return target;
}
