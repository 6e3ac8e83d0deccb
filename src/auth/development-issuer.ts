/**
 * Test tokens of development mode. The key of test tokens never leaves the process, so a restart invalidates
 * them.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import type { IdentityFieldName } from '../base/model/fields.js';
import type { ClaimTable } from './identity.js';
import { createSecretKeySet, type KeySet } from './key-set.js';
import type { TokenRules, VerifierOptions } from './verifier.js';

export interface DevelopmentIssuerOptions extends TokenRules, Pick<VerifierOptions, 'now'> {
  readonly table: ClaimTable;
  /** At least 32 bytes, shared by all threads. Default: random. */
  readonly secret?: Uint8Array | undefined;
}

export interface TestTokenRequest {
  /** Default `developer`. */
  readonly subject?: string | undefined;
  /** Values by field; fields without a claim are skipped. */
  readonly values?: Readonly<Partial<Record<IdentityFieldName, readonly string[]>>>;
}

export interface DevelopmentIssuer {
  readonly keySet: KeySet;
  readonly table: ClaimTable;
  issue(request: TestTokenRequest): Promise<{ readonly token: string; readonly expiresInSeconds: number }>;
}

const LIFETIME_SECONDS = 8 * 60 * 60;

export function createDevelopmentIssuer(options: DevelopmentIssuerOptions): DevelopmentIssuer {
  const { issuer, audience, tokenType = 'any', table, secret = randomBytes(32), now = Date.now } = options;
  return {
    keySet: createSecretKeySet(secret, 'the development key'),
    table,
    async issue({ subject, values = {} }) {
      const claims: Record<string, string | readonly string[]> = { sub: 'developer' };
      // RFC 9068 section 2.2 requires these two claims.
      if (tokenType !== 'any') Object.assign(claims, { client_id: 'development', jti: randomUUID() });
      for (const row of table) {
        const wanted = values[row.field.name];
        const [claim] = row.claims;
        if (wanted === undefined || claim === undefined) continue;
        const [first] = wanted;
        // `sub` is always one string.
        if (first !== undefined) claims[claim] = wanted.length === 1 || claim === 'sub' ? first : wanted;
      }
      const issuedAtSeconds = Math.floor(now() / 1000);
      const jwt = new SignJWT(claims)
        .setProtectedHeader({
          alg: 'HS256',
          kid: 'development',
          typ: tokenType === 'any' ? 'JWT' : tokenType,
        })
        .setIssuedAt(issuedAtSeconds)
        .setExpirationTime(issuedAtSeconds + LIFETIME_SECONDS);
      if (subject !== undefined) jwt.setSubject(subject);
      if (issuer !== undefined) jwt.setIssuer(issuer);
      if (audience !== undefined) jwt.setAudience(audience);
      return { token: await jwt.sign(secret), expiresInSeconds: LIFETIME_SECONDS };
    },
  };
}
