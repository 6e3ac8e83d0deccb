/**
 * One request and its response, as the parts of the HTTP layer pass it on.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AnswerFields, type OriginFields, PLAIN_FIELDS } from '../answer/answer-fields.js';
import { type Awaited, LoneRequest } from './lone-request.js';

/** What is the same for all exchanges of a handler. */
export interface ExchangeSettings {
  /**
   * Nobody stands between the response and the socket, as middleware does that compresses: what the socket has written is not
   * looked at any more.
   */
  readonly ownsSocket: boolean;
  /** Null where no origin is allowed. */
  readonly origins: OriginFields | null;
  /** Null where nobody wants to know. */
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

  /** Node's response, which is made where there was none. */
  get res(): ServerResponse {
    if (this.#res === null) {
      this.#res = (this.#lone as LoneRequest).makeResponse(this.req);
      this.#lone = null;
    }
    return this.#res;
  }

  /** Where node itself has to look at the request. */
  needResponse(): ServerResponse {
    return this.res;
  }

  /** To be called before anything that ends in another turn: until then other requests may come, and must wait behind this one. */
  awaitAnswer(): void {
    this.#lone?.awaitAnswer(this);
  }

  takeResponse(res: ServerResponse): void {
    this.#res = res;
    this.#lone = null;
  }

  /** Whether any of the answer is on its way. */
  get hasBegun(): boolean {
    return this.#lone === null ? this.res.headersSent : this.#lone.hasAnswered(this.req);
  }

  /** Ends the connection where it is. */
  cutOff(): void {
    if (this.#lone === null) this.res.destroy();
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

/** What the service wants to know of the header fields. */
export interface HeaderFacts {
  /** Several fields are one list (RFC 9110 section 5.3). */
  readonly accept: string | undefined;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** The last of the Authorization fields. */
  readonly authorization: string | undefined;
  /** Their number; more than one is nothing that can be answered. */
  readonly authorizations: number;
  /** Number of Host fields; anything but one is malformed in HTTP/1.1 (RFC 9112 section 3.2). */
  readonly hosts: number;
  /** The last of them; empty where there is none. */
  readonly host: string;
  /** The request announces a body. */
  readonly hasContent: boolean;
  /** Transfer codings, several fields as one list; undefined where there are none. */
  readonly transferEncoding: string | undefined;
  readonly expect: string | undefined;
  /** The last of the Origin fields. */
  readonly origin: string | undefined;
}

/** A Content-Length of nothing. */
const NO_BYTES = /^0+$/;

/** One pass over the raw headers: node's `headers` object would hide repeated fields. */
export function readHeaderFacts(rawHeaders: readonly string[]): HeaderFacts {
  let accept: string | undefined;
  let ifMatch: string | undefined;
  let ifNoneMatch: string | undefined;
  let authorization: string | undefined;
  let authorizations = 0;
  let hosts = 0;
  let host = '';
  let hasContent = false;
  let transferEncoding: string | undefined;
  let expect: string | undefined;
  let origin: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const value = rawHeaders[i + 1] as string;
    // Lengths first: they settle most fields without comparing any text.
    switch (name.length) {
      case 4:
        if (name === 'Host' || name.toLowerCase() === 'host') {
          hosts++;
          host = value;
        }
        break;
      case 6:
        if (name === 'Accept' || name.toLowerCase() === 'accept') {
          accept = accept === undefined ? value : `${accept}, ${value}`;
        } else if (name.toLowerCase() === 'expect') {
          expect = expect === undefined ? value : `${expect}, ${value}`;
        } else if (name.toLowerCase() === 'origin') origin = value;
        break;
      case 8:
        if (name.toLowerCase() === 'if-match')
          ifMatch = ifMatch === undefined ? value : `${ifMatch}, ${value}`;
        break;
      case 13:
        if (name === 'authorization' || name === 'Authorization' || name.toLowerCase() === 'authorization') {
          authorizations++;
          authorization = value;
        } else if (name.toLowerCase() === 'if-none-match') {
          ifNoneMatch = ifNoneMatch === undefined ? value : `${ifNoneMatch}, ${value}`;
        }
        break;
      case 14:
        if (name.toLowerCase() === 'content-length' && !NO_BYTES.test(value)) hasContent = true;
        break;
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') {
          hasContent = true;
          transferEncoding = transferEncoding === undefined ? value : `${transferEncoding}, ${value}`;
        }
        break;
    }
  }
  return {
    accept,
    ifMatch,
    ifNoneMatch,
    authorization,
    authorizations,
    hosts,
    host,
    hasContent,
    transferEncoding,
    expect,
    origin,
  };
}

/** RFC 9112 section 3.2.2: what proxies send, and what every server must accept. */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** Splits a request target into path and query; the authority of the absolute form is dropped. */
export function splitTarget(target: string): { path: string; query: string } {
  let origin = target;
  if (target.charCodeAt(0) !== 0x2f) {
    const authority = ABSOLUTE_FORM.exec(target);
    if (authority !== null) {
      origin = target.slice(authority[0].length);
      if (origin.charCodeAt(0) !== 0x2f) origin = `/${origin}`;
    }
  }
  const mark = origin.indexOf('?');
  return mark < 0
    ? { path: origin, query: '' }
    : { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

/**
 * The path under which a framework has mounted the handler and that it took off the request target, as Express does: ''
 * where there is none. Links and `instance` show paths as the client knows them.
 */
export function mountPathOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { readonly originalUrl?: unknown };
  const { url } = req;
  if (typeof originalUrl !== 'string' || url === undefined || originalUrl === url) return '';
  // Express leaves a slash where the mount path was all there was.
  const rest = url === '/' && !originalUrl.endsWith('/') ? '' : url.replace(/^\/(?=\?)/, '');
  return originalUrl.endsWith(rest) ? originalUrl.slice(0, originalUrl.length - rest.length) : '';
}
