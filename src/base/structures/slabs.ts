import { LARGE_BYTES_MIN } from './growable.js';

const ALIGNMENT_BYTES = 8;

/** Cuts typed arrays from long buffers, because allocating each array costs more than filling it. */
export class Slabs<Memory extends ArrayBufferLike> {
  readonly #make: (byteLength: number) => Memory;
  #slabBytes: number;
  #pieceBytesMax: number;
  #slab: Memory;
  #used = 0;
  /** The offset of the last piece in its buffer. */
  offset = 0;

  /** Without the two lengths, each array has its own buffer, except inside {@link within}. */
  constructor(make: (byteLength: number) => Memory, slabBytes = 0, pieceBytesMax = -1) {
    this.#make = make;
    this.#slabBytes = slabBytes;
    this.#pieceBytesMax = pieceBytesMax;
    this.#slab = make(slabBytes);
  }

  /** Returns the buffer of a new piece, which begins at {@link offset} and is shared with no other piece. */
  cut(byteLength: number): Memory {
    if (byteLength > this.#pieceBytesMax) {
      this.offset = 0;
      return this.#make(byteLength);
    }
    if (this.#used + byteLength > this.#slabBytes) {
      this.#slab = this.#make(this.#slabBytes);
      this.#used = 0;
    }
    this.offset = this.#used;
    this.#used += aligned(byteLength);
    return this.#slab;
  }

  /** Takes back the last piece. Earlier pieces stay until their slab is collected. */
  giveBack(buffer: ArrayBufferLike, offset: number, byteLength: number): void {
    if (buffer === this.#slab && offset + aligned(byteLength) === this.#used) this.#used = offset;
  }

  /** Takes all arrays of the synchronous `build` from slabs of this length. */
  within<Result>(slabBytes: number, build: () => Result): Result {
    const before = [this.#slabBytes, this.#pieceBytesMax, this.#slab, this.#used] as const;
    this.#slabBytes = this.#pieceBytesMax = slabBytes;
    this.#slab = this.#make(slabBytes);
    this.#used = 0;
    try {
      return build();
    } finally {
      [this.#slabBytes, this.#pieceBytesMax, this.#slab, this.#used] = before;
    }
  }

  uint8(length: number): Uint8Array<Memory> {
    return new Uint8Array(this.cut(length), this.offset, length);
  }

  uint32(length: number): Uint32Array<Memory> {
    return new Uint32Array(this.cut(length * 4), this.offset, length);
  }

  float64(length: number): Float64Array<Memory> {
    return new Float64Array(this.cut(length * 8), this.offset, length);
  }

  copyUint32(values: ArrayLike<number>): Uint32Array<Memory> {
    const copy = this.uint32(values.length);
    for (let i = 0; i < copy.length; i++) copy[i] = values[i]!;
    return copy;
  }
}

function aligned(byteLength: number): number {
  return Math.ceil(byteLength / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
}

/** Zeroed memory of snapshots, which crosses threads without a copy. */
export const shared: Slabs<SharedArrayBuffer> = new Slabs((byteLength) => new SharedArrayBuffer(byteLength));

/**
 * Copies arrays that are pieces of longer buffers, so that these buffers can be freed. Other arrays, and
 * objects without a copied array, stay the same.
 */
export function inOwnBuffers<Part>(part: Part, copies: Map<unknown, unknown> = new Map()): Part {
  if (typeof part !== 'object' || part === null) return part;
  const known = copies.get(part);
  if (known !== undefined) return known as Part;
  const copy = ArrayBuffer.isView(part) ? ownCopy(part) : copyOfObject(part, copies);
  copies.set(part, copy);
  return copy as Part;
}

function ownCopy(view: ArrayBufferView): ArrayBufferView {
  const { buffer, byteOffset, byteLength } = view;
  if (byteLength === buffer.byteLength) return view;
  const own = new SharedArrayBuffer(byteLength);
  new Uint8Array(own).set(new Uint8Array(buffer, byteOffset, byteLength));
  return new (view.constructor as new (buffer: SharedArrayBuffer) => ArrayBufferView)(own);
}

function copyOfObject(part: object, copies: Map<unknown, unknown>): object {
  const entries = Object.entries(part).map(([name, inner]) => [name, inOwnBuffers(inner, copies)] as const);
  const isSame = entries.every(([name, inner]) => inner === (part as Record<string, unknown>)[name]);
  return isSame ? part : Object.fromEntries(entries);
}

/** Zeroed memory for the duration of one build. */
export const scratch: Slabs<ArrayBuffer> = new Slabs((byteLength) => new ArrayBuffer(byteLength));

const SCRATCH_WORTHWHILE_BYTES_MIN = 4 * 1024 * 1024;

/** @param byteLength estimated total of the scratch arrays of `build` */
export function inScratch<Result>(byteLength: number, build: () => Result): Result {
  if (byteLength < SCRATCH_WORTHWHILE_BYTES_MIN) return build();
  return scratch.within(Math.max(byteLength, LARGE_BYTES_MIN), build);
}

const RESULT_SLAB_BYTES = 64 * 1024;

/** Memory for results of queries, mostly small and not zeroed. A kept array keeps its slab. */
export const results: Slabs<ArrayBuffer> = new Slabs(
  (byteLength) => new ArrayBuffer(byteLength),
  RESULT_SLAB_BYTES,
  RESULT_SLAB_BYTES / 8,
);
