import { getHeapStatistics } from 'node:v8';
import { SERVING_YOUNG_MB_MAX, SERVING_YOUNG_MB_MIN } from '../limits.js';

const MB = 1024 * 1024;
/** V8 gives the young generation of a heap so much of what the heap may hold, and at most 48 MB. */
const V8_SHARE = 3 / 128;
const V8_MB_MAX = 48;

/**
 * MB that the young generation of each serving thread may take; `--max-semi-space-size`, where it is given, goes before it. V8
 * sizes the one of a thread as that of a process: under load each grows to 48 MB, so that four threads hold as much memory
 * as half of what is kept for answers.
 *
 * @param heapBytesMax what the heap of a thread may hold; by default as that of this one
 * @returns null where V8's own size is less
 */
export function youngGenerationMbOf(
  workers: number,
  heapBytesMax: number = getHeapStatistics().heap_size_limit,
): number | null {
  const part = Math.max(SERVING_YOUNG_MB_MIN, SERVING_YOUNG_MB_MAX / workers);
  return part < Math.min(V8_MB_MAX, (heapBytesMax / MB) * V8_SHARE) ? part : null;
}
