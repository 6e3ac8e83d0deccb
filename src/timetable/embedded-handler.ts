import type { IncomingMessage } from 'node:http';
import { authenticatorOfPlan } from '../auth/authenticator.js';
import { canonicalIdentities, type IdentityValues } from '../auth/identity.js';
import { RemoteKeys } from '../auth/remote-keys.js';
import { LecternError } from '../errors.js';
import { createHandler, type RequestHandler } from '../http/handler.js';
import type {
  EmbeddedAuthOptions,
  EmbeddedHandlerOptions,
  FeedServingOptions,
} from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { ViewSource } from '../view/view-source.js';
import { givenAccess } from './live-access.js';
import { planAuth, planFeeds, type Reading } from './plan-auth.js';

/** A handler for an existing server. `close` stops fetching its keys. */
export function createEmbeddedHandler<Request extends IncomingMessage>(
  views: ViewSource,
  options: EmbeddedHandlerOptions<Request>,
  { unknownParameters, identifiers, timeZone }: Reading,
  cacheBytesMax: number,
): { readonly handler: RequestHandler<Request>; close(): void } {
  const {
    auth,
    feed,
    publicUrl,
    identify = () => null,
    basePath,
    compression,
    log,
  } = resolveOptions('handler', options);
  refuseFiles({ ...auth, ...feed });
  const access = givenAccess({ auth: auth ?? {}, feed, identifiers });
  const feeds = feed === undefined ? null : planFeeds('handler', feed, publicUrl);
  const plan = auth === undefined ? null : planAuth('handler', auth, identifiers, true);
  const keys = plan === null || plan.remoteKeys === null ? null : new RemoteKeys(plan.remoteKeys, { log });
  const close = (): void => keys?.close();
  try {
    const handler = createHandler(views, {
      unknownParameters,
      timeZone,
      cacheBytesMax,
      basePath,
      compression,
      log,
      feeds: feeds === null ? undefined : { ...feeds, access, identifiers },
      ...(plan === null
        ? { identify: (req) => canonicalIdentities(checkIdentity(identify(req as Request)), identifiers) }
        : { authenticator: authenticatorOfPlan(plan, keys, access) }),
    });
    return { handler, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** A handler is made synchronously, so it cannot read files. */
function refuseFiles(options: EmbeddedAuthOptions & FeedServingOptions): void {
  const files = ['enrolmentsFile', 'secretFile', 'secretPreviousFile', 'revocationsFile'] as const;
  const file = files.find((name) => options[name] !== undefined);
  if (file === undefined) return;
  const value = file.replace(/File$/, '');
  throw new LecternError('option-invalid', `handler() reads no file: give ${value} in place of ${file}`);
}

/** Undefined counts as null. Promises are refused, because they would look like users without events. */
function checkIdentity(given: unknown): IdentityValues | null {
  if (given === undefined || given === null) return null;
  if (typeof given === 'object' && !Array.isArray(given) && !('then' in given)) return given;
  if (given instanceof Promise) given.catch(() => {});
  throw new LecternError(
    'option-invalid',
    "identify() must return at once, with values by field such as { studyGroup: ['CS-1'] }, or null; do slow work before the handler",
  );
}
