/** Turns `auth` options into plain data. Each serving thread makes an authenticator from it. */

import type { ParseOptions } from '../answer/view.js';
import type { AuthPlan } from '../auth/authenticator.js';
import { isAddress, planRemoteKeys } from '../auth/remote-keys.js';
import { LecternError } from '../base/errors.js';
import type { IdentifierMode } from '../base/model/event.js';
import type { FeedSettings } from '../http/feeds.js';
import type { Resolved } from '../options/option-types.js';

/** How a timetable, its servers and its handlers read requests. */
export interface Reading extends ParseOptions {
  readonly identifiers: IdentifierMode;
}

/** @param method the public method, for messages */
export function planAuth(
  method: string,
  auth: Resolved<'auth'>,
  identifiers: IdentifierMode,
  needsKey: boolean,
): AuthPlan {
  const { hs256Secret, hs256SecretFile, jwks, issuer, audience, tokenType, claims } = auth;
  if (needsKey && hs256Secret === undefined && hs256SecretFile === undefined && jwks === undefined) {
    throw new LecternError(
      'key-missing',
      `${method}({ auth }) needs a key: hs256Secret, hs256SecretFile or jwks`,
    );
  }
  return {
    remoteKeys: typeof jwks === 'string' && isAddress(jwks) ? planRemoteKeys(jwks, auth) : null,
    issuer,
    audience,
    tokenType,
    claims,
    identifiers,
  };
}

/** Null without feeds. */
export function planFeeds(
  method: string,
  feed: Resolved<'feed'> | undefined,
  { publicUrl }: Pick<FeedSettings, 'publicUrl'>,
): FeedSettings | null {
  if (feed === undefined) return null;
  if (feed.secret === undefined && feed.secretFile === undefined) {
    throw new LecternError('key-missing', `${method}({ feed }) needs a secret: secret or secretFile`);
  }
  return { days: feed.days, publicUrl };
}
