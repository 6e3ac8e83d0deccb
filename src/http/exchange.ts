/** One request and its answer, as the parts of the HTTP layer pass it on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AnswerFields, type OriginFields, PLAIN_FIELDS } from './answer/answer-fields.js';
import { type Awaited, LoneRequest } from './node/lone-request.js';
import { type HeaderFacts, readHeaderFacts } from './request/header-facts.js';
import { splitTarget } from './request/target.js';

/** What is the same for all exchanges of a handler. */
export interface ExchangeSettings {
  /** Nothing stands between the response and the socket, as compressing middleware would. Written bytes are free to be reused. */
  readonly ownsSocket: boolean;
  /** Null where no origin is allowed. */
  readonly origins: OriginFields | null;
  /** Null where answers are not counted or logged. */
  readonly observer: AnswerObserver | null;
}

export class Exchange implements Awaited {
  readonly req: IncomingMessage;
  /** The request target as it came. */
  readonly target: string;
  /** Without the query, percent-encoding as it came. */
  readonly path: string;
  /** Without the "?", undecoded. */
  readonly query: string;
  /** HEAD: everything as for GET, but no body (RFC 9110 section 9.3.2). */
  readonly head: boolean;
  readonly headers: HeaderFacts;
  /** See {@link ExchangeSettings}. */
  readonly ownsSocket: boolean;
  /** What every answer to this request has besides its own header fields. */
  fields: AnswerFields;
  /** See {@link ExchangeSettings}. */
  readonly observer: AnswerObserver | null;
  /** When it began, by performance.now(); 0 where there is no observer. */
  readonly beganMs: number;
  /** See routeNumber(): what it is counted as. */
  route = 0;
  #lone: LoneRequest | null;
  #res: ServerResponse | null;

  /** @param to where the answer goes */
  constructor(
    req: IncomingMessage,
    to: ServerResponse | LoneRequest,
    { ownsSocket, origins, observer }: ExchangeSettings,
  ) {
    const target = req.url ?? '/';
    const { path, query } = splitTarget(target);
    const headers = readHeaderFacts(req.rawHeaders);
    const isLone = to instanceof LoneRequest;
    this.req = req;
    this.target = target;
    this.path = path;
    this.query = query;
    this.head = req.method === 'HEAD';
    this.headers = headers;
    this.ownsSocket = ownsSocket;
    this.fields = origins === null ? PLAIN_FIELDS : origins.of(headers.origin);
    this.observer = observer;
    this.beganMs = observer === null ? 0 : performance.now();
    this.#lone = isLone ? to : null;
    this.#res = isLone ? null : to;
  }

  /** The request that stands alone and for which there is no response; null where there is one. */
  get lone(): LoneRequest | null {
    return this.#lone;
  }

  /** Node's response; it is made where there was none. */
  makeResponse(): ServerResponse {
    if (this.#res === null) {
      this.#res = (this.#lone as LoneRequest).makeResponse(this.req);
      this.#lone = null;
    }
    return this.#res;
  }

  /** Call it before an answer that comes in a later turn: requests that arrive meanwhile wait behind this one. */
  awaitAnswer(): void {
    this.#lone?.awaitAnswer(this);
  }

  takeResponse(res: ServerResponse): void {
    this.#res = res;
    this.#lone = null;
  }

  /** Whether any of the answer is on its way. */
  get hasBegun(): boolean {
    return this.#lone === null ? this.makeResponse().headersSent : this.#lone.hasAnswered(this.req);
  }

  /** The connection ends with this answer. */
  closeAfterAnswer(): void {
    this.makeResponse().shouldKeepAlive = false;
  }

  /** Ends the connection where it is. */
  cutOff(): void {
    if (this.#lone === null) this.makeResponse().destroy();
    else this.req.socket.destroy();
  }
}

/** Is told of every answer, by what sends it. */
export interface AnswerObserver {
  /**
   * The answer was handed to the connection; of one that is made in slices, the first slice.
   *
   * @param bytes of the body
   */
  answered(exchange: Exchange, status: number, bytes: number): void;
}

/** Header fields of an answer, names and values in turn. No numbers: node:http would take them, but checks them a slower way. */
export type FlatHeaders = string[];
