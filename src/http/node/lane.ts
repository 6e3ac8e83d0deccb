/**
 * The lane: a request on a connection that stays open and has no unsent answers. Its answer goes directly to
 * the socket, without Node's request, response, timers and streams, which are most of the cost. If an answer needs
 * them, they are made at that moment. A request that is answered in a later turn stays on it until another event
 * on its connection.
 */
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HEAD_METHODS, type OnHead, usable } from './internals.js';

/** What a request says before its body. Requests of node:http are such heads, too. */
export interface RequestHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersion: string;
  readonly httpVersionMajor: number;
  readonly httpVersionMinor: number;
  /** Names and values in turn. */
  readonly rawHeaders: string[];
  /** Only requests of node:http have this object. All others have the method GET or HEAD. */
  readonly headers?: IncomingHttpHeaders;
  readonly socket: Socket;
}

interface HttpParser {
  /** Null if no body is expected. */
  incoming: IncomingMessage | null;
  /**
   * Node's parser calls this function with each request. @returns 0: the parser reads the body that the
   * request announces
   */
  onIncoming: (req: IncomingMessage, keepAlive: boolean) => number;
  readonly constructor: { readonly kOnHeadersComplete: number };
  /** The function for heads, at kOnHeadersComplete. */
  [onHead: number]: OnHead<HttpParser>;
  getCurrentBuffer(): Buffer;
}

/** A text in ISO 8859-1, or bytes in one or several pieces. */
type Outgoing = string | Uint8Array | readonly Uint8Array[];

const NOT_UNDER_WAY = 'the request is no longer in progress';
const NO_RESPONSE = 'node:http made no response';

/** Channels of tracing tools. Observers of performance entries need responses, too, but are not detected. */
const CHANNELS = [
  'http.server.request.start',
  'http.server.response.created',
  'http.server.response.finish',
].map((name) => channel(name));

export interface Awaited {
  readonly req: RequestHead;
  /** Called at most once, before the answer, which then uses Node's response. */
  takeResponse(res: ServerResponse): void;
}

export class Lane {
  readonly #server: Server;
  readonly #socket: Socket;
  readonly #parser: HttpParser;
  /** Node's own functions. */
  readonly #nodeOnIncoming: HttpParser['onIncoming'];
  readonly #nodeOnHead: OnHead<HttpParser>;
  /** The property of the parser that has the function for heads. */
  readonly #onHeadNumber: number;
  readonly #idleMs: number;
  readonly #see: (lane: Lane, keepAlive: boolean) => boolean;
  /** What Node's parser gave for the latest ordinary head. */
  #given: Parameters<OnHead<HttpParser>> | null = null;
  #req: RequestHead | null = null;
  /** Node's request for `#req`; null until it is needed. */
  #message: IncomingMessage | null = null;
  #isAnswered = false;
  #isUpgrade = false;
  #awaited: Awaited | null = null;
  #awaitedMessage: IncomingMessage | null = null;
  /** Set while Node makes a response for {@link Lane.makeResponse}. */
  #making: { res: ServerResponse | null } | null = null;
  /** Whether the idle timer was set by Lectern and not by Node. */
  #isTimed = false;

