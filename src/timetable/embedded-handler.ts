import type { IncomingMessage } from 'node:http';
import { authenticatorOfPlan } from '../auth/authenticator.js';
import { canonicalIdentities, type IdentityValues } from '../auth/identity.js';
import { RemoteKeys } from '../auth/remote-keys.js';
import { LecternError } from '../errors.js';
import type { KeptFiles } from '../files/kept-files.js';
import { createHandler, type RequestHandler } from '../http/handler.js';
import type { EmbeddedHandlerOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { LiveViews } from '../view/view-source.js';
import { liveAccess, logFiles } from './live-access.js';
import { planAuth, planFeeds, type Reading } from './plan-auth.js';

/**
 * A handler for an existing server. The handler reads its files at once; `close` stops fetching its keys and
 * watching its files.
 */
export function createEmbeddedHandler<Request extends IncomingMessage>(
  views: LiveViews,
  options: EmbeddedHandlerOptions<Request>,
  reading: Reading,
  cacheBytesMax: number,
  files: KeptFiles,
): { readonly handler: RequestHandler<Request>; close(): void } {
  const resolved = resolveOptions('handler', options);
  const { auth: givenAuth, feed: givenFeed, identify = () => null, ...settings } = resolved;
  const { log } = settings;
  const { identifiers } = reading;
  const auth = resolveOptions('auth', givenAuth ?? {});
  const feed = givenFeed && resolveOptions('feed', givenFeed);
  const feeds = planFeeds('handler', feed, settings);
  const plan = givenAuth === undefined ? null : planAuth('handler', auth, identifiers, true);
  const { access, files: accessFiles } = liveAccess({ auth, feed, identifiers }, log);
  const kept = files.keep(accessFiles, logFiles(log));
  kept.openNow();
  const keys = plan === null || plan.remoteKeys === null ? null : new RemoteKeys(plan.remoteKeys, { log });
  let endStreams = (): void => {};
  const close = (): void => {
    kept.close();
    keys?.close();
    endStreams();
  };
  try {
    const handler = createHandler(views, {
      ...settings,
      ...reading,
      cacheBytesMax,
      feeds: feeds === null ? undefined : { ...feeds, access, identifiers },
      ...(plan === null
        ? { identify: (req) => canonicalIdentities(checkIdentity(identify(req as Request)), identifiers) }
        : { authenticator: authenticatorOfPlan(plan, keys, access) }),
    });
    endStreams = handler.endStreams;
    return { handler, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Undefined counts as null. Promises are refused, because they would count as users without events. */
function checkIdentity(given: unknown): IdentityValues | null {
  if (given === undefined || given === null) return null;
  if (typeof given === 'object' && !Array.isArray(given) && !('then' in given)) return given;
  if (given instanceof Promise) given.catch(() => {});
  throw new LecternError(
    'option-invalid',
    "identify() must return at once, with values by field such as { studyGroup: ['CS-1'] }, or null; do slow work before the handler",
  );
}
