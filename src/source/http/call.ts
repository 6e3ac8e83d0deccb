/**
 * Folder source/http/. Requests to other servers, for sources and key sets: addresses, credentials, failures. This folder
 * does not interpret answers.
 */

import { once, setMaxListeners } from 'node:events';
import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  STATUS_CODES,
} from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import { isIPv4 } from 'node:net';
import { cannotRead, LecternError, optionInvalid, tooLarge } from '../../base/errors.js';
import {
  RETRY_AFTER_MS_MAX,
  UPSTREAM_INTERIM_ANSWERS_MAX,
  UPSTREAM_REDIRECTS_MAX,
} from '../../base/limits.js';
import { shortDigest } from '../../base/model/derived-identifier.js';

/** Header fields by name. The values may be secrets. */
export type RequestHeaders = Readonly<Record<string, string>>;

/** Header fields that authenticate a request. */
export interface SecretHeaders {
  /** Changes when the header fields are renewed. */
  readonly version: string;
  readonly headers: RequestHeaders;
}

/**
 * Gives the secret header fields before each request.
 *
 * @param refused the version that just got a 401; null if no version did
 * @param signal aborts slow work
 */
export type AskSecretHeaders = (
  refused: string | null,
  signal?: AbortSignal,
) => SecretHeaders | Promise<SecretHeaders>;

const NOTHING_SECRET: SecretHeaders = { version: '', headers: {} };

export interface UpstreamCallOptions {
  readonly headers: RequestHeaders;
  /** Sent only to the first origin. Default none. */
  readonly secretHeaders?: AskSecretHeaders | undefined;
  /** Certificate authorities in PEM, replacing the default ones. */
  readonly ca?: string | undefined;
  readonly headersMsMax: number;
  readonly idleMsMax: number;
  readonly totalMsMax: number;
  readonly bytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

/** The head of an answer; {@link UpstreamCall.body} reads the body. */
export interface UpstreamAnswer {
  readonly status: number;
  /** The address of the answer, after redirects. */
  readonly url: URL;
  readonly message: IncomingMessage;
  /** Whether the secret headers were sent, that is, no redirect led to another origin. */
  readonly trusted: boolean;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The requests of one load, by node:http, because fetch accepts cut gzip bodies and keeps connections. */
export class UpstreamCall {
  readonly #options: UpstreamCallOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #secureAgent: SecureAgent;
  /** The reason of the abort becomes the error of the call. */
  readonly #abort = new AbortController();
  readonly #clearTotal: () => void;
  readonly #onAbort: () => void;
  bytesRead = 0;

  constructor(url: URL, options: UpstreamCallOptions) {
    this.#options = options;
    const { ca, signal, totalMsMax } = options;
    this.#secureAgent = new SecureAgent({ keepAlive: true, maxSockets: 1, ca });
    // Each request adds a listener.
    setMaxListeners(0, this.#abort.signal);
    this.#clearTotal = this.#within(totalMsMax, () =>
      unreadableAnswer(url, `it was not read whole within ${totalMsMax / 1000} s`),
    );
    this.#onAbort = () => this.#abort.abort(signal?.reason);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  throwIfEnded(): void {
    this.#abort.signal.throwIfAborted();
  }

  /** Closes every connection, even one with an unread answer. */
  close(): void {
    this.#clearTotal();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#agent.destroy();
    this.#secureAgent.destroy();
  }

  /**
   * GET, with redirects followed. After a 401, newer secret headers are tried once.
   *
   * @param trusted whether the secret headers may be sent to the origin of `url`
   * @param headersFor further header fields for each requested address, including targets of redirects
   */
  async get(
    url: URL,
    trusted: boolean,
    headersFor: (url: URL) => RequestHeaders = () => ({}),
  ): Promise<UpstreamAnswer> {
    const seen = new Set<string>();
    let at = url;
    let isTrusted = trusted;
    for (;;) {
      seen.add(at.href);
      const message = await this.#requestTrusted(at, isTrusted, headersFor(at));
      const status = message.statusCode ?? 0;
      if (!REDIRECTS.has(status)) return { status, url: at, message, trusted: isTrusted };
      const { location } = message.headers;
      message.destroy();
      if (location === undefined)
        throw unreadableAnswer(at, `the answer is ${status} and does not say where to go`);
      const target = resolveReference(location, at);
      if ('problem' in target) throw unreadableAnswer(at, `it redirects ${target.problem}`);
      if (seen.has(target.href))
        throw unreadableAnswer(at, `its redirects form a loop at ${redactAddress(target)}`);
      if (seen.size > UPSTREAM_REDIRECTS_MAX) {
        throw unreadableAnswer(url, `it redirects more than ${UPSTREAM_REDIRECTS_MAX} times`);
      }
      isTrusted &&= target.origin === at.origin;
      at = target;
    }
  }

