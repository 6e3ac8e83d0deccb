/**
 * Folder client/. `lectern/client`: a typed client of the HTTP API, for browsers and Node. This folder imports
 * nothing of the service. `api.ts` is made from the OpenAPI document by `npm run client:types`.
 */
import createFetchClient from 'openapi-fetch';
import type { components, paths } from './api.js';
import { readServerSentEvents } from './server-sent-events.js';

export type { components, operations, paths } from './api.js';
export type TimetableEvent = components['schemas']['Event'];
export type ConflictEntry = components['schemas']['ConflictEntry'];
export type DirectoryEntry = components['schemas']['DirectoryEntry'];
export type FreeEntry = components['schemas']['FreeEntry'];
export type Changes = components['schemas']['Changes'];
export type ProblemDetails = components['schemas']['Problem'];

/** A message of {@link TimetableClient.changes}. */
export type ChangeMessage =
  /** The version that is served now; nothing was missed. */
  | { readonly kind: 'version'; readonly version: string }
  | ({ readonly kind: 'changes'; readonly version: string } & Changes)
  /** More changed than one message holds: read everything again. */
  | { readonly kind: 'read-anew'; readonly version: string };

/** Paths that answer GET. */
export type Path = keyof paths;
type Operation<P extends Path> = paths[P]['get'];
type Parameters<P extends Path> = Operation<P> extends { parameters: infer T } ? T : never;
export type Query<P extends Path> = Parameters<P> extends { query?: infer Q } ? Q : never;
type Content<P extends Path> = Operation<P> extends { responses: { 200: { content: infer C } } } ? C : never;
export type Body<P extends Path> = Content<P> extends { 'application/json': infer B } ? B : never;
/** Paths that answer a list in pages. */
export type ListPath = {
  [P in Path]: Query<P> extends { limit?: number } | undefined
    ? Body<P> extends readonly unknown[]
      ? P
      : never
    : never;
}[Path];

export interface Answer<T> {
  readonly data: T;
  /** `Lectern-Version`; null where the answer has none. */
  readonly version: string | null;
  /** Entries on all pages; null where the answer is no list. */
  readonly total: number | null;
  /** The cursor of the next page; null on the last. */
  readonly nextCursor: string | null;
}

/** An answer that is not 2xx: the problem document of RFC 9457, as an error. */
export class TimetableProblem extends Error {
  override readonly name: string = 'TimetableProblem';
  readonly status: number;
  /** A stable code, such as `token-invalid`; `unknown` if the answer came from something else, such as a proxy. */
  readonly code: string;
  readonly errors: NonNullable<ProblemDetails['errors']>;
  /** Seconds to wait before asking again; null if the answer does not say. */
  readonly retryAfterSeconds: number | null;

  constructor(response: Response, problem: Partial<ProblemDetails> | null) {
    super(problem?.detail ?? problem?.title ?? `HTTP status ${response.status}`);
    this.status = response.status;
    this.code = problem?.code ?? 'unknown';
    this.errors = problem?.errors ?? [];
    const after = Number(response.headers.get('Retry-After') ?? 'NaN');
    this.retryAfterSeconds = Number.isFinite(after) ? after : null;
  }
}

export interface ClientOptions {
  /** The base of the API, such as `https://timetable.example.org/api/v1`. */
  readonly baseUrl: string | URL;
  /** The bearer token, or a function that is called for each request. Null sends none. */
  readonly token?: string | null | (() => string | null | Promise<string | null>);
  /** Default `globalThis.fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Answers that are kept with their entity tags. Default 100; 0 keeps none. */
  readonly answersKept?: number;
}

/** Entity tags are kept here, so a browser need not keep the answers as well. The types of Node lack this member. */
const NOT_STORED: object = { cache: 'no-store' };
/** A kept answer longer than this is not worth its memory. In UTF-16 units. */
const KEPT_TEXT_LENGTH_MAX = 4_000_000;
const ANSWERS_KEPT_DEFAULT = 100;
/** Seconds between two attempts to open an event stream: doubled after each failure. */
const RECONNECT_SECONDS_MIN = 1;
const RECONNECT_SECONDS_MAX = 30;

