import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RouteLabel, routeNumber } from '../metrics/cells.js';
import type { Meter } from '../metrics/meter.js';
import type { AnswerFields, OriginFields } from './answer/answer-fields.js';
import type { Logger } from './logger.js';
import { type Awaited, FastPath } from './node/fast-path.js';
import { endWithAnswer } from './node/internals.js';
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
  readonly req: IncomingMessage;
  readonly target: string;
  readonly path: string;
  readonly query: string;
  /** The method is HEAD: like GET, but without a body (RFC 9110 section 9.3.2). */
  readonly head: boolean;
  readonly headers: HeaderFacts;
  readonly ownsSocket: boolean;
  /** Header fields of every answer. */
  fields: AnswerFields;
  label: RouteLabel = 'none';
  readonly #settings: ExchangeSettings;
  /** -1 if answers are neither counted nor logged. */
  readonly #beganMs: number;
  #fastPath: FastPath | null;
  #res: ServerResponse | null;
  #isAwaited = false;

  constructor(req: IncomingMessage, to: ServerResponse | FastPath, settings: ExchangeSettings) {
    const { ownsSocket, origins, meter, logShare } = settings;
    const target = req.url ?? '/';
    const { path, query } = splitTarget(target);
    const headers = readHeaderFacts(req.rawHeaders);
    const isFast = to instanceof FastPath;
    this.req = req;
    this.target = target;
    this.path = path;
    this.query = query;
    this.head = req.method === 'HEAD';
    this.headers = headers;
    this.ownsSocket = ownsSocket;
    this.fields = origins.of(headers.origin);
    this.#settings = settings;
    this.#beganMs = meter === null && logShare === 0 ? -1 : performance.now();
    this.#fastPath = isFast ? to : null;
    this.#res = isFast ? null : to;
  }

  /** Null once a response exists. */
  get fastPath(): FastPath | null {
    return this.#fastPath;
  }

  makeResponse(): ServerResponse {
    if (this.#res === null) {
      this.#res = (this.#fastPath as FastPath).makeResponse(this.req);
      this.#fastPath = null;
    }
    return this.#res;
  }

  /**
   * Call this before an answer that comes in a later turn. Requests that arrive meanwhile wait behind this
   * request.
   */
  awaitAnswer(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    this.#fastPath?.awaitAnswer(this);
  }

  takeResponse(res: ServerResponse): void {
    this.#res = res;
    this.#fastPath = null;
  }

  closeAfterAnswer(): void {
    endWithAnswer(this.makeResponse());
  }

  /** Ends the connection if a part of the answer was already sent. @returns whether a part was already sent */
  cutOffIfBegun(): boolean {
    const fastPath = this.#fastPath;
    const hasBegun = fastPath === null ? this.makeResponse().headersSent : fastPath.hasAnswered(this.req);
    if (hasBegun) (fastPath === null ? this.makeResponse() : this.req.socket).destroy();
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
