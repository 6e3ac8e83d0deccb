import type { Worker } from 'node:worker_threads';
import { OUT_OF_MEMORY } from '../../snapshot/intake-bounds.js';
import { heapLimits, isOutOfMemory, resultOf, type SpawnOptions, textOf, threadEnd } from './spawn-task.js';
import { prepareThread } from './start-thread.js';
import type { DoneOf, FetchTask, PatchTask } from './task-messages.js';

/**
 * A thread for consecutive patches or fetches, because starting a thread takes longer than a patch. The
 * thread ends after some idle time, or when a task fails.
 */
export class KeptThread<T extends PatchTask | FetchTask> {
  readonly #kind: T['task'];
  readonly #idleMsMax: number;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #isUsed = false;
  /** Never rejects. */
  #warmUp: Promise<unknown> = Promise.resolve();

  /** @param idleMsMax if infinite, only the signal ends an idle thread */
  constructor(kind: T['task'], idleMsMax: number) {
    this.#kind = kind;
    this.#idleMsMax = idleMsMax;
  }

  /**
   * Callers run one task at a time, always with the same signal. Throws the errors of the task, and the
   * signal's reason. The memory bound of the first task limits the heap of the thread.
   */
  async run(task: T, options: SpawnOptions): Promise<DoneOf<T>> {
    this.#isUsed = true;
    await this.#warmUp;
    return this.#run(task, options);
  }

  /**
   * Starts the thread and runs a task whose result is not used, so that the first change finds compiled code.
   */
  warmUp(task: T, options: SpawnOptions): void {
    this.#warmUp = this.#warmUp.then(async () => {
      if (this.#isUsed) await options.chunks?.return(undefined);
      else await this.#run(task, options).catch(() => {});
    });
  }

  async #run(task: T, options: SpawnOptions): Promise<DoneOf<T>> {
    const { signal, chunks } = options;
    signal?.throwIfAborted();
    if (isTooLarge(task)) {
      await chunks?.return(undefined);
      return { kind: 'refused', refusal: OUT_OF_MEMORY } as DoneOf<T>;
    }
    clearTimeout(this.#idle);
    const worker = this.#worker ?? (await this.#start(task, signal));
    // A thread keeps the process alive while it works, and no longer.
    worker.ref();
    const stopListening = new AbortController();
    try {
      signal?.throwIfAborted();
      const result = resultOf(worker, options, stopListening.signal);
      worker.postMessage(task);
      const done = (await result) as DoneOf<T>;
      this.#endLater();
      return done;
    } catch (error) {
      this.#forget(worker);
      await threadEnd(worker, options);
      if (isOutOfMemory(error)) return { kind: 'refused', refusal: OUT_OF_MEMORY } as DoneOf<T>;
      throw error;
    } finally {
      stopListening.abort();
      worker.unref();
      const returned = chunks?.return(undefined);
      // The stream waits for its last requested record, but an abort must not wait.
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

  async #start(task: T, signal: AbortSignal | undefined): Promise<Worker> {
    const start = await prepareThread('/refresh/thread/task-worker.ts', () => textOf(this.#kind));
    signal?.throwIfAborted();
    const { memoryBytesMax } = task.task === 'patch' ? task.bounds : task;
    const resourceLimits = heapLimits(memoryBytesMax);
    const worker = start({ workerData: null, name: `lectern ${this.#kind}`, resourceLimits });
    worker.unref();
    this.#worker = worker;
    const end = (): void => this.close();
    signal?.addEventListener('abort', end, { once: true });
    // Without a listener, an idle thread that fails would end the process.
    worker.on('error', () => this.#forget(worker));
    worker.on('exit', () => {
      signal?.removeEventListener('abort', end);
      this.#forget(worker);
    });
    return worker;
  }
}

/** V8 takes a message in one piece. Beyond the thread's heap, newer versions end the whole process. */
const BYTES_PER_REMOVAL = 64;

function isTooLarge(task: FetchTask | PatchTask): boolean {
  if (task.task !== 'patch') return false;
  const { memoryBytesMax } = task.bounds;
  return memoryBytesMax !== null && BYTES_PER_REMOVAL * task.removals.length > memoryBytesMax;
}
