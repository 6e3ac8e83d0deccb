import { availableParallelism, totalmem } from 'node:os';
import { SERVING_THREADS_MAX } from '../base/limits.js';

/**
 * MB for the semi-spaces of all serving threads together. The young generations then take 3 × 32 = 96 MB, as
 * much as those of two threads by default.
 */
const SERVING_SEMI_SPACES_MB_MAX = 32;

/** @param workers serving threads; `auto`: one for each core */
export function threadsOf(workers: number | 'auto'): number {
  return workers === 'auto' ? Math.min(availableParallelism(), SERVING_THREADS_MAX) : workers;
}

/** A young generation consists of three semi-spaces. V8 makes the size of a semi-space a power of two. */
const SEMI_SPACES = 3;
const SEMI_SPACE_MB_MIN = 2;
const WORKERS_OF_V8_MAX = 2;
/**
 * V8 gives each semi-space at least this share of the memory, but at most 16 MB (Node 20; later versions give
 * more).
 */
const V8_SHARE = 1 / 512;

/**
 * MB that the young generation of each serving thread may take. Null leaves the size to V8, which lets each
 * thread take as much as a whole process: 48 MB, and more under load. `--max-semi-space-size` and
 * `--max-heap-size` override this.
 */
export function youngGenerationMbOf(
  workers: number,
  memoryBytes: number = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
): number | null {
  if (workers <= WORKERS_OF_V8_MAX) return null;
  const part = 2 ** Math.floor(Math.log2(SERVING_SEMI_SPACES_MB_MAX / workers));
  const semiSpaceMb = Math.max(SEMI_SPACE_MB_MIN, part);
  return semiSpaceMb < memoryBytes * 2 ** -20 * V8_SHARE ? SEMI_SPACES * semiSpaceMb : null;
}
