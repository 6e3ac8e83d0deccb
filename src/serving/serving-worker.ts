import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import { useInnerParts } from '../http/node/inner-parts.js';
import { duplicateSocket } from '../http/node/listener.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import type { OverloadCounts } from '../http/server/overload.js';
import { HttpServer } from '../http/server/server.js';
import { Meter } from '../metrics/meter.js';
import { startSampling } from '../metrics/sampling.js';
import { Weight } from '../refresh/weight.js';
import { Present } from '../view/present.js';
import { logOverload } from './condition.js';
import { handlerOfPlan } from './handler-plan.js';
import { meterRows } from './meter-rows.js';
import { PostedKeys } from './posted-keys.js';
import { createThreadLog } from './thread-log.js';
import type { FromThread, NumberedPublication, ServingTask, ToThread } from './thread-messages.js';

/** The entry of a serving thread: a server of its own, which answers from images in memory that all threads share. */
const port = parentPort;
if (port === null) throw new Error('this module is the entry of a worker thread');

/** How often it is told how many requests were refused, where some were. */
const TELL_LOAD_MS = 1000;

const tell = (message: FromThread): void => (port as MessagePort).postMessage(message);
const task = workerData as ServingTask;

// Whatever NODE_OPTIONS says: a thread in which something went wrong unseen must not go on.
process.on('unhandledRejection', (reason) => {
  throw reason;
});

const present = new Present(task.source, {
  staleMsMax: task.staleMsMax,
  cacheBytesMax: task.rowCacheBytes,
  threads: task.threads,
});
const weight = new Weight();
const keys = task.keys === null ? null : new PostedKeys(task.keys, () => tell({ kind: 'want-keys' }));
const meter = task.meterMemory === null ? null : new Meter(task.meterMemory);

function publish({ number, published }: NumberedPublication): void {
  present.publish(published);
  // Every thread has to let go of what was served before.
  weight.replace(published.image.summary.bytes);
  tell({ kind: 'serving', number });
}

async function listen(server: HttpServer): Promise<ListenAddress> {
  const { host, port, entrance } = task;
  return entrance.how === 'reuse-port'
    ? server.listen({ host, port, reusePort: true })
    : server.listen({ host, port, handle: await duplicateSocket(entrance.fd) });
}

let told: OverloadCounts | null = null;

function tellLoad({ load }: HttpServer): void {
  if (load.refused === (told?.refused ?? 0) && load.isOverloaded === (told?.isOverloaded ?? false)) return;
  told = load;
  tell({ kind: 'load', load });
}

async function serve(): Promise<void> {
  useInnerParts(task.innerPartsMissing);
  if (task.published !== null) publish(task.published);
  const log = task.hasLog ? createThreadLog(tell, task.logWaiting, meter) : undefined;
  const handler = handlerOfPlan(task.plan, present, {
    cacheBytesMax: task.answerCacheBytes,
    feed: keys,
    meter,
    onRefusal: () => server.countRefusal(),
    ...(log === undefined ? {} : { log }),
  });
  const { connectionsMax, overloadMs } = task;
  const server: HttpServer = new HttpServer(handler, {
    connectionsMax,
    overloadMs,
    onOverload(isOverloaded) {
      logOverload(log, isOverloaded, server.load.refused);
      tellLoad(server);
    },
    corsOrigins: task.plan.corsOrigins,
    meter,
  });
  setInterval(() => tellLoad(server), TELL_LOAD_MS).unref();
  if (task.isDraining) server.drain();
  if (meter !== null) {
    meterRows(meter, present);
    startSampling(meter);
  }
  port?.on('message', (message: ToThread) => {
    switch (message.kind) {
      case 'publish':
        publish(message);
        return;
      case 'source':
        present.become(message.source);
        return;
      case 'keys':
        keys?.receive(message.state, message.isReply);
        return;
      case 'drain':
        server.drain();
        return;
      case 'close':
        void server.close({ deadlineMs: message.deadlineMs }).then(() => process.exit());
        return;
      default:
        throw new Error(`a serving thread was sent ${JSON.stringify(message)}`);
    }
  });
  tell({ kind: 'listening', address: await listen(server) });
}

// No top-level await: as a text inside a bundle this module is a CommonJS script.
serve().catch((error: unknown) => {
  const known = error instanceof LecternError;
  const message =
    error instanceof Error ? ((known ? undefined : error.stack) ?? error.message) : String(error);
  tell({ kind: 'failed', code: known ? error.code : null, message });
  port.close();
});
