/** How tokens are verified, as plain data: it crosses threads, and each makes an authenticator of its own of it. */
import type { IdentifierMode } from '../model/event.js';
import { type Authenticator, createAuthenticator } from './authenticator.js';
import { createClaimTable, type Enrolments } from './identity.js';
import { type KeyMaterial, type KeySet, keySetOf } from './key-set.js';
import { createVerifier } from './verifier.js';

export interface AuthPlan {
  readonly keys: readonly KeyMaterial[];
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  /** Token claims by the field that they select on, in place of the field's own. */
  readonly claims: Readonly<Record<string, readonly string[]>> | undefined;
  /** Null where there is no enrolment map. */
  readonly enrolments: Enrolments | null;
  readonly identifiers: IdentifierMode;
}

/**
 * @param more key sets besides the planned ones
 * @throws LecternError `key-invalid`, `option-invalid`
 */
export function authenticatorOfPlan(plan: AuthPlan, more: readonly KeySet[] = []): Authenticator {
  const { keys, issuer, audience, claims, enrolments, identifiers } = plan;
  return createAuthenticator({
    verifier: createVerifier({ keySets: [...keys.map(keySetOf), ...more], issuer, audience }),
    table: createClaimTable(claims),
    enrolments,
    mode: identifiers,
  });
}
