import type { LiveViews } from '../answer/present.js';
import type { AccessSource } from '../auth/access.js';
import { type AuthPlan, authenticatorOfPlan } from '../auth/authenticator.js';
import { createDevelopmentIssuer, type DevelopmentIssuer } from '../auth/development-issuer.js';
import { createClaimTable } from '../auth/identity.js';
import type { FetchedKeys } from '../auth/key-set.js';
import { ANSWER_CACHE_SHARE } from '../base/limits.js';
import { CELL } from '../base/metrics/cells.js';
import type { Meter } from '../base/metrics/meter.js';
import type { FeedSettings } from '../http/feeds.js';
import { createHandler, type HandlerSettings } from '../http/handler.js';
import type { Logger } from '../http/logger.js';
import type { PageOptions } from '../http/pages.js';
import { HttpServer, type ServerSettings } from '../http/server/server.js';

/**
 * The server of one thread as plain data: options of serve(), then ServingSettings, then this, then ServerSettings and
 * HandlerSettings, which declare what they use. `cacheBytesMax` is for all caches of the thread together.
 */
export interface ServerPlan extends HandlerSettings, ServerSettings {
  readonly auth: AuthPlan;
  readonly version: string;
  /** Null if there are no feeds. */
  readonly feeds: FeedSettings | null;
  readonly pages: PageOptions;
  /** Null in production. */
  readonly development: {
    /** The key that signs test tokens. All threads have it and verify each other's tokens. */
    readonly secret: Uint8Array;
    readonly hosts: readonly string[];
    readonly docsAssets: string;
  } | null;
}

export interface ServerSurroundings {
  readonly log?: Logger | undefined;
  readonly fetched: FetchedKeys | null;
  readonly access: AccessSource;
  readonly meter: Meter | null;
  readonly onOverload?: (server: HttpServer) => void;
}

export function issuerOfPlan({ auth, development }: ServerPlan): DevelopmentIssuer | null {
  if (development === null) return null;
  return createDevelopmentIssuer({
    ...auth,
    table: createClaimTable(auth.claims),
    secret: development.secret,
  });
}

/** The server of one thread, which does not listen yet. Throws `option-invalid`, `key-invalid`. */
export function serverOfPlan(
  plan: ServerPlan,
  views: LiveViews,
  { log, fetched, access, meter, onOverload }: ServerSurroundings,
): HttpServer {
  const { auth, version, development, feeds } = plan;
  const { identifiers } = auth;
  const issuer = issuerOfPlan(plan);
  const handler = createHandler(views, {
    ...plan,
    authenticator: authenticatorOfPlan(auth, fetched, access, issuer === null ? [] : [issuer.keySet]),
    ownsSocket: true,
    cacheBytesMax: plan.cacheBytesMax * ANSWER_CACHE_SHARE,
    meter,
    onRefusal: () => server.countRefusal(),
    log,
    feeds: feeds === null ? undefined : { ...feeds, access, identifiers },
    development: issuer === null ? undefined : { ...development, issuer, identifiers, version },
  });
  const server: HttpServer = new HttpServer(handler, {
    ...plan,
    onOverload(isOverloaded) {
      const { refused } = server.load;
      if (isOverloaded) log?.warn({ refused }, 'overloaded: requests are refused');
      else log?.info({ refused }, 'no longer overloaded');
      onOverload?.(server);
    },
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
