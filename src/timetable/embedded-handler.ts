import type { IncomingMessage } from 'node:http';
import { authenticatorOfPlan } from '../auth/authenticator.js';
import { canonicalIdentities, type IdentityValues } from '../auth/identity.js';
import { RemoteKeys } from '../auth/remote-keys.js';
import { LecternError } from '../errors.js';
import { createHandler, type RequestHandler } from '../http/handler.js';
import type { EmbeddedHandlerOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { ViewSource } from '../view/view-source.js';
import { planAuth, type Reading } from './plan-auth.js';

/** A handler for an existing server. `close` stops fetching its keys. */
export function createEmbeddedHandler<Request extends IncomingMessage>(
  views: ViewSource,
  options: EmbeddedHandlerOptions<Request>,
  { unknownParameters, identifiers, timeZone }: Reading,
  cacheBytesMax: number,
): { readonly handler: RequestHandler<Request>; close(): void } {
  const { auth, identify = () => null, basePath, compression, log } = resolveOptions('handler', options);
  const plan = auth === undefined ? null : planAuth('handler', auth, identifiers, true);
  const feed = plan === null || plan.remoteKeys === null ? null : new RemoteKeys(plan.remoteKeys, { log });
  const close = (): void => feed?.close();
  try {
    const handler = createHandler(views, {
      unknownParameters,
      timeZone,
      cacheBytesMax,
      basePath,
      compression,
      log,
      ...(plan === null
        ? { identify: (req) => canonicalIdentities(checkIdentity(identify(req as Request)), identifiers) }
        : { authenticator: authenticatorOfPlan(plan, feed) }),
    });
    return { handler, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Undefined counts as null. Promises are refused, as they would look like users without events. */
function checkIdentity(given: unknown): IdentityValues | null {
  if (given === undefined || given === null) return null;
  if (typeof given === 'object' && !Array.isArray(given) && !('then' in given)) return given;
  if (given instanceof Promise) given.catch(() => {});
  throw new LecternError(
    'option-invalid',
    "identify() must return at once, with values by field such as { studyGroup: ['CS-1'] }, or null; do slow work before the handler",
  );
}
