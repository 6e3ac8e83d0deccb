/** One public key of a JSON Web Key Set (RFC 7517 section 4): what it may be used with, and whether it is fit for that. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { LecternError } from '../errors.js';
import { RSA_EXPONENT_BITS_MAX, RSA_MODULUS_BITS_MAX } from '../limits.js';
import type { JsonKey } from './key-feed.js';

const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const;
/** RFC 7518 section 3.3: RSA keys below 2048 bits must not be used. */
const RSA_MODULUS_BITS_MIN = 2048;
const RSA_EXPONENT_BITS = BigInt(RSA_EXPONENT_BITS_MAX);

/** RSA keys beyond it are dear to verify with. */
const RSA_CHEAP_BITS_MAX = 4096;

interface KeyKind {
  readonly kty: string;
  /** Null where the kind has none. */
  readonly crv: string | null;
  readonly algorithms: readonly string[];
  readonly isDear: boolean;
}

/** The algorithms of each kind of public key, and whether a verification with it costs a multiple of the usual. */
const KEY_KINDS: readonly KeyKind[] = [
  { kty: 'RSA', crv: null, algorithms: RSA_ALGORITHMS, isDear: false },
  { kty: 'EC', crv: 'P-256', algorithms: ['ES256'], isDear: false },
  { kty: 'EC', crv: 'P-384', algorithms: ['ES384'], isDear: true },
  { kty: 'EC', crv: 'P-521', algorithms: ['ES512'], isDear: true },
  // RFC 9864 renames EdDSA with this curve to Ed25519; both are in use.
  { kty: 'OKP', crv: 'Ed25519', algorithms: ['Ed25519', 'EdDSA'], isDear: false },
];

/** Bits that a member of a key may have at most; base64url has six in a character. */
const MEMBER_BITS_MAX: readonly (readonly [member: string, bitsMax: number])[] = [
  ['n', RSA_MODULUS_BITS_MAX],
  ['e', RSA_EXPONENT_BITS_MAX],
  // Coordinates of P-521, the longest.
  ['x', 528],
  ['y', 528],
];

/** Every algorithm that a public key may be used with. */
export const PUBLIC_KEY_ALGORITHMS: readonly string[] = KEY_KINDS.flatMap((kind) => kind.algorithms);

export interface PublicKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
  /** Whether a verification with it costs a multiple of the usual. */
  readonly isDear: boolean;
}

/** A key that is skipped, as RFC 7517 section 5 says. */
export interface SkippedKey {
  /** What is odd about it, or null where it only has another purpose. */
  readonly oddity: string | null;
}

/** What makes a member of `keys` a secret that must not lie in a key set, as the end of a sentence; null where nothing does. */
export function leakOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if ((value as Record<string, unknown>).kty === 'oct') {
    return 'is symmetric ("kty": "oct"); a key set holds public keys only';
  }
  const isPrivate = Object.hasOwn(value, 'd') || Object.hasOwn(value, 'priv');
  return isPrivate ? 'is a private key; put the public key there, without "d" and the primes' : null;
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
  const leak = leakOf(jwk);
  if (leak !== null) throw invalid(`${where} ${leak}`);
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
  const isDear = kind.isDear || (key.asymmetricKeyDetails?.modulusLength ?? 0) > RSA_CHEAP_BITS_MAX;
  return { kid, algorithms: alg === undefined ? kind.algorithms : [alg], key, isDear };
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
  // Before anything is imported: to read an exponent of a million bits takes minutes.
  for (const [member, bitsMax] of MEMBER_BITS_MAX) {
    const value = jwk[member];
    if (typeof value === 'string' && value.length > Math.ceil((bitsMax + 8) / 6)) {
      throw invalid(
        `${where} has an "${member}" of ${value.length} characters; it may have at most ${bitsMax} bits`,
      );
    }
  }
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
  if (
    exponent !== undefined &&
    (exponent < 3n || exponent % 2n === 0n || exponent >> RSA_EXPONENT_BITS !== 0n)
  ) {
    const expected = `an odd number from 3 on, of at most ${RSA_EXPONENT_BITS_MAX} bits`;
    throw invalid(`${where} has the RSA exponent ${exponent}; expected ${expected}`);
  }
  return key;
}

function invalid(message: string): LecternError {
  return new LecternError('key-invalid', message);
}
