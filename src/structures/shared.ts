/**
 * Typed arrays over SharedArrayBuffers: what a snapshot is made of, so that it can cross threads without a copy.
 * A fresh SharedArrayBuffer is zero-filled.
 */

export function sharedUint8(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length));
}

export function sharedUint32(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(length * 4));
}

export function sharedFloat64(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(length * 8));
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
