import { BODY_SLICE_BYTES } from '../limits.js';

/**
 * The body of an answer: byte chunks to be written in order. Chunks may be views of the snapshot's shared memory and must
 * not be changed. The length is known from the beginning; the chunks of a large body are made one by one while they are
 * gone through, anew each time.
 */
export interface Body {
  readonly byteLength: number;
  readonly chunks: Iterable<Uint8Array>;
}

/** A body that is there already, in one piece. */
export function wholeBody(bytes: Uint8Array): Body {
  return { byteLength: bytes.byteLength, chunks: [bytes] };
}

/**
 * A body that is made while it is sent: whoever reads slowly costs one slice of memory, and nobody waits for more than
 * one slice to be made.
 *
 * @param byteLength of all pieces together
 * @param pieces begins anew with every call
 */
export function slicedBody(byteLength: number, pieces: () => Iterable<Uint8Array>): Body {
  return { byteLength, chunks: { [Symbol.iterator]: () => slices(pieces()) } };
}

/** Gathers small pieces into slices; large ones pass as they are. */
function* slices(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let slice = Buffer.allocUnsafe(BODY_SLICE_BYTES);
  let length = 0;
  for (const piece of pieces) {
    if (length + piece.length > BODY_SLICE_BYTES) {
      if (length > 0) {
        yield slice.subarray(0, length);
        slice = Buffer.allocUnsafe(BODY_SLICE_BYTES);
        length = 0;
      }
      if (piece.length >= BODY_SLICE_BYTES / 2) {
        yield piece;
        continue;
      }
    }
    slice.set(piece, length);
    length += piece.length;
  }
  if (length > 0) yield slice.subarray(0, length);
}
