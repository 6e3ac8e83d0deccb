import { totalmem } from 'node:os';

/** Semi-spaces of all serving threads, in MB: 3 × 32 = 96 MB of young generations, as two threads have by default. */
const SERVING_SEMI_SPACES_MB_MAX = 32;

const MB = 1024 * 1024;
/** V8 counts three semi-spaces as a young generation, and makes each a power of two. */
const SEMI_SPACES = 3;
const SEMI_SPACE_MB_MIN = 2;
/** So many threads are left to V8. */
const WORKERS_OF_V8_MAX = 2;
/** V8 of Node 20 gives a semi-space at least so much of the memory of a machine or container, up to 16 MB; later ones give more. */
const V8_SHARE = 1 / 512;

/**
 * MB that the young generation of each serving thread may take, for which `--max-semi-space-size` and `--max-heap-size` go before
 * it. V8 sizes that of a thread as that of a process: under load each grows to 48 MB with Node 20 and 22, to 192 with Node 24.
 *
 * @param memoryBytes of the machine, or of the container
 * @returns null where it is left to V8: for one or two threads, and where V8's own may be less
 */
export function youngGenerationMbOf(
  workers: number,
  memoryBytes: number = memoryBytesOfProcess(),
): number | null {
  if (workers <= WORKERS_OF_V8_MAX) return null;
  const part = 2 ** Math.floor(Math.log2(SERVING_SEMI_SPACES_MB_MAX / workers));
  const semiSpaceMb = Math.max(SEMI_SPACE_MB_MIN, part);
  return semiSpaceMb < (memoryBytes / MB) * V8_SHARE ? SEMI_SPACES * semiSpaceMb : null;
}

function memoryBytesOfProcess(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
