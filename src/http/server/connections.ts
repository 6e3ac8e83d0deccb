import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  CONNECTION_IDLE_MS_MAX,
  LINGER_MS_MAX,
  PIPELINED_BYTES_MAX,
  PIPELINED_WAITING_MAX,
  READER_BYTES_MIN,
  READER_WINDOW_MS,
  READERS_CUT_OFF_MANY,
  REQUESTS_IN_FLIGHT_MAX,
} from '../../base/limits.js';
import { bytesTaken } from '../node/internals.js';
import type { Lane } from '../node/lane.js';

/** Tests have shorter bounds. `lookMs`: time between two checks of all connections. */
export type ConnectionBounds = Readonly<
  Record<'lookMs' | 'readerWindowMs' | 'readerBytesMin' | 'idleMsMax' | 'lingerMsMax', number>
>;

export const CONNECTION_BOUNDS: ConnectionBounds = {
  lookMs: 1000,
  readerWindowMs: READER_WINDOW_MS,
  readerBytesMin: READER_BYTES_MIN,
  idleMsMax: CONNECTION_IDLE_MS_MAX,
  lingerMsMax: LINGER_MS_MAX,
};

type Handle = (connection: Connection, req: IncomingMessage, res: ServerResponse) => void;

export class Connection {
  readonly socket: Socket;
  /** Null if Node makes a response for every request. */
  lane: Lane | null = null;
  /** Whether no request has arrived yet. Node does not count such connections as idle. */
  isUnused = true;
  /** Later requests are not answered. */
  isEnding = false;
  /** The response to the last request, until the first check after that response has ended. */
  answer: ServerResponse | null = null;
  /** Responses that had not begun when their handler returned, until they are closed. */
  readonly pending: Set<ServerResponse> = new Set();
  /** Pipelined requests not handled yet. */
  readonly waiting: { readonly req: IncomingMessage; readonly res: ServerResponse }[] = [];
  /** The number of the last check that found the connection in use. */
  usedAt: number;
  /** The number of the check that closes the connection in any case; 0 if no check does. */
  closedAt = 0;
  /** Bytes that the system had taken at the latest checks, oldest first; null if nothing waits to be sent. */
  taken: number[] | null = null;
  /** The socket's `bytesRead` at the last sweep; -1 before the first sweep. */
  bytesRead = -1;
  /** Number of pipelined requests with an unsent answer, and the bytes of those answers. */
  #inFlight = 0;
  #inFlightBytes = 0;

  constructor(socket: Socket, look: number) {
    this.socket = socket;
    this.usedAt = look;
  }

  get isAnswering(): boolean {
    const { answer } = this;
    return answer !== null && !answer.writableFinished && !answer.destroyed;
  }

  /**
   * Handles a request in its turn, because node:http would handle all pipelined requests at once. @returns
   * false if too many wait
   */
  handleInTurn(req: IncomingMessage, res: ServerResponse, handle: Handle): boolean {
    // A response without a socket waits behind other responses.
    if (res.socket !== null) {
      handle(this, req, res);
      return true;
    }
    if (this.waiting.length >= PIPELINED_WAITING_MAX) return false;
    this.waiting.push({ req, res });
    this.#handleWaiting(handle);
    return true;
  }

  #handleWaiting(handle: Handle): void {
    // One or two requests that found the connection free may be in progress without being counted.
    while (this.#inFlight < REQUESTS_IN_FLIGHT_MAX - 1 && this.#inFlightBytes < PIPELINED_BYTES_MAX) {
      const next = this.waiting.shift();
      // If an answer has closed the connection, no other answer can be sent.
      if (next === undefined || !this.socket.writable) return;
      const { req, res } = next;
      handle(this, req, res);
      // An unfinished answer counts as one request and zero bytes.
      const bytes = res.socket === null ? res.writableLength : 0;
      this.#inFlight++;
      this.#inFlightBytes += bytes;
      res.once('close', () => {
        this.#inFlight--;
        this.#inFlightBytes -= bytes;
        this.#handleWaiting(handle);
      });
    }
  }
}

interface ClosedCounts {
  /** Connections closed on arrival, because there were too many. */
  dropped: number;
  /** Connections closed because the client did not read, or read too slowly. */
  slowReaders: number;
  /** Connections closed because no request arrived for a long time, although bytes did. */
  silent: number;
  flooded: number;
}

export interface ConnectionCounts extends Readonly<ClosedCounts> {
  readonly open: number;
}

const CUT_OFF_DECAY = 0.8;

/** All open connections, and one timer that checks them: for slow readers, silence and last answers. */
export class Connections {
  readonly closed: ClosedCounts = { dropped: 0, slowReaders: 0, silent: 0, flooded: 0 };
  readonly open: Map<Socket, Connection> = new Map();
  readonly #bounds: ConnectionBounds;
  readonly #samplesMax: number;
  #look = 0;
  #timer: NodeJS.Timeout | undefined;
  #cutOffLately = 0;

