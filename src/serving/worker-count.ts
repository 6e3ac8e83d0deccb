import { availableParallelism } from 'node:os';
import { SERVING_THREADS_MAX } from '../limits.js';

export type WorkerCount = number | 'auto';

/** What is wrong with a number of serving threads; null where it is good. */
export function workersFault(value: unknown): string | null {
  if (value === 'auto') return null;
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= SERVING_THREADS_MAX) return null;
  return `it must be a whole number from 1 to ${SERVING_THREADS_MAX}, or auto`;
}

export function threadsOf(workers: WorkerCount): number {
  return workers === 'auto' ? Math.min(availableParallelism(), SERVING_THREADS_MAX) : workers;
}
