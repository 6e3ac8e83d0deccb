import type { AccessSource } from '../auth/access.js';
import { type AuthPlan, authenticatorOfPlan } from '../auth/authenticator.js';
import { createDevelopmentIssuer, type DevelopmentIssuer } from '../auth/development-issuer.js';
import { createClaimTable } from '../auth/identity.js';
import type { KeyFeed } from '../auth/remote-key-set.js';
import type { FeedOptions } from '../http/feeds.js';
import { createHandler } from '../http/handler.js';
import type { Logger } from '../http/logger.js';
import { HttpServer } from '../http/server/server.js';
import { ANSWER_CACHE_SHARE } from '../limits.js';
import { CELL } from '../metrics/cells.js';
import type { Meter } from '../metrics/meter.js';
import type { ParseOptions } from '../view/view.js';
import type { LiveViews } from '../view/view-source.js';

/** A request handler as plain data. */
export interface HandlerPlan {
  readonly auth: AuthPlan;
  readonly basePath: string;
  readonly unknownParameters: ParseOptions['unknownParameters'];
  readonly timeZone: ParseOptions['timeZone'];
  readonly version: string;
  readonly compression: boolean;
  readonly corsOrigins: readonly string[];
  readonly accessLogShare: number;
  /** Null if there are no feeds. */
  readonly feeds: Pick<FeedOptions, 'days' | 'publicUrl'> | null;
  /** Null in production. */
  readonly development: {
    /** The key that signs test tokens. All threads have it and verify each other's tokens. */
    readonly secret: Uint8Array;
    readonly docsAssets: string;
  } | null;
}

export interface ServerLimits {
  readonly connectionsMax: number | undefined;
  readonly overloadMs: number | undefined;
  readonly streamsMax: number;
  /** Largest size of all caches of the thread together. */
  readonly cacheBytesMax: number;
}

export interface ServerSurroundings {
  readonly log?: Logger | undefined;
  readonly feed: KeyFeed | null;
  readonly access: AccessSource;
  readonly meter: Meter | null;
  readonly onOverload?: (server: HttpServer) => void;
}

export function issuerOfPlan({ auth, development }: HandlerPlan): DevelopmentIssuer | null {
  if (development === null) return null;
  const { issuer, audience, tokenType, claims } = auth;
  const table = createClaimTable(claims);
  return createDevelopmentIssuer({ issuer, audience, tokenType, table, secret: development.secret });
}

/** The server of one thread, which does not listen yet. Throws `option-invalid`, `key-invalid`. */
export function serverOfPlan(
  {
    plan,
    connectionsMax,
    overloadMs,
    streamsMax,
    cacheBytesMax,
  }: ServerLimits & { readonly plan: HandlerPlan },
  views: LiveViews,
  { log, feed, access, meter, onOverload }: ServerSurroundings,
): HttpServer {
  const { auth, version, development, feeds, ...common } = plan;
  const { identifiers } = auth;
  const issuer = issuerOfPlan(plan);
  const handler = createHandler(views, {
    ...common,
    authenticator: authenticatorOfPlan(auth, feed, access, issuer === null ? [] : [issuer.keySet]),
    ownsSocket: true,
    cacheBytesMax: cacheBytesMax * ANSWER_CACHE_SHARE,
    streamsMax,
    meter,
    onRefusal: () => server.countRefusal(),
    log,
    feeds: feeds === null ? undefined : { ...feeds, access, identifiers },
    development:
      issuer === null ? undefined : { issuer, identifiers, version, docsAssets: development?.docsAssets },
  });
  const server: HttpServer = new HttpServer(handler, {
    connectionsMax,
    overloadMs,
    onOverload(isOverloaded) {
      const { refused } = server.load;
      if (isOverloaded) log?.warn({ refused }, 'overloaded: requests are refused');
      else log?.info({ refused }, 'no longer overloaded');
      onOverload?.(server);
    },
    corsOrigins: plan.corsOrigins,
    meter,
  });
  meter?.onSample(() => meter.set(CELL.rowBytes, views.view?.rowCache.bytes ?? 0));
  // Each snapshot has its own cache of rows, so its counts begin at zero.
  meter?.onSampleOfCounts(() => [
    [CELL.rowHits, views.view?.rowCache.hits ?? 0],
    [CELL.rowMisses, views.view?.rowCache.misses ?? 0],
  ]);
  return server;
}
