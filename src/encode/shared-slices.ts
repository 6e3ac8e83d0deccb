import { BODY_SLICE_BYTES, BODY_SLICES_KEPT_MAX, BODY_SLICES_SHARED_MAX } from '../limits.js';

/** Memory of one slice: of whoever sends it, and of those that share it. */
interface SliceMemory {
  readonly bytes: Buffer;
  holders: number;
}

/** By their ArrayBuffer. Memory made anew for each slice would lie about until the next collection. */
const sliceMemory = new WeakMap<ArrayBufferLike, SliceMemory>();
const freeSlices: SliceMemory[] = [];

/** Memory for a slice, not cleared, with one holder. */
export function allocateSlice(byteLength: number): Buffer {
  // A row that is longer than a slice: rare, and left to the collector.
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
 * Gives a slice back: once its last holder has, its memory is used again. Only for whoever knows that nobody will look at the
 * bytes on its behalf any more. What is no slice is left alone.
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

/**
 * Slices that were made lately of bodies of one snapshot, so that a crowd that asks for the same has it made once, and those
 * who do not read hold the same memory. The oldest go first.
 */
export class SharedSlices {
  readonly #slices = new Map<string, Uint8Array>();

  /** Slices that are kept. */
  get count(): number {
    return this.#slices.size;
  }

  /** @returns a slice that the caller holds from now on */
  find(key: string): Uint8Array | undefined {
    const slice = this.#slices.get(key);
    if (slice !== undefined) holdSlice(slice);
    return slice;
  }

  /** Keeps a slice, and lets the oldest go where there are too many. */
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
