/** How tokens are verified, as plain data: it crosses threads, and each makes an authenticator of its own of it. */
import type { IdentifierMode } from '../model/event.js';
import { type Authenticator, createAuthenticator } from './authenticator.js';
import { createClaimTable, type Enrolments } from './identity.js';
import type { KeyFeed } from './key-feed.js';
import { type KeyMaterial, type KeySet, keySetOf } from './key-set.js';
import { createRemoteKeySet } from './remote-key-set.js';
import type { RemoteKeysPlan } from './remote-keys.js';
import { createVerifier, type TokenType } from './verifier.js';

export interface AuthPlan {
  readonly keys: readonly KeyMaterial[];
  /** Keys that are fetched, besides those; null where none are. One thread does it, and all follow its feed. */
  readonly remoteKeys: RemoteKeysPlan | null;
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  readonly tokenType: TokenType;
  /** Token claims by the field that they select on, in place of the field's own. */
  readonly claims: Readonly<Record<string, readonly string[]>> | undefined;
  /** Null where there is no enrolment map. */
  readonly enrolments: Enrolments | null;
  readonly identifiers: IdentifierMode;
}

export interface AuthSurroundings {
  /** What fetches the planned remote keys, or follows who does; null where there are none. */
  readonly feed: KeyFeed | null;
  /** Key sets besides the planned ones. */
  readonly more?: readonly KeySet[];
}

/** @throws LecternError `key-invalid`, `option-invalid` */
export function authenticatorOfPlan(plan: AuthPlan, { feed, more = [] }: AuthSurroundings): Authenticator {
  const { keys, issuer, audience, tokenType, claims, enrolments, identifiers } = plan;
  const keySets = [...keys.map(keySetOf), ...more];
  // Keys may come at once, before there is anything to clear.
  let authenticator: Authenticator | null = null;
  if (feed !== null) keySets.push(createRemoteKeySet(feed, () => authenticator?.clear()));
  authenticator = createAuthenticator({
    verifier: createVerifier({ keySets, issuer, audience, tokenType }),
    table: createClaimTable(claims),
    enrolments,
    mode: identifiers,
  });
  return authenticator;
}
