/** Folder auth/. Tokens: keys, verification, and the identities of users. This folder knows fields but no events. */

import { TOKEN_ENTRY_BYTES } from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import type { FieldFilter } from '../base/model/fields.js';
import type { AccessSource, TokenKeys } from './access.js';
import { type ClaimTable, createClaimTable, type Enrolments, mapIdentities } from './identity.js';
import {
  createPublicKeySet,
  createRemoteKeySet,
  createSecretKeySet,
  type FetchedKeys,
  type KeySet,
} from './key-set.js';
import type { RemoteKeysPlan } from './remote-keys.js';
import { type Remembered, TokenCache, tokenKeyOf, type Usable } from './token-cache.js';
import { createVerifier, type TokenRules, type VerificationFailure, type Verifier } from './verifier.js';

/** All requests with the same token share one such object. */
export interface AuthenticatedUser extends Usable {
  readonly subject: string;
  /** See {@link mapIdentities}. */
  readonly identities: readonly FieldFilter[] | null;
  /** The identities from the token itself. */
  readonly claimed: readonly FieldFilter[] | null;
}

export type RememberedUser = Remembered<AuthenticatedUser>;

export type Authentication =
  | { readonly outcome: 'ok'; readonly user: AuthenticatedUser }
  | VerificationFailure;

export interface AuthenticatorOptions {
  readonly verifier: Verifier;
  readonly table: ClaimTable;
  readonly enrolments: Enrolments | null;
  readonly mode: IdentifierMode;
  readonly cacheEntriesMax?: number;
  /** The clock in epoch milliseconds, which the verifier must use, too. Default `Date.now`. */
  readonly now?: () => number;
}

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  #verifier: Verifier;
  readonly #cache: TokenCache<AuthenticatedUser>;
  #enrolments: Enrolments | null;
  /**
   * Verifications in progress, by token key. A verification that began before clear() used old keys, so it is
   * repeated and not shared.
   */
  #underWay = new Map<string, Promise<Authentication>>();
  /** The last token that lookup() did not find, and its hash for verify(). */
  #missed: { readonly token: string; readonly key: string } | null = null;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#verifier = options.verifier;
    this.#enrolments = options.enrolments;
    this.#cache = new TokenCache({ entriesMax: options.cacheEntriesMax, now: options.now });
  }

  /** The remembered user of a token; undefined if the token must be verified. */
  lookup(token: string): RememberedUser | undefined {
    const key = tokenKeyOf(token);
    const user = this.#cache.get(key);
    if (user === undefined) this.#missed = { token, key };
    return user;
  }

  isUsable(user: RememberedUser): boolean {
    return this.#cache.isUsable(user);
  }

  /** Equal tokens share a verification. Never rejects. */
  verify(token: string): Promise<Authentication> {
    const key = this.#missed?.token === token ? this.#missed.key : tokenKeyOf(token);
    this.#missed = null;
    const shared = this.#underWay.get(key);
    if (shared !== undefined) return shared;
    const verification = this.#verify(token, key);
    this.#underWay.set(key, verification);
    return verification;
  }

  /** Call this when keys change. */
  clear(): void {
    this.#underWay = new Map();
    this.#cache.clear();
  }

  /** Replaces the verifier by a verifier with other keys. Earlier tokens are verified again. */
  useVerifier(verifier: Verifier): void {
    this.#verifier = verifier;
    this.clear();
  }

  useEnrolments(enrolments: Enrolments | null): void {
    if (enrolments === this.#enrolments) return;
    this.#enrolments = enrolments;
    this.clear();
  }

  async #verify(token: string, key: string): Promise<Authentication> {
    const began = this.#underWay;
    try {
      const verification = await this.#verifier.verify(token);
      if (began !== this.#underWay) {
        const known = this.#cache.get(key);
        return known === undefined ? await this.verify(token) : { outcome: 'ok', user: known.value };
      }
      if (verification.outcome !== 'ok') return verification;
      const { subject, usableUntilMs, usableFromMs, claims } = verification.token;
      const { table, mode } = this.#options;
      const enrolments = this.#enrolments;
      const claimed = mapIdentities(claims, subject, { table, mode, enrolments: null });
      const isEnrolled = enrolments?.has(subject) === true;
      const identities = isEnrolled ? mapIdentities(claims, subject, { table, mode, enrolments }) : claimed;
      const user: AuthenticatedUser = { subject, identities, claimed, usableUntilMs, usableFromMs };
      this.#cache.set(key, user, weightOf(identities) + (identities === claimed ? 0 : weightOf(claimed)));
      return { outcome: 'ok', user };
    } finally {
      began.delete(key);
    }
  }
}

/** The memory of a value is a text (24 bytes, and at most 2 for each unit) and its place in a list. */
function weightOf(identities: readonly FieldFilter[] | null): number {
  let bytes = 0;
  for (const { values } of identities ?? []) for (const value of values) bytes += 32 + 2 * value.length;
  return 1 + Math.floor(bytes / TOKEN_ENTRY_BYTES);
}

/**
 * Plain data that crosses threads; each thread builds its authenticator from it. Keys that may change are in
 * {@link AccessSource}.
 */
export interface AuthPlan extends TokenRules {
  readonly remoteKeys: RemoteKeysPlan | null;
  /** Names of claims by field, which replace the names in the descriptor table. */
  readonly claims: Readonly<Record<string, readonly string[]>> | undefined;
  readonly identifiers: IdentifierMode;
}

/** Throws LecternError `key-invalid`, `option-invalid`. @param fetched updates of remote keys */
export function authenticatorOfPlan(
  plan: AuthPlan,
  fetched: FetchedKeys | null,
  access: AccessSource,
  more: readonly KeySet[] = [],
): Authenticator {
  // The first keys may arrive before the authenticator exists.
  let authenticator: Authenticator | null = null;
  const fetchedSets = fetched === null ? [] : [createRemoteKeySet(fetched, () => authenticator?.clear())];
  const verifierNow = (): Verifier =>
    createVerifier({ ...plan, keySets: [...keySetsOf(access.access.tokenKeys), ...more, ...fetchedSets] });
  const made = new Authenticator({
    verifier: verifierNow(),
    table: createClaimTable(plan.claims),
    enrolments: access.access.enrolments,
    mode: plan.identifiers,
  });
  authenticator = made;
  access.listen(({ tokenKeys }) => {
    if (tokenKeys !== undefined) made.useVerifier(verifierNow());
    made.useEnrolments(access.access.enrolments);
  });
  return made;
}

function keySetsOf({ secrets, jwks }: TokenKeys): readonly KeySet[] {
  const keySets: KeySet[] = [];
  for (const [n, secret] of (secrets ?? []).entries())
    keySets.push(createSecretKeySet(secret, n === 0 ? undefined : 'an earlier HS256 secret'));
  if (jwks !== null) keySets.push(createPublicKeySet(jwks, 'the key set'));
  return keySets;
}
