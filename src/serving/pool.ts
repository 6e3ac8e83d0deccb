import type { KeyFetches } from '../auth/remote-keys.js';
import { LecternError } from '../errors.js';
import { missingInnerParts } from '../http/node/inner-parts.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import type { OverloadCounts } from '../http/server/overload.js';
import { ANSWER_CACHE_SHARE } from '../limits.js';
import { Meter } from '../metrics/meter.js';
import type { Follower, PublishedImage } from '../view/present.js';
import type { SourceState } from '../view/view-source.js';
import { conditionOf, type PastCounts, type ServingCondition } from './condition.js';
import { type Door, openDoor } from './door.js';
import type { FedServingOptions, Serving, ThreadMeter } from './serving.js';
import { ServingThread } from './serving-thread.js';
import type { NumberedPublication, ServingTask, ToThread } from './thread-messages.js';
import { youngGenerationMbOf } from './young-generation.js';

/** Pauses before a thread is replaced: none at first, then this, doubling up to the other. */
const REPLACE_MS_MIN = 100;
const REPLACE_MS_MAX = 30_000;
/** A thread that has served so long was in order: the next pause is none. */
const SOUND_MS = 60_000;
const CLOSE_DEADLINE_MS = 10_000;

const NO_LOAD: OverloadCounts = { isOverloaded: false, refused: 0, overloads: 0 };

/** One of the threads, and those that took its place. */
interface Seat {
  /** A thread that takes the place of another counts on. */
  readonly meter: Meter | null;
  thread: ServingThread | null;
  /** The publication that it serves. */
  serving: number;
  /** What it told last. */
  load: OverloadCounts | null;
  /** Losses in a row. */
  losses: number;
  timer: NodeJS.Timeout | null;
}

/**
 * Threads that serve one port from one snapshot in shared memory. One that is lost is replaced, by one that serves what the
 * others serve from its first request on.
 */
export class ThreadPool implements Serving, Follower {
  readonly workers: number;
  readonly started: Promise<void>;
  readonly #options: FedServingOptions;
  readonly #door: Door;
  readonly #seats: readonly Seat[];
  #source: SourceState;
  #published: NumberedPublication | null = null;
  #waiting: { readonly number: number; readonly resolve: () => void }[] = [];
  #closing: Promise<void> | null = null;
  #isDraining = false;
  readonly #past: PastCounts = { refused: 0, overloads: 0 };
  /** Threads that do not listen yet. */
  #starting = 0;

