/**
 * Room upstream/. Requests to other servers, for sources and key sets. It does not look into what they send.
 */
import { setMaxListeners } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import { LecternError } from '../errors.js';
import { UPSTREAM_INTERIM_ANSWERS_MAX, UPSTREAM_REDIRECTS_MAX } from '../limits.js';
import { redactAddress, resolveReference } from './address.js';
import { describeFailure, unreadable } from './failure.js';
import type { RequestHeaders } from './request-headers.js';

export interface UpstreamCallOptions {
  /** Sent with every request. */
  readonly headers: RequestHeaders;
  /** Sent to the origin that was asked first, and only until it leads elsewhere. */
  readonly secretHeaders: RequestHeaders;
  /** Certificate authorities in PEM, in place of the usual ones. */
  readonly ca?: string | undefined;
  readonly headersMsMax: number;
  readonly idleMsMax: number;
  readonly totalMsMax: number;
  /** Bytes of all bodies together. */
  readonly bytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

/** The head of an answer; the body is read with {@link UpstreamCall.body} or let go with {@link UpstreamCall.discard}. */
export interface Answer {
  readonly status: number;
  /** Where it came from in the end. */
  readonly url: URL;
  readonly message: IncomingMessage;
  /** Whether the secret headers were sent: nothing on the way led to another origin. */
  readonly trusted: boolean;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * The requests of one load, one after the other, over connections of its own.
 *
 * This is node:http and not fetch: fetch takes a gzip body that was cut short for whole, and neither shows the bytes as
 * they came nor lets go of its connections.
 */
export class UpstreamCall {
  readonly #options: UpstreamCallOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #secureAgent: SecureAgent;
  /** Ends whatever is under way; its reason is the error to be told. */
  readonly #abort = new AbortController();
  readonly #totalTimer: NodeJS.Timeout;
  readonly #onAbort: () => void;
  #bytesRead = 0;

  constructor(url: URL, options: UpstreamCallOptions) {
    this.#options = options;
    const { ca, signal, totalMsMax } = options;
    this.#secureAgent = new SecureAgent({
      keepAlive: true,
      maxSockets: 1,
      ...(ca === undefined ? {} : { ca }),
    });
    // Each request adds a listener and takes it away at its end.
    setMaxListeners(0, this.#abort.signal);
    this.#totalTimer = setTimeout(() => {
      this.#abort.abort(unreadable(url, `it was not read whole within ${inSeconds(totalMsMax)}`));
    }, totalMsMax);
    this.#onAbort = () => this.#abort.abort(signal?.reason);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Bytes of bodies so far, as they came over the wire. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Throws why it has ended before its time: it took too long, or was aborted. */
  throwIfEnded(): void {
    this.#abort.signal.throwIfAborted();
  }