export class TimetableClient {
  readonly baseUrl: string;
  readonly #token: NonNullable<ClientOptions['token']> | null;
  readonly #fetch: NonNullable<ClientOptions['fetch']>;
  readonly #keptMax: number;
  /** By address and token, the least recently used first. */
  readonly #kept = new Map<string, { readonly text: string; readonly headers: Headers }>();
  readonly #api: ReturnType<typeof createFetchClient<paths>>;

  constructor({ baseUrl, token = null, fetch, answersKept = ANSWERS_KEPT_DEFAULT }: ClientOptions) {
    this.baseUrl = String(baseUrl).replace(/\/$/, '');
    this.#token = token;
    this.#fetch = fetch ?? ((request) => globalThis.fetch(request));
    this.#keptMax = answersKept;
    this.#api = createFetchClient<paths>({
      baseUrl: this.baseUrl,
      ...NOT_STORED,
      fetch: (request: Request) => this.#send(request),
    });
  }

  /** Reads one answer. @throws {TimetableProblem} for any status but 2xx */
  async get<P extends Path>(
    path: P,
    query?: Query<P>,
    options: { readonly signal?: AbortSignal | undefined; readonly path?: Record<string, string> } = {},
  ): Promise<Answer<Body<P>>> {
    const get = this.#api.GET as unknown as (
      path: P,
      init: object,
    ) => Promise<{ data?: Body<P>; response: Response }>;
    const { data, response } = await get(path, {
      params: { query, ...(options.path === undefined ? {} : { path: options.path }) },
      signal: options.signal,
    });
    const total = response.headers.get('X-Total-Count');
    return {
      data: data as Body<P>,
      version: response.headers.get('Lectern-Version'),
      total: total === null ? null : Number(total),
      nextCursor: cursorOf(response.headers.get('Link')),
    };
  }

  /** Reads an answer as text, for representations other than JSON: give `format` in the query. */
  async text<P extends Path>(path: P, query?: Query<P>): Promise<string> {
    const get = this.#api.GET as unknown as (path: P, init: object) => Promise<{ data?: string }>;
    return (await get(path, { params: { query }, parseAs: 'text' })).data ?? '';
  }

  /** Reads a list page by page. A new publication does not disturb it: pages continue after the last entry. */
  async *pages<P extends ListPath>(
    path: P,
    query?: Query<P>,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Answer<Body<P>>, void, undefined> {
    let cursor: string | null = null;
    do {
      const of = cursor === null ? query : ({ ...(query as object), cursor } as Query<P>);
      const answer: Answer<Body<P>> = await this.get(path, of, options);
      yield answer;
      cursor = answer.nextCursor;
    } while (cursor !== null);
  }

  /** The entries of all pages, one after another. */
  async *entries<P extends ListPath>(
    path: P,
    query?: Query<P>,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Body<P> extends readonly (infer E)[] ? E : never, void, undefined> {
    for await (const { data } of this.pages(path, query, options)) yield* data as unknown as Iterable<never>;
  }

  /**
   * Follows the publications until `signal` aborts. A lost connection is opened again from the last version
   * seen, so nothing is missed. @throws {TimetableProblem} for a status that waiting does not mend, such as 401
   */
  async *changes(
    options: {
      readonly since?: string | undefined;
      readonly signal?: AbortSignal | undefined;
      /** Is told whether messages can arrive now. */
      readonly onState?: (state: 'connecting' | 'live' | 'lost') => void;
    } = {},
  ): AsyncGenerator<ChangeMessage, void, undefined> {
    const { signal, onState = () => {} } = options;
    let { since } = options;
    let waitSeconds = RECONNECT_SECONDS_MIN;
    const isAborted = (): boolean => signal?.aborted === true;
    while (!isAborted()) {
      try {
        const response = await this.#openStream(since, signal);
        onState('live');
        waitSeconds = RECONNECT_SECONDS_MIN;
        for await (const message of readServerSentEvents(response.body)) {
          if (message.id !== null) since = message.id;
          const parsed = parseMessage(message.type, message.id, message.data);
          if (parsed !== null) yield parsed;
        }
      } catch (error) {
        if (isAborted()) return;
        if (error instanceof TimetableProblem) {
          if (error.status < 500) throw error;
          waitSeconds = Math.max(waitSeconds, error.retryAfterSeconds ?? 0);
        }
      }
      onState('lost');
      await pause(waitSeconds * 1000, signal);
      waitSeconds = Math.min(waitSeconds * 2, RECONNECT_SECONDS_MAX);
    }
  }

  /** The state of snapshot and source, in development. @param address default `/health` beside the base */
  async health(
    address: string | URL = new URL('/health', this.baseUrl),
  ): Promise<components['schemas']['Health']> {
    // 503 while the timetable is loading has the same content.
    const response = await this.#fetch(new Request(address, NOT_STORED));
    return (response.status === 503 ? response : await checked(response)).json() as Promise<never>;
  }

  async #openStream(since: string | undefined, signal: AbortSignal | undefined): Promise<Response> {
    const headers = new Headers({ Accept: 'text/event-stream' });
    if (since !== undefined) headers.set('Last-Event-ID', since);
    const request = new Request(`${this.baseUrl}/schedule/changes`, {
      headers,
      ...NOT_STORED,
      ...(signal === undefined ? {} : { signal }),
    });
    await this.#authorise(request);
    return checked(await this.#fetch(request));
  }

  async #authorise(request: Request): Promise<string> {
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token;
    if (token !== null) request.headers.set('Authorization', `Bearer ${token}`);
    return token ?? '';
  }

  /** Sends a request with the entity tag of the kept answer, and gives that answer again on 304. */
  async #send(request: Request): Promise<Response> {
    const token = await this.#authorise(request);
    if (this.#keptMax === 0) return checked(await this.#fetch(request));
    const key = `${request.url} ${token}`;
    const known = this.#kept.get(key);
    const tag = known?.headers.get('ETag');
    if (tag) request.headers.set('If-None-Match', tag);
    const response = await this.#fetch(request);
    if (response.status === 304 && known !== undefined) {
      const headers = new Headers(known.headers);
      // The version grows even if this answer is unchanged (RFC 9110 section 15.4.5).
      for (const [name, value] of response.headers) headers.set(name, value);
      this.#keep(key, known.text, headers);
      return answerOf(known.text, headers);
    }
    await checked(response);
    const isKept = response.headers.has('ETag') && /json/.test(response.headers.get('Content-Type') ?? '');
    if (!isKept) return response;
    const text = await response.text();
    this.#keep(key, text, response.headers);
    return answerOf(text, response.headers);
  }

  #keep(key: string, text: string, headers: Headers): void {
    this.#kept.delete(key);
    if (text.length > KEPT_TEXT_LENGTH_MAX) return;
    this.#kept.set(key, { text, headers });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#keptMax && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** An answer whose text has been read. A Response of the text would encode and decode it once more. */
function answerOf(text: string, headers: Headers): Response {
  const read: Pick<Response, 'ok' | 'status' | 'headers' | 'text' | 'json'> = {
    ...{ ok: true, status: 200, headers },
    text: async () => text,
    json: async () => JSON.parse(text) as unknown,
  };
  return read as Response;
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const isProblem = (response.headers.get('Content-Type') ?? '').startsWith('application/problem+json');
  const problem = isProblem ? ((await response.json().catch(() => null)) as ProblemDetails | null) : null;
  if (!isProblem) await response.body?.cancel();
  throw new TimetableProblem(response, problem);
}

/** The cursor in `Link: <…?cursor=…>; rel="next"` (RFC 8288). */
function cursorOf(link: string | null): string | null {
  const next = /<([^>]*)>\s*;\s*rel="next"/.exec(link ?? '')?.[1];
  return next === undefined ? null : new URL(next, 'http://base.invalid').searchParams.get('cursor');
}

function parseMessage(type: string, id: string | null, data: string): ChangeMessage | null {
  if (data === '') return null;
  const content = JSON.parse(data) as Record<string, unknown>;
  if (type === 'version') return { kind: 'version', version: String(content.version) };
  const version = id ?? String(content.to);
  if (content.readAnew === true) return { kind: 'read-anew', version };
  return { kind: 'changes', version, ...(content as unknown as Changes) };
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
  });
}
