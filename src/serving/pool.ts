import { setTimeout as delay } from 'node:timers/promises';
import { LecternError } from '../errors.js';
import { missingInnerParts } from '../http/node/inner-parts.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import { CLOSE_MS_MAX } from '../http/server/server.js';
import { Meter } from '../metrics/meter.js';
import type { SourceState } from '../model/source-state.js';
import { prepareThread } from '../thread/start-thread.js';
import type { Follower, PublishedImage } from '../view/present.js';
import type { Door } from './door.js';
import {
  conditionOf,
  type Serving,
  type ServingCondition,
  type ServingKeys,
  type ServingOptions,
  type ThreadMeter,
} from './serving.js';
import { ServingThread } from './serving-thread.js';
import type { NumberedPublication, ServingTask, ToThread } from './thread-messages.js';

/** Pauses before a thread is replaced: first no pause, then the shortest, doubling up to the longest. */
const REPLACE_MS_MIN = 100;
const REPLACE_MS_MAX = 30_000;
/** A thread that has served at least this long is replaced without a pause. */
const SOUND_MS = 60_000;
const HEAP_FULL = 'it ran out of memory: give Node a larger heap with --max-old-space-size';

/** The place of one thread and its replacements, which continue its counts. */
interface Seat {
  readonly meter: Meter | null;
  thread: ServingThread | null;
}

/** Threads that serve one port from one snapshot in shared memory. A lost thread is replaced. */
export class ThreadPool implements Serving, Follower {
  readonly workers: number;
  readonly address: ListenAddress;
  readonly keys: ServingKeys;
  readonly started: Promise<void>;
  readonly follower: Follower = this;
  readonly #options: ServingOptions;
  readonly #door: Door;
  readonly #seats: readonly Seat[];
  #source: SourceState;
  #published: NumberedPublication | null = null;
  #closing: Promise<void> | null = null;
  readonly #closed = new AbortController();
  #isDraining = false;
  /** What threads counted before they ended, so that totals never fall. */
  readonly #past = { refused: 0, overloads: 0 };
  #starting = 0;

  constructor(options: ServingOptions, keys: ServingKeys, door: Door) {
    this.#options = options;
    this.#door = door;
    this.#source = options.views.source;
    this.workers = options.settings.workers;
    this.address = door.address;
    this.keys = keys;
    this.#seats = Array.from({ length: this.workers }, () => ({
      meter: options.isMetered ? new Meter() : null,
      thread: null,
    }));
    keys.fetched?.follow(() => {
      for (const thread of this.#threads) this.#sendKeys(thread, false);
    });
    options.access.follow((change) => this.#tell({ kind: 'access', change }));
    this.started = this.#startAll();
    this.started.catch(() => {});
  }

  /** A thread that fails at its first start is not replaced. */
  async #startAll(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => this.#start(seat)));
    for (const seat of this.#seats) void this.#attend(seat);
  }

  get #threads(): ServingThread[] {
    return this.#seats.flatMap(({ thread }) => thread ?? []);
  }

  get isServing(): boolean {
    return this.#threads.some(({ serving }) => serving > 0);
  }

  get meters(): readonly ThreadMeter[] {
    return this.#seats.flatMap(({ meter }, n) => (meter === null ? [] : [{ thread: String(n + 1), meter }]));
  }

  publish(published: PublishedImage): void {
    this.#published = { number: (this.#published?.number ?? 0) + 1, published };
    this.#tell({ kind: 'publish', ...this.#published });
  }

  become(source: SourceState): void {
    this.#source = source;
    this.#tell({ kind: 'source', source });
  }

  get #presentPublication(): NumberedPublication | null {
    return this.#source.isWithdrawn === true ? null : this.#published;
  }

  /** A thread that is replaced during the wait begins with the present publication. */
  async settled(): Promise<void> {
    const number = this.#presentPublication?.number ?? 0;
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
    if (this.#starting === 0) this.#door.close();
    await Promise.all(this.#threads.map((thread) => thread.close(deadlineMs)));
    this.#door.close();
    this.keys.fetched?.close();
    for (const seat of this.#seats) this.#leave(seat);
  }

  #tell(message: ToThread): void {
    for (const thread of this.#threads) thread.send(message);
  }

  #sendKeys(thread: ServingThread, isReply: boolean): void {
    const { fetched } = this.keys;
    if (fetched !== null) thread.send({ kind: 'keys', state: fetched.state, isReply });
  }

  #task({ meter }: Seat): ServingTask {
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
      descriptor: this.#door.descriptor,
      innerPartsMissing: missingInnerParts(),
      hasLog: log !== undefined,
      logWaiting: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
      source: this.#source,
      published: this.#presentPublication,
      meterMemory: meter?.memory ?? null,
      keys: this.keys.fetched?.state ?? null,
      access: this.#options.access.access,
    };
  }

  async #start(seat: Seat): Promise<void> {
    this.#starting++;
    try {
      const text = async () => (await import('./serving-text.js')).SERVING_TEXT;
      const start = await prepareThread('/serving/serving-worker.ts', text);
      if (this.#closing !== null) return;
      // No `await` may come between making the task and taking the seat, or the thread would miss changes.
      const thread: ServingThread = new ServingThread(start, this.#task(seat), this.#options.log, () => {
        void this.keys.fetched?.want().then(() => this.#sendKeys(thread, true));
      });
      if (this.#isDraining) thread.send({ kind: 'drain' });
      seat.thread = thread;
      await thread.listening;
    } finally {
      this.#starting--;
    }
  }

  /** Replaces a seat's thread whenever it is lost, and tries again if the replacement cannot listen. */
  async #attend(seat: Seat): Promise<void> {
    let losses = 0;
    let problem: Error | null = null;
    for (;;) {
      const beganMs = performance.now();
      const reason = problem ?? (await seat.thread?.ended) ?? null;
      this.#leave(seat);
      if (this.#closing !== null || reason === null) return;
      if (performance.now() - beganMs > SOUND_MS) losses = 0;
      const pauseMs = losses === 0 ? 0 : Math.min(REPLACE_MS_MIN * 2 ** (losses - 1), REPLACE_MS_MAX);
      losses++;
      const when = pauseMs === 0 ? '' : ` in ${pauseMs} ms`;
      const isHeapFull = 'code' in reason && reason.code === 'ERR_WORKER_OUT_OF_MEMORY';
      const why = isHeapFull ? HEAP_FULL : reason.message;
      const message = `a serving thread was lost and will be replaced${when}: ${why}`;
      this.#options.onLost(new LecternError('thread-lost', message, { cause: reason }));
      await delay(pauseMs, undefined, { signal: this.#closed.signal }).catch(() => {});
      problem = await this.#start(seat).then(
        () => null,
        (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
      );
      if (problem !== null) seat.thread?.terminate();
    }
  }

  #leave(seat: Seat): void {
    this.#past.refused += seat.thread?.load.refused ?? 0;
    this.#past.overloads += seat.thread?.load.overloads ?? 0;
    seat.thread = null;
  }
}
