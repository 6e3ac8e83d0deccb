/** From what a program says of tokens to plain data, which every serving thread makes an authenticator of. */
import type { AuthPlan } from '../auth/authenticator.js';
import { enrolmentsOf } from '../auth/identity.js';
import { planRemoteKeys } from '../auth/remote-keys.js';
import { LecternError } from '../errors.js';
import type { IdentifierMode } from '../model/event.js';
import type { EmbeddedAuthOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { ParseOptions } from '../view/view.js';

/** How a timetable reads requests. Its servers and handlers take it over. */
export interface Reading extends ParseOptions {
  readonly identifiers: IdentifierMode;
}

/**
 * @param taker the method that was called, for messages
 * @param needsKey whether there has to be a key besides those that the service makes for itself
 * @throws LecternError `option-invalid`, `key-missing`
 */
export function planAuth(
  taker: string,
  options: EmbeddedAuthOptions,
  identifiers: IdentifierMode,
  needsKey: boolean,
): AuthPlan {
  const auth = resolveOptions('auth', options);
  const { hs256Secret, jwks, issuer, audience, tokenType, claims, enrolments } = auth;
  if (needsKey && hs256Secret === undefined && jwks === undefined) {
    throw new LecternError('key-missing', `${taker}({ auth }) needs a key: hs256Secret or jwks`);
  }
  return {
    hs256Secret,
    // A key set is JSON, whatever object it comes as: only that crosses threads.
    jwks: typeof jwks === 'object' ? (JSON.parse(JSON.stringify(jwks)) as object) : undefined,
    remoteKeys: typeof jwks === 'string' ? planRemoteKeys(jwks, auth) : null,
    issuer,
    audience,
    tokenType,
    claims,
    enrolments: enrolments === undefined ? null : enrolmentsOf(enrolments, identifiers, 'auth.enrolments'),
    identifiers,
  };
}
