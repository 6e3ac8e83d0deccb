/** GET {base}/schedule/changes as text/event-stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
import type { ServerResponse } from 'node:http';
import { type ChangeMessage, ChangeMessages } from '../answer/change-messages.js';
import { snapshotIdOf } from '../answer/parameters.js';
import type { LiveViews } from '../answer/present.js';
import type { ParseOptions, View } from '../answer/view.js';
import { EVENT_STREAM_HEARTBEAT_MS, EVENT_STREAM_MS_MAX, READER_WINDOW_MS } from '../base/limits.js';
import { CELL } from '../base/metrics/cells.js';
import type { Meter } from '../base/metrics/meter.js';
import { parseVersion } from '../base/model/timetable-version.js';
import { VARY } from './answer/conditional.js';
import { EVENT_STREAM_TYPE, prefersEventStream } from './answer/negotiate.js';
import { type Problem, sendProblem } from './answer/problem.js';
import { beginBody, sendEmpty } from './answer/respond.js';
import type { Exchange } from './exchange.js';
import { parametersInvalid, sendSnapshotUnavailable } from './read.js';
import { parseQueryString } from './request/target.js';

/** Longest work on many streams in one turn, while other requests wait. */
const EVENT_STREAM_TURN_MS = 1;

const FULL: Problem = {
  code: 'streams-full',
  detail: 'The service has reached its limit of event streams. Ask for changes without a stream.',
  headers: ['Retry-After', '10'],
};

/** How often to look for streams that end, are silent, or have clients that do not read. */
const LOOK_MS = 1000;
/** Each client reconnects after a random time between these two, so that not all come at the same moment. */
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 3000;
const HEARTBEAT = Buffer.from(':\n\n');

interface Stream {
  readonly exchange: Exchange;
  readonly res: ServerResponse;
  /** The end of the stream, on the clock of `Date.now`. */
  readonly endsAtMs: number;
  /** The last write, on the clock of `performance.now`. */
  wroteAtMs: number;
  /** The id of the snapshot that the client has; empty if the id is not known. */
  snapshotId: string;
  /** The version that the client was told. */
  version: string;
}

/** Work on many streams, with other requests in between. */
class StreamWalk {
  #steps: Iterator<unknown> | null = null;

  /** Begins new steps, which replace any that are still in progress. */
  begin(steps: Iterator<unknown>): void {
    const isUnderWay = this.#steps !== null;
    this.#steps = steps;
    if (!isUnderWay) this.#go();
  }

  #go(): void {
    const untilMs = performance.now() + EVENT_STREAM_TURN_MS;
    while (this.#steps !== null && performance.now() < untilMs) {
      if (this.#steps.next().done) this.#steps = null;
    }
    if (this.#steps !== null) setImmediate(() => this.#go());
  }
}

/** The parameter `format` overrides Accept. */
export function asksForStream({ headers, query }: Exchange): boolean {
  return (
    prefersEventStream(headers.accept) && !parseQueryString(query).pairs.some(([name]) => name === 'format')
  );
}

function versionFrame(version: string): Buffer {
  return Buffer.from(`event: version\nid: ${version}\ndata: ${JSON.stringify({ version })}\n\n`);
}

/** Tests have shorter times. */
export type StreamTimes = Readonly<Record<'heartbeatMs' | 'lookMs' | 'readerMs' | 'lifeMsMax', number>>;

const TIMES: StreamTimes = {
  heartbeatMs: EVENT_STREAM_HEARTBEAT_MS,
  lookMs: LOOK_MS,
  readerMs: READER_WINDOW_MS,
  lifeMsMax: EVENT_STREAM_MS_MAX,
};

export interface StreamSettings extends ParseOptions {
  /** Largest number of open event streams. */
  readonly streamsMax: number;
}

/**
 * All streams of one thread. Each stream has at most one message in transit. A client slower than the
 * publications gets several changes in one message, after it has taken the previous message.
 */
export class EventStreams {
  readonly #views: LiveViews;
  readonly #settings: StreamSettings;
  readonly #messages: ChangeMessages;
  readonly #meter: Meter | null;
  readonly #times: StreamTimes;
  readonly #open = new Set<Stream>();
  /** Ids of the snapshots of the last two publications. */
  #snapshotId = '';
  #snapshotIdBefore = '';
  /** Messages in the form in which they are sent. */
  readonly #frames = new WeakMap<ChangeMessage, Buffer>();
  readonly #publishing = new StreamWalk();
  readonly #looking = new StreamWalk();
  #timer: NodeJS.Timeout | undefined;
  #unlisten = (): void => {};

