import type { Worker } from 'node:worker_threads';
import { KEPT_THREAD_IDLE_MS } from '../limits.js';
import { resultOf, type SpawnOptions, textOf } from './spawn-task.js';
import { prepareThread } from './start-thread.js';
import type { DoneOf, FetchTask, PatchTask } from './task-messages.js';

/**
 * A thread for patches or fetches that follow each other: starting one takes longer than a patch. It ends once it has been idle for
 * a while, or a task failed.
 */
export class KeptThread<T extends PatchTask | FetchTask> {
  readonly #kind: T['task'];
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

  constructor(kind: T['task']) {
    this.#kind = kind;
  }

  /** One task at a time, always with the same signal. Throws as the task does, and the signal's reason. */
  async run(task: T, options: SpawnOptions): Promise<DoneOf<T>> {
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
      const done = (await result) as DoneOf<T>;
      this.#idle = setTimeout(() => this.close(), KEPT_THREAD_IDLE_MS).unref();
      return done;
    } catch (error) {
      this.close();
      throw error;
    } finally {
      stopListening.abort();
      worker.unref();
      const returned = feed?.return(undefined);
      // The task waits for the last requested record; an abort does not.
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
    const start = await prepareThread('/thread/task-worker.ts', () => textOf(this.#kind));
    signal?.throwIfAborted();
    const worker = start({ workerData: null, name: `lectern ${this.#kind}` });
    worker.unref();
    this.#worker = worker;
    const end = (): void => this.close();
    signal?.addEventListener('abort', end, { once: true });
    // Without this an idle thread that fails would end the process.
    worker.on('error', end);
    worker.on('exit', () => {
      signal?.removeEventListener('abort', end);
      if (this.#worker === worker) this.close();
    });
    return worker;
  }
}