  /** POST of a form. Redirects are not followed, because the form is secret. */
  async post(url: URL, form: URLSearchParams, headers: RequestHeaders): Promise<UpstreamAnswer> {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const message = await this.#request(
      url,
      { ...this.#options.headers, ...type, ...headers },
      form.toString(),
    );
    return { status: message.statusCode ?? 0, url, message, trusted: true };
  }

  async #requestTrusted(url: URL, isTrusted: boolean, more: RequestHeaders): Promise<IncomingMessage> {
    const { headers, secretHeaders } = this.#options;
    const ask = isTrusted && secretHeaders !== undefined ? secretHeaders : () => NOTHING_SECRET;
    const send = (secret: SecretHeaders) => this.#request(url, { ...headers, ...secret.headers, ...more });
    const secret = await ask(null, this.#abort.signal);
    const message = await send(secret);
    if (message.statusCode !== 401) return message;
    const newer = await ask(secret.version, this.#abort.signal);
    if (newer.version === secret.version) return message;
    message.destroy();
    return send(newer);
  }

  /** The body as received. Only waiting for the upstream counts as idle, not the reader's time. */
  async *body({ url, message }: UpstreamAnswer): AsyncGenerator<Uint8Array> {
    const { idleMsMax, bytesMax } = this.#options;
    let received = 0;
    const idle = () =>
      unreadableAnswer(url, `nothing came for ${idleMsMax / 1000} s, after ${received} bytes`);
    let clear = this.#within(idleMsMax, idle);
    try {
      for await (const chunk of message) {
        clear();
        const bytes = chunk as Uint8Array;
        received += bytes.length;
        this.bytesRead += bytes.length;
        if (this.bytesRead > bytesMax) {
          throw tooLarge(redactAddress(url), `it has more than ${bytesMax} bytes`);
        }
        yield bytes;
        clear = this.#within(idleMsMax, idle);
      }
      // Node should have reported an error already, but partial data must never count as complete.
      if (!message.complete) throw new Error('it ended early');
    } catch (error) {
      const expected = message.headers['content-length'];
      const where = `after ${received} ${expected === undefined ? '' : `of ${expected} `}bytes of the answer`;
      throw this.#failure(url, error, `, ${where}`);
    } finally {
      clear();
    }
  }

  /** The whole body of a small answer. @param onChunk is called after each chunk */
  async bytes(answer: UpstreamAnswer, onChunk?: () => void): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.body(answer)) {
      chunks.push(chunk);
      onChunk?.();
    }
    return Buffer.concat(chunks);
  }

  /** Tries again if the upstream had closed a kept connection. */
  async #request(url: URL, headers: RequestHeaders, body?: string): Promise<IncomingMessage> {
    const { headersMsMax } = this.#options;
    const clear = this.#within(headersMsMax, () =>
      unreadableAnswer(url, `no answer came within ${headersMsMax / 1000} s`),
    );
    try {
      for (;;) {
        const request = this.#open(url, headers, body === undefined ? 'GET' : 'POST');
        try {
          const [message] = (await once(request.end(body), 'response')) as [IncomingMessage];
          return message;
        } catch (error) {
          const isClosed = error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
          if (!request.reusedSocket || !isClosed || this.#abort.signal.aborted) throw error;
        }
      }
    } catch (error) {
      throw this.#failure(url, error, '');
    } finally {
      clear();
    }
  }

