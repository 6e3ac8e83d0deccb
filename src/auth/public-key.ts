import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { LecternError } from '../base/errors.js';
import { RSA_EXPONENT_BITS_MAX, RSA_MODULUS_BITS_MAX } from '../base/limits.js';

/**
 * A JSON Web Key. The type is declared here, because its name in node:crypto depends on the version of the
 * types.
 */
export type JsonKey = Readonly<Record<string, unknown>>;

/** RFC 7518 section 3.3. */
const RSA_MODULUS_BITS_MIN = 2048;
const RSA_CHEAP_BITS_MAX = 4096;

/** Keys with `isDear` are expensive: verifying with them costs several times as much. */
const KEY_KINDS: readonly { kty: string; crv: string | null; algorithms: string[]; isDear: boolean }[] = [
  {
    kty: 'RSA',
    crv: null,
    algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
    isDear: false,
  },
  { kty: 'EC', crv: 'P-256', algorithms: ['ES256'], isDear: false },
  { kty: 'EC', crv: 'P-384', algorithms: ['ES384'], isDear: true },
  { kty: 'EC', crv: 'P-521', algorithms: ['ES512'], isDear: true },
  // RFC 9864 renames EdDSA with this curve to Ed25519; both are in use.
  { kty: 'OKP', crv: 'Ed25519', algorithms: ['Ed25519', 'EdDSA'], isDear: false },
];

/** The longest value of each member. P-521 has the longest coordinates. */
const MEMBER_BITS_MAX = { n: RSA_MODULUS_BITS_MAX, e: RSA_EXPONENT_BITS_MAX, x: 528, y: 528 };

export const PUBLIC_KEY_ALGORITHMS: readonly string[] = KEY_KINDS.flatMap((kind) => kind.algorithms);

export interface PublicKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
  readonly isDear: boolean;
}

/** Why a key is secret, worded as the end of a sentence. */
export function leakOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if ((value as JsonKey).kty === 'oct') {
    return 'is symmetric ("kty": "oct"); a key set holds public keys only';
  }
  const isPrivate = Object.hasOwn(value, 'd') || Object.hasOwn(value, 'priv');
  return isPrivate ? 'is a private key; use the public key, without "d" and the primes' : null;
}

/** Null for a key with another purpose. Throws LecternError `key-invalid`. */
export function readPublicKey(value: unknown, where: string): PublicKey | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw keyInvalid(`${where} is not an object`);
  }
  const { kty, use, key_ops: operations, crv, alg, kid } = value as JsonKey;
  if (typeof kty !== 'string') throw keyInvalid(`${where} has no "kty"`);
  const leak = leakOf(value);
  if (leak !== null) throw keyInvalid(`${where} ${leak}`);
  if (use !== undefined && use !== 'sig') return null;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return null;
  const kind = KEY_KINDS.find((each) => each.kty === kty && (each.crv === null || each.crv === crv));
  if (kind === undefined) throw keyInvalid(`${where} is of a kind that none of the accepted algorithms uses`);
  if (alg !== undefined && (typeof alg !== 'string' || !kind.algorithms.includes(alg))) {
    throw keyInvalid(`${where} has an "alg" that is not accepted, or is for another kind of key`);
  }
  if (kid !== undefined && typeof kid !== 'string') {
    throw keyInvalid(`${where} has a "kid" that is not a string`);
  }
  const key = importPublicKey(value as JsonKey, where);
  const isDear = kind.isDear || (key.asymmetricKeyDetails?.modulusLength ?? 0) > RSA_CHEAP_BITS_MAX;
  return { kid, algorithms: alg === undefined ? kind.algorithms : [alg], key, isDear };
}

/** The members needed for verification. {@link readPublicKey} reads them back. */
export function toJwk({ kid, algorithms, key }: PublicKey): JsonKey {
  return {
    ...key.export({ format: 'jwk' }),
    ...(kid === undefined ? {} : { kid }),
    ...(algorithms.length === 1 ? { alg: algorithms[0] } : {}),
  };
}

function importPublicKey(jwk: JsonKey, where: string): KeyObject {
  // Checked before the import, because reading an exponent of a million bits takes minutes.
  for (const [member, bitsMax] of Object.entries(MEMBER_BITS_MAX)) {
    const value = jwk[member];
    if (typeof value === 'string' && value.length > Math.ceil((bitsMax + 8) / 6)) {
      throw keyInvalid(
        `${where} has an "${member}" of ${value.length} characters; it may have at most ${bitsMax} bits`,
      );
    }
  }
  let key: KeyObject;
  try {
    key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  } catch (cause) {
    throw keyInvalid(`${where} is not a valid ${String(jwk.kty)} public key`, cause);
  }
  const { modulusLength: bits, publicExponent: exponent } = key.asymmetricKeyDetails ?? {};
  if (bits !== undefined && bits < RSA_MODULUS_BITS_MIN) {
    throw keyInvalid(`${where} has ${bits} bits; RSA keys need at least ${RSA_MODULUS_BITS_MIN}`);
  }
  if (bits !== undefined && bits > RSA_MODULUS_BITS_MAX) {
    throw keyInvalid(`${where} has ${bits} bits; RSA keys may have at most ${RSA_MODULUS_BITS_MAX}`);
  }
  // With the exponent 1, every text would be its own valid signature.
  const isFit = (e: bigint): boolean => e >= 3n && e % 2n === 1n && e < 2n ** BigInt(RSA_EXPONENT_BITS_MAX);
  if (exponent !== undefined && !isFit(exponent)) {
    const expected = `an odd number of at least 3 and at most ${RSA_EXPONENT_BITS_MAX} bits`;
    throw keyInvalid(`${where} has the RSA exponent ${exponent}; expected ${expected}`);
  }
  return key;
}

export function keyInvalid(message: string, cause?: unknown): LecternError {
  return new LecternError('key-invalid', message, { cause });
}
