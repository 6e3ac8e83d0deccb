import { setTimeout as delay } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import type { ResourceLimits, Worker } from 'node:worker_threads';
import { cannotRead, LecternError } from '../../base/errors.js';
import { onFirstUse } from '../../base/files/load-on-use.js';
import {
  DATABASE_HEAP_MIB,
  LECTURER_IDS_HEAP_BYTES,
  THREAD_END_MS_MAX,
  THREAD_PULSE_MS,
  THREAD_PULSES_MISSED_MAX,
} from '../../base/limits.js';
import { OUT_OF_MEMORY } from '../../snapshot/intake-bounds.js';
import { hasPattern } from '../../source/map-value.js';
import { sourceOfSpec } from '../../source/spec.js';
import { prepareThread } from './start-thread.js';
import {
  type ByteChunks,
  type Done,
  type DoneOf,
  errorOf,
  type FromTask,
  type LoadTask,
  type SecretsAnswer,
  type StreamChunk,
  type Task,
  type TaskListeners,
  taskFailureOf,
} from './task-messages.js';

export interface TaskOptions extends TaskListeners {
  /** The chunks of a task whose source is a stream. Each chunk has its own buffer, which is transferred. */
  readonly chunks?: ByteChunks | undefined;
  /** Called with a promise of the thread's end if the thread does not end in time: a system call may hang forever. */
  readonly onStuck?: (end: Promise<void>) => void;
}

interface ThreadOptions {
  /** An idle thread ends after this time. 0: it ends with its task. Infinite: only the signal or `close` ends it. */
  readonly idleMsMax: number;
  /** Beats that the thread may miss; see {@link ThreadPulse}. Null: any number. Default null. */
  readonly missedMax?: number | null;
  /** Gets what the thread tells besides its results. */
  readonly onTold?: (message: FromTask) => void;
  /** An idle thread has failed or hangs, and was ended. */
  readonly onLost?: (error: unknown) => void;
}

/** The task that a thread has now. */
interface Present {
  readonly worker: Worker;
  readonly options: TaskOptions;
  resolve(done: Done): void;
  reject(error: unknown): void;
}

/**
 * A thread for tasks. Starting one takes longer than a patch, so it may be kept for the next task. The next task of a
 * thread that failed, hung or outgrew its memory has a new one, and so has the one after a failed task with chunks, of
 * which some may be on their way.
 */
export class TaskThread<T extends Task> {
  readonly #options: ThreadOptions;
  /** Null while there is no thread. */
  worker: Worker | null = null;
  #present: Present | null = null;
  /** The last task itself has failed, so its thread is sound. */
  #hasFailed = false;
  #pulse: ThreadPulse | null = null;
  #idle: NodeJS.Timeout | undefined;
  #isUsed = false;
  #closed: Error | null = null;
  /** Never rejects. */
  #warmUp: Promise<unknown> = Promise.resolve();

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /**
   * Callers run one task at a time, always with the same signal. Throws the errors of the task and of `onProgress`, and
   * the signal's reason. The memory bound of the first task limits the heap of the thread.
   */
  async run<U extends T>(task: U, options: TaskOptions): Promise<DoneOf<U>> {
    this.#isUsed = true;
    await this.#warmUp;
    return this.#run(task, options);
  }

