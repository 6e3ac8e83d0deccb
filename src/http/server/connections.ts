/**
 * What is known of each open connection, and the one timer of a server that looks at all of them: for readers that take
 * too little, for connections that send nothing that is a request, and for those that have had their last answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  CONNECTION_IDLE_MS_MAX,
  LINGER_MS_MAX,
  READER_BYTES_MIN,
  READER_WINDOW_MS,
  READERS_CUT_OFF_MANY,
} from '../../limits.js';
import { bytesTaken } from '../node/bytes-taken.js';
import type { LoneRequest } from '../node/lone-request.js';

/** How long a connection may go on being of no use; the program's own bounds are in limits.ts, tests have shorter ones. */
export interface ConnectionPatience {
  /** Between two looks at every connection. */
  readonly lookMs: number;
  readonly readerWindowMs: number;
  readonly readerBytesMin: number;
  readonly idleMsMax: number;
  readonly lingerMsMax: number;
}

export const CONNECTION_PATIENCE: ConnectionPatience = {
  lookMs: 1000,
  readerWindowMs: READER_WINDOW_MS,
  readerBytesMin: READER_BYTES_MIN,
  idleMsMax: CONNECTION_IDLE_MS_MAX,
  lingerMsMax: LINGER_MS_MAX,
};

/** Requests of one connection that came while an earlier one was not answered. */
export interface PipelineQueue {
  /** Handled, and the answer not sent yet. */
  inFlight: number;
  /** Of those answers. */
  bytes: number;
  /** Not handled yet. */
  readonly waiting: { readonly req: IncomingMessage; readonly res: ServerResponse }[];
}

export interface Connection {
  readonly socket: Socket;
  /** Null where every request goes node's way. */
  lone: LoneRequest | null;
  /** No request came so far; node does not count such a connection as idle. */
  isUnused: boolean;
  /** Its last answer is under way: whatever else arrives is not answered. */
  isEnding: boolean;
  /** To the request that came last; forgotten by the look after it has gone out. */
  answer: ServerResponse | null;
  /**
   * Answers whose handler is still waiting for something: rare, as reads are synchronous. They go with the connection: node
   * closes none but the answer whose turn it is.
   */
  readonly pending: Set<ServerResponse>;
  /** Requests that came before their turn; null where there was none. */
  queue: PipelineQueue | null;
  /** The last look at which it was of use. */
  usedAt: number;
  /** The look at which it is closed whatever happens; 0 for none. */
  closedAt: number;
  /** Bytes that the system had taken at the latest looks, the oldest first; null while nothing waits to go out. */
  taken: number[] | null;
  /** Those read when it was last looked at for closing the server; -1 where it was not. */
  bytesRead: number;
}

/** What has been done to connections since the server was made. */
export interface ConnectionCounts {
  /** Open now. */
  readonly open: number;
  /** Closed as soon as they came, since there were as many as there may be. */
  readonly dropped: number;
  /** Closed because somebody did not read, or too slowly. */
  readonly slowReaders: number;
  /** Closed because no request came on them for long although something did. */
  readonly silent: number;
  /** Closed because too many requests came before their turn. */
  readonly flooded: number;
}

/** How much of the readers that were cut off still counts a look later. */
const CUT_OFF_DECAY = 0.8;

/** Whether the answer to the last request goes on. One that is made in slices has nothing to write in between. */
export function isAnswering({ answer }: Connection): boolean {
  return answer !== null && !answer.writableFinished && !answer.destroyed;
}

export class Connections {
  readonly #open = new Map<Socket, Connection>();
  readonly #patience: ConnectionPatience;
  readonly #samplesMax: number;
  #look = 0;
  #timer: NodeJS.Timeout | null = null;
  #slowReaders = 0;
  #cutOffLately = 0;
  #silent = 0;
  dropped = 0;
  flooded = 0;

  constructor(patience: ConnectionPatience = CONNECTION_PATIENCE) {
    this.#patience = patience;
    this.#samplesMax = this.#looks(patience.readerWindowMs) + 1;
  }