  private constructor(
    server: Server,
    socket: Socket,
    parser: HttpParser,
    idleMs: number,
    see: (lane: Lane, keepAlive: boolean) => boolean,
  ) {
    this.#server = server;
    this.#socket = socket;
    this.#parser = parser;
    this.#idleMs = idleMs;
    this.#see = see;
    this.#nodeOnIncoming = parser.onIncoming;
    this.#onHeadNumber = parser.constructor.kOnHeadersComplete;
    this.#nodeOnHead = parser[this.#onHeadNumber] as OnHead<HttpParser>;
    parser.onIncoming = this.#onIncoming;
    parser[this.#onHeadNumber] = this.#onHead;
  }

  /**
   * Passes each request to `see` before node:http makes a response for it. If `see` returns false, Node handles the request.
   *
   * @param idleMs how long a connection without requests is kept
   * @returns null if the parser cannot be used
   */
  static watch(
    server: Server,
    socket: Socket,
    idleMs: number,
    see: (lane: Lane, keepAlive: boolean) => boolean,
  ): Lane | null {
    const { parser = null } = socket as Socket & { readonly parser?: HttpParser | null };
    if (!usable.lane || parser === null) return null;
    return new Lane(server, socket, parser, idleMs, see);
  }

  /** Call this when Node has released the parser. Node reuses it, and it would keep this connection in memory. */
  close(): void {
    const parser = this.#parser;
    if (parser[this.#onHeadNumber] === this.#onHead) parser[this.#onHeadNumber] = this.#nodeOnHead;
  }

  /** Sees ordinary heads before node:http makes requests of them. */
  readonly #onHead: OnHead<HttpParser> = (...given) => {
    const { 0: httpVersionMajor, 1: httpVersionMinor, 2: rawHeaders, 3: number, 4: url } = given;
    const { 7: isUpgrade, 8: keepAlive } = given;
    const parser = this.#parser;
    const method = HEAD_METHODS[number];
    const isVersion11 = httpVersionMajor === 1 && httpVersionMinor === 1;
    const isOrdinary = method !== undefined && isVersion11 && keepAlive && !isUpgrade;
    // A tool that watches requests may have replaced this function.
    const isSeen = parser.onIncoming === this.#onIncoming;
    if (!isOrdinary || !isSeen || rawHeaders === undefined || url === undefined)
      return this.#nodeOnHead.apply(parser, given);
    parser.incoming = null;
    this.#given = given;
    const socket = this.#socket;
    return this.#receive(
      { method, url, httpVersion: '1.1', httpVersionMajor, httpVersionMinor, rawHeaders, socket },
      true,
    );
  };

  readonly #onIncoming = (req: IncomingMessage, keepAlive: boolean): number => {
    this.#message = req;
    // Node made this request of the present head.
    if (this.#req !== null) return 0;
    // Node resets this property if 'upgrade' has no listener.
    this.#isUpgrade = (req as IncomingMessage & { readonly upgrade?: unknown }).upgrade === true;
    return this.#receive(req, keepAlive);
  };

  #receive(req: RequestHead, keepAlive: boolean): number {
    this.#req = req;
    this.#isAnswered = false;
    try {
      return this.#see(this, keepAlive) ? 0 : this.#goOn(this.message, keepAlive);
    } finally {
      this.#req = null;
      this.#message = null;
      this.#isUpgrade = false;
    }
  }

