/**
 * The request handler: everything between a request and its answer, in the documented order of checks: what is
 * malformed, 414, 404, 405, 401, 403, 406, 400, 412, then 304 or 200. It can be mounted in any node:http server.
 *
 * For a token seen before, everything is synchronous: no promise is made, and the response is written in the same
 * turn of the event loop.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type {
  AuthenticatedUser,
  Authentication,
  Authenticator,
  RememberedUser,
} from '../auth/authenticator.js';
import { readCredential } from '../auth/credential.js';
import type { DevelopmentIssuer } from '../auth/development-issuer.js';
import { LecternError } from '../errors.js';
import { ANSWER_CACHE_SHARE, CACHE_BYTES_DEFAULT, REQUEST_TARGET_BYTES_MAX } from '../limits.js';
import { CELL, routeNumber } from '../metrics/cells.js';
import type { Meter } from '../metrics/meter.js';
import type { IdentifierMode } from '../model/event.js';
import type { FieldFilter } from '../query/query.js';
import type { ParseOptions } from '../view/view.js';
import type { ViewSource } from '../view/view-source.js';
import { originFieldsOf, PREFLIGHT_FIELDS } from './answer/answer-fields.js';
import { bearerChallenge, sendProblem } from './answer/problem.js';
import { sendEmpty } from './answer/respond.js';
import { docsRoutes } from './development/docs-page.js';
import { healthRoute } from './development/health.js';
import { loginRoute } from './development/login.js';
import type { Logger } from './logger.js';
import { messageFault } from './message-fault.js';
import { Exchange, type ExchangeSettings, mountPathOf } from './node/exchange.js';
import type { LoneRequest } from './node/lone-request.js';
import { Reader } from './read.js';
import { observerOf } from './request-observer.js';
import {
  ALLOW,
  createRouter,
  normaliseBasePath,
  type OpenRoute,
  type ReadRoute,
  scheduleRoutes,
} from './routes.js';
import { sendRefusal } from './server/refusal.js';

interface CommonOptions {
  /** Where the resources are. Default `/api/v1`. */
  readonly basePath?: string;
  /** Verifies bearer tokens. */
  readonly authenticator?: Authenticator;
  /**
   * In place of an authenticator, where whoever mounts the handler has let the request in already: what selects the
   * user's own events, or null.
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

export type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void;

/** One that also answers requests which stand alone. */
export interface LoneRequestHandler extends RequestHandler {
  readonly lone: (request: LoneRequest) => void;
}

const NO_ROUTE = routeNumber('none');

/** Whoever has a bad token can ask a thousand times a second; the log is told this often at most, of each of two reasons. */
const TOKENS_LOG_MS = 60_000;