  /**
   * Starts the thread and runs a task whose result is not used, so that the first change finds compiled code.
   */
  warmUp(task: T, options: TaskOptions): void {
    this.#warmUp = this.#warmUp.then(async () => {
      if (this.#isUsed) await options.chunks?.return(undefined);
      else await this.#run(task, options).catch(() => {});
    });
  }

  /** Ends the thread for ever. A task that runs fails with the reason. */
  close(reason: Error = new LecternError('closed', 'the timetable was closed')): void {
    this.#closed = reason;
    this.#end(reason);
  }

  async #run<U extends T>(task: U, options: TaskOptions): Promise<DoneOf<U>> {
    const { signal, chunks } = options;
    try {
      signal?.throwIfAborted();
      if (isTooLarge(task)) return { kind: 'refused', refusal: OUT_OF_MEMORY } as DoneOf<U>;
      clearTimeout(this.#idle);
      const worker = this.worker ?? (await this.#start(task, signal));
      // It may have been ended before this turn went on. Nothing would answer the task then.
      signal?.throwIfAborted();
      if (this.worker !== worker) throw this.#closed ?? new Error('the thread was ended before its task');
      // A thread keeps the process alive while it works, and no longer.
      worker.ref();
      return await this.#runOn(worker, task, options);
    } finally {
      const returned = chunks?.return(undefined);
      // The stream waits for its last requested record, but an abort must not wait.
      if (signal?.aborted) returned?.catch(() => {});
      else await returned;
    }
  }

  async #runOn<U extends T>(worker: Worker, task: U, options: TaskOptions): Promise<DoneOf<U>> {
    let isSound = true;
    this.#hasFailed = false;
    try {
      const done = await new Promise<Done>((resolve, reject) => {
        this.#present = { worker, options, resolve, reject };
        worker.postMessage(task);
      });
      return done as DoneOf<U>;
    } catch (error) {
      isSound = this.#hasFailed && options.chunks === undefined;
      if (!isOutOfMemory(error) || !('bounds' in task || 'memoryBytesMax' in task)) throw error;
      return { kind: 'refused', refusal: OUT_OF_MEMORY } as DoneOf<U>;
    } finally {
      this.#present = null;
      worker.unref();
      const { idleMsMax } = this.#options;
      if (!isSound || idleMsMax === 0) {
        this.#forget(worker);
        await threadEnd(worker, options);
      } else if (idleMsMax < Number.POSITIVE_INFINITY) {
        this.#idle = setTimeout(() => this.#end(), idleMsMax).unref();
      }
    }
  }

  async #start(task: T, signal: AbortSignal | undefined): Promise<Worker> {
    const start = await prepareThread('/refresh/thread/task-worker.ts', () => textOf(task));
    signal?.throwIfAborted();
    if (this.#closed !== null) throw this.#closed;
    const name = `lectern ${isFollowing(task) ? 'database' : task.task}`;
    const worker = start({ workerData: null, name, resourceLimits: limitsOf(task) });
    this.worker = worker;
    const { missedMax = null } = this.#options;
    if (missedMax !== null)
      this.#pulse = new ThreadPulse(() => this.#lose(worker, new SilentThread()), missedMax);
    const abort = (): void => this.#end(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    worker.on('message', (message: FromTask) => {
      if (this.worker === worker) this.#take(message);
    });
    worker.on('error', (error) => this.#lose(worker, error));
    worker.on('exit', () => {
      signal?.removeEventListener('abort', abort);
      this.#lose(worker, new Error('the build thread ended without a result'));
    });
    return worker;
  }

  #take(message: FromTask): void {
    this.#pulse?.beat();
    if (message.kind === 'alive' || message.kind === 'changed') this.#options.onTold?.(message);
    else if (message.kind === 'read') this.#pulse?.stop();
    else if (this.#present !== null) this.#takeResult(this.#present, message);
  }

  #takeResult({ worker, options, resolve, reject }: Present, message: FromTask): void {
    const { onProgress, onVersion, onParts, chunks } = options;
    try {
      if (message.kind === 'progress') onProgress?.(message.progress);
      else if (message.kind === 'version') onVersion?.(message.version);
      else if (message.kind === 'parts') onParts?.(message.report);
      else if (message.kind === 'more') void postNextChunk(worker, chunks as ByteChunks);
      else if (message.kind === 'want-secrets') void answerSecrets(message, options);
      else if (message.kind === 'failed') {
        this.#hasFailed = true;
        reject(errorOf(message));
      } else resolve(message as Done);
    } catch (error) {
      // An uncaught error of the program's onProgress would end the process.
      reject(error);
    }
  }

  #lose(worker: Worker, error: unknown): void {
    if (this.worker === worker) this.#end(error);
  }

  /** @param error fails the present task; without one, the end of an idle thread is told */
  #end(error?: unknown): void {
    const { worker } = this;
    const present = this.#present;
    if (worker === null) return;
    this.#forget(worker);
    void worker.terminate();
    if (present !== null) present.reject(error);
    else if (error !== undefined && this.#closed === null) this.#options.onLost?.(error);
  }

  #forget(worker: Worker): void {
    if (this.worker !== worker) return;
    clearTimeout(this.#idle);
    this.#pulse?.stop();
    this.worker = null;
  }
}

/**
 * Runs a task on a thread of its own, and ends a thread that hangs while it reads. Throws the errors of the task, the
 * signal's reason, and errors of `onProgress`.
 */
export async function spawnTask<T extends Task>(task: T, options: TaskOptions): Promise<DoneOf<T>> {
  const reads = task.task === 'load' || task.task === 'read-rooms';
  const thread = new TaskThread<T>({ idleMsMax: 0, missedMax: reads ? THREAD_PULSES_MISSED_MAX : null });
  try {
    return await thread.run(task, options);
  } catch (error) {
    if (!reads || !(error instanceof SilentThread)) throw error;
    const { name } = task.source.kind === 'stream' ? task.source : sourceOfSpec(task.source);
    throw cannotRead(name, `the thread that reads it ${error.message}`);
  }
}