  isEligible(keepAlive: boolean): boolean {
    const { httpVersionMajor, httpVersionMinor } = this.req;
    if (!keepAlive || httpVersionMajor !== 1 || httpVersionMinor !== 1 || this.#isUpgrade) return false;
    return this.#socket.writableLength === 0 && this.#socket.writable && !this.#isTraced();
  }

  /** Tracing tools need a response, and may subscribe to Node's channels or wrap `emit` at any time. */
  #isTraced(): boolean {
    if (this.#server.emit !== EventEmitter.prototype.emit) return true;
    for (const each of CHANNELS) if (each.hasSubscribers) return true;
    return false;
  }

  get isAwaited(): boolean {
    return this.#awaited !== null;
  }

  get req(): RequestHead {
    if (this.#req === null) throw new Error('there is no request');
    return this.#req;
  }

  /** Node's request, made on first use. */
  get message(): IncomingMessage {
    const given = this.#given;
    if (this.#message === null && this.#req !== null && given !== null)
      this.#nodeOnHead.apply(this.#parser, given);
    if (this.#message === null) throw new Error('node:http made no request');
    return this.#message;
  }

  hasAnswered(req: RequestHead): boolean {
    if (req === this.#awaited?.req) return false;
    // Only the latest request of a connection can be unanswered.
    return req !== this.#req || this.#isAnswered;
  }

  /** Whether node:http drops bytes after the request: after an ignored Upgrade, it drops the rest of the packet. */
  dropsRest(req: IncomingMessage): boolean {
    if (req !== this.#message || !this.#isUpgrade) return false;
    if (!usable.readAhead) return true;
    const packet = this.#parser.getCurrentBuffer().toString('latin1');
    return packet.indexOf('\r\n\r\n') !== packet.length - 4;
  }

  #goOn(req: IncomingMessage, keepAlive: boolean): number {
    if (this.#isTimed) {
      // An answer may take longer than the allowed idle time.
      this.#isTimed = false;
      this.#socket.setTimeout(0);
    }
    return this.#nodeOnIncoming.call(this.#parser, req, keepAlive);
  }

  /**
   * Announces that the answer comes in a later turn: through {@link Lane.answer}, or on the response
   * given to `awaited`.
   */
  awaitAnswer(awaited: Awaited): void {
    if (awaited.req !== this.#req || this.#isAnswered) throw new Error(NOT_UNDER_WAY);
    if (this.#socket.timeout) this.#socket.setTimeout(0);
    this.#isTimed = false;
    this.#awaited = awaited;
    this.#awaitedMessage = this.message;
    this.#parser.incoming = null;
  }

  /**
   * Call this before any other event of the connection is handled: an awaited request then gets Node's
   * response.
   *
   * @returns the response; null if no request was awaited, or if Node made none and the connection was closed
   */
  endAwaiting(): ServerResponse | null {
    const awaited = this.#awaited;
    const req = this.#awaitedMessage;
    if (awaited === null || req === null) return null;
    this.#awaited = null;
    this.#awaitedMessage = null;
    let res: ServerResponse;
    try {
      res = this.#make(req);
    } catch {
      // `emit` was wrapped meanwhile, and the wrapper did not pass on the request.
      this.#socket.destroy();
      return null;
    }
    req.complete = true;
    req.push(null);
    // Node does not notice a connection that was lost before the response was made.
    if (this.#socket.destroyed) res.destroy();
    awaited.takeResponse(res);
    return res;
  }

  /** Call this once. The answer to an awaited request must begin in the same turn. */
  makeResponse(req: RequestHead): ServerResponse {
    if (req !== this.#awaited?.req) {
      if (req !== this.#req || this.#isAnswered) throw new Error(NOT_UNDER_WAY);
      const made = this.#make(this.message);
      this.#isAnswered = true;
      return made;
    }
    const res = this.endAwaiting();
    if (res === null) throw new Error(NO_RESPONSE);
    return res;
  }

  #make(req: IncomingMessage): ServerResponse {
    const making: { res: ServerResponse | null } = { res: null };
    this.#making = making;
    try {
      this.#goOn(req, true);
    } finally {
      this.#making = null;
    }
    if (making.res === null) throw new Error(NO_RESPONSE);
    return making.res;
  }

  /**
   * Call this with each response that node:http makes. @returns true if the response was made for a request of
   * the lane: do not handle that request again
   */
  takes(res: ServerResponse): boolean {
    if (this.#making === null) return false;
    this.#making.res = res;
    return true;
  }

  /** Sends the whole answer, head included. @returns whether the kernel has taken the bytes, so that their memory is free */
  answer(what: Outgoing): boolean {
    const socket = this.#socket;
    this.#isAnswered = true;
    this.#awaited = null;
    this.#awaitedMessage = null;
    this.#parser.incoming = null;
    if (typeof what === 'string') socket.write(what, 'latin1');
    else if (what instanceof Uint8Array) socket.write(what);
    else {
      socket.cork();
      for (const piece of what) socket.write(piece);
      socket.uncork();
    }
    if (!socket.timeout) {
      socket.setTimeout(this.#idleMs);
      this.#isTimed = true;
    }
    return socket.writableLength === 0;
  }
}
