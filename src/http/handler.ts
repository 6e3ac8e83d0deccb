/**
 * Room http/. HTTP: from the bytes of a request to those of its answer. It touches no typed array and knows neither
 * sources nor loads.
 */

/**
 * The request handler: everything between a request and its answer, in the documented order of checks: what is
 * malformed, 414, 404, 405, 401, 403, 406, 400, 412, then 304 or 200. It can be mounted in any node:http server.
 *
 * For a token seen before, everything is synchronous: no promise is made, and the response is written in the same
 * turn of the event loop.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator } from '../auth/authenticator.js';
import type { DevelopmentIssuer } from '../auth/development-issuer.js';
import { LecternError } from '../errors.js';
import { ANSWER_CACHE_SHARE, CACHE_BYTES_DEFAULT, REQUEST_TARGET_BYTES_MAX } from '../limits.js';
import { routeNumber } from '../metrics/cells.js';
import type { Meter } from '../metrics/meter.js';
import type { IdentifierMode } from '../model/event.js';
import type { FieldFilter } from '../query/query.js';
import type { ParseOptions } from '../view/view.js';
import type { ViewSource } from '../view/view-source.js';
import { originFieldsOf, PREFLIGHT_FIELDS } from './answer/answer-fields.js';
import { sendProblem } from './answer/problem.js';
import { sendEmpty } from './answer/respond.js';
import { TokenCheck } from './authenticate.js';
import { docsRoutes } from './development/docs-page.js';
import { healthRoute } from './development/health.js';
import { loginRoute } from './development/login.js';
import { Exchange, type ExchangeSettings } from './exchange.js';
import type { Logger } from './logger.js';
import { messageFault } from './message-fault.js';
import type { LoneRequest } from './node/lone-request.js';
import { Reader } from './read.js';
import { mountPathOf } from './request/target.js';
import { observerOf } from './request-observer.js';
import {
  ALLOW,
  createRouter,
  normaliseBasePath,
  type OpenRoute,
  type ReadRoute,
  type Route,
  scheduleRoutes,
} from './routes.js';

interface CommonOptions {
  /** Where the resources are. Default `/api/v1`. */
  readonly basePath?: string;
  /** Verifies bearer tokens. */
  readonly authenticator?: Authenticator;
  /**
   * In place of an authenticator, where requests are authenticated before they come here: what selects the user's own events, or
   * null.
   */
  readonly identify?: (req: IncomingMessage) => readonly FieldFilter[] | null;
  /** Default `reject`. */
  readonly unknownParameters?: ParseOptions['unknownParameters'];
  /** For WWW-Authenticate: printable ASCII. Default `lectern`. */
  readonly realm?: string;
  /** Set where the handler is mounted in a server of its own; see {@link Exchange}. Default false. */
  readonly ownsSocket?: boolean;
  /** Bytes for whole answers that are asked for again; 0 for none. Default: their share of CACHE_BYTES_DEFAULT. */
  readonly cacheBytesMax?: number;
  /** Origins of web pages that may read answers. Default: none, and no answer says anything of origins. */
  readonly corsOrigins?: readonly string[];
  /** Counts what is answered. Default: nothing does. */
  readonly meter?: Meter | null;
  /** Told of each request that is refused as too many tokens are being verified. It is not counted by the meter. */
  readonly onRefusal?: (() => void) | undefined;
  /** Share of the requests that are logged, 0 to 1. Default 0. */
  readonly accessLogShare?: number;
  /** Default: nothing is logged, and faults of the service itself are warnings of the process. */
  readonly log?: Logger;
  /** Of the service, for /health and the OpenAPI document. */
  readonly version: string;
}

