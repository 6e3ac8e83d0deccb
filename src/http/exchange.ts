import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RouteLabel, routeNumber } from '../base/metrics/cells.js';
import type { Meter } from '../base/metrics/meter.js';
import type { AnswerFields, OriginFields } from './answer/answer-fields.js';
import type { Logger } from './logger.js';
import { endWithAnswer } from './node/internals.js';
import { type Awaited, Lane, type RequestHead } from './node/lane.js';
import { type HeaderFacts, readHeaderFacts, readRequestIds } from './request/header-facts.js';
import { splitTarget } from './request/target.js';

export interface ExchangeSettings {
  /** No middleware, such as a compressor, sits between response and socket, so written bytes can be reused. */
  readonly ownsSocket: boolean;
  readonly origins: OriginFields;
  readonly meter: Meter | null;
  /** Share of answers to log. */
  readonly logShare: number;
  readonly log: Logger | undefined;
}

/** One request and its answer. */
export class Exchange implements Awaited {
  /** The request of node:http, once a response exists. */
  req: RequestHead;
  readonly target: string;
  readonly path: string;
  readonly query: string;
  /** The method is HEAD: like GET, but without a body (RFC 9110 section 9.3.2). */
  readonly isHead: boolean;
  readonly headers: HeaderFacts;
  readonly ownsSocket: boolean;
  /** Header fields of every answer. */
  fields: AnswerFields;
  label: RouteLabel = 'none';
  readonly #settings: ExchangeSettings;
  /** -1 if answers are neither counted nor logged. */
  readonly #beganMs: number;
  #lane: Lane | null;
  #res: ServerResponse | null;
  #isAwaited = false;

  constructor(req: RequestHead, to: ServerResponse | Lane, settings: ExchangeSettings) {
    const { ownsSocket, origins, meter, logShare } = settings;
    const target = req.url ?? '/';
    const { path, query } = splitTarget(target);
    const headers = readHeaderFacts(req.rawHeaders);
    const isOnLane = to instanceof Lane;
    this.req = req;
    this.target = target;
    this.path = path;
    this.query = query;
    this.isHead = req.method === 'HEAD';
    this.headers = headers;
    this.ownsSocket = ownsSocket;
    this.fields = origins.of(headers.origin);
    this.#settings = settings;
    this.#beganMs = meter === null && logShare === 0 ? -1 : performance.now();
    this.#lane = isOnLane ? to : null;
    this.#res = isOnLane ? null : to;
  }

  /** Null once a response exists. */
  get lane(): Lane | null {
    return this.#lane;
  }

  /** The request of node:http. */
  get message(): IncomingMessage {
    return this.#lane === null ? (this.req as IncomingMessage) : this.#lane.message;
  }

  makeResponse(): ServerResponse {
    if (this.#res !== null) return this.#res;
    const res = (this.#lane as Lane).makeResponse(this.req);
    this.takeResponse(res);
    return res;
  }

  /**
   * Call this before an answer that comes in a later turn. Requests that arrive meanwhile wait behind this
   * request.
   */
  awaitAnswer(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    this.#lane?.awaitAnswer(this);
  }

  takeResponse(res: ServerResponse): void {
    this.req = res.req;
    this.#res = res;
    this.#lane = null;
  }

  closeAfterAnswer(): void {
    endWithAnswer(this.makeResponse());
  }

  /** Ends the connection if a part of the answer was already sent. @returns whether a part was already sent */
  cutOffIfBegun(): boolean {
    const lane = this.#lane;
    const hasBegun = lane === null ? this.makeResponse().headersSent : lane.hasAnswered(this.req);
    if (hasBegun) (lane === null ? this.makeResponse() : this.req.socket).destroy();
    return hasBegun;
  }

  /** Counts bytes of a body whose length was unknown when the answer was counted. */
  sent(bytes: number): void {
    if (this.#beganMs >= 0) this.#settings.meter?.addBytes(routeNumber(this.label), bytes);
  }

  /**
   * Counts and logs an answer once the connection has the answer or its first slice. @param bytes 0 if
   * counted later
   */
  answered(status: number, bytes: number): void {
    if (this.#beganMs < 0) return;
    const { meter, logShare, log } = this.#settings;
    const durationMs = performance.now() - this.#beganMs;
    meter?.answered(routeNumber(this.label), status, bytes, durationMs);
    // Random, because requests in a fixed rhythm could otherwise always be missed.
    if (logShare === 0 || Math.random() >= logShare) return;
    const fields = {
      method: this.req.method,
      route: this.label,
      status,
      durationMs: Math.round(durationMs * 1000) / 1000,
      bytes,
      ...readRequestIds(this.req.rawHeaders),
    };
    try {
      log?.info(fields, 'request');
    } catch {
      // The answer was sent, so a failing logger must not turn the request into a fault.
    }
  }
}

/** Header fields, names and values in turn. Values are texts, because node:http checks numbers more slowly. */
export type FlatHeaders = string[];
