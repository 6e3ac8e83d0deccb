import { LecternError } from '../base/errors.js';
import { hasSameBytes } from '../base/structures/byte-strings.js';
import { NO_REVOCATIONS, type Revocations } from './feed-address.js';
import type { Enrolments } from './identity.js';

/** Means to verify tokens, apart from fetched keys. */
export interface TokenKeys {
  /** The secrets for HS256, the present one first. */
  readonly secrets: readonly Uint8Array[] | null;
  /** A checked JSON Web Key Set of public keys. */
  readonly jwks: object | null;
}

/**
 * Keys, secrets, revocations and enrolments. Access is plain data that crosses threads and changes while the
 * service runs.
 */
export interface Access {
  readonly tokenKeys: TokenKeys;
  readonly enrolments: Enrolments | null;
  /** The present secret, which signs, and earlier ones. Null if feeds are off. */
  readonly feedSecrets: readonly Uint8Array[] | null;
  readonly feedRevocations: Revocations;
}

export interface AccessSource {
  readonly access: Access;
  /** Called after each change, with the new values. */
  listen(listener: (change: Partial<Access>) => void): void;
}

const SHARED_SECRET =
  'the feed secret and the HS256 secret are the same; expected two secrets: make a new feed secret, ' +
  'and keep the shared secret in the second line until the present addresses have expired';

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

  listen(listener: (change: Partial<Access>) => void): void {
    this.#listeners.push(listener);
  }

  /** @throws LecternError `key-invalid` if one secret signs both tokens and feeds; nothing has changed then */
  change(change: Partial<Access>): void {
    const next = { ...this.access, ...change };
    const [tokens, feeds] = [next.tokenKeys.secrets?.[0], next.feedSecrets?.[0]];
    // While an operator gives feeds a secret of their own, the shared secret may stay as an earlier feed secret.
    if (tokens !== undefined && feeds !== undefined && hasSameBytes(tokens, feeds))
      throw new LecternError('key-invalid', SHARED_SECRET);
    this.access = next;
    for (const listener of this.#listeners) listener(change);
  }
}