/** In development, /login, /docs and /health exist, too. */
export type HandlerOptions = CommonOptions &
  (
    | { readonly mode: 'production' }
    | {
        readonly mode: 'development';
        /** Signs the tokens of /login; the authenticator must know its key. */
        readonly issuer: DevelopmentIssuer;
        /** How /login and the docs page understand identifiers. */
        readonly identifiers: IdentifierMode;
        /** Address of the folder of the docs page's files, for code that does not know its own place. */
        readonly docsAssets?: string | undefined;
      }
  );

/** Answers a request of node:http, or of a framework whose requests are node's. */
export type RequestHandler<Request extends IncomingMessage = IncomingMessage> = (
  req: Request,
  res: ServerResponse,
) => void;

/** One that also answers requests which stand alone. */
export interface LoneRequestHandler extends RequestHandler {
  readonly lone: (request: LoneRequest) => void;
}

const NO_ROUTE = routeNumber('none');

/** Where no log was given: faults of the service itself must not go unheard. */
const SILENT: Logger = {
  info() {},
  warn() {},
  error(fields, message) {
    const { err } = fields as { readonly err?: unknown };
    const reason = err instanceof Error ? (err.stack ?? err.message) : String(err);
    process.emitWarning(`${message}: ${reason}`, { type: 'LecternWarning' });
  },
};

/**
 * Creates the handler.
 *
 * @throws LecternError `option-invalid` for a base path or realm that cannot be used
 */
export function createHandler(views: ViewSource, options: HandlerOptions): LoneRequestHandler {
  const handler = new Handler(views, options);
  return Object.assign((req: IncomingMessage, res: ServerResponse) => handler.answer(req, res), {
    lone: (request: LoneRequest) => handler.answer(request.req, request),
  });
}

class Handler {
  readonly #basePath: string;
  readonly #isDevelopment: boolean;
  readonly #log: Logger;
  readonly #settings: ExchangeSettings;
  readonly #findRoute: (path: string) => Route | null;
  readonly #reader: Reader;
  /** Null where requests are authenticated before they come here. */
  readonly #tokens: TokenCheck | null;
  readonly #identify: NonNullable<HandlerOptions['identify']>;

