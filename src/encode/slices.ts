import { BODY_SLICE_BYTES } from '../limits.js';
import type { Body } from './body.js';
import { allocateSlice, type SharedSlices } from './shared-slices.js';

/** A part of a large body that is written where it is needed, and not at all where a slice with it is there already. */
export interface LazyPiece {
  readonly byteLength: number;
  /** Writes all of it to `target` from `offset` on. */
  write(target: Buffer, offset: number): void;
}

/** Bytes that are there, or will be written. */
export type Piece = Uint8Array | LazyPiece;

/**
 * A body that is made while it is sent: whoever reads slowly costs one slice of memory, and nobody waits for more than
 * one slice to be made.
 *
 * @param byteLength of all pieces together
 * @param pieces begins anew with every call, and gives the same each time
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
 * The same pieces. Bytes beyond the length that was announced would be taken for the next answer, so none are given.
 *
 * @throws Error where they have another length, before anything beyond it
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

/** Gathers small pieces into slices; large ones that are there pass as they are. */
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

/** Writes pieces one behind the other, as many bytes as `target` has. */
export function gather(pieces: Iterable<Piece>, target: Buffer): Buffer {
  let at = 0;
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) target.set(piece, at);
    else piece.write(target, at);
    at += piece.byteLength;
  }
  return target;
}