  private constructor(options: FedServingOptions, door: Door) {
    this.#options = options;
    this.#door = door;
    this.#source = options.source;
    this.workers = options.workers;
    this.#seats = Array.from({ length: options.workers }, () => ({
      meter: options.isMetered ? new Meter() : null,
      thread: null,
      serving: 0,
      load: null,
      losses: 0,
      timer: null,
    }));
    options.feed?.follow(() => {
      for (const { thread } of this.#seats) if (thread !== null) this.#sendKeys(thread, false);
    });
    this.started = this.#startAll();
    this.started.catch(() => {});
  }

  /**
   * Resolves when the port is taken.
   *
   * @throws LecternError `address-unavailable`
   */
  static async open(options: FedServingOptions): Promise<ThreadPool> {
    return new ThreadPool(options, await openDoor(options));
  }

  /** Those that cannot even begin are not replaced. */
  async #startAll(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => this.#start(seat)));
    for (const seat of this.#seats) this.#attend(seat);
  }

  get address(): ListenAddress {
    return this.#door.address;
  }

  get isServing(): boolean {
    return this.#seats.some(({ thread, serving }) => thread !== null && serving > 0);
  }

  get hasKeys(): boolean {
    return this.#options.hasKeys();
  }

  get keyFetches(): KeyFetches | null {
    return this.#options.keyFetches;
  }

  get meters(): readonly ThreadMeter[] {
    return this.#seats.flatMap(({ meter }, n) => (meter === null ? [] : [{ thread: String(n + 1), meter }]));
  }

  get follower(): Follower {
    return this;
  }

  answerFrom(): void {
    // The threads do.
  }

  publish(published: PublishedImage): void {
    this.#published = { number: (this.#published?.number ?? 0) + 1, published };
    this.#tell({ kind: 'publish', ...this.#published });
  }

  become(source: SourceState): void {
    this.#source = source;
    this.#tell({ kind: 'source', source });
  }

  /** What a thread that begins now is to serve. */
  get #presentPublication(): NumberedPublication | null {
    return this.#source.isWithdrawn === true ? null : this.#published;
  }

  settled(): Promise<void> {
    const number = this.#presentPublication?.number ?? 0;
    return new Promise((resolve) => {
      this.#waiting.push({ number, resolve });
      this.#settle();
    });
  }

  /** Threads that have told nothing so far have had no overload. */
  get condition(): ServingCondition {
    const present = this.#seats.filter(({ thread }) => thread !== null);
    return conditionOf(
      this.#isDraining,
      present.map(({ load }) => load ?? NO_LOAD),
      this.#past,
    );
  }

  drain(): void {
    this.#isDraining = true;
    this.#tell({ kind: 'drain' });
  }

  close({ deadlineMs = CLOSE_DEADLINE_MS }: { readonly deadlineMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(deadlineMs);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    for (const { timer } of this.#seats) if (timer !== null) clearTimeout(timer);
    // Or it would go on taking connections for which there is no thread any more. One that starts may still need it.
    if (this.#starting === 0) this.#door.close();
    await Promise.all(this.#seats.map(({ thread }) => thread?.close(deadlineMs)));
    this.#door.close();
    this.#options.onClose();
    // Also those that never came to listen: nobody is to wait for what they will not serve.
    for (const seat of this.#seats) this.#leave(seat);
    this.#settle();
  }

  #tell(message: ToThread): void {
    for (const { thread } of this.#seats) thread?.send(message);
  }

  #sendKeys(thread: ServingThread, isReply: boolean): void {
    const { feed } = this.#options;
    if (feed !== null) thread.send({ kind: 'keys', state: feed.state, isReply });
  }

  #task({ meter }: Seat): ServingTask {
    const { plan, log, staleMsMax, cacheBytesMax, workers, connectionsMax, overloadMs, feed } = this.#options;
    const { host, port } = this.#door.address;
    return {
      plan,
      innerPartsMissing: missingInnerParts(),
      hasLog: log !== undefined,
      logWaiting: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
      host,
      port,
      entrance: this.#door.entrance,
      connectionsMax,
      overloadMs,
      isDraining: this.#isDraining,
      rowCacheBytes: Math.floor((cacheBytesMax * (1 - ANSWER_CACHE_SHARE)) / workers),
      answerCacheBytes: Math.floor((cacheBytesMax * ANSWER_CACHE_SHARE) / workers),
      threads: workers,
      staleMsMax,
      source: this.#source,
      published: this.#presentPublication,
      meterMemory: meter?.memory ?? null,
      keys: feed?.state ?? null,
    };
  }

  /** Resolves when the thread listens. */
  async #start(seat: Seat): Promise<void> {
    this.#starting++;
    try {
      await this.#startOn(seat);
    } finally {
      this.#starting--;
    }
  }

  async #startOn(seat: Seat): Promise<void> {
    const begun = this.#task(seat);
    const thread = await ServingThread.start(begun, youngGenerationMbOf(this.workers), {
      log: this.#options.log,
      serving: (number) => {
        if (seat.thread !== thread) return;
        seat.serving = number;
        this.#settle();
      },
      load: (load) => {
        if (seat.thread === thread) seat.load = load;
      },
      wantKeys: () => void this.#options.feed?.want().then(() => this.#sendKeys(thread, true)),
    });
    seat.serving = 0;
    seat.load = null;
    seat.thread = thread;
    // What came while its text was being imported.
    const published = this.#presentPublication;
    if (published !== null && published !== begun.published) thread.send({ kind: 'publish', ...published });
    if (this.#options.feed !== null && this.#options.feed.state !== begun.keys) this.#sendKeys(thread, false);
    if (this.#isDraining && !begun.isDraining) thread.send({ kind: 'drain' });
    if (this.#source !== begun.source) thread.send({ kind: 'source', source: this.#source });
    await (this.#closing === null ? thread.listening : thread.close(0));
  }

  /** Replaces the thread of a seat when it is lost. */
  #attend(seat: Seat): void {
    const { thread } = seat;
    if (thread === null) return;
    const beganMs = performance.now();
    void thread.ended.then((reason) => {
      this.#leave(seat);
      this.#settle();
      if (this.#closing !== null || reason === null) return;
      if (performance.now() - beganMs > SOUND_MS) seat.losses = 0;
      this.#lost(seat, reason);
    });
  }

  /** The thread is gone; what it had counted is not, so that counts only grow. */
  #leave(seat: Seat): void {
    this.#past.refused += seat.load?.refused ?? 0;
    this.#past.overloads += seat.load?.overloads ?? 0;
    seat.load = null;
    seat.thread = null;
  }

  #lost(seat: Seat, reason: Error): void {
    const pauseMs = seat.losses === 0 ? 0 : Math.min(REPLACE_MS_MIN * 2 ** (seat.losses - 1), REPLACE_MS_MAX);
    seat.losses++;
    const next = pauseMs === 0 ? 'it is replaced' : `it is replaced in ${pauseMs} ms`;
    const message = `a serving thread was lost, and ${next}: ${describeLoss(reason)}`;
    seat.timer = setTimeout(() => {
      seat.timer = null;
      this.#start(seat).then(
        () => this.#attend(seat),
        (error: unknown) => this.#attendFailed(seat, error),
      );
    }, pauseMs);
    this.#options.onLost(new LecternError('thread-lost', message, { cause: reason }));
  }

  /** It did not even begin to listen. */
  #attendFailed(seat: Seat, error: unknown): void {
    const { thread } = seat;
    this.#leave(seat);
    void thread?.terminate();
    if (this.#closing === null) this.#lost(seat, error instanceof Error ? error : new Error(String(error)));
  }

  /** Lets go of whoever waits for something that every thread serves by now. One that is not there serves it later. */
  #settle(): void {
    const present = this.#seats.filter(({ thread }) => thread !== null);
    const isServed = (number: number): boolean => present.every(({ serving }) => serving >= number);
    const done = this.#waiting.filter(({ number }) => isServed(number));
    this.#waiting = this.#waiting.filter((each) => !done.includes(each));
    for (const { resolve } of done) resolve();
  }
}

function describeLoss(reason: Error): string {
  if ('code' in reason && reason.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return 'it ran out of memory: give Node a larger heap with --max-old-space-size';
  }
  return reason.message;
}
