/** Room auth/. Tokens: keys, verification, and what a user may be shown. It knows fields, and no events. */

/**
 * Verifier, token cache and identities as one: what the HTTP layer uses.
 */
import type { IdentifierMode } from '../model/event.js';
import type { FieldFilter } from '../query/query.js';
import { type ClaimTable, type Enrolments, mapIdentities } from './identity.js';
import {
  createTokenCache,
  type Remembered,
  type TokenCache,
  type TokenKey,
  tokenKeyOf,
} from './token-cache.js';
import type { VerificationFailure, Verifier } from './verifier.js';

/** A user whose token was verified. Immutable and shared between the requests of one token. */
export interface AuthenticatedUser {
  readonly subject: string;
  /** What selects the user's own events; null where nothing does. See {@link mapIdentities}. */
  readonly identities: readonly FieldFilter[] | null;
  readonly usableUntilMs: number;
  readonly usableFromMs: number;
}

/** A user as the token cache has it. */
export type RememberedUser = Remembered<AuthenticatedUser>;

export type Authentication =
  | { readonly outcome: 'ok'; readonly user: AuthenticatedUser }
  | VerificationFailure;

export interface Authenticator {
  /** The user of a token verified before, at once; undefined where it must be verified. */
  lookup(token: string): RememberedUser | undefined;
  /** Whether a user who was looked up may still be let in now, without looking at the token again. */
  isUsable(user: RememberedUser): boolean;
  /**
   * Verifies a token and remembers it where it is good. Never rejects for a bad token. Who asks for a token that is being
   * verified gets the outcome of that.
   */
  verify(token: string): Promise<Authentication>;
  /** Forgets every token. To be called when a key changes. */
  clear(): void;
}

export interface AuthenticatorOptions {
  readonly verifier: Verifier;
  readonly table: ClaimTable;
  /** Null where there is no enrolment map. */
  readonly enrolments: Enrolments | null;
  readonly mode: IdentifierMode;
  /** Default TOKEN_CACHE_ENTRIES_MAX. */
  readonly cacheEntriesMax?: number;
  /** Epoch milliseconds; the verifier must have the same. Default `Date.now`. */
  readonly now?: () => number;
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { verifier, table, enrolments, mode } = options;
  const cache: TokenCache<AuthenticatedUser> = createTokenCache({
    ...(options.cacheEntriesMax === undefined ? {} : { entriesMax: options.cacheEntriesMax }),
    ...(options.now === undefined ? {} : { now: options.now }),
  });
  /**
   * Verifications that have not ended, by what the cache would have them under. A token whose verification began before clear()
   * was verified with the old keys: it must not be remembered, nor shared with who asks afterwards.
   */
  let underWay = new Map<TokenKey, Promise<Authentication>>();
  /** The token that was looked up last and not found, until it is verified: it need not be hashed twice. */
  let missed: { readonly token: string; readonly key: TokenKey } | null = null;

  /** Ends later than it returns, whatever the token. */
  async function verify(token: string, key: TokenKey): Promise<Authentication> {
    const began = underWay;
    try {
      const verification = await verifier.verify(token);
      if (verification.outcome !== 'ok') return verification;
      const { subject, usableUntilMs, usableFromMs, claims } = verification.token;
      const identities = mapIdentities(claims, subject, { table, enrolments, mode });
      const user: AuthenticatedUser = { subject, identities, usableUntilMs, usableFromMs };
      if (began === underWay) cache.set(token, user, key);
      return { outcome: 'ok', user };
    } finally {
      began.delete(key);
    }
  }

  return {
    lookup(token) {
      const key = tokenKeyOf(token);
      const user = cache.get(token, key);
      if (user === undefined) missed = { token, key };
      return user;
    },
    isUsable: (user) => cache.isUsable(user),
    verify(token) {
      const key = missed?.token === token ? missed.key : tokenKeyOf(token);
      missed = null;
      const shared = underWay.get(key);
      if (shared !== undefined) return shared;
      const verification = verify(token, key);
      underWay.set(key, verification);
      return verification;
    },
    clear() {
      underWay = new Map();
      cache.clear();
    },
  };
}
