/**
 * Arrays that live as long as one build: cut from one large buffer while inScratch is at work, for the reason that
 * grownByteLength gives. Outside of it they are arrays as any.
 */
let scratch: { readonly buffer: ArrayBuffer; used: number } | null = null;

const SCRATCH_BYTES_MIN = 34 * 1024 * 1024;
const ALIGNMENT_BYTES = 8;

/**
 * Where so little is needed, arrays are left alone.
 */
const WORTHWHILE_BYTES_MIN = 4 * 1024 * 1024;

/**
 * @param byteLength about what all arrays take; what has no room is a buffer of its own
 * @param build synchronous
 */
export function inScratch<Result>(byteLength: number, build: () => Result): Result {
  if (byteLength < WORTHWHILE_BYTES_MIN) return build();
  const before = scratch;
  scratch = { buffer: new ArrayBuffer(Math.max(byteLength, SCRATCH_BYTES_MIN)), used: 0 };
  try {
    return build();
  } finally {
    scratch = before;
  }
}

function take(byteLength: number): [ArrayBuffer, number] {
  if (scratch === null || byteLength > scratch.buffer.byteLength - scratch.used) {
    return [new ArrayBuffer(byteLength), 0];
  }
  const offset = scratch.used;
  scratch.used += Math.ceil(byteLength / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  return [scratch.buffer, offset];
}

/** Zeroes, as a new array has them. */
export function scratchUint32(length: number): Uint32Array {
  return new Uint32Array(...take(length * 4), length);
}

export function scratchFloat64(length: number): Float64Array {
  return new Float64Array(...take(length * 8), length);
}
