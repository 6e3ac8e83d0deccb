/** One public key of a JSON Web Key Set (RFC 7517 section 4): what it may be used with, and whether it is fit for that. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { LecternError } from '../errors.js';
import { RSA_MODULUS_BITS_MAX } from '../limits.js';
import type { JsonKey } from './key-feed.js';

const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const;
/** RFC 7518 section 3.3: RSA keys below 2048 bits must not be used. */
const RSA_MODULUS_BITS_MIN = 2048;

/** The algorithms of each kind of public key: its `kty`, and `crv` where the kind has one. */
const KEY_KINDS: readonly { kty: string; crv: string | null; algorithms: readonly string[] }[] = [
  { kty: 'RSA', crv: null, algorithms: RSA_ALGORITHMS },
  { kty: 'EC', crv: 'P-256', algorithms: ['ES256'] },
  { kty: 'EC', crv: 'P-384', algorithms: ['ES384'] },
  { kty: 'EC', crv: 'P-521', algorithms: ['ES512'] },
  // RFC 9864 renames EdDSA with this curve to Ed25519; both are in use.
  { kty: 'OKP', crv: 'Ed25519', algorithms: ['Ed25519', 'EdDSA'] },
];

/** Every algorithm that a public key may be used with. */
export const PUBLIC_KEY_ALGORITHMS: readonly string[] = KEY_KINDS.flatMap((kind) => kind.algorithms);

export interface PublicKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
}

/** A key that is skipped, as RFC 7517 section 5 says. */
export interface SkippedKey {
  /** What is odd about it, or null where it only has another purpose. */
  readonly oddity: string | null;
}

/**
 * @param value one member of `keys`
 * @param where it stands, for messages
 * @throws LecternError `key-invalid` for what is no key, and for what does harm: symmetric, private and weak keys
 */
export function readPublicKey(value: unknown, where: string): PublicKey | SkippedKey {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${where} is not an object`);
  }
  const jwk = value as Record<string, unknown>;
  if (typeof jwk.kty !== 'string') throw invalid(`${where} has no "kty"`);
  if (jwk.kty === 'oct') {
    throw invalid(`${where} is symmetric ("kty": "oct"); a key set holds public keys only`);
  }
  if (Object.hasOwn(jwk, 'd') || Object.hasOwn(jwk, 'priv')) {
    throw invalid(`${where} is a private key; put the public key there, without "d" and the primes`);
  }
  if (jwk.use !== undefined && jwk.use !== 'sig') return { oddity: null };
  const operations = jwk.key_ops;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return { oddity: null };
  }
  const kind = KEY_KINDS.find((k) => k.kty === jwk.kty && (k.crv === null || k.crv === jwk.crv));
  if (kind === undefined) return { oddity: `${where} is of a kind that no accepted algorithm uses` };
  const alg = jwk.alg;
  if (alg !== undefined && (typeof alg !== 'string' || !kind.algorithms.includes(alg))) {
    return { oddity: `${where} has an "alg" that is not accepted, or is for another kind of key` };
  }
  const kid = jwk.kid;
  if (kid !== undefined && typeof kid !== 'string')
    throw invalid(`${where} has a "kid" that is not a string`);
  const key = importPublicKey(jwk, where);
  return { kid, algorithms: alg === undefined ? kind.algorithms : [alg], key };
}

/** The same key as plain data, with nothing but what verification needs. {@link readPublicKey} reads it back. */
export function toJwk({ kid, algorithms, key }: PublicKey): JsonKey {
  return {
    ...key.export({ format: 'jwk' }),
    ...(kid === undefined ? {} : { kid }),
    ...(algorithms.length === 1 ? { alg: algorithms[0] } : {}),
  };
}

function importPublicKey(jwk: Record<string, unknown>, where: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  } catch (cause) {
    throw new LecternError('key-invalid', `${where} is not a valid ${String(jwk.kty)} public key`, {
      cause,
    });
  }
  const { modulusLength: bits, publicExponent: exponent } = key.asymmetricKeyDetails ?? {};
  if (bits !== undefined && bits < RSA_MODULUS_BITS_MIN) {
    throw invalid(`${where} has ${bits} bits; RSA keys need at least ${RSA_MODULUS_BITS_MIN}`);
  }
  if (bits !== undefined && bits > RSA_MODULUS_BITS_MAX) {
    throw invalid(`${where} has ${bits} bits; RSA keys may have at most ${RSA_MODULUS_BITS_MAX}`);
  }
  // With the exponent 1 every text is its own signature.
  if (exponent !== undefined && (exponent < 3n || exponent % 2n === 0n)) {
    throw invalid(`${where} has the RSA exponent ${exponent}; expected an odd number from 3 on`);
  }
  return key;
}

function invalid(message: string): LecternError {
  return new LecternError('key-invalid', message);
}
