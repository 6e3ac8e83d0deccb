/**
 * Builds the image of a load on a second thread. The thread of the load reads: it writes rows into batches, and the second
 * thread gives them to an ImageBuild in the same order, so the image is the same. Once all is read, the first thread writes
 * the rows of the image while the second one makes the rest.
 */
import { availableParallelism } from 'node:os';
import { isMainThread, type MessagePort, type Worker } from 'node:worker_threads';
import { LecternError } from '../../base/errors.js';
import {
  BATCH_BYTES,
  BATCHES_BEFORE_THREAD,
  BATCHES_MAX,
  BUILD_THREAD_BYTES,
  BUILD_THREAD_LOAD_BYTES_MIN,
  ROWS_JOB_BYTES_PER_EVENT,
  THREAD_PULSE_MS,
  THREAD_PULSES_MISSED_MAX,
} from '../../base/limits.js';
import type { Rejection } from '../../base/model/event.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { Row } from '../../base/structures/row.js';
import type { BeginRows } from '../../snapshot/builder.js';
import {
  heapBytes,
  type IntakeBounds,
  OUT_OF_MEMORY,
  type Refusal,
  RefusedLoad,
  refusalOf,
} from '../../snapshot/intake-bounds.js';
import type { ReadingNotes } from '../../snapshot/summary.js';
import { inSharedMemory, type RowsJob, writeRows } from '../../snapshot/write-rows.js';
import { RowBatch } from '../../source/row-batch.js';
import type { RowSink } from '../../source/source.js';
import { type Built, ImageBuild, type ImageBuildOptions } from './image-build.js';
import { prepareThread, type StartThread } from './start-thread.js';
import { errorOf, type Failed, taskFailureOf } from './task-messages.js';
import { heapLimits, isOutOfMemory } from './task-thread.js';

/** The work of a thread that builds. */
export interface BuildTask extends ImageBuildOptions {
  /** See TAKEN and WRITTEN. */
  readonly state: SharedArrayBuffer;
}

type ToBuild =
  | {
      readonly kind: 'batch';
      readonly memory: SharedArrayBuffer;
      readonly length: number;
      readonly objects: unknown[];
      /** What the load holds on the thread that reads. */
      readonly heldBytes: number;
    }
  | { readonly kind: 'finish'; readonly notes: ReadingNotes };

type FromBuild =
  | { readonly kind: 'write-rows'; readonly job: RowsJob }
  | { readonly kind: 'built'; readonly built: Built }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | Failed;

/** Numbers that both threads see: batches that were taken, and 1 once the rows are written. */
const TAKEN = 0;
const WRITTEN = 1;
const STATE_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;
/** Shorter than the time after which the thread of the load, which waits, would count as one that hangs. */
const SILENT_MS_MAX = THREAD_PULSE_MS * (THREAD_PULSES_MISSED_MAX - 1);
const WAIT_MS_MAX = 1000;
/** A builder that has failed takes every batch, so that the reader does not wait for it. */
const TAKES_ALL = 2 ** 30;

/** How to start the second thread of a load, and when. */
export interface SecondThread {
  readonly start: StartThread;
  /** Default BATCH_BYTES. */
  readonly batchBytes?: number;
  /** Default BATCHES_BEFORE_THREAD. */
  readonly batchesBefore?: number;
  /** How long the thread may take no batch. Default SILENT_MS_MAX. */
  readonly silentMsMax?: number;
}

/** Null if there is no second core, or too little memory. */
export async function prepareSecondThread({ memoryBytesMax }: IntakeBounds): Promise<SecondThread | null> {
  const isTight = memoryBytesMax !== null && memoryBytesMax < BUILD_THREAD_LOAD_BYTES_MIN;
  if (isMainThread || isTight || availableParallelism() < 2) return null;
  // The last argument of a thread that loads is its own script.
  return {
    start: await prepareThread('/refresh/thread/task-worker.ts', async () => process.argv.at(-1) as string),
  };
}

/** Gives rows to an ImageBuild of the calling thread, until they are so many that a second thread is worth its start. */
export class BuildInBatches implements RowSink {
  readonly #own: ImageBuild;
  readonly #options: ImageBuildOptions;
  readonly #thread: Required<SecondThread>;
  readonly #state = new Int32Array(new SharedArrayBuffer(STATE_BYTES));
  readonly #memory: SharedArrayBuffer[] = [];
  readonly #heapBytesBefore: number = heapBytes();
  #batch: RowBatch | null = null;
  /** Whole batches before the thread was started. */
  #waiting: ToBuild[] = [];
  #batches = 0;
  #copyBytes = 0;
  /** How long no batch was taken while this thread waited. */
  #silentMs = 0;
  #worker: Worker | null = null;
  #built: Promise<Built> | null = null;
  #failure: Error | null = null;

