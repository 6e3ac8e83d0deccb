import { shared } from './slabs.js';

/**
 * A dictionary's code per ordinal, in as few bytes as they fit into. Every number that is no code of the dictionary stands for null;
 * what is written for it is NO_CODE, of which the lowest bits remain.
 */
export type CodeColumn = Uint8Array | Uint16Array | Uint32Array;

/** Values of which one stands for null. */
const VALUES_OF_UINT8 = 2 ** 8;
const VALUES_OF_UINT16 = 2 ** 16;

/** @param codeCount codes run from 0 to codeCount - 1 */
export function sharedCodeColumn(length: number, codeCount: number): CodeColumn {
  if (codeCount < VALUES_OF_UINT8) return shared.uint8(length);
  return codeCount < VALUES_OF_UINT16 ? shared.uint16(length) : shared.uint32(length);
}

/** Whether an array has the type that so many codes ask for. */
export function isCodeColumn(array: unknown, codeCount: number): array is CodeColumn {
  if (codeCount < VALUES_OF_UINT8) return array instanceof Uint8Array;
  return codeCount < VALUES_OF_UINT16 ? array instanceof Uint16Array : array instanceof Uint32Array;
}
