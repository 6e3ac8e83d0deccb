import { BODY_SLICE_BYTES, BODY_SLICES_KEPT_MAX, DIRECT_HEAD_BYTES_MAX } from '../limits.js';

/**
 * The body of an answer: byte chunks to be written in order. Chunks may be views of the snapshot's shared memory and must
 * not be changed. The length is known from the beginning; the chunks of a large body are made one by one while they are
 * gone through, anew each time.
 */
export interface Body {
  readonly byteLength: number;
  readonly chunks: Iterable<Uint8Array>;
  /** Whether there are DIRECT_HEAD_BYTES_MAX bytes before the only chunk, in the same memory, for whoever sends the body. */
  readonly hasHeadRoom?: true;
}

/** Small bodies are cut from slabs of this size. A reader that does not take its answer keeps one of them from being freed. */
const SLAB_BYTES = 128 * 1024;
/** What is longer than an eighth of a slab gets memory of its own. */
const CUT_BYTES_MAX = SLAB_BYTES / 8;
let slab = Buffer.alloc(0);
let cut = 0;

/**
 * Memory for a body, not cleared, with room for a head before it. As Node's own pool, which serves pieces of up to 4 KB, but for the common length of
 * answers: an ArrayBuffer of its own for each costs as much as filling it.
 */
export function allocateBody(byteLength: number): Buffer {
  const allBytes = DIRECT_HEAD_BYTES_MAX + byteLength;
  if (allBytes > CUT_BYTES_MAX) return Buffer.allocUnsafeSlow(allBytes).subarray(DIRECT_HEAD_BYTES_MAX);
  if (cut + allBytes > slab.length) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    cut = 0;
  }
  cut += allBytes;
  return slab.subarray(cut - byteLength, cut);
}

/**
 * Gives memory back for the next body, which then finds it in the processor's cache. Only for whoever knows that nobody else
 * has seen the bytes, and that nobody will look at them any more.
 */
export function releaseBody(bytes: Uint8Array): void {
  const end = bytes.byteOffset + bytes.length;
  if (bytes.buffer === slab.buffer && end === slab.byteOffset + cut) {
    cut -= DIRECT_HEAD_BYTES_MAX + bytes.length;
  }
}

/** Node's own pool serves these: half of its size. */
const SMALL_PART_BYTES_MAX = Buffer.poolSize >>> 1;
/** Memory of slices, and what of it is free: made anew for each slice, it would lie about until the next collection. */
const sliceMemory = new WeakSet<ArrayBufferLike>();
const freeSlices: Buffer[] = [];

/** Memory for a part of a large body, not cleared. Small parts are gathered into slices anyway, and live shortly. */
export function allocateSlice(byteLength: number): Buffer {
  if (byteLength > BODY_SLICE_BYTES) return Buffer.allocUnsafeSlow(byteLength);
  if (byteLength <= SMALL_PART_BYTES_MAX) return Buffer.allocUnsafe(byteLength);
  let slice = freeSlices.pop();
  if (slice === undefined) {
    slice = Buffer.allocUnsafeSlow(BODY_SLICE_BYTES);
    sliceMemory.add(slice.buffer);
  }
  return slice.subarray(0, byteLength);
}

/** Gives the memory of a slice back, under the conditions of {@link releaseBody}. What is none is left alone. */
export function releaseSlice(bytes: Uint8Array): void {
  if (freeSlices.length >= BODY_SLICES_KEPT_MAX || !sliceMemory.has(bytes.buffer)) return;
  freeSlices.push(Buffer.from(bytes.buffer as ArrayBuffer));
}

/** A body that is there already, in one piece. */
export function wholeBody(bytes: Uint8Array): Body {
  return { byteLength: bytes.byteLength, chunks: [bytes] };
}

/** @param bytes all that {@link allocateBody} gave */
export function madeBody(bytes: Buffer): Body {
  return { byteLength: bytes.length, chunks: [bytes], hasHeadRoom: true };
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
  let slice: Buffer | null = null;
  let length = 0;
  for (const piece of pieces) {
    if (length + piece.length > BODY_SLICE_BYTES) {
      if (slice !== null) {
        yield slice.subarray(0, length);
        slice = null;
        length = 0;
      }
      if (piece.length >= BODY_SLICE_BYTES / 2) {
        yield piece;
        continue;
      }
    }
    slice ??= allocateSlice(BODY_SLICE_BYTES);
    slice.set(piece, length);
    length += piece.length;
    releaseSlice(piece);
  }
  if (slice !== null) yield slice.subarray(0, length);
}
