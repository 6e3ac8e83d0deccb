import { NO_REVOCATIONS, type Revocations } from './feed-revocations.js';
import type { Enrolments } from './identity.js';

/** A secret; during a rotation also the previous secret, which only verifies. */
export interface SecretPair {
  readonly signing: Uint8Array;
  readonly previous: Uint8Array | null;
}

/** Means to verify tokens, apart from fetched keys. */
export interface TokenKeys {
  /** The secrets for HS256. */
  readonly secrets: SecretPair | null;
  /** A checked JSON Web Key Set of public keys. */
  readonly jwks: object | null;
}

/** Keys, secrets, revocations and enrolments. Plain data that crosses threads; it changes while the service runs. */
export interface Access {
  readonly tokenKeys: TokenKeys;
  readonly enrolments: Enrolments | null;
  /** Null if feeds are off. */
  readonly feedSecrets: SecretPair | null;
  readonly feedRevocations: Revocations;
}

export interface AccessSource {
  readonly access: Access;
  /** Called after each change, with the new values. */
  follow(listener: (change: Partial<Access>) => void): void;
}

const NO_TOKEN_KEYS: TokenKeys = { secrets: null, jwks: null };

/** Holds the values of the last change. */
export class PresentAccess implements AccessSource {
  access: Access;
  readonly #listeners: ((change: Partial<Access>) => void)[] = [];

  constructor(access: Partial<Access> = {}) {
    this.access = {
      tokenKeys: NO_TOKEN_KEYS,
      enrolments: null,
      feedSecrets: null,
      feedRevocations: NO_REVOCATIONS,
      ...access,
    };
  }

  follow(listener: (change: Partial<Access>) => void): void {
    this.#listeners.push(listener);
  }

  change(change: Partial<Access>): void {
    this.access = { ...this.access, ...change };
    for (const listener of this.#listeners) listener(change);
  }
}
