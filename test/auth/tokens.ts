/** Makes good tokens, and tokens that no honest issuer makes. */
import { createHmac, type KeyObject, sign } from 'node:crypto';

/** 2024-09-02T08:00:00Z: the present of these tests. */
export const NOW_MS: number = Date.UTC(2024, 8, 2, 8);
export const NOW_SECONDS: number = NOW_MS / 1000;

export const SECRET = 'a secret of the tests, 32 bytes or more';

export function base64url(value: string | object): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value), 'utf8').toString('base64url');
}

/** A compact JWS by HMAC with SHA-256, with any header. Claims as a string are used literally. */
export function hs256(
  claims: object | string,
  options: { secret?: string | Buffer; header?: object | string } = {},
): string {
  const header = options.header ?? { alg: 'HS256', typ: 'JWT' };
  const input = `${base64url(header)}.${base64url(claims)}`;
  return `${input}.${createHmac('sha256', options.secret ?? SECRET)
    .update(input)
    .digest('base64url')}`;
}

/** The same with a private key: RS256, or ES256 and Ed25519 by the kind of the key. */
export function signed(claims: object, key: KeyObject, header: { alg: string; kid?: string }): string {
  const input = `${base64url(header)}.${base64url(claims)}`;
  const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  const signature = sign(digest, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

/** The least content of a good token. */
export function goodClaims(more: object = {}): object {
  return { sub: 'alice', exp: NOW_SECONDS + 3600, ...more };
}
