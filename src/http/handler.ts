/**
 * Folder http/. HTTP: turns the bytes of a request into the bytes of its answer. This folder touches no typed
 * array and knows neither sources nor loads.
 *
 * The checks have a documented order: docs/http-api.md, Errors. A known token gives its user at once, and the response is
 * written in the same turn of the event loop. Other tokens are verified first.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PAGE_POLICY } from '../answer/page-rows.js';
import type { LiveViews } from '../answer/present.js';
import type { FieldFilter } from '../answer/query.js';
import type {
  AuthenticatedUser,
  Authentication,
  Authenticator,
  RememberedUser,
} from '../auth/authenticator.js';
import type { DevelopmentIssuer } from '../auth/development-issuer.js';
import { LecternError } from '../base/errors.js';
import { REQUEST_TARGET_BYTES_MAX } from '../base/limits.js';
import { CELL } from '../base/metrics/cells.js';
import type { Meter } from '../base/metrics/meter.js';
import type { IdentifierMode } from '../base/model/event.js';
import { AllowedHosts } from './allowed-hosts.js';
import { OriginFields, PREFLIGHT_FIELDS } from './answer/answer-fields.js';
import { bearerChallenge, INTERNAL_ERROR, type Problem, sendProblem } from './answer/problem.js';
import { sendEmpty } from './answer/respond.js';
import { docsRoutes, healthRoute, loginRoute } from './development/resources.js';
import { asksForStream, EventStreams, type StreamSettings, type StreamTimes } from './event-streams.js';
import { Exchange, type ExchangeSettings } from './exchange.js';
import { type FeedOptions, Feeds } from './feeds.js';
import type { Logger } from './logger.js';
import { METHOD_NOT_ALLOWED, messageFault } from './message-fault.js';
import type { Lane, RequestHead } from './node/lane.js';
import { findPages, type PageOptions, pageRoutes } from './pages.js';
import { Reader, type ReaderSettings } from './read.js';
import { readCredential } from './request/credential.js';
import { mountPathOf } from './request/target.js';
import { ALLOW, createRouter, type OpenRoute, type ReadRoute, type Route, scheduleRoutes } from './routes.js';
import { sendRefusal } from './server/refusal.js';

/** Plain data, checked by the table of settings. */
export interface HandlerSettings extends ReaderSettings, StreamSettings {
  /** Path of the resources. */
  readonly basePath: string;
  /** Origins of web pages that may read answers. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Share of answers to log. Default 0. */
  readonly accessLog?: number | undefined;
}

/** By default nothing is counted or logged, and faults of the service are warnings of the process. */
export interface HandlerOptions extends HandlerSettings, Partial<TokenCheckOptions> {
  /**
   * Replaces the authenticator for requests that are already authenticated: returns the filters for the
   * user's own events, or null.
   */
  readonly identify?: (req: IncomingMessage) => readonly FieldFilter[] | null;
  /** Whether the handler runs in Lectern's own server; see {@link ExchangeSettings}. Default false. */
  readonly ownsSocket?: boolean;
  /** For tests. */
  readonly streamTimes?: StreamTimes | undefined;
  readonly development?: DevelopmentOptions | undefined;
  /** Default: no pages but those of feeds. */
  readonly pages?: PageOptions | undefined;
  /** Needs an authenticator. */
  readonly feeds?: FeedOptions | undefined;
}

/** Options of /login, /docs and /health. */
interface DevelopmentOptions {
  /** Signs the tokens of /login; the authenticator must know its key. */
  readonly issuer: DevelopmentIssuer;
  readonly identifiers: IdentifierMode;
  readonly version: string;
  /** Names that Host may have besides IP addresses and localhost; see {@link AllowedHosts}. Default none. */
  readonly hosts?: readonly string[];
  /** Address of the folder with the docs page's files. Bundled code needs it, because it cannot find the folder on its own. */
  readonly docsAssets?: string | undefined;
}

/** Answers a request of node:http, or of a framework that passes on Node's requests. */
export type RequestHandler<Request extends IncomingMessage = IncomingMessage> = (
  req: Request,
  res: ServerResponse,
) => void;

export interface LaneHandler extends RequestHandler {
  readonly lane: (request: Lane) => void;
}

export interface StreamingHandler extends LaneHandler {
  /** Ends all event streams. New streams may still begin. */
  readonly endStreams: () => void;
}

