import { setTimeout as delay } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import type { ResourceLimits, Worker } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import { LECTURER_IDS_HEAP_BYTES, THREAD_END_MS_MAX } from '../limits.js';
import { outOfMemory } from '../snapshot/intake-bounds.js';
import type { LoadProgress } from '../source/source.js';
import { startThread, type ThreadEntry } from './start-thread.js';
import type { Failed, LoadTask, StreamChunk, Task, TaskNotice, TaskResult } from './task-messages.js';

const ENTRY: ThreadEntry = {
  source: '/thread/task-worker.ts',
  text: async () => (await import('./worker-text.js')).WORKER_TEXT,
};

/** What became of a load whose thread ran out of memory. */
const REFUSED: TaskResult = { kind: 'refused', refusal: outOfMemory().refusal };

export type Feed = AsyncGenerator<Uint8Array<ArrayBuffer>>;

export interface SpawnOptions {
  /** Ends the thread; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** What it throws rejects the promise, and ends the thread. */
  readonly onProgress?: (progress: LoadProgress) => void;
  readonly onVersion?: (version: string) => void;
  /** For a task whose source is a stream: its chunks, each in a buffer of its own, which is handed over. */
  readonly feed?: Feed;
  /** Whether the process stays alive for this task alone. */
  readonly keepsProcessAlive: boolean;
  /** Told, with its end, where the thread does not end: it waits for the system, which may take for ever. */
  readonly onStuck?: (end: Promise<void>) => void;
}

/**
 * Does a task on a thread of its own.
 *
 * @throws LecternError as the task does; the signal's reason where it was aborted; what `onProgress` throws
 */
export async function spawnTask(task: Task, options: SpawnOptions): Promise<Exclude<TaskResult, Failed>> {
  options.signal?.throwIfAborted();
  const worker = await startThread(ENTRY, {
    workerData: task,
    name: `lectern ${task.task}`,
    ...(task.task === 'load' ? { resourceLimits: heapLimits(task) } : {}),
  });
  if (!options.keepsProcessAlive) worker.unref();
  const feed = options.feed ?? null;
  const abort = (): void => void worker.terminate();
  options.signal?.addEventListener('abort', abort, { once: true });
  // While its text was being imported.
  if (options.signal?.aborted) abort();
  try {
    const result = await resultOf(worker, feed, options).catch((error: unknown) => {
      if (task.task === 'load' && isOutOfMemory(error)) return REFUSED;
      throw error;
    });
    if (result.kind === 'failed') throw errorOf(result);
    return result;
  } finally {
    options.signal?.removeEventListener('abort', abort);
    await endOf(worker, options);
    const returned = feed?.return(undefined);
    // It waits for the record that was asked for last; whoever aborts does not.
    if (options.signal?.aborted) returned?.catch(() => {});
    else await returned;
  }
}

/**
 * The heap is a part of what the load may take. It ends the thread where a load is faster than it is looked at. A map of lecturers is
 * parsed in one go, in which V8 would end the process and not the thread: it has room of its own.
 */
function heapLimits({ bounds: { memoryBytesMax }, source }: LoadTask): ResourceLimits {
  if (memoryBytesMax === null) return {};
  const ofMap = hasLecturerIds(source) ? LECTURER_IDS_HEAP_BYTES : 0;
  const bytes = Math.min(memoryBytesMax, getHeapStatistics().heap_size_limit) + ofMap;
  return { maxOldGenerationSizeMb: Math.floor(bytes / (1024 * 1024)) };
}

function hasLecturerIds(source: LoadTask['source']): boolean {
  if (source.kind === 'stream') return false;
  return source.lecturerIds !== undefined || (source.kind === 'merged' && source.specs.some(hasLecturerIds));
}

/** Ends the thread, and waits for that, but not for ever. */
async function endOf(worker: Worker, { onStuck, signal }: SpawnOptions): Promise<void> {
  const end = worker.terminate().then(() => {});
  const waiting = new AbortController();
  const tooLong = delay(THREAD_END_MS_MAX, true, { signal: waiting.signal }).catch(() => false);
  const isStuck = await Promise.race([end.then(() => false), tooLong]);
  waiting.abort();
  if (!isStuck || signal?.aborted) return;
  onStuck?.(end);
}

function resultOf(worker: Worker, feed: Feed | null, options: SpawnOptions): Promise<TaskResult> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: TaskNotice | TaskResult) => {
      if (message.kind === 'progress') {
        try {
          options.onProgress?.(message.progress);
        } catch (error) {
          // Thrown from here it would be nobody's, and end the process.
          reject(error);
        }
      } else if (message.kind === 'version') options.onVersion?.(message.version);
      else if (message.kind === 'more') void feedOne(worker, feed);
      else resolve(message);
    });
    worker.on('error', reject);
    worker.on('exit', () => {
      reject(
        options.signal?.aborted
          ? options.signal.reason
          : new Error('the build thread ended without a result'),
      );
    });
  });
}

async function feedOne(worker: Worker, feed: Feed | null): Promise<void> {
  let chunk: StreamChunk;
  try {
    const next = await feed?.next();
    chunk = next === undefined || next.done ? { kind: 'end' } : { kind: 'chunk', bytes: next.value };
  } catch (error) {
    chunk = { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
  worker.postMessage(chunk, chunk.kind === 'chunk' ? [chunk.bytes.buffer as ArrayBuffer] : []);
}

function errorOf(failed: Failed): Error {
  if (failed.code === null) return new Error(failed.message);
  return new LecternError(failed.code, failed.message, { retryAfterMs: failed.retryAfterMs });
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
