import { cannotRead, LecternError } from '../../base/errors.js';
import { DATABASE_HEAP_MIB, THREAD_PULSES_MISSED_MAX } from '../../base/limits.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { FollowState } from '../../base/model/source-state.js';
import type { RecordLoadOptions, RecordWatch } from '../../source/memory-source.js';
import type { FollowedLoad, PostgresSpec } from '../../source/postgres/postgres-address.js';
import { sourceOfSpec } from '../../source/spec.js';
import type { DoneOf, EndWholeTask, FollowTask } from './task-messages.js';
import { isOutOfMemory, SilentThread, TaskThread } from './task-thread.js';

/**
 * Follows a table on a thread of its own, so that nothing that a database sends can stop the main thread.
 * A thread that hangs, fails or needs too much memory is ended, and the next load starts another. A change that it did not
 * report is found by that load.
 */
export class DatabaseThread {
  state: FollowState | null = null;
  readonly #source: PostgresSpec;
  readonly #rules: ReadRules;
  readonly #thread: TaskThread<FollowTask | EndWholeTask>;
  #onChange: (() => void) | null = null;
  /** Why an idle thread ended; the next load reports it. */
  #fault: unknown = null;

  /** @param missedMax beats that the thread may miss */
  constructor(source: PostgresSpec, rules: ReadRules, missedMax: number = THREAD_PULSES_MISSED_MAX) {
    this.#source = source;
    this.#rules = rules;
    this.#thread = new TaskThread({
      idleMsMax: Number.POSITIVE_INFINITY,
      missedMax,
      onTold: (message) => {
        if (message.kind === 'changed') this.#onChange?.();
        else if (message.kind === 'alive') this.state = message.followed ?? this.state;
      },
      onLost: (error) => {
        this.#fault = error;
        this.#onChange?.();
      },
    });
  }

  watch(onChange: () => void): RecordWatch {
    this.#onChange = onChange;
    return {
      close: () => {
        this.#onChange = null;
        this.#thread.close();
      },
    };
  }

  async next({ previous, served }: RecordLoadOptions): Promise<FollowedLoad> {
    const [source, rules] = [this.#source, this.#rules];
    if (this.#onChange === null)
      return { whole: { ...source, follow: false }, version: null, async end() {} };
    const fault = this.#fault;
    this.#fault = null;
    if (fault !== null) throw this.#failureOf(fault);
    const { load } = await this.#ask({ task: 'follow-table', source, rules, previous, served });
    if (!('whole' in load)) return load;
    const { worker } = this.#thread;
    const end = async (isGood: boolean): Promise<void> => {
      if (worker !== null && this.#thread.worker === worker) await this.#ask({ task: 'end-whole', isGood });
      // Another thread does not know this load, and after a close there is none.
      else if (isGood) throw this.#failure('ended while the table was read');
    };
    return { ...load, end };
  }

  #ask<T extends FollowTask | EndWholeTask>(task: T): Promise<DoneOf<T>> {
    return this.#thread.run(task, {}).catch((error: unknown) => {
      throw this.#failureOf(error);
    });
  }

  #failureOf(error: unknown): Error {
    if (error instanceof LecternError) return error;
    if (isOutOfMemory(error)) return this.#failure(`needed more than ${DATABASE_HEAP_MIB} MiB`);
    const reason = error instanceof Error ? error.message : String(error);
    return this.#failure(error instanceof SilentThread ? reason : `failed: ${reason}`);
  }

  #failure(problem: string): LecternError {
    return cannotRead(sourceOfSpec(this.#source).name, `the thread that reads the database ${problem}`);
  }
}
