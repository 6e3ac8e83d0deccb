import type { Worker } from 'node:worker_threads';
import { OUT_OF_MEMORY } from '../snapshot/intake-bounds.js';
import { endOf, heapLimits, isOutOfMemory, resultOf, type SpawnOptions } from './spawn-task.js';
import { prepareThread } from './start-thread.js';
import type { LoadDone, PatchTask } from './task-messages.js';

/**
 * A thread for consecutive patches, because starting a thread takes longer than a patch. It ends after some
 * idle time, or when a task fails.
 */
export class KeptThread {
  readonly #idleMsMax: number;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #isUsed = false;
  /** Never rejects. */
  #practice: Promise<unknown> = Promise.resolve();

  /** @param idleMsMax infinite: only the signal ends the thread */
  constructor(idleMsMax: number) {
    this.#idleMsMax = idleMsMax;
  }

  /**
   * One task at a time, always with the same signal. Throws the errors of the task, and the signal's reason. The bound of the
   * thread's first task limits its heap.
   */
  async run(task: PatchTask, options: SpawnOptions): Promise<LoadDone> {
    this.#isUsed = true;
    await this.#practice;
    return this.#run(task, options);
  }

  /** Starts the thread and runs a task of which nothing uses the result. The first change then finds compiled code. */
  practise(task: PatchTask, options: SpawnOptions): void {
    if (this.#isUsed) return;
    this.#practice = this.#run(task, options).catch(() => {});
  }

  async #run(task: PatchTask, options: SpawnOptions): Promise<LoadDone> {
    const { signal, feed, keepsProcessAlive } = options;
    signal?.throwIfAborted();
    clearTimeout(this.#idle);
    const worker = this.#worker ?? (await this.#start(task, signal));
    if (keepsProcessAlive) worker.ref();
    const stopListening = new AbortController();
    try {
      signal?.throwIfAborted();
      const result = resultOf(worker, options, stopListening.signal);
      worker.postMessage(task);
      const done = (await result) as LoadDone;
      this.#endLater();
      return done;
    } catch (error) {
      this.#forget(worker);
      await endOf(worker, options);
      if (isOutOfMemory(error)) return { kind: 'refused', refusal: OUT_OF_MEMORY };
      throw error;
    } finally {
      stopListening.abort();
      worker.unref();
      const returned = feed?.return(undefined);
      // The task waits for the last requested record, but an abort does not.
      if (signal?.aborted) returned?.catch(() => {});
      else await returned;
    }
  }

  #endLater(): void {
    if (this.#idleMsMax === Number.POSITIVE_INFINITY) return;
    this.#idle = setTimeout(() => this.close(), this.#idleMsMax).unref();
  }

  close(): void {
    const worker = this.#worker;
    if (worker === null) return;
    this.#forget(worker);
    void worker.terminate();
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    clearTimeout(this.#idle);
    this.#worker = null;
  }

  async #start({ bounds }: PatchTask, signal: AbortSignal | undefined): Promise<Worker> {
    const text = async () => (await import('./worker-text.js')).WORKER_TEXT;
    const start = await prepareThread('/thread/task-worker.ts', text);
    signal?.throwIfAborted();
    const resourceLimits = heapLimits(bounds.memoryBytesMax);
    const worker = start({ workerData: null, name: 'lectern patch', resourceLimits });
    worker.unref();
    this.#worker = worker;
    const end = (): void => this.close();
    signal?.addEventListener('abort', end, { once: true });
    // Otherwise an idle thread that fails would end the process.
    worker.on('error', () => this.#forget(worker));
    worker.on('exit', () => {
      signal?.removeEventListener('abort', end);
      this.#forget(worker);
    });
    return worker;
  }
}
