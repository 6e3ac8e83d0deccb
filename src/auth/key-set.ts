/**
 * Key sets: where the keys that verify tokens come from, and which algorithms each may be used with. A symmetric
 * secret and public keys are separate kinds of set, so that a public key can never serve as an HMAC secret.
 */
import { createPublicKey, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { LecternError } from '../errors.js';
import { KEYS_TRIED_MAX } from '../limits.js';
import { readTextFile } from './text-file.js';

/** The header fields of a token that select keys (RFC 7515 sections 4.1.1 and 4.1.4). Not yet authenticated. */
export interface TokenHeader {
  readonly alg: string;
  readonly kid: string | undefined;
}

/** Keys that may have signed a token, or one sentence on why they cannot be had at the moment. */
export type KeyLookup =
  | { readonly keys: readonly KeyObject[] }
  | { readonly unavailable: string; readonly retryAfterSeconds: number };

/** A source of keys. One that has to fetch them answers with a promise; one that has them answers at once. */
export interface KeySet {
  /** For messages. */
  readonly name: string;
  /** The JWS algorithms (RFC 7518 section 3.1) that its keys may be used with, and no others. */
  readonly algorithms: readonly string[];
  /** At most KEYS_TRIED_MAX keys, the likeliest first; none where no key fits. */
  candidates(header: TokenHeader): KeyLookup | Promise<KeyLookup>;
}

/** RFC 7518 section 3.2: at least as long as the hash's output. */
export const SECRET_BYTES_MIN = 32;

/**
 * The key set of one HS256 secret. A token's `kid` is not looked at, as there is nothing to choose from.
 *
 * @param secret at least 32 bytes; a string counts as its UTF-8 bytes
 * @throws LecternError `key-invalid` where it is shorter
 */
export function createSecretKeySet(secret: string | Uint8Array, name = 'the HS256 secret'): KeySet {
  const bytes = typeof secret === 'string' ? Buffer.from(secret, 'utf8') : secret;
  if (bytes.byteLength < SECRET_BYTES_MIN) {
    throw new LecternError(
      'key-invalid',
      `${name} has ${bytes.byteLength} bytes; HS256 needs at least ${SECRET_BYTES_MIN}`,
    );
  }
  const lookup: KeyLookup = { keys: [createSecretKey(bytes)] };
  return { name, algorithms: ['HS256'], candidates: () => lookup };
}

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

interface PublicKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
}

/**
 * The key set of a JSON Web Key Set (RFC 7517 section 5), public keys only. Keys for encryption, and of kinds that no
 * supported algorithm uses, are skipped as section 5 says; symmetric and private keys are refused, because whoever
 * puts one there is about to publish a secret.
 *
 * @param json the parsed document
 * @param name where it comes from, for messages
 * @throws LecternError `key-invalid`
 */
export function createPublicKeySet(json: unknown, name: string): KeySet {
  const list = typeof json === 'object' && json !== null ? (json as { keys?: unknown }).keys : undefined;
  if (!Array.isArray(list)) throw invalid(`${name} is not a JSON Web Key Set: it has no array "keys"`);
  const keys: PublicKey[] = [];
  for (let i = 0; i < list.length; i++) {
    const key = readPublicKey(list[i], `${name}, key ${i + 1}`);
    if (key !== null) keys.push(key);
  }
  if (keys.length === 0) {
    throw invalid(`${name} has no key that verifies signatures; supported are RSA, EC and Ed25519 keys`);
  }
  return {
    name,
    algorithms: PUBLIC_KEY_ALGORITHMS,
    candidates: ({ alg, kid }) => ({
      keys: keys
        // A key without an identifier may be meant by any; the signature decides.
        .filter(
          (k) => k.algorithms.includes(alg) && (kid === undefined || k.kid === undefined || k.kid === kid),
        )
        .sort((a, b) => Number(b.kid === kid) - Number(a.kid === kid))
        .slice(0, KEYS_TRIED_MAX)
        .map((k) => k.key),
    }),
  };
}

/** Keys as plain data, which crosses threads. `name` is for messages. */
export type KeyMaterial =
  | { readonly kind: 'secret'; readonly secret: string | Uint8Array; readonly name?: string }
  | { readonly kind: 'public'; readonly jwks: unknown; readonly name: string };

/** @throws LecternError `key-invalid` */
export function keySetOf(material: KeyMaterial): KeySet {
  return material.kind === 'secret'
    ? createSecretKeySet(material.secret, material.name)
    : createPublicKeySet(material.jwks, material.name);
}

/** @throws LecternError `key-invalid` where the file cannot be read or is not a usable key set */
export async function readPublicKeySet(path: string, bytesMax: number): Promise<KeySet> {
  return keySetOf(await readPublicKeys(path, bytesMax));
}

/**
 * The document of a key set file; whether its keys can be used is not looked at.
 *
 * @throws LecternError `key-invalid` where the file cannot be read or is no JSON
 */
export async function readPublicKeys(path: string, bytesMax: number): Promise<KeyMaterial> {
  const name = `key set ${path}`;
  const text = await readTextFile(path, { name, bytesMax, code: 'key-invalid' });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the fault, which may be a key.
    throw invalid(`${name} is not JSON`);
  }
  return { kind: 'public', jwks: json, name };
}

function readPublicKey(value: unknown, where: string): PublicKey | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${where} is not an object`);
  }
  const jwk = value as Record<string, unknown>;
  if (typeof jwk.kty !== 'string') throw invalid(`${where} has no "kty"`);
  if (jwk.kty === 'oct') {
    throw invalid(`${where} is symmetric ("kty": "oct"); a key set file holds public keys only`);
  }
  if (Object.hasOwn(jwk, 'd') || Object.hasOwn(jwk, 'priv')) {
    throw invalid(`${where} is a private key; put the public key there, without "d" and the primes`);
  }
  if (jwk.use !== undefined && jwk.use !== 'sig') return null;
  const operations = jwk.key_ops;
  if (Array.isArray(operations) && !operations.includes('verify')) return null;
  const kind = KEY_KINDS.find((k) => k.kty === jwk.kty && (k.crv === null || k.crv === jwk.crv));
  if (kind === undefined) return null;
  const alg = jwk.alg;
  if (alg !== undefined && (typeof alg !== 'string' || !kind.algorithms.includes(alg))) return null;
  const kid = jwk.kid;
  if (kid !== undefined && typeof kid !== 'string')
    throw invalid(`${where} has a "kid" that is not a string`);
  const key = importPublicKey(jwk, where);
  return { kid, algorithms: alg === undefined ? kind.algorithms : [alg], key };
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
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && bits < RSA_MODULUS_BITS_MIN) {
    throw invalid(`${where} has ${bits} bits; RSA keys need at least ${RSA_MODULUS_BITS_MIN}`);
  }
  return key;
}

function invalid(message: string): LecternError {
  return new LecternError('key-invalid', message);
}
