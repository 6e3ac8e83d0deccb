import type { Worker } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import type { Logger } from '../http/logger.js';
import type { OverloadCounts } from '../http/server/overload.js';
import type { StartThread } from '../thread/start-thread.js';
import type { FromThread, ServingTask, ToThread } from './thread-messages.js';

/** How much longer than its deadline a thread may take to close before it is ended. */
const CLOSE_GRACE_MS = 1000;

export interface ServingThreadEvents {
  readonly log: Logger | undefined;
  serving(): void;
  /** It wants newer keys, and waits for a reply. */
  wantKeys(): void;
}

export class ServingThread {
  /** Number of the publication that it answers from; 0 for none. */
  serving = 0;
  load: OverloadCounts = { isOverloaded: false, refused: 0, overloads: 0 };
  /** Resolves when it accepts connections; rejects with a LecternError where it cannot. */
  readonly listening: Promise<void>;
  /** Resolves when it has ended, to the reason: null where it was told to. */
  readonly ended: Promise<Error | null>;
  readonly #worker: Worker;
  #closing = false;

  /** @param youngMb bound of its young generation in MB; null for V8's own */
  constructor(start: StartThread, task: ServingTask, youngMb: number | null, events: ServingThreadEvents) {
    const worker = start({
      workerData: task,
      name: 'lectern serving',
      ...(youngMb === null ? {} : { resourceLimits: { maxYoungGenerationSizeMb: youngMb } }),
    });
    this.#worker = worker;
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
      worker.on('message', (message: FromThread) => {
        switch (message.kind) {
          case 'listening':
            resolve();
            return;
          case 'failed': {
            const { code, message: problem } = message;
            reason = code === null ? new Error(problem) : new LecternError(code, problem);
            reject(reason);
            return;
          }
          case 'serving':
            this.serving = message.number;
            events.serving();
            return;
          case 'load':
            this.load = message.load;
            return;
          case 'want-keys':
            events.wantKeys();
            return;
          case 'log':
            Atomics.sub(logWaiting, 0, 1);
            events.log?.[message.level](message.fields, message.message);
        }
      });
      void this.ended.then((why) => reject(why ?? new LecternError('closed', 'the thread was closed')));
    });
    this.listening.catch(() => {});
  }

  send(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /** Lets answers in flight finish until the deadline; a thread that does not close is ended. */
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
