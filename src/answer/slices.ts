import { BODY_SLICE_BYTES, BODY_WHOLE_BYTES_MAX } from '../base/limits.js';
import { allocateSlice, type MeasuredBody, type SharedSlices, writtenBody } from './body.js';

/** A part of a body that is written only when needed. A part in a shared slice is not written again. */
export interface LazyPiece {
  readonly byteLength: number;
  write(target: Buffer, offset: number): void;
}

const WRONG_LENGTH = 'the length of a body differs from the announced length';

export type Piece = Uint8Array | LazyPiece;

/**
 * Makes the body during sending: a slow reader holds one slice, and other requests wait for at most one
 * slice.
 *
 * @param pieces each call starts from the beginning and gives equal pieces
 */
export function slicedBody(byteLength: number, pieces: () => Iterable<Piece>): MeasuredBody {
  return {
    byteLength,
    makeChunks: () => ({ [Symbol.iterator]: () => slices(measured(pieces(), byteLength), null, '') }),
    chunksFrom: (shared, name) => ({
      [Symbol.iterator]: () => slices(measured(pieces(), byteLength), shared, name),
    }),
  };
}

/**
 * Throws if the total differs from `byteLength`. Extra bytes are not sent, because clients would take them
 * for the next answer.
 */
function* measured(pieces: Iterable<Piece>, byteLength: number): Generator<Piece> {
  let left = byteLength;
  for (const piece of pieces) {
    left -= piece.byteLength;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new Error(WRONG_LENGTH);
}

/** Gathers small pieces into slices; large pieces pass unchanged. */
function* slices(pieces: Iterable<Piece>, shared: SharedSlices | null, name: string): Generator<Uint8Array> {
  let number = 0;
  let gathered: Piece[] = [];
  let length = 0;
  const makeSlice = (): Uint8Array => {
    const key = `${number++} ${name}`;
    let slice = shared?.find(key);
    if (slice === undefined) {
      slice = gather(gathered, allocateSlice(length));
      shared?.add(key, slice);
    }
    gathered = [];
    length = 0;
    return slice;
  };
  for (const piece of pieces) {
    if (length + piece.byteLength > BODY_SLICE_BYTES) {
      if (gathered.length > 0) yield makeSlice();
      if (piece instanceof Uint8Array && piece.length >= BODY_SLICE_BYTES / 2) {
        yield piece;
        continue;
      }
    }
    gathered.push(piece);
    length += piece.byteLength;
  }
  if (gathered.length > 0) yield makeSlice();
}

/** Concatenates pieces into `target`. Throws unless the pieces have exactly their stated length. */
export function gather(pieces: Iterable<Piece>, target: Buffer): Buffer {
  let at = 0;
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) target.set(piece, at);
    else piece.write(target, at);
    at += piece.byteLength;
  }
  if (at !== target.length) throw new Error(WRONG_LENGTH);
  return target;
}

/** A body of pieces: in slices if it is long, otherwise made as a whole when it is first wanted. */
export function bodyOfPieces(byteLength: number, pieces: () => Iterable<Piece>): MeasuredBody {
  return byteLength > BODY_WHOLE_BYTES_MAX
    ? slicedBody(byteLength, pieces)
    : writtenBody(byteLength, (target, offset) => {
        gather(pieces(), target.subarray(offset, offset + byteLength));
      });
}
