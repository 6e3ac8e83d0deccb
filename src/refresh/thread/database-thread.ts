import type { Worker } from 'node:worker_threads';
import { LecternError } from '../../base/errors.js';
import { DATABASE_HEAP_MIB } from '../../base/limits.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { FollowState } from '../../base/model/source-state.js';
import type { FollowedLoad } from '../../source/postgres/follower.js';
import type { PostgresSpec } from '../../source/postgres/postgres-spec.js';
import type { RecordLoadOptions, RecordWatch } from '../../source/records.js';
import { sourceOfSpec } from '../../source/spec.js';
import { isOutOfMemory, textOf } from './spawn-task.js';
import { prepareThread, type ThreadHeap } from './start-thread.js';
import { errorOf } from './task-failure.js';
import type { Failed } from './task-messages.js';
import { SILENT_SECONDS, ThreadPulse } from './thread-pulse.js';

/** The work of a thread that follows a table until it is ended. */
export interface FollowTask {
  readonly task: 'follow-table';
  readonly source: PostgresSpec;
  readonly rules: ReadRules;
}

export type ToFollower =
  | ({ readonly kind: 'next'; readonly number: number } & Pick<RecordLoadOptions, 'previous' | 'served'>)
  /** The whole load of this number has ended. */
  | { readonly kind: 'end'; readonly number: number; readonly isGood: boolean };

type Sent<Load> = Load extends { readonly whole: unknown } ? Omit<Load, 'end'> : Load;

type Answer = { readonly number: number } & (
  | { readonly kind: 'given'; readonly load: Sent<FollowedLoad> }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly failure: Omit<Failed, 'kind'> }
);

export type FromFollower =
  | { readonly kind: 'alive'; readonly state: FollowState; readonly heap: ThreadHeap }
  | { readonly kind: 'changed' }
  | Answer;

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/**
 * Follows a table on a thread of its own, so that nothing that a database sends can stop this thread.
 * A thread that hangs, fails or needs too much memory is ended, and the next load starts another. A change that it did not
 * report is found by that load.
 */
export class DatabaseThread {
  state: FollowState | null = null;
  readonly #task: FollowTask;
  readonly #missedMax: number | undefined;
  #onChange: (() => void) | null = null;
  #worker: Promise<Worker> | null = null;
  #pulse: ThreadPulse | null = null;
  /** Why the last thread ended; the next load reports it. */
  #fault: LecternError | null = null;
  #number = 0;
  readonly #waiting = new Map<number, Waiting>();

  /** @param missedMax beats that the thread may miss; see {@link ThreadPulse} */
  constructor(source: PostgresSpec, rules: ReadRules, missedMax?: number) {
    this.#task = { task: 'follow-table', source, rules };
    this.#missedMax = missedMax;
  }

  watch(onChange: () => void): RecordWatch {
    this.#onChange = onChange;
    return {
      close: () => {
        this.#onChange = null;
        this.#end(new LecternError('closed', 'the timetable was closed'));
      },
    };
  }

  async next({ previous, served }: RecordLoadOptions): Promise<FollowedLoad> {
    const { source } = this.#task;
    if (this.#onChange === null)
      return { whole: { ...source, follow: false }, version: null, async end() {} };
    const fault = this.#fault;
    this.#fault = null;
    if (fault !== null) throw fault;
    const number = ++this.#number;
    const answer = await this.#ask({ kind: 'next', number, previous, served });
    if (answer.kind !== 'given') throw new Error('a load was asked for');
    const { load } = answer;
    if (!('whole' in load)) return load;
    const worker = this.#worker;
    const end = async (isGood: boolean): Promise<void> => {
      if (this.#worker === worker) await this.#ask({ kind: 'end', number, isGood });
      // Another thread does not know this load, and after a close there is none.
      else if (isGood) throw this.#failure('ended while the table was read');
    };
    return { ...load, end };
  }

  #failure(problem: string): LecternError {
    const { name } = sourceOfSpec(this.#task.source);
    return new LecternError(
      'source-unreadable',
      `cannot read ${name}: the thread that reads the database ${problem}`,
    );
  }

  async #ask(message: ToFollower): Promise<Answer> {
    const worker = await this.#started();
    const answer = await new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(message.number, { resolve, reject });
      worker.postMessage(message);
    });
    if (answer.kind === 'failed') throw errorOf(answer.failure);
    return answer;
  }

  #started(): Promise<Worker> {
    this.#worker ??= this.#start().catch((error) => {
      this.#worker = null;
      throw error;
    });
    return this.#worker;
  }

  async #start(): Promise<Worker> {
    const start = await prepareThread('/refresh/thread/task-worker.ts', () => textOf('database'));
    const resourceLimits = { maxOldGenerationSizeMb: DATABASE_HEAP_MIB };
    const worker = start({ workerData: this.#task, name: 'lectern database', resourceLimits });
    worker.unref();
    const pulse = new ThreadPulse(
      () => fail(`did not answer for ${SILENT_SECONDS} s, and was ended`),
      this.#missedMax,
    );
    this.#pulse = pulse;
    const fail = (problem: string): void => {
      if (this.#pulse === pulse) this.#replace(this.#failure(problem));
    };
    worker.on('message', (message: FromFollower) => {
      pulse.beat();
      if (message.kind === 'alive') {
        this.state = message.state;
        return;
      }
      if (message.kind === 'changed') {
        this.#onChange?.();
        return;
      }
      this.#waiting.get(message.number)?.resolve(message);
      this.#waiting.delete(message.number);
    });
    worker.on('error', (error) =>
      fail(isOutOfMemory(error) ? `needed more than ${DATABASE_HEAP_MIB} MiB` : `failed: ${error.message}`),
    );
    worker.on('exit', () => fail('ended'));
    return worker;
  }

  #replace(error: LecternError): void {
    // A load that waits for the thread fails with the error.
    if (this.#waiting.size === 0) this.#fault = error;
    this.#end(error);
    if (this.#fault !== null) this.#onChange?.();
  }

  #end(error: Error): void {
    this.#pulse?.stop();
    this.#pulse = null;
    const worker = this.#worker;
    this.#worker = null;
    void worker?.then(
      (each) => each.terminate(),
      () => {},
    );
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
