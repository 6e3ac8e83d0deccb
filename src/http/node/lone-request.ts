/**
 * Requests that stand alone: all answers before them have gone, and their connection stays open behind them. An answer that is
 * there at once then goes straight to the socket, and node:http makes nothing for it: no response, no object of
 * its header fields, no end of a stream that nobody reads, and no timer is set and cleared. That is most of what node:http
 * itself costs. For every other answer node's response is made when it is first needed, and all goes its ordinary way.
 *
 * The answer may also come in a later turn. The request is then awaited, and stands alone for as long as nothing happens on its
 * connection: whatever comes behind it, the end of the connection included, first has node's response made for it.
 *
 * It takes the place of the function that node's parser calls with each request, and sets `incoming`, by which the parser knows
 * whether a body is waited for. While a server is traced by diagnostics channels or its `emit`, every request goes the ordinary way.
 * An observer of performance entries of type `http`, which hang on responses, sees only requests for which one is made.
 */
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { usable } from './inner-parts.js';
import { type Outgoing, writeOut } from './write-out.js';

interface Parser {
  incoming: IncomingMessage | null;
  /** @returns 0: what follows is read on as the request says */
  onIncoming: (req: IncomingMessage, keepAlive: boolean) => number;
  /** What is being parsed. */
  getCurrentBuffer(): Buffer;
}

const NOT_UNDER_WAY = 'the request is not under way any more';
const NO_RESPONSE = 'node:http made no response';

/** What node:http publishes of each request, for those that trace them. */
const CHANNELS = [
  'http.server.request.start',
  'http.server.response.created',
  'http.server.response.finish',
].map((name) => channel(name));

/** Who sends an answer in a later turn. */
export interface Awaited {
  readonly req: IncomingMessage;
  /** The request does not stand alone any more: its answer goes to node's response. Called once at most, not after the answer. */
  takeResponse(res: ServerResponse): void;
}

/** The request of a connection that is being answered alone. One object for each connection, used again and again. */
export class LoneRequest {
  readonly #server: Server;
  readonly #socket: Socket;
  readonly #parser: Parser;
  readonly #handOn: Parser['onIncoming'];
  readonly #idleMs: number;
  #req: IncomingMessage | null = null;
  #isAnswered = false;
  #isUpgrade = false;
  #response: ServerResponse | null = null;
  #awaited: Awaited | null = null;
  #wantsResponse = false;
  /** What node has made where it was wanted. */
  #made: ServerResponse | null = null;
  /** The connection is given up when it has been idle, by a timer that node does not know of. */
  #isTimed = false;

  private constructor(server: Server, socket: Socket, parser: Parser, idleMs: number) {
    this.#server = server;
    this.#socket = socket;
    this.#parser = parser;
    this.#idleMs = idleMs;
    this.#handOn = parser.onIncoming;
  }

  /**
   * Has each request of a connection shown to `see` before node:http makes a response for it.
   *
   * @param idleMs for which a connection is kept without requests
   * @param see answers the request, for which it gives 0, or hands it on
   * @returns null where that cannot be
   */
  static watch(
    server: Server,
    socket: Socket,
    idleMs: number,
    see: (lone: LoneRequest, req: IncomingMessage, keepAlive: boolean) => number,
  ): LoneRequest | null {
    const { parser = null } = socket as Socket & { readonly parser?: Parser | null };
    if (!usable.loneRequests || parser === null) return null;
    const lone = new LoneRequest(server, socket, parser, idleMs);
    parser.onIncoming = (req, keepAlive) => {
      lone.#req = req;
      lone.#isAnswered = false;
      // Node takes it back where nothing listens to 'upgrade'.
      lone.#isUpgrade = (req as IncomingMessage & { readonly upgrade?: unknown }).upgrade === true;
      try {
        return see(lone, req, keepAlive);
      } finally {
        // An idle connection keeps nothing of it in memory.
        lone.#req = null;
        lone.#response = null;
      }
    };
    return lone;
  }