  /** Closes every connection. */
  close(): void {
    clearTimeout(this.#totalTimer);
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#agent.destroy();
    this.#secureAgent.destroy();
  }

  /**
   * GET, with redirects followed.
   *
   * @param trusted whether the secret headers may be sent to the origin of `url`
   * @param headersFor header fields for one address on the way, such as its validators
   * @throws LecternError `source-unreadable`; the signal's reason where it was aborted
   */
  async get(
    url: URL,
    trusted: boolean,
    headersFor: (url: URL) => RequestHeaders = () => ({}),
  ): Promise<Answer> {
    const seen = new Set<string>();
    let at = url;
    let stillTrusted = trusted;
    for (;;) {
      seen.add(at.href);
      const headers = {
        ...this.#options.headers,
        ...(stillTrusted ? this.#options.secretHeaders : {}),
        ...headersFor(at),
      };
      const message = await this.#request(at, headers);
      const status = message.statusCode ?? 0;
      if (!REDIRECTS.has(status)) return { status, url: at, message, trusted: stillTrusted };
      const { location } = message.headers;
      message.destroy();
      if (location === undefined)
        throw unreadable(at, `the answer is ${status} and does not say where to go`);
      const target = resolveReference(location, at);
      if ('problem' in target) throw unreadable(at, `it redirects ${target.problem}`);
      if (seen.has(target.href))
        throw unreadable(at, `its redirects go in a circle, to ${redactAddress(target)}`);
      if (seen.size > UPSTREAM_REDIRECTS_MAX) {
        throw unreadable(url, `it redirects more than ${UPSTREAM_REDIRECTS_MAX} times`);
      }
      stillTrusted &&= target.origin === at.origin;
      at = target;
    }
  }

  /**
   * The body as it came over the wire, once. Only waiting counts as idle, not the time that the reader takes.
   *
   * @throws LecternError `source-unreadable` where it stops before its end, `source-too-large`
   */
  async *body({ url, message }: Answer): AsyncGenerator<Uint8Array> {
    const { idleMsMax, bytesMax } = this.#options;
    let received = 0;
    const idle = () => unreadable(url, `nothing came for ${inSeconds(idleMsMax)}, after ${received} bytes`);
    let clear = this.#within(idleMsMax, idle);
    try {
      for await (const chunk of message) {
        clear();
        const bytes = chunk as Uint8Array;
        received += bytes.length;
        this.#bytesRead += bytes.length;
        if (this.#bytesRead > bytesMax) {
          const problem = `cannot read ${redactAddress(url)}: it has more than ${bytesMax} bytes`;
          throw new LecternError('source-too-large', problem);
        }
        yield bytes;
        clear = this.#within(idleMsMax, idle);
      }
      // Node says so by an error already; but nothing must make a part of the data pass for all of it.
      if (!message.complete) throw new Error('it ended early');
    } catch (error) {
      const expected = message.headers['content-length'];
      const where = `after ${received} ${expected === undefined ? '' : `of ${expected} `}bytes of the answer`;
      throw this.#failure(url, error, `, ${where}`);
    } finally {
      clear();
    }
  }

  /** Lets go of an answer whose body nobody wants, together with its connection. */
  discard({ message }: Answer): void {
    message.destroy();
  }

  /** The head of the answer. A connection that was kept open may have been closed meanwhile: then a new one is tried. */
  async #request(url: URL, headers: RequestHeaders): Promise<IncomingMessage> {
    const { headersMsMax } = this.#options;
    const clear = this.#within(headersMsMax, () =>
      unreadable(url, `no answer came within ${inSeconds(headersMsMax)}`),
    );
    try {
      for (;;) {
        let request: ClientRequest | null = null;
        try {
          return await new Promise<IncomingMessage>((resolve, reject) => {
            request = this.#open(url, headers);
            request.on('response', resolve).on('error', reject).end();
          });
        } catch (error) {
          const wasKept = (request as ClientRequest | null)?.reusedSocket === true;
          const isClosed = error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
          if (!wasKept || !isClosed || this.#abort.signal.aborted) throw this.#failure(url, error, '');
        }
      }
    } finally {
      clear();
    }
  }

  #open(url: URL, headers: RequestHeaders): ClientRequest {
    this.#abort.signal.throwIfAborted();
    const options = { headers, signal: this.#abort.signal };
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, agent: this.#secureAgent })
        : requestHttp(url, { ...options, agent: this.#agent });
    let interim = 0;
    request.on('information', () => {
      if (++interim <= UPSTREAM_INTERIM_ANSWERS_MAX) return;
      request.destroy(
        unreadable(url, `more than ${UPSTREAM_INTERIM_ANSWERS_MAX} interim answers (1xx) came`),
      );
    });
    // An error between head and body is told to whoever reads the body; nobody may be listening yet.
    return request.on('response', (message) => message.on('error', () => {}));
  }

  /** Aborts with `reason` unless the returned function is called in time. */
  #within(ms: number, reason: () => LecternError): () => void {
    const timer = setTimeout(() => this.#abort.abort(reason()), ms);
    return () => clearTimeout(timer);
  }

  #failure(url: URL, error: unknown, where: string): unknown {
    if (this.#abort.signal.aborted) return this.#abort.signal.reason;
    if (error instanceof LecternError) return error;
    return unreadable(url, `${describeFailure(error)}${where}`, { cause: error });
  }
}

function inSeconds(ms: number): string {
  return `${ms / 1000} s`;
}
