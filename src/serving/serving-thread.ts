import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import type { Logger } from '../http/logger.js';
import type { OverloadCounts } from '../http/server/overload.js';
import type { StartThread } from '../thread/start-thread.js';
import type { Handlers } from '../thread/task-messages.js';
import type { FromThread, ServingTask, ToThread } from './thread-messages.js';
import { youngGenerationMbOf } from './worker-count.js';

/** Time after the deadline until a thread that has not closed is ended. */
const CLOSE_GRACE_MS = 1000;

export class ServingThread {
  /** Number of the publication that the thread answers from; 0 before the first publication. */
  serving = 0;
  load: OverloadCounts = { isOverloaded: false, refused: 0, overloads: 0 };
  /** Resolves when the thread accepts connections; rejects with a LecternError if it cannot. */
  readonly listening: Promise<void>;
  /** Resolves when the thread has ended: to the reason, or to null if the thread was told to end. */
  readonly ended: Promise<Error | null>;
  readonly #worker: Worker;
  #closing = false;

  /** @param wantKeys is called when the thread waits for newer keys */
  constructor(start: StartThread, task: ServingTask, log: Logger | undefined, wantKeys: () => void) {
    const youngMb = youngGenerationMbOf(task.settings.workers);
    const worker = start({
      workerData: task,
      name: 'lectern serving',
      ...(youngMb === null ? {} : { resourceLimits: { maxYoungGenerationSizeMb: youngMb } }),
    });
    this.#worker = worker;
    // Every caller that waits for a publication adds a listener.
    worker.setMaxListeners(0);
    const logWaiting = new Int32Array(task.logWaiting);
    let reason: Error | null = null;
    this.ended = new Promise((resolve) => {
      worker.on('error', (error: Error) => {
        reason = error;
      });
      worker.on('exit', (code) => {
        resolve(this.#closing ? null : (reason ?? new Error(`it ended with exit code ${code}`)));
      });
    });
    this.listening = new Promise((resolve, reject) => {
      const handlers: Handlers<FromThread> = {
        listening: () => resolve(),
        failed({ code, message }) {
          reason = code === null ? new Error(message) : new LecternError(code, message);
          reject(reason);
        },
        serving: ({ number }) => {
          this.serving = number;
        },
        load: ({ load }) => {
          this.load = load;
        },
        'want-keys': wantKeys,
        log: ({ level, fields, message }) => {
          Atomics.sub(logWaiting, 0, 1);
          log?.[level](fields, message);
        },
      };
      worker.on('message', (message: FromThread) => {
        (handlers[message.kind] as (message: FromThread) => void)(message);
      });
      void this.ended.then((why) => reject(why ?? new LecternError('closed', 'the thread was closed')));
    });
    this.listening.catch(() => {});
  }

  /** Resolves when the thread answers from this publication, or has ended. */
  async serves(number: number): Promise<void> {
    let hasEnded = false;
    const end = this.ended.then(() => {
      hasEnded = true;
    });
    while (this.serving < number && !hasEnded) {
      await Promise.race([once(this.#worker, 'message').catch(() => end), end]);
    }
  }

  send(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /** Gives unfinished answers time until the deadline, then ends the thread if it has not closed. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing = true;
    this.send({ kind: 'close', deadlineMs });
    const tooLong = setTimeout(() => this.terminate(), deadlineMs + CLOSE_GRACE_MS);
    await this.ended;
    clearTimeout(tooLong);
  }

  terminate(): void {
    void this.#worker.terminate();
  }
}