  constructor(own: ImageBuild, options: ImageBuildOptions, thread: SecondThread) {
    this.#own = own;
    this.#options = options;
    this.#thread = {
      batchBytes: BATCH_BYTES,
      batchesBefore: BATCHES_BEFORE_THREAD,
      silentMsMax: SILENT_MS_MAX,
      ...thread,
    };
  }

  row(row: Row, rules: ReadRules): void {
    this.#check();
    if (this.#worker === null) this.#own.row(row, rules);
    if (this.#batch?.row(row, rules) !== true) this.#next(RowBatch.bytesOf(row)).row(row, rules);
  }

  retract(id: string, rules: ReadRules): void {
    this.#check();
    if (this.#worker === null) this.#own.retract(id, rules);
    if (this.#batch?.retract(id, rules) !== true) this.#next(0).retract(id, rules);
  }

  fault(rejection: Rejection): void {
    this.#check();
    if (this.#worker === null) this.#own.fault(rejection);
    if (this.#batch?.fault(rejection) !== true) this.#next(0).fault(rejection);
  }

  chunk(): void {
    if (this.#worker === null) this.#own.chunk();
  }

  hold(bytes: number): void {
    this.#copyBytes = bytes;
    if (this.#worker === null) this.#own.hold(bytes);
  }

  allRead(): void {
    if (this.#worker === null) this.#own.allRead();
  }

  async finish(notes: ReadingNotes): Promise<Built> {
    this.#check();
    if (this.#built === null) return this.#own.finish(notes);
    this.#end();
    this.#post({ kind: 'finish', notes });
    return this.#built;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Ends the batch. @returns an empty one with at least this much memory */
  #next(bytes: number): RowBatch {
    this.#end();
    if (this.#worker === null && this.#batches === this.#thread.batchesBefore) this.#begin();
    const isFree = this.#batches < BATCHES_MAX || this.#waitFor(this.#batches - BATCHES_MAX + 1);
    const place = this.#batches++ % BATCHES_MAX;
    let memory = this.#memory[place];
    if (!isFree || memory === undefined || memory.byteLength < bytes) {
      memory = new SharedArrayBuffer(Math.max(this.#thread.batchBytes, bytes));
      this.#memory[place] = memory;
    }
    this.#batch = new RowBatch(memory);
    return this.#batch;
  }

  #end(): void {
    if (this.#batch === null) return;
    const { memory, length, objects } = this.#batch;
    const heapGrown = Math.max(0, heapBytes() - this.#heapBytesBefore);
    const heldBytes = this.#copyBytes + heapGrown + BUILD_THREAD_BYTES;
    this.#post({ kind: 'batch', memory, length, objects, heldBytes });
  }

  #post(message: ToBuild): void {
    if (this.#worker === null) this.#waiting.push(message);
    else this.#worker.postMessage(message);
  }

  #begin(): void {
    const { memoryBytesMax } = this.#options.bounds;
    const workerData: BuildTask = { ...this.#options, state: this.#state.buffer };
    const worker = this.#thread.start({
      workerData,
      name: 'lectern build',
      resourceLimits: heapLimits(memoryBytesMax),
    });
    this.#built = new Promise((resolve, reject) => {
      worker.on('message', (message: FromBuild) => {
        if (message.kind === 'write-rows') this.#write(message.job, reject);
        else if (message.kind === 'built') resolve(message.built);
        else if (message.kind === 'refused')
          reject(new RefusedLoad(message.refusal.code, message.refusal.detail));
        else reject(errorOf(message));
      });
      worker.on('error', (error) =>
        reject(isOutOfMemory(error) ? new RefusedLoad(OUT_OF_MEMORY.code, OUT_OF_MEMORY.detail) : error),
      );
      worker.on('exit', () => reject(new Error('the thread that builds the image ended without a result')));
    });
    this.#built.catch((error: Error) => {
      this.#failure = error;
    });
    this.#worker = worker;
    for (const message of this.#waiting) worker.postMessage(message);
    this.#waiting = [];
  }

  #write(job: RowsJob, reject: (error: unknown) => void): void {
    try {
      writeRows(job);
    } catch (error) {
      reject(error);
    }
    // Also after an error, which ends the load.
    Atomics.store(this.#state, WRITTEN, 1);
    Atomics.notify(this.#state, WRITTEN);
  }

  /**
   * Blocks until so many batches are taken: a source cannot be told to wait.
   *
   * @returns false after a second, so that this thread can learn whether the other one has died
   */
  #waitFor(batches: number): boolean {
    const state = this.#state;
    const { silentMsMax } = this.#thread;
    const pauseMs = Math.min(WAIT_MS_MAX, silentMsMax);
    for (;;) {
      const taken = Atomics.load(state, TAKEN);
      if (taken >= batches) return true;
      if (Atomics.wait(state, TAKEN, taken, pauseMs) === 'timed-out') break;
      this.#silentMs = 0;
    }
    this.#silentMs += pauseMs;
    if (this.#silentMs < silentMsMax) return false;
    throw new LecternError(
      'source-unreadable',
      `the thread that builds the image took no records for ${silentMsMax / 1000} s, and was ended`,
    );
  }
}

/** Runs on the second thread. */
export function runBuild(task: BuildTask, port: MessagePort): void {
  const build = new ImageBuild(task);
  const state = new Int32Array(task.state);
  const tell = (message: FromBuild): void => port.postMessage(message);
  const begin: BeginRows = (job) => {
    if (!build.mayHold(ROWS_JOB_BYTES_PER_EVENT * job.order.length)) return () => writeRows(job);
    tell({ kind: 'write-rows', job: inSharedMemory(job) });
    return () => void Atomics.wait(state, WRITTEN, 0);
  };
  const take = (message: ToBuild): void => {
    if (message.kind === 'finish') {
      build.allRead();
      tell({ kind: 'built', built: build.finish(message.notes, begin) });
      port.close();
      return;
    }
    const { memory, length, objects, heldBytes } = message;
    build.hold(heldBytes);
    new RowBatch(memory, length, objects).replay(build);
    Atomics.add(state, TAKEN, 1);
    Atomics.notify(state, TAKEN);
  };
  port.on('message', (message: ToBuild) => {
    try {
      take(message);
    } catch (error) {
      tell(failureOf(error));
      port.close();
      Atomics.store(state, TAKEN, TAKES_ALL);
      Atomics.notify(state, TAKEN);
    }
  });
}

function failureOf(error: unknown): FromBuild {
  try {
    return refusalOf(error);
  } catch {
    return { kind: 'failed', ...taskFailureOf(error) };
  }
}