  get counts(): ConnectionCounts {
    const { dropped, flooded } = this;
    return { open: this.#open.size, dropped, slowReaders: this.#slowReaders, silent: this.#silent, flooded };
  }

  /** Does not keep the process alive. */
  start(): void {
    this.#timer ??= setInterval(() => this.look(), this.#patience.lookMs).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  add(socket: Socket): Connection {
    const connection: Connection = {
      socket,
      lone: null,
      isUnused: true,
      isEnding: false,
      answer: null,
      pending: new Set(),
      queue: null,
      usedAt: this.#look,
      closedAt: 0,
      taken: null,
      bytesRead: -1,
    };
    this.#open.set(socket, connection);
    return connection;
  }

  /**
   * Closes what has gone longest without a request until at most `max` are left. Those that do not read an answer go after
   * these, and those whose answer is being worked on go last.
   */
  makeRoom(max: number): void {
    const open = [...this.#open.values()].filter(({ socket }) => !socket.destroyed);
    if (open.length <= max) return;
    // The order in which they came settles what the looks do not.
    const rank = (connection: Connection): number => {
      if (connection.pending.size > 0) return 2;
      return isAnswering(connection) ? 1 : 0;
    };
    open.sort((a, b) => rank(a) - rank(b) || a.usedAt - b.usedAt);
    for (const { socket } of open.slice(0, open.length - max)) socket.destroy();
  }

  /** Begins anew to look for connections on which nothing comes in. */
  beginSweeping(): void {
    for (const connection of this)
      connection.bytesRead = connection.isUnused ? 0 : connection.socket.bytesRead;
  }

  /**
   * Destroys the connections that are idle: nothing came in since the last sweep, nothing waits to go out, and no answer is being
   * made. Node's closeIdleConnections takes an answer for over that was handed to the socket, and cuts slow readers off.
   *
   * @param sparesUnused those without a request so far are kept
   */
  sweep(sparesUnused: boolean): void {
    for (const connection of this) {
      const { socket, bytesRead, pending } = connection;
      if (socket.bytesRead !== bytesRead) connection.bytesRead = socket.bytesRead;
      else if (sparesUnused && connection.isUnused) continue;
      else if (socket.writableLength === 0 && pending.size === 0 && !isAnswering(connection))
        socket.destroy();
    }
  }

  delete(socket: Socket): void {
    this.#open.delete(socket);
  }

  get(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  [Symbol.iterator](): IterableIterator<Connection> {
    return this.#open.values();
  }

  /**
   * A request has come. Once per request: a few fields are written, and no clock is read.
   *
   * @param answer null where it has been answered
   */
  use(connection: Connection, answer: ServerResponse | null): void {
    connection.isUnused = false;
    connection.answer = answer;
    connection.usedAt = this.#look;
  }

  /**
   * The connection goes after its last answer. What the client still sends is read for a moment: closing with bytes unread would reset
   * the connection, and the client could lose the answer (RFC 9112 section 9.6).
   */
  linger(connection: Connection): void {
    connection.closedAt = this.#look + 1 + this.#looks(this.#patience.lingerMsMax);
  }

  /** One look at every connection: a few comparisons for one that is idle. */
  look(): void {
    const look = ++this.#look;
    let cutOff = 0;
    const idleLooks = this.#looks(this.#patience.idleMsMax);
    for (const connection of this.#open.values()) {
      const { socket, answer } = connection;
      if (connection.closedAt !== 0 && look >= connection.closedAt) {
        socket.destroy();
        continue;
      }
      if (answer !== null && (answer.writableFinished || answer.destroyed)) connection.answer = null;
      // It is this side that takes its time.
      else if (answer !== null && !answer.headersSent) connection.usedAt = look;
      if (connection.lone?.isAwaited) connection.usedAt = look;
      if (socket.writableLength > 0) {
        connection.usedAt = look;
        if (this.#isTooSlow(connection)) {
          cutOff++;
          this.#cutOff(connection);
        }
        continue;
      }
      connection.taken = null;
      if (look - connection.usedAt > idleLooks) {
        this.#silent++;
        socket.destroy();
      }
    }
    this.#cutOffLately = this.#cutOffLately * CUT_OFF_DECAY + cutOff;
    if (this.#cutOffLately >= READERS_CUT_OFF_MANY) this.#cutOffMore();
  }

  #cutOff({ socket }: Connection): void {
    this.#slowReaders++;
    // The system would otherwise keep what it has taken, some MB, until the client reads it or is given up.
    socket.resetAndDestroy();
  }

  /** With half of the patience. */
  #cutOffMore(): void {
    const samples = Math.ceil(this.#samplesMax / 2);
    for (const connection of this.#open.values()) {
      const { taken, socket } = connection;
      if (taken === null || taken.length < samples || socket.destroyed) continue;
      const sinceThen = (taken.at(-1) ?? 0) - (taken.at(-samples) ?? 0);
      if (sinceThen < this.#patience.readerBytesMin / 2) this.#cutOff(connection);
    }
  }

  /** Whether less than the minimum was taken within the window that ends now. */
  #isTooSlow(connection: Connection): boolean {
    connection.taken ??= [];
    const { taken } = connection;
    const now = bytesTaken(connection.socket);
    taken.push(now);
    if (taken.length < this.#samplesMax) return false;
    return now - (taken.shift() ?? 0) < this.#patience.readerBytesMin;
  }

  /** In looks and not by the clock: time in which this process stood still is nobody's fault. */
  #looks(ms: number): number {
    return Math.ceil(ms / this.#patience.lookMs);
  }
}
