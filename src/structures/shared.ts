/**
 * Typed arrays over SharedArrayBuffers: what a snapshot is made of, so that it can cross threads without a copy.
 * A fresh SharedArrayBuffer is zero-filled.
 */

const ALIGNMENT_BYTES = 8;

/** The buffer that arrays are put into, one behind the other, while inOneBuffer is at work. */
let slab: { readonly buffer: SharedArrayBuffer; used: number } | null = null;

/**
 * Puts the shared arrays that `build` makes into as few buffers as possible. The C library gives a large buffer memory of
 * its own. Small ones it puts beside whatever else the thread has allocated, and would keep all of that in memory for as
 * long as a single array of the snapshot lies behind it.
 *
 * @param byteLength of one buffer: about what all arrays take. What has no room in it gets another one or, where it is
 *   longer than that, a buffer to itself.
 * @param build synchronous
 */
export function inOneBuffer<Result>(byteLength: number, build: () => Result): Result {
  const before = slab;
  slab = { buffer: new SharedArrayBuffer(byteLength), used: 0 };
  try {
    return build();
  } finally {
    slab = before;
  }
}

/** @returns the buffer and where in it so many bytes begin */
function take(byteLength: number): [SharedArrayBuffer, number] {
  if (slab === null || byteLength > slab.buffer.byteLength) return [new SharedArrayBuffer(byteLength), 0];
  if (byteLength > slab.buffer.byteLength - slab.used) {
    slab = { buffer: new SharedArrayBuffer(slab.buffer.byteLength), used: 0 };
  }
  const offset = slab.used;
  slab.used += Math.ceil(byteLength / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  return [slab.buffer, offset];
}

export function sharedUint8(length: number): Uint8Array {
  return new Uint8Array(...take(length), length);
}

export function sharedUint16(length: number): Uint16Array {
  return new Uint16Array(...take(length * 2), length);
}

export function sharedUint32(length: number): Uint32Array {
  return new Uint32Array(...take(length * 4), length);
}

export function sharedFloat64(length: number): Float64Array {
  return new Float64Array(...take(length * 8), length);
}

/** A copy of `values` in shared memory. */
export function shareUint32(values: ArrayLike<number>): Uint32Array {
  const shared = sharedUint32(values.length);
  shared.set(values);
  return shared;
}

/** A copy of `values` in shared memory. */
export function shareFloat64(values: ArrayLike<number>): Float64Array {
  const shared = sharedFloat64(values.length);
  shared.set(values);
  return shared;
}
