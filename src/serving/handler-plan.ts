import { type AuthPlan, authenticatorOfPlan } from '../auth/authenticator.js';
import { createDevelopmentIssuer, type DevelopmentIssuer } from '../auth/development-issuer.js';
import { createClaimTable } from '../auth/identity.js';
import type { KeyFeed } from '../auth/remote-key-set.js';
import { createHandler, type LoneRequestHandler } from '../http/handler.js';
import type { Logger } from '../http/logger.js';
import type { Meter } from '../metrics/meter.js';
import type { ParseOptions } from '../view/view.js';
import type { ViewSource } from '../view/view-source.js';

/** A request handler as plain data: every serving thread makes the same of it. */
export interface HandlerPlan {
  readonly auth: AuthPlan;
  readonly basePath: string | undefined;
  readonly unknownParameters: ParseOptions['unknownParameters'];
  readonly version: string;
  /** Origins of web pages that may read answers. */
  readonly corsOrigins: readonly string[];
  /** Share of the requests that are logged, 0 to 1. */
  readonly accessLogShare: number;
  /** Null in production. */
  readonly development: {
    /** What signs test tokens, so that each thread verifies those of the others. */
    readonly secret: Uint8Array;
    /** Address of the folder of the docs page's files. */
    readonly docsAssets: string;
  } | null;
}

export interface HandlerSurroundings {
  readonly log?: Logger | undefined;
  /** Bytes for whole answers. */
  readonly cacheBytesMax: number;
  /** Null where no keys are fetched. */
  readonly feed: KeyFeed | null;
  /** Counts for this thread; null where nobody wants to know. */
  readonly meter: Meter | null;
  /** See HandlerOptions. */
  readonly onRefusal: () => void;
}

/** Null in production. */
export function issuerOfPlan({ auth, development }: HandlerPlan): DevelopmentIssuer | null {
  if (development === null) return null;
  const { issuer, audience, tokenType, claims } = auth;
  const table = createClaimTable(claims);
  return createDevelopmentIssuer({ issuer, audience, tokenType, table, secret: development.secret });
}

/**
 * A handler for a server of its own.
 *
 * @throws LecternError `option-invalid`, `key-invalid`
 */
export function handlerOfPlan(
  plan: HandlerPlan,
  views: ViewSource,
  { log, cacheBytesMax, feed, meter, onRefusal }: HandlerSurroundings,
): LoneRequestHandler {
  const { auth, basePath, unknownParameters, version, corsOrigins, accessLogShare, development } = plan;
  const issuer = issuerOfPlan(plan);
  return createHandler(views, {
    authenticator: authenticatorOfPlan(auth, feed, issuer === null ? [] : [issuer.keySet]),
    unknownParameters,
    ownsSocket: true,
    cacheBytesMax,
    corsOrigins,
    accessLogShare,
    meter,
    onRefusal,
    basePath,
    log,
    development:
      issuer === null
        ? undefined
        : { issuer, identifiers: auth.identifiers, version, docsAssets: development?.docsAssets },
  });
}