  /**
   * Whether a response has to be made for those that trace: listeners of node's channels, or a wrapped `emit`. That may begin at
   * any moment.
   */
  get isTraced(): boolean {
    if (this.#server.emit !== EventEmitter.prototype.emit) return true;
    for (const each of CHANNELS) if (each.hasSubscribers) return true;
    return false;
  }

  /** Whether the answer comes in a later turn. */
  get isAwaited(): boolean {
    return this.#awaited !== null;
  }

  get req(): IncomingMessage {
    if (this.#req === null) throw new Error('there is no request');
    return this.#req;
  }

  /** Whether the answer to a request has been sent here. */
  hasAnswered(req: IncomingMessage): boolean {
    if (req === this.#awaited?.req) return false;
    // Of a connection only the latest can be without an answer.
    return req !== this.#req || this.#isAnswered;
  }

  /**
   * Whether node:http drops what arrived together with a request that it has just read: behind an Upgrade that is ignored, it goes
   * on with the next packet.
   */
  dropsRest(req: IncomingMessage): boolean {
    if (req !== this.#req || !this.#isUpgrade) return false;
    if (!usable.readAhead) return true;
    const packet = this.#parser.getCurrentBuffer().toString('latin1');
    return packet.indexOf('\r\n\r\n') !== packet.length - 4;
  }

  /** Node's response where it has been made. */
  get response(): ServerResponse | null {
    return this.#response;
  }

  /**
   * Lets node:http go on with the request, as it would have.
   *
   * @returns what the parser wants to know
   */
  handOn(req: IncomingMessage, keepAlive: boolean): number {
    if (this.#isTimed) {
      // As node does with its own timer: an answer may take longer than a client may be idle.
      this.#isTimed = false;
      this.#socket.setTimeout(0);
    }
    return this.#handOn(req, keepAlive);
  }

  /** The answer to the present request comes later, by {@link LoneRequest.answer} or as `awaited` is told. */
  awaitAnswer(awaited: Awaited): void {
    if (awaited.req !== this.#req || this.#isAnswered) throw new Error(NOT_UNDER_WAY);
    // Also the timer that node has set where the answer before went by its response.
    if (this.#socket.timeout) this.#socket.setTimeout(0);
    this.#isTimed = false;
    this.#awaited = awaited;
    // No body is waited for.
    this.#parser.incoming = null;
  }

  /**
   * To be called before anything else happens on the connection: the request that is awaited, if there is one, gets node's response.
   *
   * @returns the response, for which its answer has not come yet; null where nothing was awaited, or where no response could be had
   *   and the connection was closed
   */
  endAwaiting(): ServerResponse | null {
    const awaited = this.#awaited;
    if (awaited === null) return null;
    this.#awaited = null;
    const { req } = awaited;
    let res: ServerResponse;
    try {
      res = this.#make(req);
    } catch {
      // `emit` was wrapped meanwhile, and the wrapper keeps the request.
      this.#socket.destroy();
      return null;
    }
    // As the parser would have done.
    req.complete = true;
    req.push(null);
    // Made too late for node to see that its connection is lost.
    if (this.#socket.destroyed) res.destroy();
    awaited.takeResponse(res);
    return res;
  }

  /**
   * Node's response, which is made now where there is none. Of one that was awaited the answer has to begin in the same turn: the
   * server hears nothing of it.
   *
   * @param req whose it is
   */
  makeResponse(req: IncomingMessage): ServerResponse {
    const isAwaited = req === this.#awaited?.req;
    if (!isAwaited && (req !== this.#req || this.#isAnswered)) throw new Error(NOT_UNDER_WAY);
    const res = isAwaited ? this.endAwaiting() : (this.#response ?? this.#make(req));
    if (res === null) throw new Error(NO_RESPONSE);
    if (req === this.#req) this.#response = res;
    return res;
  }

  #make(req: IncomingMessage): ServerResponse {
    this.#wantsResponse = true;
    try {
      this.handOn(req, true);
      if (this.#made === null) throw new Error(NO_RESPONSE);
      return this.#made;
    } finally {
      this.#wantsResponse = false;
      this.#made = null;
    }
  }

  /** To be told of each response that node:http makes. @returns whether it was wanted here, and nobody else is to see it */
  takes(res: ServerResponse): boolean {
    if (!this.#wantsResponse) return false;
    this.#made = res;
    return true;
  }

  /**
   * Sends the whole answer, head included.
   *
   * @returns whether the kernel has taken the bytes: then nobody looks at them any more
   */
  answer(what: Outgoing): boolean {
    const socket = this.#socket;
    this.#isAnswered = true;
    this.#awaited = null;
    const isTaken = writeOut(socket, what);
    // No body is waited for.
    this.#parser.incoming = null;
    // Whatever is read or written begins the time anew.
    if (!socket.timeout) {
      socket.setTimeout(this.#idleMs);
      this.#isTimed = true;
    }
    return isTaken;
  }
}