const HOST_NOT_ALLOWED: Problem = {
  code: 'host-not-allowed',
  detail:
    'Development mode does not accept this Host. Use an IP address, localhost, or a name given with --host or --admin-allowed-host.',
};

export function createHandler(views: LiveViews, options: HandlerOptions): StreamingHandler {
  const handler = new Handler(views, options);
  return Object.assign((req: IncomingMessage, res: ServerResponse) => handler.answer(req, res), {
    lane: (request: Lane) => handler.answer(request.req, request),
    endStreams: () => handler.streams.end(),
  });
}

class Handler {
  readonly streams: EventStreams;
  readonly #basePath: string;
  readonly #settings: ExchangeSettings;
  readonly #findRoute: (path: string) => Route | null;
  readonly #reader: Reader;
  readonly #tokens: TokenCheck | null;
  /** The hosts that may ask for resources of development mode: /login gives a token to any client. */
  readonly #hosts: AllowedHosts;
  readonly #identify: NonNullable<HandlerOptions['identify']>;

  constructor(views: LiveViews, options: HandlerOptions) {
    const { authenticator, identify = () => null, log, onRefusal } = options;
    const { corsOrigins = [], meter = null, accessLog: logShare = 0, ownsSocket = false } = options;
    if ((authenticator === undefined) === (options.identify === undefined)) {
      throw new LecternError('option-invalid', 'a handler needs an authenticator or identify, but not both');
    }
    this.#basePath = options.basePath.replace(/\/$/, '');
    this.#settings = { ownsSocket, origins: new OriginFields(corsOrigins), meter, logShare, log };
    this.#reader = new Reader(views, options, meter, authenticator !== undefined);
    this.#hosts = new AllowedHosts(options.development?.hosts ?? []);
    this.streams = new EventStreams(views, options, meter, options.streamTimes);
    this.#findRoute = createRouter([
      ...scheduleRoutes(this.#basePath),
      ...feedRoutes(views, this.#reader, this.#basePath, options),
      ...viewRoutes(this.#basePath, options),
      ...developmentRoutes(views, this.#basePath, options),
    ]);
    this.#tokens =
      authenticator === undefined ? null : new TokenCheck({ authenticator, meter, log, onRefusal });
    this.#identify = identify;
  }

  answer(req: RequestHead, to: ServerResponse | Lane): void {
    const exchange = new Exchange(req, to, this.#settings);
    try {
      // Bodies are not read, so following bytes on this connection could belong to the body.
      if (exchange.headers.hasContent) exchange.closeAfterAnswer();
      // Node handles expectations, but only when it makes a response.
      else if (exchange.headers.expect !== undefined) exchange.makeResponse();
      this.#dispatch(exchange);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #dispatch(exchange: Exchange): void {
    const { req, target } = exchange;
    const { hosts, host } = exchange.headers;
    const route = this.#findRoute(exchange.path);
    if (route !== null) exchange.label = route.label;
    if (route?.kind === 'feed') exchange.fields = exchange.fields.ofSecretAddress ?? exchange.fields;
    const fault = messageFault(req, exchange.path, exchange.headers);
    if (fault !== null) {
      // A proxy may have parsed the request differently.
      exchange.closeAfterAnswer();
      sendProblem(exchange, fault);
    } else if (this.#tokens?.refusesRepeated(exchange)) return;
    else if (this.#settings.origins.isPreflight(req)) sendEmpty(exchange, 204, [...PREFLIGHT_FIELDS]);
    // This check comes after those that close the connection. Each character of the target stands for one
    // byte.
    else if (target.length > REQUEST_TARGET_BYTES_MAX) {
      sendProblem(exchange, {
        code: 'request-target-too-long',
        detail: `The request target has ${target.length} bytes; at most ${REQUEST_TARGET_BYTES_MAX} are read.`,
      });
    } else if (req.method === 'OPTIONS' && (route !== null || exchange.path === '*')) {
      sendEmpty(exchange, 204, ['Allow', ALLOW]);
    } else if (route === null) this.#sendNotFound(exchange);
    else if (req.method !== 'GET' && req.method !== 'HEAD') sendProblem(exchange, METHOD_NOT_ALLOWED);
    else if (route.kind === 'read') this.#read(exchange, route);
    else if (route.kind === 'feed' || route.kind === 'page') route.handle(exchange);
    else if (route.kind === 'user') {
      this.#tokens
        ?.authenticate(exchange, (user) => route.handle(exchange, user))
        ?.catch((error: unknown) => this.#fail(exchange, error));
    } else if (!this.#hosts.allow(target, hosts === 0 ? null : host)) {
      sendProblem(exchange, HOST_NOT_ALLOWED);
    } else {
      exchange.awaitAnswer();
      route.handle(exchange)?.catch((error: unknown) => this.#fail(exchange, error));
    }
  }

  #read(exchange: Exchange, route: ReadRoute): void {
    if (this.#tokens === null) {
      this.#readFor(exchange, route, this.#identify(exchange.message), Number.POSITIVE_INFINITY);
      return;
    }
    this.#tokens
      .authenticate(exchange, ({ identities, usableUntilMs }) =>
        this.#readFor(exchange, route, identities, usableUntilMs),
      )
      ?.catch((error: unknown) => this.#fail(exchange, error));
  }

  #readFor(
    exchange: Exchange,
    route: ReadRoute,
    identities: readonly FieldFilter[] | null,
    usableUntilMs: number,
  ): void {
    if (route.endpoint === 'changes' && asksForStream(exchange)) this.streams.open(exchange, usableUntilMs);
    else {
      this.#reader
        .answer(exchange, route, identities)
        ?.catch((error: unknown) => this.#fail(exchange, error));
    }
  }

  #sendNotFound(exchange: Exchange): void {
    const base = `${mountPathOf(exchange.req)}${this.#basePath}`;
    const hasDocs = this.#findRoute(`${this.#basePath}/docs`) !== null;
    const docs = hasDocs ? `, its documentation at ${base}/docs` : '';
    // Only development mode shows how the service was started.
    const isFeed = hasDocs && exchange.path.replace(/\/$/, '') === `${this.#basePath}/schedule/feed`;
    const detail = isFeed
      ? 'Feeds need a secret: start the service with --feed-secret-file (in a program: the option feed).'
      : `There is nothing at this path. The timetable is at ${base}/schedule${docs}.`;
    sendProblem(exchange, { code: 'not-found', detail });
  }

  #fail(exchange: Exchange, error: unknown): void {
    const { log } = this.#settings;
    try {
      if (log !== undefined) {
        // The path of a feed is a secret.
        const path = exchange.label === '/feeds' ? exchange.label : exchange.path;
        log.error({ err: error, method: exchange.req.method, path }, 'a request failed');
      } else {
        const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
        process.emitWarning(`a request failed: ${reason}`, { type: 'LecternWarning' });
      }
    } catch {
      // A failing logger must neither prevent the answer nor end the process.
    }
    // Once the head is sent, only cutting the connection shows that the answer is incomplete.
    if (!exchange.cutOffIfBegun()) sendProblem(exchange, INTERNAL_ERROR);
  }
}

function feedRoutes(views: LiveViews, reader: Reader, basePath: string, options: HandlerOptions): Route[] {
  if (options.feeds === undefined) return [];
  const { issueRoute, answerRoute } = new Feeds(views, reader, basePath, options, options.feeds);
  return [issueRoute, answerRoute];
}

function viewRoutes(basePath: string, { pages, feeds }: HandlerOptions): Route[] {
  if (pages === undefined && feeds === undefined) return [];
  const { isShown, isHome, folder } = pages ?? { isShown: false, isHome: false, folder: findPages() };
  if (!isShown && feeds === undefined) return [];
  return pageRoutes(basePath, { isShown, isHome, folder }, PAGE_POLICY);
}

function developmentRoutes(views: LiveViews, basePath: string, options: HandlerOptions): OpenRoute[] {
  const { development } = options;
  if (development === undefined) return [];
  return [
    loginRoute(views, basePath, options, development),
    healthRoute(views, development.version),
    ...docsRoutes({ ...development, basePath }),
  ];
}

interface TokenCheckOptions {
  readonly authenticator: Authenticator;
  readonly meter: Meter | null;
  readonly log: Logger | undefined;
  /**
   * Called for each request that is refused because too many tokens are being verified. The meter does not
   * count these requests.
   */
  readonly onRefusal: (() => void) | undefined;
}

const REALM = 'lectern';

/**
 * Shortest time between two log lines with the same message, because bad tokens may come a thousand times a
 * second.
 */
const LOG_MS = 60_000;

class TokenCheck {
  readonly #options: TokenCheckOptions;
  /** The user of the last request of each connection. Clients repeat their header, and comparing costs less than hashing. */
  readonly #lastUsers = new WeakMap<
    Socket,
    { readonly authorization: string | undefined; readonly user: RememberedUser }
  >();
  readonly #loggedMs = new Map<string, number>();

  constructor(options: TokenCheckOptions) {
    this.#options = options;
  }

  /** Refuses a request with several credentials, and closes its connection. @returns whether it was refused */
  refusesRepeated(exchange: Exchange): boolean {
    const { authorization, authorizations } = exchange.headers;
    if (authorizations <= 1) return false;
    const credential = readCredential(authorization, authorizations);
    if (credential.kind !== 'malformed') return false;
    exchange.closeAfterAnswer();
    this.#refuseMalformed(exchange, credential.detail);
    return true;
  }

  /** Calls `onUser` at once for a known token, otherwise after verification. Refuses missing and unverified tokens. */
  authenticate(exchange: Exchange, onUser: (user: AuthenticatedUser) => void): Promise<void> | undefined {
    const { authenticator, meter } = this.#options;
    const { socket } = exchange.req;
    const { authorization, authorizations } = exchange.headers;
    const last = this.#lastUsers.get(socket);
    if (last !== undefined && last.authorization === authorization && authorizations === 1) {
      if (authenticator.isUsable(last.user)) {
        meter?.add(CELL.tokenHits);
        onUser(last.user.value);
        return undefined;
      }
      this.#lastUsers.delete(socket);
    }
    const credential = readCredential(authorization, authorizations);
    if (credential.kind === 'token') {
      const user = authenticator.lookup(credential.token);
      if (user !== undefined) {
        this.#lastUsers.set(socket, { authorization, user });
        meter?.add(CELL.tokenHits);
        onUser(user.value);
        return undefined;
      }
      meter?.add(CELL.tokenMisses);
      exchange.awaitAnswer();
      return authenticator.verify(credential.token).then((authentication) => {
        if (authentication.outcome === 'ok') onUser(authentication.user);
        else this.#refuse(exchange, authentication);
      });
    }
    if (credential.kind === 'missing') {
      meter?.failed('missing');
      sendProblem(exchange, {
        code: 'credentials-missing',
        detail: 'Send a token in the header "Authorization: Bearer <token>".',
        headers: ['WWW-Authenticate', bearerChallenge(REALM)],
      });
    } else this.#refuseMalformed(exchange, credential.detail);
    return undefined;
  }

  #refuseMalformed(exchange: Exchange, detail: string): void {
    this.#options.meter?.failed('malformed');
    sendProblem(exchange, {
      code: 'invalid-request',
      detail,
      headers: ['WWW-Authenticate', bearerChallenge(REALM, 'invalid_request', detail)],
    });
  }

  #refuse(exchange: Exchange, authentication: Exclude<Authentication, { readonly outcome: 'ok' }>): void {
    const { meter, onRefusal } = this.#options;
    switch (authentication.outcome) {
      case 'invalid':
        meter?.failed(authentication.reason);
        sendProblem(exchange, {
          code: 'token-invalid',
          detail: authentication.description,
          headers: ['WWW-Authenticate', bearerChallenge(REALM, 'invalid_token', authentication.description)],
        });
        return;
      case 'unavailable':
        meter?.failed('unavailable');
        this.#warn('a token cannot be verified', { reason: authentication.description });
        sendProblem(exchange, {
          code: 'keys-unavailable',
          detail:
            'The keys that verify tokens are not available at the moment. Retry-After says when to ask again.',
          headers: ['Retry-After', String(authentication.retryAfterSeconds)],
        });
        return;
      case 'overloaded':
        onRefusal?.();
        this.#warn('too many tokens to verify: requests are refused', {});
        sendRefusal(exchange.makeResponse(), exchange.fields);
    }
  }

  #warn(message: string, fields: object): void {
    const nowMs = performance.now();
    if (nowMs - (this.#loggedMs.get(message) ?? Number.NEGATIVE_INFINITY) < LOG_MS) return;
    this.#loggedMs.set(message, nowMs);
    this.#options.log?.warn(fields, message);
  }
}