/** Where no log was given: nobody is told but of what is a fault of the service's own, which must not go unheard. */
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
  const basePath = normaliseBasePath(options.basePath ?? '/api/v1');
  const realm = checkRealm(options.realm ?? 'lectern');
  const log = options.log ?? SILENT;
  const { authenticator, identify, ownsSocket = false } = options;
  const { meter = null, accessLogShare = 0, corsOrigins = [], onRefusal } = options;
  if ((authenticator === undefined) === (identify === undefined)) {
    throw new LecternError('option-invalid', 'a handler needs an authenticator or identify, and not both');
  }
  const parseOptions: ParseOptions = { unknownParameters: options.unknownParameters ?? 'reject' };
  const reader = new Reader(
    views,
    parseOptions,
    options.cacheBytesMax ?? CACHE_BYTES_DEFAULT * ANSWER_CACHE_SHARE,
    meter,
    authenticator !== undefined,
  );
  const observer = observerOf(meter, accessLogShare, log);
  const origins = originFieldsOf(corsOrigins);
  const settings: ExchangeSettings = { ownsSocket, origins, observer };
  /**
   * Who the last request of each connection was from: clients send the same header again and again, and comparing it is
   * cheaper than hashing it. Gone with the connection.
   */
  const lastUsers = new WeakMap<Socket, { readonly authorization: string; readonly user: RememberedUser }>();
  let keysLoggedMs = Number.NEGATIVE_INFINITY;
  let refusalsLoggedMs = Number.NEGATIVE_INFINITY;
  const findRoute = createRouter([
    ...scheduleRoutes(basePath),
    ...developmentRoutes(views, basePath, options),
  ]);

  function fail(exchange: Exchange, error: unknown): void {
    try {
      log.error({ err: error, method: exchange.req.method, path: exchange.path }, 'a request failed');
    } catch {
      // A logger that fails, too, must take neither the answer nor the process with it.
    }
    // With the head on its way there is nothing left to say but that the answer is not whole.
    if (exchange.hasBegun) exchange.cutOff();
    else
      sendProblem(exchange, {
        code: 'internal-error',
        detail: 'The service failed; the log has the details.',
      });
  }

  function authenticate(exchange: Exchange, route: ReadRoute): void {
    if (authenticator === undefined) {
      const identities = identify?.(exchange.req) ?? null;
      reader.answer(exchange, route, { identities });
      return;
    }
    const { authorization, authorizations } = exchange.headers;
    const { socket } = exchange.req;
    const last = lastUsers.get(socket);
    if (last?.authorization === authorization && last !== undefined && authorizations === 1) {
      if (authenticator.isUsable(last.user)) {
        meter?.add(CELL.tokenHits);
        reader.answer(exchange, route, last.user.value);
        return;
      }
      lastUsers.delete(socket);
    }
    const credential = readCredential(authorization, authorizations);
    if (credential.kind === 'token') {
      const user = authenticator.lookup(credential.token);
      if (user !== undefined) {
        if (authorization !== undefined) lastUsers.set(socket, { authorization, user });
        meter?.add(CELL.tokenHits);
        reader.answer(exchange, route, user.value);
        return;
      }
      meter?.add(CELL.tokenMisses);
      exchange.awaitAnswer();
      authenticator
        .verify(credential.token)
        .then((authentication) => answerAuthenticated(exchange, route, authentication))
        .catch((error: unknown) => fail(exchange, error));
    } else if (credential.kind === 'missing') {
      meter?.failed('missing');
      sendProblem(exchange, {
        code: 'credentials-missing',
        detail: 'Send a token in the header "Authorization: Bearer <token>".',
        headers: ['WWW-Authenticate', bearerChallenge(realm)],
      });
    } else refuseCredential(exchange, credential.detail);
  }

  function refuseCredential(exchange: Exchange, detail: string): void {
    meter?.failed('malformed');
    sendProblem(exchange, {
      code: 'invalid-request',
      detail,
      headers: ['WWW-Authenticate', bearerChallenge(realm, 'invalid_request', detail)],
    });
  }

  function answerAuthenticated(exchange: Exchange, route: ReadRoute, authentication: Authentication): void {
    switch (authentication.outcome) {
      case 'ok': {
        const user: AuthenticatedUser = authentication.user;
        reader.answer(exchange, route, user);
        return;
      }
      case 'invalid':
        meter?.failed(authentication.reason);
        sendProblem(exchange, {
          code: 'token-invalid',
          detail: authentication.description,
          headers: ['WWW-Authenticate', bearerChallenge(realm, 'invalid_token', authentication.description)],
        });
        return;
      case 'unavailable':
        meter?.failed('unavailable');
        if (performance.now() - keysLoggedMs >= TOKENS_LOG_MS) {
          keysLoggedMs = performance.now();
          log.warn({ reason: authentication.description }, 'a token cannot be verified');
        }
        sendProblem(exchange, {
          code: 'keys-unavailable',
          detail: 'The keys that verify tokens cannot be had at the moment. Ask again in a few seconds.',
          headers: ['Retry-After', String(authentication.retryAfterSeconds)],
        });
        return;
      case 'overloaded':
        onRefusal?.();
        if (performance.now() - refusalsLoggedMs >= TOKENS_LOG_MS) {
          refusalsLoggedMs = performance.now();
          log.warn({}, 'too many tokens to verify: requests are refused');
        }
        sendRefusal(exchange.req, exchange.res, exchange.fields);
        return;
    }
  }

  function dispatch(exchange: Exchange): void {
    const { req, target } = exchange;
    const route = findRoute(exchange.path);
    // Also of what is refused before anybody asks for a resource.
    if (observer !== null && route !== null) exchange.route = routeNumber(route.label);
    const fault = messageFault(req, exchange.path, exchange.headers);
    if (fault !== null) {
      // What is malformed may have been understood otherwise on its way here.
      closeAfter(exchange);
      sendProblem(exchange, fault);
      return;
    }
    const { authorization, authorizations } = exchange.headers;
    if (authorizations > 1 && authenticator !== undefined) {
      const credential = readCredential(authorization, authorizations);
      if (credential.kind === 'malformed' && credential.repeated) {
        closeAfter(exchange);
        refuseCredential(exchange, credential.detail);
        return;
      }
    }
    if (origins?.isPreflight(req)) {
      sendEmpty(exchange, 204, [...PREFLIGHT_FIELDS]);
      return;
    }
    // Not before what closes the connection. node:http gives one character for each byte.
    if (target.length > REQUEST_TARGET_BYTES_MAX) {
      sendProblem(exchange, {
        code: 'request-target-too-long',
        detail: `The request target has ${target.length} bytes; at most ${REQUEST_TARGET_BYTES_MAX} are read.`,
      });
      return;
    }
    if (exchange.path === '*' && req.method === 'OPTIONS') {
      sendEmpty(exchange, 204, ['Allow', ALLOW]);
      return;
    }
    if (route === null) {
      sendProblem(exchange, {
        code: 'not-found',
        detail: `There is nothing at this path. The timetable is at ${mountPathOf(req)}${basePath}/schedule${
          options.mode === 'development' ? `, its documentation at ${mountPathOf(req)}${basePath}/docs` : ''
        }.`,
      });
      return;
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      if (req.method === 'OPTIONS') sendEmpty(exchange, 204, ['Allow', ALLOW]);
      else {
        sendProblem(exchange, {
          code: 'method-not-allowed',
          detail: `The timetable is for reading only; the methods are ${ALLOW}.`,
          headers: ['Allow', ALLOW],
        });
      }
      return;
    }
    if (route.kind === 'read') authenticate(exchange, route);
    else {
      exchange.awaitAnswer();
      route.handle(exchange)?.catch((error: unknown) => fail(exchange, error));
    }
  }

  function answer(req: IncomingMessage, to: ServerResponse | LoneRequest): void {
    const exchange = new Exchange(req, to, settings);
    exchange.route = NO_ROUTE;
    try {
      // Nothing here takes a body. It is not read, so what follows on this connection cannot be told from it.
      if (exchange.headers.hasContent) closeAfter(exchange);
      // What is expected is for node to say.
      else if (exchange.headers.expect !== undefined) exchange.needResponse();
      dispatch(exchange);
    } catch (error) {
      fail(exchange, error);
    }
  }

  const handler: RequestHandler = answer;
  return Object.assign(handler, { lone: (request: LoneRequest) => answer(request.req, request) });
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

/** The connection ends with this answer. */
function closeAfter({ res }: Exchange): void {
  res.shouldKeepAlive = false;
}

function checkRealm(realm: string): string {
  if (/^[\x20-\x7e]+$/.test(realm)) return realm;
  throw new LecternError('option-invalid', `the realm ${JSON.stringify(realm)} is not printable ASCII text`);
}