  constructor(views: ViewSource, options: HandlerOptions) {
    const { authenticator, identify, meter = null, accessLogShare = 0, corsOrigins = [] } = options;
    if ((authenticator === undefined) === (identify === undefined)) {
      throw new LecternError('option-invalid', 'a handler needs an authenticator or identify, and not both');
    }
    this.#basePath = normaliseBasePath(options.basePath ?? '/api/v1');
    const realm = checkRealm(options.realm ?? 'lectern');
    this.#isDevelopment = options.mode === 'development';
    this.#log = options.log ?? SILENT;
    this.#settings = {
      ownsSocket: options.ownsSocket ?? false,
      origins: originFieldsOf(corsOrigins),
      observer: observerOf(meter, accessLogShare, this.#log),
    };
    this.#findRoute = createRouter([
      ...scheduleRoutes(this.#basePath),
      ...developmentRoutes(views, this.#basePath, options),
    ]);
    this.#reader = new Reader(
      views,
      { unknownParameters: options.unknownParameters ?? 'reject' },
      options.cacheBytesMax ?? CACHE_BYTES_DEFAULT * ANSWER_CACHE_SHARE,
      meter,
      authenticator !== undefined,
    );
    const log = this.#log;
    this.#tokens =
      authenticator === undefined
        ? null
        : new TokenCheck({ authenticator, realm, meter, log, onRefusal: options.onRefusal });
    this.#identify = identify ?? (() => null);
  }

  /** @param to where the answer goes */
  answer(req: IncomingMessage, to: ServerResponse | LoneRequest): void {
    const exchange = new Exchange(req, to, this.#settings);
    exchange.route = NO_ROUTE;
    try {
      // No body is read, so what follows on this connection cannot be told from it.
      if (exchange.headers.hasContent) exchange.closeAfterAnswer();
      // Node answers what is expected.
      else if (exchange.headers.expect !== undefined) exchange.makeResponse();
      this.#dispatch(exchange);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #dispatch(exchange: Exchange): void {
    const { req, target } = exchange;
    const { origins, observer } = this.#settings;
    const route = this.#findRoute(exchange.path);
    // Also of requests that are refused below.
    if (observer !== null && route !== null) exchange.route = routeNumber(route.label);
    const fault = messageFault(req, exchange.path, exchange.headers);
    if (fault !== null) {
      // What is malformed may have been understood otherwise on its way here.
      exchange.closeAfterAnswer();
      sendProblem(exchange, fault);
    } else if (this.#tokens?.refusesRepeated(exchange)) return;
    else if (origins?.isPreflight(req)) sendEmpty(exchange, 204, [...PREFLIGHT_FIELDS]);
    // After all that closes the connection. node:http gives one character for each byte.
    else if (target.length > REQUEST_TARGET_BYTES_MAX) {
      sendProblem(exchange, {
        code: 'request-target-too-long',
        detail: `The request target has ${target.length} bytes; at most ${REQUEST_TARGET_BYTES_MAX} are read.`,
      });
    } else if (req.method === 'OPTIONS' && (route !== null || exchange.path === '*')) {
      sendEmpty(exchange, 204, ['Allow', ALLOW]);
    } else if (route === null) this.#sendNotFound(exchange);
    else if (req.method !== 'GET' && req.method !== 'HEAD') {
      sendProblem(exchange, {
        code: 'method-not-allowed',
        detail: `The timetable is for reading only; the methods are ${ALLOW}.`,
        headers: ['Allow', ALLOW],
      });
    } else if (route.kind === 'read') this.#read(exchange, route);
    else {
      exchange.awaitAnswer();
      route.handle(exchange)?.catch((error: unknown) => this.#fail(exchange, error));
    }
  }

  #read(exchange: Exchange, route: ReadRoute): void {
    if (this.#tokens === null) {
      this.#reader.answer(exchange, route, { identities: this.#identify(exchange.req) });
      return;
    }
    const user = this.#tokens.find(exchange);
    if (user !== null) this.#reader.answer(exchange, route, user);
    else {
      this.#tokens
        .verify(exchange, (verified) => this.#reader.answer(exchange, route, verified))
        ?.catch((error: unknown) => this.#fail(exchange, error));
    }
  }

  #sendNotFound(exchange: Exchange): void {
    const base = `${mountPathOf(exchange.req)}${this.#basePath}`;
    const docs = this.#isDevelopment ? `, its documentation at ${base}/docs` : '';
    sendProblem(exchange, {
      code: 'not-found',
      detail: `There is nothing at this path. The timetable is at ${base}/schedule${docs}.`,
    });
  }

  #fail(exchange: Exchange, error: unknown): void {
    try {
      this.#log.error({ err: error, method: exchange.req.method, path: exchange.path }, 'a request failed');
    } catch {
      // A logger that fails, too, must take neither the answer nor the process with it.
    }
    // With the head on its way all that can be said is that the answer is not whole.
    if (exchange.hasBegun) exchange.cutOff();
    else
      sendProblem(exchange, {
        code: 'internal-error',
        detail: 'The service failed; the log has the details.',
      });
  }
}

function developmentRoutes(views: ViewSource, basePath: string, options: HandlerOptions): OpenRoute[] {
  if (options.mode !== 'development') return [];
  const { issuer, identifiers, version, unknownParameters = 'reject' } = options;
  return [
    loginRoute(views, { path: `${basePath}/login`, issuer, identifiers, unknownParameters }),
    healthRoute(views, { path: '/health', version }),
    ...docsRoutes({ basePath, identifiers, version, assetsFolder: options.docsAssets }),
  ];
}

function checkRealm(realm: string): string {
  if (/^[\x20-\x7e]+$/.test(realm)) return realm;
  throw new LecternError('option-invalid', `the realm ${JSON.stringify(realm)} is not printable ASCII text`);
}
