import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Present } from '../answer/present.js';
import { PresentAccess } from '../auth/access.js';
import { LecternError } from '../base/errors.js';
import { ANSWER_CACHE_SHARE } from '../base/limits.js';
import { Meter } from '../base/metrics/meter.js';
import { startSampling } from '../base/metrics/sampling.js';
import { useInternals } from '../http/node/internals.js';
import { duplicateSocket } from '../http/node/listener.js';
import type { OverloadCounts } from '../http/server/overload.js';
import type { HttpServer } from '../http/server/server.js';
import type { Handlers } from '../refresh/thread/task-messages.js';
import { Weight } from '../refresh/thread/weight.js';
import { serverOfPlan } from './server-plan.js';
import {
  createThreadLog,
  type FromThread,
  type NumberedPublication,
  PostedKeys,
  type ServingTask,
  type ToThread,
} from './thread-messages.js';

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
  useInternals(task.internalsMissing);
  if (task.published !== null) publish(task.published);
  const log = task.hasLog ? createThreadLog(tell, task.logWaiting, meter) : undefined;
  const server = serverOfPlan(settings, present, { log, fetched: keys, access, meter, onOverload: tellLoad });
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
