/**
 * Arrays for results, most of which are a few dozen numbers: cut from slabs, as Node does with small buffers. What is longer than
 * 64 bytes is otherwise memory of its own outside of the heap, which costs more than filling it, and then as much to be freed.
 */

const SLAB_LENGTH = 16 * 1024;
/** What is longer than an eighth of a slab is an array of its own. */
const CUT_LENGTH_MAX = SLAB_LENGTH / 8;

let slab: ArrayBuffer = new ArrayBuffer(SLAB_LENGTH * Uint32Array.BYTES_PER_ELEMENT);
let used = 0;

/**
 * An array that is not cleared: whatever is not written must not be read. Nobody else is given the same memory, however long it is
 * kept; who keeps it keeps the slab.
 */
export function pooledUint32(length: number): Uint32Array {
  if (length > CUT_LENGTH_MAX) return new Uint32Array(length);
  if (used + length > SLAB_LENGTH) {
    slab = new ArrayBuffer(SLAB_LENGTH * Uint32Array.BYTES_PER_ELEMENT);
    used = 0;
  }
  const array = new Uint32Array(slab, used * Uint32Array.BYTES_PER_ELEMENT, length);
  used += length;
  return array;
}

/** A copy of numbers. */
export function pooledCopy(values: readonly number[]): Uint32Array {
  const { length } = values;
  const copy = pooledUint32(length);
  for (let i = 0; i < length; i++) copy[i] = values[i]!;
  return copy;
}