  constructor(bounds: ConnectionBounds = CONNECTION_BOUNDS) {
    this.#bounds = bounds;
    this.#samplesMax = this.#looks(bounds.readerWindowMs) + 1;
  }

  get counts(): ConnectionCounts {
    return { ...this.closed, open: this.open.size };
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#lookAtAll(), this.#bounds.lookMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  add(socket: Socket): Connection {
    const connection = new Connection(socket, this.#look);
    this.open.set(socket, connection);
    return connection;
  }

  /**
   * Closes all but `max` connections: first idle connections, then readers, then connections with an answer
   * in preparation.
   */
  makeRoom(max: number): void {
    const open = [...this.open.values()].filter(({ socket }) => !socket.destroyed);
    if (open.length <= max) return;
    const rank = ({ pending, isAnswering }: Connection): number =>
      pending.size > 0 ? 2 : Number(isAnswering);
    open.sort((a, b) => rank(a) - rank(b) || a.usedAt - b.usedAt);
    for (const { socket } of open.slice(0, open.length - max)) socket.destroy();
  }

  beginSweeping(): void {
    for (const connection of this.open.values())
      connection.bytesRead = connection.isUnused ? 0 : connection.socket.bytesRead;
  }

  /**
   * Destroys connections without input since the last sweep and without output. Node's closeIdleConnections
   * would cut off slow readers.
   *
   * @param sparesUnused whether connections without a request so far are kept
   */
  sweep(sparesUnused: boolean): void {
    for (const connection of this.open.values()) {
      const { socket, bytesRead, pending } = connection;
      if (socket.bytesRead !== bytesRead) connection.bytesRead = socket.bytesRead;
      else if (sparesUnused && connection.isUnused) continue;
      else if (socket.writableLength === 0 && pending.size === 0 && !connection.isAnswering) socket.destroy();
    }
  }

  use(connection: Connection, answer: ServerResponse | null): void {
    connection.isUnused = false;
    connection.answer = answer;
    connection.usedAt = this.#look;
  }

  /**
   * Reads for another moment, then closes. A close with unread bytes is a reset, and the client could lose
   * the last answer (RFC 9112 section 9.6).
   */
  linger(connection: Connection): void {
    connection.closedAt = this.#look + 1 + this.#looks(this.#bounds.lingerMsMax);
  }

  #lookAtAll(): void {
    const look = ++this.#look;
    let cutOff = 0;
    const idleLooks = this.#looks(this.#bounds.idleMsMax);
    for (const connection of this.open.values()) {
      const { socket, answer } = connection;
      // If the event loop is late, the socket's close event arrives after this check.
      if (socket.destroyed) continue;
      if (connection.closedAt !== 0 && look >= connection.closedAt) {
        socket.destroy();
        continue;
      }
      if (answer !== null && (answer.writableFinished || answer.destroyed)) connection.answer = null;
      // An event stream may be silent for a long time.
      else if (answer !== null) connection.usedAt = look;
      if (connection.lane?.isAwaited) connection.usedAt = look;
      if (socket.writableLength > 0) {
        connection.usedAt = look;
        if (this.#isTooSlow(connection)) {
          cutOff++;
          this.#cutOff(socket);
        }
        continue;
      }
      connection.taken = null;
      if (look - connection.usedAt > idleLooks) {
        this.closed.silent++;
        socket.destroy();
      }
    }
    this.#cutOffLately = this.#cutOffLately * CUT_OFF_DECAY + cutOff;
    if (this.#cutOffLately >= READERS_CUT_OFF_MANY) this.#cutOffMore();
  }

  /** Resets the connection, because after a plain close the system would keep some MB for the client. */
  #cutOff(socket: Socket): void {
    this.closed.slowReaders++;
    socket.resetAndDestroy();
  }

  #cutOffMore(): void {
    const samples = Math.ceil(this.#samplesMax / 2);
    for (const { taken, socket } of this.open.values()) {
      if (taken === null || taken.length < samples || socket.destroyed) continue;
      const sinceThen = (taken.at(-1) ?? 0) - (taken.at(-samples) ?? 0);
      if (sinceThen < this.#bounds.readerBytesMin / 2) this.#cutOff(socket);
    }
  }

  #isTooSlow(connection: Connection): boolean {
    connection.taken ??= [];
    const { taken } = connection;
    const now = bytesTaken(connection.socket);
    taken.push(now);
    if (taken.length < this.#samplesMax) return false;
    return now - (taken.shift() ?? 0) < this.#bounds.readerBytesMin;
  }

  /** Time is counted in checks, because clients are not to blame if this process was suspended. */
  #looks(ms: number): number {
    return Math.ceil(ms / this.#bounds.lookMs);
  }
}
