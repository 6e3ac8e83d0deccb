/** A request handler for an existing server. */
import type { IncomingMessage } from 'node:http';
import { type AuthPlan, authenticatorOfPlan } from '../auth/auth-plan.js';
import type { Authenticator } from '../auth/authenticator.js';
import { canonicalIdentities, type IdentityValues } from '../auth/identity.js';
import { RemoteKeys } from '../auth/remote-keys.js';
import { LecternError } from '../errors.js';
import { createHandler, type RequestHandler } from '../http/handler.js';
import type { Logger } from '../http/logger.js';
import type { IdentifierMode } from '../model/event.js';
import type { EmbeddedHandlerOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import { VERSION } from '../version.js';
import type { ParseOptions } from '../view/view.js';
import type { ViewSource } from '../view/view-source.js';
import { planAuth } from './plan-auth.js';

/** What a handler takes over from its timetable. */
export interface HandlerSettings extends ParseOptions {
  readonly identifiers: IdentifierMode;
  readonly cacheBytesMax: number;
  /** Takes what is to be called when the timetable is closed. */
  readonly whenClosed: (close: () => void) => void;
}

/** @throws LecternError `option-invalid`, `key-invalid`, `key-missing` */
export function createEmbeddedHandler<Request extends IncomingMessage>(
  views: ViewSource,
  options: EmbeddedHandlerOptions<Request>,
  { unknownParameters, identifiers, cacheBytesMax, whenClosed }: HandlerSettings,
): RequestHandler<Request> {
  const { auth, identify = () => null, basePath, log } = resolveOptions('handler', options);
  return createHandler(views, {
    mode: 'production',
    version: VERSION,
    unknownParameters,
    cacheBytesMax,
    basePath,
    ...(log === undefined ? {} : { log }),
    ...(auth === undefined
      ? { identify: (req) => canonicalIdentities(checkIdentity(identify(req as Request)), identifiers) }
      : { authenticator: authenticatorHere(planAuth('handler', auth, identifiers, true), log, whenClosed) }),
  });
}

function authenticatorHere(
  plan: AuthPlan,
  log: Logger | undefined,
  whenClosed: (close: () => void) => void,
): Authenticator {
  if (plan.remoteKeys === null) return authenticatorOfPlan(plan, { feed: null });
  const feed = new RemoteKeys(plan.remoteKeys, { log });
  whenClosed(() => feed.close());
  return authenticatorOfPlan(plan, { feed });
}

/**
 * Undefined counts as null. A promise is refused: it would pass for a user without events.
 *
 * @throws LecternError `option-invalid`
 */
function checkIdentity(given: unknown): IdentityValues | null {
  if (given === undefined || given === null) return null;
  if (typeof given === 'object' && !Array.isArray(given) && !('then' in given)) return given;
  if (given instanceof Promise) given.catch(() => {});
  throw new LecternError(
    'option-invalid',
    "identify() has to answer at once, with values by field, { studyGroup: ['CS-1'] }, or null; what takes time belongs before the handler",
  );
}
