/**
 * Serving on one thread or several. These modules pass publications to threads and know no
 * source.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { PublishedImage, Receiver } from '../answer/present.js';
import { LecternError } from '../base/errors.js';
import { onFirstUse } from '../base/files/load-on-use.js';
import { retryPauseMs } from '../base/limits.js';
import { Meter } from '../base/metrics/meter.js';
import { startSampling } from '../base/metrics/sampling.js';
import type { SourceState } from '../base/model/source-state.js';
import type { Logger } from '../http/logger.js';
import { checkInternals, missingInternals, warnOfMissingInternals } from '../http/node/internals.js';
import { descriptorOf, duplicateSocket } from '../http/node/listener.js';
import { describeListenError, type ListenAddress, toListenAddress } from '../http/server/listen-address.js';
import type { OverloadCounts } from '../http/server/overload.js';
import { CLOSE_MS_MAX } from '../http/server/server.js';
import { prepareThread, type StartThread } from '../refresh/thread/start-thread.js';
import type { Handlers } from '../refresh/thread/task-messages.js';
import { serverOfPlan } from './server-plan.js';
import {
  conditionOf,
  type Serving,
  type ServingCondition,
  ServingKeys,
  type ServingSurroundings,
  type ThreadMeter,
  youngGenerationMbOf,
} from './serving.js';
import type { FromThread, NumberedPublication, ServingTask, ToThread } from './thread-messages.js';

interface ListeningSocket {
  readonly address: ListenAddress;
  /**
   * A socket that each thread duplicates, because closing the original would close it for all threads; null
   * if each thread binds its own socket.
   */
  readonly descriptor: number | null;
  /** Closes the port for threads that start later. May be called again. */
  close(): void;
}

const loadText = onFirstUse(() => import('./serving-text.js'));

/** Systems that divide the connections of a port among its sockets (libuv's UV_TCP_REUSEPORT). */
const REUSE_PORT_PLATFORMS: readonly string[] = ['linux', 'freebsd', 'aix', 'sunos'];

/**
 * Whether this version of Node can listen with `reusePort`: Node 22 since 22.12, and later versions since
 * 23.1.
 */
export function canReusePort(version: string, platform: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const isKnown = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
  return isKnown && REUSE_PORT_PLATFORMS.includes(platform);
}

/**
 * Takes a port for several threads. With `reusePort` each thread binds its own socket; otherwise all threads
 * listen on duplicates of one socket. This function accepts no connection. Throws `address-unavailable`.
 */
export async function openListeningSocket(
  { host, port }: { readonly host: string; readonly port: number },
  reusePort: boolean = canReusePort(process.version, process.platform),
): Promise<ListeningSocket> {
  if (!reusePort && process.platform === 'win32') {
    throw new LecternError(
      'address-unavailable',
      'on Windows only one thread can serve a port: use --workers 1',
    );
  }
  if (!reusePort) await checkInternals();
  const server = createServer();
  // The port is first bound without `reusePort`: with it, a second service of the same user could share a
  // taken port.
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    throw describeListenError(error as NodeJS.ErrnoException, { host, port });
  }
  // The server closes in the same turn of the event loop, so that it accepts no connection.
  const address = toListenAddress(server.address() as AddressInfo);
  const closed = once(server, 'close');
  const duplicate = reusePort ? null : duplicateSocket(descriptorOf(server));
  server.close();
  await closed;
  if (duplicate === null) return { address, descriptor: null, close() {} };
  const socket = await duplicate.catch((cause: Error) => {
    const message = `cannot share ${address.origin} among threads: ${cause.message}`;
    throw new LecternError('address-unavailable', message, { cause });
  });
  let isOpen = true;
  return {
    address,
    descriptor: socket.fd,
    close: () => {
      if (isOpen) socket.close();
      isOpen = false;
    },
  };
}

/** Pauses before a thread is replaced: first no pause, then the shortest, doubling up to the longest. */
const REPLACE_MS_MIN = 100;
const REPLACE_MS_MAX = 30_000;
/** A thread that has served at least this long is replaced without a pause. */
const SOUND_MS = 60_000;
const HEAP_FULL = 'it ran out of memory: give Node a larger heap with --max-old-space-size';

