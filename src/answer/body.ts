import {
  BODY_SLICE_BYTES,
  BODY_SLICES_KEPT_MAX,
  BODY_SLICES_SHARED_MAX,
  BODY_WHOLE_BYTES_MAX,
  DIRECT_HEAD_BYTES_MAX,
} from '../base/limits.js';
import { Slabs } from '../base/structures/slabs.js';

/** The body of an answer, whose bytes may be shared memory of the snapshot: only read them. */
export interface Body {
  /** Bytes of all chunks; null if unknown until the chunks are made. */
  readonly byteLength: number | null;
  /** The chunks in order: an array, or an iterable that makes the chunks of a large body. */
  makeChunks(): Iterable<Uint8Array>;
  /** The only chunk has DIRECT_HEAD_BYTES_MAX bytes of memory before it, for a head. */
  readonly hasHeadRoom?: true;
  /** Only for bodies in slices: all requests for a body of this name share chunks. */
  chunksFrom?(shared: SharedSlices, name: string): Iterable<Uint8Array>;
}

export interface MeasuredBody extends Body {
  readonly byteLength: number;
}

const SLAB_BYTES = 128 * 1024;
/**
 * Longest body, with its head, that is cut from a slab. Longer bodies get their own block, because a slow
 * reader would keep a whole slab.
 */
const CUT_BYTES_MAX = SLAB_BYTES / 8;
const smallBodies = new Slabs(allocateUncleared, SLAB_BYTES, CUT_BYTES_MAX);

/**
 * Blocks of the first class have room for a head and a body of this length; each further class doubles the
 * length.
 */
const BLOCK_BODY_BYTES_MIN = 2 * CUT_BYTES_MAX;
/** Free blocks kept per class; usually one block is in use. All free blocks together take at most 1 MiB. */
const FREE_BLOCKS_MAX = 2;
const freeBlocks: ArrayBuffer[][] = Array.from({ length: classOf(BODY_WHOLE_BYTES_MAX) + 1 }, () => []);

function classOf(bodyBytes: number): number {
  return 32 - Math.clz32((bodyBytes - 1) / BLOCK_BODY_BYTES_MIN);
}

function allocateUncleared(byteLength: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(byteLength).buffer;
}

/** Uninitialised memory for a body, with room for a head before it. */
export function allocateBody(byteLength: number): Buffer {
  const allBytes = DIRECT_HEAD_BYTES_MAX + byteLength;
  if (allBytes <= CUT_BYTES_MAX) {
    const slab = smallBodies.cut(allBytes);
    return Buffer.from(slab, smallBodies.offset + DIRECT_HEAD_BYTES_MAX, byteLength);
  }
  const number = classOf(byteLength);
  const free = freeBlocks[number];
  const bodyBytesMax = free === undefined ? byteLength : BLOCK_BODY_BYTES_MIN << number;
  const block = free?.pop() ?? allocateUncleared(DIRECT_HEAD_BYTES_MAX + bodyBytesMax);
  return Buffer.from(block, DIRECT_HEAD_BYTES_MAX, byteLength);
}

/**
 * Lets later bodies reuse the memory of a body, which is still in the CPU cache. The kernel must have taken
 * the bytes, and no other reference may exist.
 */
export function releaseBody(bytes: Uint8Array): void {
  const { buffer, byteOffset, length } = bytes;
  const allBytes = DIRECT_HEAD_BYTES_MAX + length;
  if (allBytes <= CUT_BYTES_MAX) {
    smallBodies.giveBack(buffer, byteOffset - DIRECT_HEAD_BYTES_MAX, allBytes);
    return;
  }
  const free = freeBlocks[classOf(length)];
  if (free !== undefined && free.length < FREE_BLOCKS_MAX) free.push(buffer as ArrayBuffer);
}

export function madeBody(bytes: Buffer): MeasuredBody {
  return { byteLength: bytes.length, makeChunks: () => [bytes], hasHeadRoom: true };
}

/** A body of bytes that are kept elsewhere too, so there is no room before them. */
export function keptBody(bytes: Uint8Array): MeasuredBody {
  return { byteLength: bytes.length, makeChunks: () => [bytes] };
}

/** A body that is made when its chunks are first wanted, because HEAD needs only the length. */
export function laterBody(byteLength: number, make: () => Buffer): MeasuredBody {
  let chunks: readonly [Uint8Array] | null = null;
  const makeChunks = (): Iterable<Uint8Array> => {
    chunks ??= [make()];
    return chunks;
  };
  return { byteLength, makeChunks, hasHeadRoom: true };
}

interface SliceMemory {
  readonly bytes: Buffer;
  holders: number;
}

/** The memory of slices, by ArrayBuffer. Without reuse, it would stay until the next garbage collection. */
const sliceMemory = new WeakMap<ArrayBufferLike, SliceMemory>();
const freeSlices: SliceMemory[] = [];

/** Uninitialised memory with one holder. */
export function allocateSlice(byteLength: number): Buffer {
  // Rare: a row is longer than a slice. The garbage collector frees the memory of this slice.
  if (byteLength > BODY_SLICE_BYTES) return Buffer.allocUnsafeSlow(byteLength);
  let memory = freeSlices.pop();
  if (memory === undefined) {
    memory = { bytes: Buffer.allocUnsafeSlow(BODY_SLICE_BYTES), holders: 0 };
    sliceMemory.set(memory.bytes.buffer, memory);
  }
  memory.holders = 1;
  return memory.bytes.subarray(0, byteLength);
}

/**
 * Call this when the holder no longer reads the bytes. Memory without holders is reused. Bytes that are not
 * of a slice are ignored.
 */
export function releaseSlice(bytes: Uint8Array): void {
  const memory = sliceMemory.get(bytes.buffer);
  if (memory === undefined || --memory.holders > 0) return;
  if (freeSlices.length < BODY_SLICES_KEPT_MAX) freeSlices.push(memory);
}

function holdSlice(bytes: Uint8Array): void {
  const memory = sliceMemory.get(bytes.buffer);
  if (memory !== undefined) memory.holders++;
}

/** Recent slices of one snapshot; the oldest is dropped first. Requests for the same body and slow readers share them. */
export class SharedSlices {
  readonly #slices = new Map<string, Uint8Array>();

  get count(): number {
    return this.#slices.size;
  }

  /** The caller becomes a holder of the slice. */
  find(key: string): Uint8Array | undefined {
    const slice = this.#slices.get(key);
    if (slice !== undefined) holdSlice(slice);
    return slice;
  }

  /** Keeps a slice and drops the oldest if there are too many. */
  add(key: string, slice: Uint8Array): void {
    if (slice.length > BODY_SLICE_BYTES) return;
    holdSlice(slice);
    this.#slices.set(key, slice);
    if (this.#slices.size <= BODY_SLICES_SHARED_MAX) return;
    for (const [oldest, bytes] of this.#slices) {
      this.#slices.delete(oldest);
      releaseSlice(bytes);
      return;
    }
  }
}
