import type { Worker } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import type { LoadProgress } from '../source/source.js';
import { startThread, type ThreadEntry } from './start-thread.js';
import type { Failed, StreamChunk, Task, TaskNotice, TaskResult } from './task-messages.js';

const ENTRY: ThreadEntry = {
  source: '/thread/task-worker.ts',
  text: async () => (await import('./worker-text.js')).WORKER_TEXT,
};

export type Feed = AsyncGenerator<Uint8Array<ArrayBuffer>>;

export interface SpawnOptions {
  /** Ends the thread; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** What it throws rejects the promise, and ends the thread. */
  readonly onProgress?: (progress: LoadProgress) => void;
  /** For a task whose source is a stream: its chunks, each in a buffer of its own, which is handed over. */
  readonly feed?: Feed;
  /** Whether the process stays alive for this task alone. */
  readonly keepsProcessAlive: boolean;
}

/**
 * Does a task on a thread of its own.
 *
 * @throws LecternError as the task does; the signal's reason where it was aborted; what `onProgress` throws
 */
export async function spawnTask(task: Task, options: SpawnOptions): Promise<Exclude<TaskResult, Failed>> {
  options.signal?.throwIfAborted();
  const worker = await startThread(ENTRY, { workerData: task, name: `lectern ${task.task}` });
  if (!options.keepsProcessAlive) worker.unref();
  const feed = options.feed ?? null;
  const abort = (): void => void worker.terminate();
  options.signal?.addEventListener('abort', abort, { once: true });
  // While its text was being imported.
  if (options.signal?.aborted) abort();
  try {
    const result = await resultOf(worker, feed, options);
    if (result.kind === 'failed') throw errorOf(result);
    return result;
  } finally {
    options.signal?.removeEventListener('abort', abort);
    await worker.terminate();
    const returned = feed?.return(undefined);
    // It waits for the record that was asked for last; whoever aborts does not.
    if (options.signal?.aborted) returned?.catch(() => {});
    else await returned;
  }
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
      } else if (message.kind === 'more') void feedOne(worker, feed);
      else resolve(message);
    });
    worker.on('error', (error: Error) => reject(describeCrash(error)));
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

function describeCrash(error: Error): Error {
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new LecternError(
      'source-too-large',
      'the build ran out of memory: give Node a larger heap with --max-old-space-size',
      { cause: error },
    );
  }
  return error;
}
