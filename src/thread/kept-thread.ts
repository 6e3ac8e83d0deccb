import type { Worker } from 'node:worker_threads';
import { KEPT_THREAD_IDLE_MS } from '../limits.js';
import { resultOf, type SpawnOptions } from './spawn-task.js';
import { prepareThread } from './start-thread.js';
import type { LoadDone, PatchTask } from './task-messages.js';

/**
 * A thread for consecutive patches, because starting a thread takes longer than a patch. It ends after some
 * idle time, or when a task fails.
 */
export class KeptThread {
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

  /** One task at a time, always with the same signal. Throws the errors of the task, and the signal's reason. */
  async run(task: PatchTask, options: SpawnOptions): Promise<LoadDone> {
    const { signal, feed, keepsProcessAlive } = options;
    signal?.throwIfAborted();
    clearTimeout(this.#idle);
    const worker = this.#worker ?? (await this.#start(signal));
    if (keepsProcessAlive) worker.ref();
    const stopListening = new AbortController();
    try {
      signal?.throwIfAborted();
      const result = resultOf(worker, options, stopListening.signal);
      worker.postMessage(task);
      const done = (await result) as LoadDone;
      this.#idle = setTimeout(() => this.close(), KEPT_THREAD_IDLE_MS).unref();
      return done;
    } catch (error) {
      this.close();
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

  close(): void {
    clearTimeout(this.#idle);
    void this.#worker?.terminate();
    this.#worker = null;
  }

  async #start(signal: AbortSignal | undefined): Promise<Worker> {
    const text = async () => (await import('./worker-text.js')).WORKER_TEXT;
    const start = await prepareThread('/thread/task-worker.ts', text);
    signal?.throwIfAborted();
    const worker = start({ workerData: null, name: 'lectern patch' });
    worker.unref();
    this.#worker = worker;
    const end = (): void => this.close();
    signal?.addEventListener('abort', end, { once: true });
    // Otherwise an idle thread that fails would end the process.
    worker.on('error', end);
    worker.on('exit', () => {
      signal?.removeEventListener('abort', end);
      if (this.#worker === worker) this.close();
    });
    return worker;
  }
}