/** The place of one thread and its replacements, which continue its counts. */
interface WorkerSlot {
  readonly meter: Meter | null;
  thread: ServingThread | null;
}

/** Threads that serve one port from one snapshot in shared memory. A lost thread is replaced. */
class ThreadPool implements Serving, Receiver {
  readonly workers: number;
  readonly address: ListenAddress;
  readonly keys: ServingKeys;
  readonly started: Promise<void>;
  readonly receiver: Receiver = this;
  readonly #options: ServingSurroundings;
  readonly #listening: ListeningSocket;
  readonly #slots: readonly WorkerSlot[];
  #source: SourceState;
  #published: NumberedPublication | null = null;
  #closing: Promise<void> | null = null;
  readonly #closed = new AbortController();
  #isDraining = false;
  /** What threads counted before they ended, so that totals never fall. */
  readonly #past = { refused: 0, overloads: 0 };
  #starting = 0;

  constructor(options: ServingSurroundings, keys: ServingKeys, listening: ListeningSocket) {
    this.#options = options;
    this.#listening = listening;
    this.#source = options.views.source;
    this.workers = options.settings.workers;
    this.address = listening.address;
    this.keys = keys;
    this.#slots = Array.from({ length: this.workers }, () => ({
      meter: options.isMetered ? new Meter() : null,
      thread: null,
    }));
    keys.fetched?.listen(() => {
      for (const thread of this.#threads) this.#sendKeys(thread, false);
    });
    options.access.listen((change) => this.#tell({ kind: 'access', change }));
    this.started = this.#startAll();
    this.started.catch(() => {});
  }

  /** A thread that fails at its first start is not replaced. */
  async #startAll(): Promise<void> {
    await Promise.all(this.#slots.map((slot) => this.#start(slot)));
    for (const slot of this.#slots) void this.#attend(slot);
  }

  get #threads(): ServingThread[] {
    return this.#slots.flatMap(({ thread }) => thread ?? []);
  }

  get isServing(): boolean {
    return this.#threads.some(({ serving }) => serving > 0);
  }

  get meters(): readonly ThreadMeter[] {
    return this.#slots.flatMap(({ meter }, n) => (meter === null ? [] : [{ thread: String(n + 1), meter }]));
  }

  publish(published: PublishedImage): void {
    this.#published = { number: (this.#published?.number ?? 0) + 1, published };
    this.#tell({ kind: 'publish', ...this.#published });
  }

  become(source: SourceState): void {
    this.#source = source;
    this.#tell({ kind: 'source', source });
  }

  /** A thread that is replaced during the wait begins with the present publication. */
  async settled(): Promise<void> {
    const number = this.#published?.number ?? 0;
    await Promise.all(this.#threads.map((thread) => thread.serves(number)));
  }

  get condition(): ServingCondition {
    const loads = this.#threads.map(({ load }) => load);
    return conditionOf(this.#isDraining, loads, this.#past);
  }

  drain(): void {
    this.#isDraining = true;
    this.#tell({ kind: 'drain' });
  }

  close({ deadlineMs = CLOSE_MS_MAX }: { readonly deadlineMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(deadlineMs);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    this.#closed.abort();
    // An open port would accept connections that no thread answers, but a starting thread may still need it.
    if (this.#starting === 0) this.#listening.close();
    await Promise.all(this.#threads.map((thread) => thread.close(deadlineMs)));
    this.#listening.close();
    this.keys.fetched?.close();
    for (const slot of this.#slots) this.#leave(slot);
  }

  #tell(message: ToThread): void {
    for (const thread of this.#threads) thread.send(message);
  }

  #sendKeys(thread: ServingThread, isReply: boolean): void {
    const { fetched } = this.keys;
    if (fetched !== null) thread.send({ kind: 'keys', state: fetched.state, isReply });
  }

  #task({ meter }: WorkerSlot): ServingTask {
    const { settings, log } = this.#options;
    const { host, port } = this.address;
    return {
      settings: {
        ...settings,
        host,
        port,
        cacheBytesMax: settings.cacheBytesMax / this.workers,
        streamsMax: Math.ceil(settings.streamsMax / this.workers),
      },
      descriptor: this.#listening.descriptor,
      internalsMissing: missingInternals(),
      hasLog: log !== undefined,
      logWaiting: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
      source: this.#source,
      published: this.#published,
      meterMemory: meter?.memory ?? null,
      keys: this.keys.fetched?.state ?? null,
      access: this.#options.access.access,
    };
  }

  async #start(slot: WorkerSlot): Promise<void> {
    this.#starting++;
    try {
      const text = async () => (await loadText()).SERVING_TEXT;
      const start = await prepareThread('/app/serving-worker.ts', text);
      if (this.#closing !== null) return;
      // No `await` may come between making the task and taking the slot, or the thread would miss changes.
      const thread: ServingThread = new ServingThread(start, this.#task(slot), this.#options.log, () => {
        void this.keys.fetched?.want().then(() => this.#sendKeys(thread, true));
      });
      if (this.#isDraining) thread.send({ kind: 'drain' });
      slot.thread = thread;
      await thread.listening;
    } finally {
      this.#starting--;
    }
  }

  /** Replaces a slot's thread whenever it is lost, and tries again if the replacement cannot listen. */
  async #attend(slot: WorkerSlot): Promise<void> {
    let losses = 0;
    let problem: Error | null = null;
    for (;;) {
      const beganMs = performance.now();
      const reason = problem ?? (await slot.thread?.ended) ?? null;
      this.#leave(slot);
      if (this.#closing !== null || reason === null) return;
      if (performance.now() - beganMs > SOUND_MS) losses = 0;
      const pauseMs = losses === 0 ? 0 : retryPauseMs(losses, REPLACE_MS_MAX, REPLACE_MS_MIN);
      losses++;
      const when = pauseMs === 0 ? '' : ` in ${pauseMs} ms`;
      const isHeapFull = 'code' in reason && reason.code === 'ERR_WORKER_OUT_OF_MEMORY';
      const why = isHeapFull ? HEAP_FULL : reason.message;
      const message = `a serving thread was lost and will be replaced${when}: ${why}`;
      this.#options.onLost(new LecternError('thread-lost', message, { cause: reason }));
      await delay(pauseMs, undefined, { signal: this.#closed.signal }).catch(() => {});
      problem = await this.#start(slot).then(
        () => null,
        (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
      );
      if (problem !== null) slot.thread?.terminate();
    }
  }

  #leave(slot: WorkerSlot): void {
    this.#past.refused += slot.thread?.load.refused ?? 0;
    this.#past.overloads += slot.thread?.load.overloads ?? 0;
    slot.thread = null;
  }
}

/** Time after the deadline until a thread that has not closed is ended. */
const CLOSE_GRACE_MS = 1000;

class ServingThread {
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

/**
 * Takes the port; the serving threads start a moment later. Throws `address-unavailable`, `option-invalid`,
 * `key-invalid`.
 */
export async function openServing(options: ServingSurroundings): Promise<Serving> {
  const { settings, log } = options;
  await checkInternals();
  if (log !== undefined) warnOfMissingInternals(log);
  const keys = new ServingKeys(settings, options.access, log);
  try {
    return settings.workers === 1
      ? await serveHere(options, keys)
      : new ThreadPool(options, keys, await openListeningSocket(settings));
  } catch (error) {
    keys.fetched?.close();
    throw error;
  }
}

async function serveHere(options: ServingSurroundings, keys: ServingKeys): Promise<Serving> {
  const { settings, views, access, isMetered, log } = options;
  const meter = isMetered ? new Meter() : null;
  const server = serverOfPlan(settings, views, { log, fetched: keys.fetched, access, meter });
  const address = await server.listen({ host: settings.host, port: settings.port });
  const stopSampling = meter === null ? () => {} : startSampling(meter);
  let isDraining = false;
  return {
    address,
    workers: 1,
    keys,
    meters: meter === null ? [] : [{ thread: 'main', meter }],
    isServing: true,
    receiver: null,
    started: Promise.resolve(),
    get condition() {
      return conditionOf(isDraining, [server.load]);
    },
    drain() {
      isDraining = true;
      server.drain();
    },
    async close(closing) {
      try {
        await server.close(closing);
      } finally {
        stopSampling();
        keys.fetched?.close();
      }
    },
  };
}
