import { randomBytes } from 'node:crypto';
import { findSwaggerUi } from '../http/development/docs-page.js';
import type { Resolved } from '../options/option-types.js';
import type { ServingSettings } from '../serving/serving.js';
import { threadsOf } from '../serving/worker-count.js';
import { VERSION } from '../version.js';
import { planAuth, planFeeds, type Reading } from './plan-auth.js';

/** The options of serve() with those of its parts, all checked. */
interface CheckedServing extends Omit<Resolved<'serve'>, 'auth' | 'feed'> {
  readonly auth: Resolved<'auth'>;
  readonly feed: Resolved<'feed'> | undefined;
}

/** Plain data for the serving threads. Secrets, their files and the logger are left out; {@link liveAccess} has them. */
export function planServing(
  { auth, feed, admin, log, dev, workers, ...settings }: CheckedServing,
  { identifiers, ...parsing }: Reading,
  limits: Pick<ServingSettings, 'staleMsMax' | 'cacheBytesMax'>,
): ServingSettings {
  return {
    ...settings,
    ...parsing,
    ...limits,
    workers: threadsOf(workers),
    auth: planAuth('serve', auth, identifiers, !dev),
    feeds: planFeeds('serve', feed, settings),
    development: dev
      ? {
          secret: randomBytes(32),
          hosts: [settings.host, ...(admin?.allowedHosts ?? [])],
          docsAssets: findSwaggerUi().href,
        }
      : null,
    version: VERSION,
  };
}
