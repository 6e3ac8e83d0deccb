import type { Worker } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import type { Logger } from '../http/logger.js';
import type { OverloadCounts } from '../http/server/overload.js';
import { startThread, type ThreadEntry } from '../thread/start-thread.js';
import type { FromThread, ServingTask, ToThread } from './thread-messages.js';

const ENTRY: ThreadEntry = {
  source: '/serving/serving-worker.ts',
  text: async () => (await import('./serving-text.js')).SERVING_TEXT,
};

/** How much longer than its deadline a thread may take to close before it is ended. */
const CLOSE_GRACE_MS = 1000;

export interface ServingThreadEvents {
  readonly log?: Logger | undefined;
  /** It answers from the publication of this number. */
  serving(number: number): void;
  load(load: OverloadCounts): void;
  /** It wants newer keys, and waits for a reply. */
  wantKeys(): void;
}

/** One thread that serves. */
export class ServingThread {
  /** Resolves when it accepts connections; rejects with a LecternError where it cannot. */
  readonly listening: Promise<void>;
  /** Resolves when it has ended, to why: null where it was told to. */
  readonly ended: Promise<Error | null>;
  readonly #worker: Worker;
  #closing = false;

  private constructor(worker: Worker, { logWaiting }: ServingTask, events: ServingThreadEvents) {
    this.#worker = worker;
    const waiting = new Int32Array(logWaiting);
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
          case 'failed':
            reason =
              message.code === null
                ? new Error(message.message)
                : new LecternError(message.code, message.message);
            reject(reason);
            return;
          case 'serving':
            events.serving(message.number);
            return;
          case 'load':
            events.load(message.load);
            return;
          case 'want-keys':
            events.wantKeys();
            return;
          case 'log':
            Atomics.sub(waiting, 0, 1);
            events.log?.[message.level](message.fields, message.message);
        }
      });
      void this.ended.then((why) => reject(why ?? new LecternError('closed', 'the thread was closed')));
    });
    this.listening.catch(() => {});
  }

  /** @param youngMb bound of its young generation in MB; null for V8's own */
  static async start(
    task: ServingTask,
    youngMb: number | null,
    events: ServingThreadEvents,
  ): Promise<ServingThread> {
    const worker = await startThread(ENTRY, {
      workerData: task,
      name: 'lectern serving',
      ...(youngMb === null ? {} : { resourceLimits: { maxYoungGenerationSizeMb: youngMb } }),
    });
    return new ServingThread(worker, task, events);
  }

  send(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /** Lets answers in flight finish until the deadline; one that does not even close is ended. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing = true;
    this.send({ kind: 'close', deadlineMs });
    const tooLong = setTimeout(() => void this.terminate(), deadlineMs + CLOSE_GRACE_MS);
    await this.ended;
    clearTimeout(tooLong);
  }

  /** Ends it at once. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
