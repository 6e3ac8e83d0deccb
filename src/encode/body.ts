import { DIRECT_HEAD_BYTES_MAX } from '../limits.js';
import type { SharedSlices } from './shared-slices.js';

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
  /**
   * Of a body that is made in slices: the chunks, where those that somebody else had made lately are taken from `shared`, and
   * those that are made are put there.
   *
   * @param name the same for the same body and no other, among all that share
   */
  chunksFrom?(shared: SharedSlices, name: string): Iterable<Uint8Array>;
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

/** A body that is there already, in one piece. */
export function wholeBody(bytes: Uint8Array): Body {
  return { byteLength: bytes.byteLength, chunks: [bytes] };
}

/** @param bytes all that {@link allocateBody} gave */
export function madeBody(bytes: Buffer): Body {
  return { byteLength: bytes.length, chunks: [bytes], hasHeadRoom: true };
}
