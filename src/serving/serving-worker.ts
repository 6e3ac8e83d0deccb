import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { PresentAccess } from '../auth/access.js';
import type { KeyFeed, KeyState } from '../auth/remote-key-set.js';
import { LecternError } from '../errors.js';
import type { Logger } from '../http/logger.js';
import { useInnerParts } from '../http/node/inner-parts.js';
import { duplicateSocket } from '../http/node/listener.js';
import type { OverloadCounts } from '../http/server/overload.js';
import type { HttpServer } from '../http/server/server.js';
import { ANSWER_CACHE_SHARE, LOG_MESSAGES_MAX } from '../limits.js';
import { CELL } from '../metrics/cells.js';
import { Meter } from '../metrics/meter.js';
import { startSampling } from '../metrics/sampling.js';
import { monotonicMs } from '../model/clock.js';
import type { Handlers } from '../thread/task-messages.js';
import { Weight } from '../thread/weight.js';
import { Present } from '../view/present.js';
import { serverOfPlan } from './server-plan.js';
import type { FromThread, NumberedPublication, ServingTask, ToThread } from './thread-messages.js';

export class PostedKeys implements KeyFeed {
  state: KeyState;
  readonly #ask: () => void;
  readonly #listeners: (() => void)[] = [];
  #replied: Promise<void> | null = null;
  #resolve = (): void => {};

  /** @param ask posts a request for newer keys; the reply goes to `receive` */
  constructor(state: KeyState, ask: () => void) {
    this.state = state;
    this.#ask = ask;
  }

  /** During the cooldown no request is posted, so forged tokens cost only the thread that receives them. */
  want(): Promise<void> {
    if (this.#replied !== null) return this.#replied;
    if (monotonicMs() < this.state.nextFetchMs) return Promise.resolve();
    this.#replied = new Promise<void>((resolve) => {
      this.#resolve = resolve;
    });
    this.#ask();
    return this.#replied;
  }

  follow(listener: () => void): void {
    this.#listeners.push(listener);
  }

  receive(state: KeyState, isReply: boolean): void {
    this.state = state;
    for (const listener of this.#listeners) listener();
    if (!isReply) return;
    this.#replied = null;
    this.#resolve();
  }
}

/** The entry of a serving thread: its own server, which answers from images in shared memory. */
const port = parentPort;
if (port === null) throw new Error('this module is the entry of a worker thread');

/** The interval at which this thread reports newly refused requests. */
const TELL_LOAD_MS = 1000;

const tell = (message: FromThread): void => (port as MessagePort).postMessage(message);
const task = workerData as ServingTask;
const { settings } = task;

// An unhandled rejection ends the thread, under any NODE_OPTIONS.
process.on('unhandledRejection', (reason) => {
  throw reason;
});

const present = new Present(task.source, {
  staleMsMax: settings.staleMsMax,
  cacheBytesMax: settings.cacheBytesMax * (1 - ANSWER_CACHE_SHARE),
  threads: settings.workers,
});
const weight = new Weight();
const keys = task.keys === null ? null : new PostedKeys(task.keys, () => tell({ kind: 'want-keys' }));
const access = new PresentAccess(task.access);
const meter = task.meterMemory === null ? null : new Meter(task.meterMemory);

function publish({ number, published }: NumberedPublication): void {
  present.publish(published);
  // Each thread has its own weight, so that its own garbage collector releases the earlier snapshot.
  weight.replace(published.image.summary.bytes);
  tell({ kind: 'serving', number });
}

let told: OverloadCounts = { isOverloaded: false, refused: 0, overloads: 0 };

function tellLoad({ load }: HttpServer): void {
  if (load.refused === told.refused && load.isOverloaded === told.isOverloaded) return;
  told = load;
  tell({ kind: 'load', load });
}

async function serve(): Promise<void> {
  useInnerParts(task.innerPartsMissing);
  if (task.published !== null) publish(task.published);
  const log = task.hasLog ? createThreadLog(tell, task.logWaiting, meter) : undefined;
  const server = serverOfPlan(settings, present, { log, feed: keys, access, meter, onOverload: tellLoad });
  setInterval(() => tellLoad(server), TELL_LOAD_MS).unref();
  if (meter !== null) startSampling(meter);
  const handlers: Handlers<ToThread> = {
    publish,
    source: ({ source }) => present.become(source),
    keys: ({ state, isReply }) => keys?.receive(state, isReply),
    access: ({ change }) => access.change(change),
    drain: () => server.drain(),
    close: ({ deadlineMs }) => void server.close({ deadlineMs }).then(() => process.exit()),
  };
  port?.on('message', (message: ToThread) => {
    const handle = handlers[message.kind] as ((message: ToThread) => void) | undefined;
    if (handle === undefined) throw new Error(`a serving thread was sent ${JSON.stringify(message)}`);
    handle(message);
  });
  const { host, port: number } = settings;
  const socket = task.descriptor === null ? null : await duplicateSocket(task.descriptor);
  await server.listen({
    host,
    port: number,
    ...(socket === null ? { reusePort: true } : { handle: socket }),
  });
  tell({ kind: 'listening' });
}

// No top-level await: inside a bundle this module is a CommonJS script.
serve().catch((error: unknown) => {
  const code = error instanceof LecternError ? error.code : null;
  const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
  tell({ kind: 'failed', code, message: code === null ? stack : message });
  port.close();
});

type Level = 'info' | 'warn' | 'error';

/**
 * The log of a serving thread: the main thread writes its lines. At most LOG_MESSAGES_MAX are in transit; further
 * lines are dropped. A line that says how many were dropped precedes the next line that is sent.
 */
export function createThreadLog(
  tell: (message: FromThread) => void,
  logWaiting: SharedArrayBuffer,
  meter: Meter | null,
): Logger {
  const waiting = new Int32Array(logWaiting);
  let dropped = 0;

  function send(level: Level, fields: object, message: string): void {
    Atomics.add(waiting, 0, 1);
    try {
      tell({ kind: 'log', level, fields, message });
    } catch {
      // A field cannot be cloned. Of all fields, only an error is kept, because it matters most.
      const { err } = fields as { readonly err?: unknown };
      tell({ kind: 'log', level, fields: err instanceof Error ? { err: `${err.stack}` } : {}, message });
    }
  }

  function line(level: Level, fields: object, message: string): void {
    if (Atomics.load(waiting, 0) >= LOG_MESSAGES_MAX) {
      dropped++;
      meter?.add(CELL.logLinesDropped);
      return;
    }
    const lines = dropped;
    dropped = 0;
    if (lines > 0) {
      const message = 'log lines of a thread were dropped: too many waited for the main thread';
      send('warn', { lines }, message);
    }
    send(level, fields, message);
  }

  return {
    info: (fields, message) => line('info', fields, message),
    warn: (fields, message) => line('warn', fields, message),
    error: (fields, message) => line('error', fields, message),
  };
}