async function postNextChunk(worker: Worker, chunks: ByteChunks): Promise<void> {
  try {
    const next: StreamChunk = await chunks.next();
    worker.postMessage(next, next.done ? [] : [next.value.buffer as ArrayBuffer]);
  } catch (error) {
    worker.postMessage({ problem: error instanceof Error ? error.message : String(error) });
  }
}

async function answerSecrets(
  { credentials, refused, reply }: Extract<FromTask, { readonly kind: 'want-secrets' }>,
  { askSecretHeaders }: TaskOptions,
): Promise<void> {
  const post = (answer: SecretsAnswer): void => reply.postMessage(answer);
  try {
    if (askSecretHeaders === undefined) throw new Error('the build thread does not know these credentials');
    post({ secrets: await askSecretHeaders(credentials, refused) });
  } catch (error) {
    post({ failure: taskFailureOf(error) });
  }
}

async function threadEnd(worker: Worker, { onStuck, signal }: TaskOptions): Promise<void> {
  const end = worker.terminate().then(() => {});
  const tooLong = delay(THREAD_END_MS_MAX, true, { ref: false });
  const isStuck = await Promise.race([end.then(() => false), tooLong]);
  if (isStuck && !signal?.aborted) onStuck?.(end);
}

export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** V8 takes a message in one piece. Beyond the thread's heap, newer versions end the whole process. */
const BYTES_PER_REMOVAL = 64;

function isTooLarge(task: Task): boolean {
  if (task.task !== 'patch') return false;
  const { memoryBytesMax } = task.bounds;
  return memoryBytesMax !== null && BYTES_PER_REMOVAL * task.removals.length > memoryBytesMax;
}

function isFollowing({ task }: Task): boolean {
  return task === 'follow-table' || task === 'end-whole';
}

const loadClientText = onFirstUse(() => import('./client-worker-text.js'));
const loadText = onFirstUse(() => import('./worker-text.js'));

/**
 * The clients of PostgreSQL and NATS, and the engines of JSONata and of patterns, are as large as all other code, so only
 * tasks that need one of them get the script with them.
 */
async function textOf(task: Task): Promise<string> {
  const reads = task.task === 'load' || task.task === 'read-rooms';
  return task.task === 'fetch-image' || isFollowing(task) || (reads && needsClients(task))
    ? (await loadClientText()).CLIENT_WORKER_TEXT
    : (await loadText()).WORKER_TEXT;
}

function needsClients({ source, rules }: Pick<LoadTask, 'source' | 'rules'>): boolean {
  if (source.kind === 'merged') return source.specs.some((each) => needsClients({ source: each, rules }));
  const own = 'rules' in source ? source.rules : undefined;
  const all = { ...rules, ...own };
  return source.kind === 'postgres' || all.records !== undefined || hasPattern(all);
}

/**
 * The heap is a part of a task's memory. The limit ends the thread if the task outgrows its bound
 * between two checks.
 */
function limitsOf(task: Task): ResourceLimits {
  if (isFollowing(task)) return { maxOldGenerationSizeMb: DATABASE_HEAP_MIB };
  const bytes =
    'bounds' in task ? task.bounds.memoryBytesMax : 'memoryBytesMax' in task ? task.memoryBytesMax : null;
  if (bytes === null) return {};
  // A map of lecturers is parsed in one call, and if memory ran out in that call, V8 would end the process instead of
  // the thread.
  const moreBytes = task.task === 'load' && hasLecturerIds(task.source) ? LECTURER_IDS_HEAP_BYTES : 0;
  const heapBytes = Math.min(bytes, getHeapStatistics().heap_size_limit) + moreBytes;
  return { maxOldGenerationSizeMb: Math.floor(heapBytes / (1024 * 1024)) };
}

function hasLecturerIds(source: LoadTask['source']): boolean {
  if (source.kind === 'stream') return false;
  return source.lecturerIds !== undefined || (source.kind === 'merged' && source.specs.some(hasLecturerIds));
}

const SILENT_SECONDS: number = (THREAD_PULSE_MS * (THREAD_PULSES_MISSED_MAX + 1)) / 1000;

export class SilentThread extends Error {
  constructor() {
    super(`did not answer for ${SILENT_SECONDS} s, and was ended`);
  }
}

/**
 * Notices from outside that a thread hangs: each of its messages is a beat, and an idle thread sends one every
 * THREAD_PULSE_MS. Limits inside the thread would hang with it. A pause of the whole process counts as one missed beat.
 */
export class ThreadPulse {
  readonly #timer: NodeJS.Timeout;
  #missed = 0;

  constructor(onSilent: () => void, missedMax: number) {
    this.#timer = setInterval(() => {
      if (this.#missed++ < missedMax) return;
      this.stop();
      onSilent();
    }, THREAD_PULSE_MS).unref();
  }

  beat(): void {
    this.#missed = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
