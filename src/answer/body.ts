import {
  BODY_SLICE_BYTES,
  BODY_SLICES_KEPT_MAX,
  BODY_SLICES_SHARED_MAX,
  BODY_WHOLE_BYTES_MAX,
} from '../base/limits.js';
import { Slabs } from '../base/structures/slabs.js';

/** The body of an answer, whose bytes may be shared memory of the snapshot: only read them. */
export interface Body {
  /** Bytes of all chunks; null if unknown until the chunks are made. */
  readonly byteLength: number | null;
  /** The chunks in order: an array, or an iterable that makes the chunks of a large body. */
  makeChunks(): Iterable<Uint8Array>;
  /** Only for bodies of one piece that are made for this answer: writes all bytes to `target`, from `offset` on. */
  readonly write?: (target: Buffer, offset: number) => void;
  /** Only for bodies in slices: all requests for a body of this name share chunks. */
  chunksFrom?(shared: SharedSlices, name: string): Iterable<Uint8Array>;
}

export interface MeasuredBody extends Body {
  readonly byteLength: number;
}

const SLAB_BYTES = 128 * 1024;
/**
 * Longest answer, head and body, that is cut from a slab. Longer ones get their own block, because a slow reader would
 * keep a whole slab.
 */
const CUT_BYTES_MAX = SLAB_BYTES / 8;
const smallAnswers = new Slabs(allocateUncleared, SLAB_BYTES, CUT_BYTES_MAX);

/** The length of blocks of the first class; each further class doubles the length. */
const BLOCK_BYTES_MIN = 2 * CUT_BYTES_MAX;
/** Free blocks kept per class; usually one block is in use. All free blocks together take at most 2 MiB. */
const FREE_BLOCKS_MAX = 2;
const freeBlocks: ArrayBuffer[][] = Array.from({ length: classOf(BODY_WHOLE_BYTES_MAX) + 2 }, () => []);

function classOf(byteLength: number): number {
  return 32 - Math.clz32((byteLength - 1) / BLOCK_BYTES_MIN);
}

function allocateUncleared(byteLength: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(byteLength).buffer;
}

/** Uninitialised memory for an answer: head and body in one piece. */
export function allocateAnswer(byteLength: number): Buffer {
  if (byteLength <= CUT_BYTES_MAX) {
    const slab = smallAnswers.cut(byteLength);
    return Buffer.from(slab, smallAnswers.offset, byteLength);
  }
  const number = classOf(byteLength);
  const free = freeBlocks[number];
  const block = free?.pop() ?? allocateUncleared(free === undefined ? byteLength : BLOCK_BYTES_MIN << number);
  return Buffer.from(block, 0, byteLength);
}

/**
 * Lets later answers reuse the memory of one, which is still in the CPU cache. The kernel must have taken the bytes,
 * and no other reference may exist.
 */
export function releaseAnswer({ buffer, byteOffset, length }: Buffer): void {
  if (length <= CUT_BYTES_MAX) {
    smallAnswers.giveBack(buffer, byteOffset, length);
    return;
  }
  const free = freeBlocks[classOf(length)];
  if (free !== undefined && free.length < FREE_BLOCKS_MAX) free.push(buffer as ArrayBuffer);
}

/** A body that is written after its head, at the length that the head announces. */
export function writtenBody(byteLength: number, write: NonNullable<Body['write']>): MeasuredBody {
  const makeChunks = (): Iterable<Uint8Array> => {
    const bytes = Buffer.allocUnsafe(byteLength);
    write(bytes, 0);
    return [bytes];
  };
  return { byteLength, makeChunks, write };
}

/** A body of bytes that are kept elsewhere too. */
export function keptBody(bytes: Uint8Array): MeasuredBody {
  return { byteLength: bytes.length, makeChunks: () => [bytes] };
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