  constructor(views: LiveViews, settings: StreamSettings, meter: Meter | null, times: StreamTimes = TIMES) {
    this.#views = views;
    this.#settings = settings;
    this.#messages = new ChangeMessages(views);
    this.#meter = meter;
    this.#times = times;
    meter?.onSample(() => meter.set(CELL.streamsOpen, this.#open.size));
  }

  get size(): number {
    return this.#open.size;
  }

  /** @param usableUntilMs end of the client's token, in epoch milliseconds */
  open(exchange: Exchange, usableUntilMs: number): void {
    const { view } = this.#views;
    if (view === null) {
      sendSnapshotUnavailable(exchange, this.#views);
      return;
    }
    const { pairs, faults: malformed } = parseQueryString(exchange.query);
    const since = pairs.find(([name]) => name === 'since')?.[1];
    const asked: typeof pairs = since === undefined ? [...pairs, ['since', view.summary.id]] : pairs;
    const result = view.changes(asked, this.#settings);
    if ('faults' in result || malformed.length > 0) {
      const faults = 'faults' in result ? [...malformed, ...result.faults] : malformed;
      sendProblem(exchange, parametersInvalid(faults));
      return;
    }
    const headers = ['Content-Type', EVENT_STREAM_TYPE, 'Cache-Control', 'no-cache', 'Vary', VARY];
    // Without X-Accel-Buffering nginx would buffer the answer.
    headers.push('X-Accel-Buffering', 'no', 'Lectern-Version', view.version);
    if (exchange.isHead) sendEmpty(exchange, 200, headers);
    else if (this.#open.size >= this.#settings.streamsMax) sendProblem(exchange, FULL);
    else {
      const { lastEventId } = exchange.headers;
      const snapshotId =
        lastEventId === undefined || lastEventId === ''
          ? snapshotIdOf(since ?? view.summary.id)
          : parseVersion(lastEventId)?.snapshotId;
      this.#begin(exchange, headers, view, snapshotId ?? '', usableUntilMs);
    }
  }

  /** Ends all streams. Clients reconnect after a moment. */
  end(): void {
    for (const stream of this.#open) this.#end(stream);
  }

  #begin(exchange: Exchange, headers: string[], view: View, snapshotId: string, usableUntilMs: number): void {
    const res = beginBody(exchange, 200, headers);
    const nowMs = performance.now();
    const endsAtMs = Math.min(usableUntilMs, Date.now() + this.#times.lifeMsMax);
    const stream: Stream = { exchange, res, endsAtMs, snapshotId, version: '', wroteAtMs: nowMs };
    if (this.#open.size === 0) this.#start(view);
    this.#open.add(stream);
    const close = (): void => this.#drop(stream);
    res.once('close', close);
    // The client may have left while its token was verified.
    if (res.destroyed || res.socket?.destroyed === true) {
      close();
      return;
    }
    res.on('drain', () => this.#bring(stream));
    // The connection may stay half open, and the next write would notice too late that the client is gone.
    res.socket?.once('end', () => {
      if (this.#open.has(stream)) this.#end(stream);
    });
    const retryMs = Math.round(RETRY_MS_MIN + Math.random() * (RETRY_MS_MAX - RETRY_MS_MIN));
    this.#write(stream, Buffer.from(`retry: ${retryMs}\n\n`));
    this.#bring(stream, false);
  }

  #start({ summary }: View): void {
    this.#snapshotId = summary.id;
    this.#snapshotIdBefore = '';
    this.#unlisten = this.#views.listen(() => this.#published());
    this.#timer = setInterval(() => this.#looking.begin(this.#look()), this.#times.lookMs).unref();
  }

  #drop(stream: Stream): void {
    if (!this.#open.delete(stream) || this.#open.size > 0) return;
    this.#unlisten();
    clearInterval(this.#timer);
  }

  #published(): void {
    const { view } = this.#views;
    if (view === null) return;
    this.#snapshotIdBefore = this.#snapshotId;
    this.#snapshotId = view.summary.id;
    // If a walk is in progress, it starts again, because streams that it has visited may be behind again.
    this.#publishing.begin(this.#bringAll());
  }

  *#bringAll(): Generator<void> {
    for (const stream of this.#open) {
      this.#bring(stream);
      yield;
    }
  }

  /** Ten thousand streams take a few milliseconds, in turns: see {@link StreamWalk}. */
  *#look(): Generator<void> {
    const { heartbeatMs, readerMs } = this.#times;
    for (const stream of this.#open) {
      const silentMs = performance.now() - stream.wroteAtMs;
      if (stream.endsAtMs <= Date.now()) this.#end(stream);
      else if (stream.res.writableLength > 0) {
        // Not all bytes of the last write are taken.
        if (silentMs >= readerMs) this.#cutOff(stream);
      } else if (!this.#bring(stream) && silentMs >= heartbeatMs) this.#write(stream, HEARTBEAT);
      yield;
    }
  }

  /**
   * Sends the changes since the client's snapshot, unless a message is in transit. Without changes, sends the
   * version, from which a later connection continues.
   *
   * @returns whether anything was sent
   */
  #bring(stream: Stream, waits = true): boolean {
    const { view } = this.#views;
    const { snapshotId, res } = stream;
    if (view === null || stream.version === view.version || res.writableEnded) return false;
    if (waits && res.writableLength > 0) return false;
    stream.version = view.version;
    if (snapshotId === view.summary.id) {
      this.#write(stream, versionFrame(view.version));
      return true;
    }
    stream.snapshotId = view.summary.id;
    const isFromPrevious = view.summary.id === this.#snapshotId && snapshotId === this.#snapshotIdBefore;
    this.#write(stream, this.#frame(this.#messages.since(view, snapshotId, isFromPrevious)));
    return true;
  }

  /** The bytes of a message, which are the same for all streams. */
  #frame(message: ChangeMessage): Buffer {
    let frame = this.#frames.get(message);
    if (frame === undefined) {
      const head = Buffer.from(`id: ${message.version}\ndata: `);
      frame = Buffer.concat([head, message.json, Buffer.from('\n\n')]);
      this.#frames.set(message, frame);
    }
    return frame;
  }

  #write(stream: Stream, bytes: Buffer): void {
    const { res, exchange } = stream;
    stream.wroteAtMs = performance.now();
    res.write(bytes);
    exchange.sent(bytes.length);
  }

  #end(stream: Stream): void {
    this.#drop(stream);
    stream.res.end();
  }

  /** Resets the connection if it is Lectern's own: after a plain close the system would keep unsent bytes. */
  #cutOff(stream: Stream): void {
    const { exchange, res } = stream;
    this.#drop(stream);
    this.#meter?.add(CELL.slowReaders);
    if (exchange.ownsSocket) exchange.req.socket.resetAndDestroy();
    else res.destroy();
  }
}
