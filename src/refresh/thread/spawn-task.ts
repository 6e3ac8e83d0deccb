import { setTimeout as delay } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import type { ResourceLimits, Worker } from 'node:worker_threads';
import { LecternError } from '../../base/errors.js';
import { LECTURER_IDS_HEAP_BYTES, THREAD_END_MS_MAX } from '../../base/limits.js';
import { OUT_OF_MEMORY } from '../../snapshot/intake-bounds.js';
import { hasPattern } from '../../source/map-value.js';
import { sourceOfSpec } from '../../source/spec.js';
import { prepareThread } from './start-thread.js';
import { errorOf, taskFailureOf } from './task-failure.js';
import type {
  ByteChunks,
  DoneOf,
  FromTask,
  LoadTask,
  SecretsAnswer,
  StreamChunk,
  Task,
  TaskListeners,
} from './task-messages.js';
import { SILENT_SECONDS, ThreadPulse } from './thread-pulse.js';

export interface SpawnOptions extends TaskListeners {
  /** The chunks of a task whose source is a stream. Each chunk has its own buffer, which is transferred. */
  readonly chunks?: ByteChunks | undefined;
  /** Called with a promise of the thread's end if the thread does not end in time: a system call may hang forever. */
  readonly onStuck?: (end: Promise<void>) => void;
}

/**
 * Runs a task on another thread, and ends a thread that hangs while it reads. Throws the errors of the task, the
 * signal's reason, and errors of `onProgress`.
 */
export async function spawnTask<T extends Task>(task: T, options: SpawnOptions): Promise<DoneOf<T>> {
  const { signal, chunks } = options;
  signal?.throwIfAborted();
  const reads = task.task === 'load' || task.task === 'read-rooms';
  const start = await prepareThread('/refresh/thread/task-worker.ts', () =>
    textOf(reads && needsClients(task) ? 'database' : task.task),
  );
  signal?.throwIfAborted();
  const worker = start({
    workerData: task,
    name: `lectern ${task.task}`,
    ...(task.task === 'load' ? { resourceLimits: limitsOfLoad(task) } : {}),
  });
  const abort = (): void => void worker.terminate();
  signal?.addEventListener('abort', abort, { once: true });
  const hung = new AbortController();
  const pulse = reads ? new ThreadPulse(() => hung.abort(silenceOf(task.source))) : null;
  try {
    return (await resultOf(worker, options, undefined, { pulse, hung: hung.signal })) as DoneOf<T>;
  } catch (error) {
    if (task.task !== 'load' || !isOutOfMemory(error)) throw error;
    return { kind: 'refused', refusal: OUT_OF_MEMORY } as DoneOf<T>;
  } finally {
    pulse?.stop();
    signal?.removeEventListener('abort', abort);
    await threadEnd(worker, options);
    const returned = chunks?.return(undefined);
    // The stream waits for its last requested record, but an abort must not wait.
    if (signal?.aborted) returned?.catch(() => {});
    else await returned;
  }
}

/**
 * The clients of PostgreSQL and NATS, and the engines of JSONata and of patterns, are as large as all other code, so only
 * tasks that need one of them get the script with them.
 */
export async function textOf(kind: Task['task'] | 'database'): Promise<string> {
  return kind === 'fetch-image' || kind === 'database'
    ? (await import('./client-worker-text.js')).CLIENT_WORKER_TEXT
    : (await import('./worker-text.js')).WORKER_TEXT;
}

/** Beats until the records are read. */
interface Watched {
  readonly pulse: ThreadPulse | null;
  /** Aborted with an error when the thread hangs. */
  readonly hung: AbortSignal;
}

function silenceOf(source: LoadTask['source']): LecternError {
  const { name } = source.kind === 'stream' ? source : sourceOfSpec(source);
  return new LecternError(
    'source-unreadable',
    `cannot read ${name}: the thread that reads it did not answer for ${SILENT_SECONDS} s, and was ended`,
  );
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
export function heapLimits(memoryBytesMax: number | null, moreBytes = 0): ResourceLimits {
  if (memoryBytesMax === null) return {};
  const bytes = Math.min(memoryBytesMax, getHeapStatistics().heap_size_limit) + moreBytes;
  return { maxOldGenerationSizeMb: Math.floor(bytes / (1024 * 1024)) };
}

/**
 * A map of lecturers gets additional heap: it is parsed in one call, and if memory ran out in that call, V8
 * would end the process instead of the thread.
 */
function limitsOfLoad({ bounds: { memoryBytesMax }, source }: LoadTask): ResourceLimits {
  return heapLimits(memoryBytesMax, hasLecturerIds(source) ? LECTURER_IDS_HEAP_BYTES : 0);
}

function hasLecturerIds(source: LoadTask['source']): boolean {
  if (source.kind === 'stream') return false;
  return source.lecturerIds !== undefined || (source.kind === 'merged' && source.specs.some(hasLecturerIds));
}

/** Ends a thread. */
export async function threadEnd(
  worker: Worker,
  { onStuck, signal }: Pick<SpawnOptions, 'onStuck' | 'signal'>,
): Promise<void> {
  const end = worker.terminate().then(() => {});
  const tooLong = delay(THREAD_END_MS_MAX, true, { ref: false });
  const isStuck = await Promise.race([end.then(() => false), tooLong]);
  if (isStuck && !signal?.aborted) onStuck?.(end);
}

/**
 * The result of the thread's present task.
 *
 * @param stop aborted once the thread may take another task
 */
export function resultOf(
  worker: Worker,
  options: SpawnOptions,
  stop?: AbortSignal,
  watched?: Watched,
): Promise<DoneOf<Task>> {
  const { signal, onProgress, onVersion, onParts, chunks } = options;
  return new Promise((resolve, reject) => {
    watched?.hung.addEventListener('abort', () => reject(watched.hung.reason));
    const take = (message: FromTask): void => {
      watched?.pulse?.beat();
      if (message.kind === 'alive') return;
      if (message.kind === 'read') watched?.pulse?.stop();
      else if (message.kind === 'progress') onProgress?.(message.progress);
      else if (message.kind === 'version') onVersion?.(message.version);
      else if (message.kind === 'parts') onParts?.(message.report);
      else if (message.kind === 'more') void postNextChunk(worker, chunks as ByteChunks);
      else if (message.kind === 'want-secrets') void answerSecrets(worker, message, options);
      else if (message.kind === 'failed') throw errorOf(message);
      else resolve(message);
    };
    const onMessage = (message: FromTask): void => {
      try {
        take(message);
      } catch (error) {
        // An uncaught error of the program's onProgress would end the process.
        reject(error);
      }
    };
    const onExit = (): void => {
      reject(signal?.aborted ? signal.reason : new Error('the build thread ended without a result'));
    };
    worker.on('message', onMessage).on('error', reject).on('exit', onExit);
    stop?.addEventListener('abort', () => {
      worker.off('message', onMessage).off('error', reject).off('exit', onExit);
    });
  });
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
  worker: Worker,
  { number, credentials, refused }: Extract<FromTask, { readonly kind: 'want-secrets' }>,
  { askSecretHeaders }: SpawnOptions,
): Promise<void> {
  const post = (answer: SecretsAnswer): void => worker.postMessage(answer);
  try {
    if (askSecretHeaders === undefined) throw new Error('the build thread does not know these credentials');
    post({ number, secrets: await askSecretHeaders(credentials, refused) });
  } catch (error) {
    post({ number, failure: taskFailureOf(error) });
  }
}

export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