  #open(url: URL, headers: RequestHeaders, method: 'GET' | 'POST'): ClientRequest {
    this.#abort.signal.throwIfAborted();
    const options = { method, headers, signal: this.#abort.signal };
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, agent: this.#secureAgent })
        : requestHttp(url, { ...options, agent: this.#agent });
    let interim = 0;
    request.on('information', () => {
      if (++interim <= UPSTREAM_INTERIM_ANSWERS_MAX) return;
      request.destroy(
        unreadableAnswer(url, `more than ${UPSTREAM_INTERIM_ANSWERS_MAX} interim answers (1xx) came`),
      );
    });
    // `once` and the reader of the body report errors, but between them there is no listener.
    return request.on('error', () => {}).on('response', (message) => message.on('error', () => {}));
  }

  /** Aborts unless the returned function is called in time. */
  #within(ms: number, reason: () => LecternError): () => void {
    // A busy process has not read yet what has arrived. The event loop reads before the immediate.
    let last: NodeJS.Immediate | undefined;
    const timer = setTimeout(() => {
      last = setImmediate(() => this.#abort.abort(reason()));
    }, ms);
    return () => {
      clearTimeout(timer);
      clearImmediate(last);
    };
  }

  #failure(url: URL, error: unknown, where: string): unknown {
    if (this.#abort.signal.aborted) return this.#abort.signal.reason;
    if (error instanceof LecternError) return error;
    return unreadableAnswer(url, `${describeFailure(error)}${where}`, { cause: error });
  }
}

export function unreadableAnswer(
  url: URL,
  problem: string,
  options: { cause?: unknown; retryAfterMs?: number | null } = {},
): LecternError {
  return cannotRead(redactAddress(url), problem, options);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'there is no host of this name',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an untrusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an untrusted authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an untrusted authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  HPE_HEADER_OVERFLOW: 'the header fields of the answer are too large',
};

function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  const reason = REASONS[code];
  if (reason !== undefined) return reason;
  if (code.startsWith('HPE_')) return `its answer is not valid HTTP (${code})`;
  // AggregateErrors have a code and no message.
  return error.message === '' ? code : error.message;
}

/** The error of an answer with this status. The message does not show the answer's own reason phrase. */
export function refused(url: URL, status: number, headers: IncomingHttpHeaders, hint: string): LecternError {
  const { 'retry-after': retryAfter, date = '' } = headers;
  // The date counts from the upstream's own clock, if it sends one.
  const sentAtMs = Date.parse(date);
  const nowMs = Number.isNaN(sentAtMs) ? Date.now() : sentAtMs;
  const retryAfterMs = retryAfter === undefined ? null : parseRetryAfter(retryAfter, nowMs);
  const phrase = STATUS_CODES[status];
  const answer = `the answer is ${status}${phrase === undefined ? '' : ` ${phrase}`}; expected 200`;
  const wait = retryAfterMs === null ? '' : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
  return unreadableAnswer(url, answer + wait + hint, { retryAfterMs });
}

/** Milliseconds from `nowMs` (RFC 9110 section 10.2.3); null for text that is neither a delay nor a date. */
export function parseRetryAfter(field: string, nowMs: number): number | null {
  const text = field.trim();
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), RETRY_AFTER_MS_MAX);
}

/** @throws LecternError `option-invalid`; the message shows no possible secret */
export function parseAddress(text: string, what = 'the address of the source'): URL {
  // The constructor's error holds the whole text, so it is not passed on as the cause.
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    const found = url === null ? 'it cannot be parsed' : `its scheme is ${url.protocol.slice(0, -1)}`;
    throw optionInvalid(`${what} is not valid: ${found}; expected http://… or https://…`);
  }
  return url;
}

/** Whether only this machine can answer at a host of a URL. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}

/** A long name with letters and digits, and its ending. Private addresses of calendars have their secret in the path. */
const LONG_NAME = /^(?=[^/]*\d)(?=[^/]*[a-z])[^/]{20,}?(\.[a-z]{1,8})?$/i;

/**
 * The address for messages, without possible secrets: credentials, query values, and long names with digits in
 * the path.
 */
export function redactAddress(url: URL): string {
  const path = url.pathname.split('/').map((name) => name.replace(LONG_NAME, '…$1'));
  const names = [...url.searchParams].map(([name, value]) =>
    // A parameter without a value may be a secret itself.
    value === '' ? '…' : `${encodeURIComponent(name)}=…`,
  );
  return `${url.origin}${path.join('/')}${names.length === 0 ? '' : '?'}${names.join('&')}`;
}

/** Names of query parameters and header fields whose values are secrets; an author is none. */
export const SECRET_NAME: RegExp =
  /key|token|secret|passw|pwd|signature|^sig$|credential|cookie|auth(?!or(?!iz))/i;

/** The query parameters of an address that hold secrets by their names; none for other texts. */
export function secretParameters(text: string): string[] {
  if (!/^(?:https?|webcals?):/i.test(text) || !URL.canParse(text)) return [];
  const named = [...new URL(text).searchParams].filter(([, value]) => value !== '').map(([name]) => name);
  return named.filter((name) => SECRET_NAME.test(name));
}

/** What to do about secrets in a query. */
export function adviceOnSecrets(names: readonly string[]): string {
  return `the query of the address holds a secret (${names.join(', ')}); if the server takes it in a header field, give it there as file:PATH or env:NAME`;
}

/** Identifies an address without showing the address: 22 base64url characters. */
export function addressDigest(url: URL): string {
  const { href } = withoutCredentials(url);
  return shortDigest(href);
}

/** The address to request. Credentials are sent in a header field, and fragments never (RFC 9110 section 7.1). */
export function withoutCredentials(url: URL): URL {
  const bare = new URL(url.href);
  bare.username = '';
  bare.password = '';
  bare.hash = '';
  return bare;
}

/** The target of a redirect or link, which cannot choose credentials or lead from https to http. */
export function resolveReference(reference: string, from: URL): URL | { readonly problem: string } {
  if (!URL.canParse(reference, from.href)) return { problem: 'to an invalid address' };
  const url = withoutCredentials(new URL(reference, from));
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { problem: `to an address of the scheme ${url.protocol.slice(0, -1)}; expected http or https` };
  }
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    return { problem: `from https to ${redactAddress(url)}, which is not encrypted` };
  }
  return url;
}
