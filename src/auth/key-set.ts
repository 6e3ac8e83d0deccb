/**
 * Key sets: where the keys that verify tokens come from, and which algorithms each may be used with. A symmetric
 * secret and public keys are separate kinds of set, so that a public key can never serve as an HMAC secret.
 */
import { type KeyObject, webcrypto } from 'node:crypto';
import { LecternError } from '../errors.js';
import { DEAR_KEYS_TRIED_MAX, KEY_SET_KEYS_MAX, KEYS_TRIED_MAX } from '../limits.js';
import { leakOf, PUBLIC_KEY_ALGORITHMS, type PublicKey, readPublicKey, toJwk } from './public-key.js';
import { SECRET_BYTES_MIN, secretBytes } from './secret-text.js';
import { readTextFile } from './text-file.js';

/** The header fields of a token that select keys (RFC 7515 sections 4.1.1 and 4.1.4). Not yet authenticated. */
export interface TokenHeader {
  readonly alg: string;
  readonly kid: string | undefined;
}

/** A key as jose takes it. */
export type VerificationKey = KeyObject | webcrypto.CryptoKey;

/** Keys that may have signed a token, or one sentence on why they cannot be had at the moment. */
export type KeyLookup =
  | { readonly keys: readonly VerificationKey[] }
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

/**
 * The key set of one HS256 secret. A token's `kid` is not looked at, as there is nothing to choose from.
 *
 * @param secret at least 32 bytes, see secretBytes
 * @throws LecternError `key-invalid` where it is shorter or cannot be read
 */
export function createSecretKeySet(secret: string | Uint8Array, name = 'the HS256 secret'): KeySet {
  const bytes = secretBytes(secret);
  if (typeof bytes === 'string') throw invalid(`${name} is invalid: ${bytes}`);
  let lookup: KeyLookup | Promise<KeyLookup> = importSecret(bytes).then((key) => {
    const known: KeyLookup = { keys: [key] };
    lookup = known;
    return known;
  });
  return { name, algorithms: ['HS256'], candidates: () => lookup };
}

/** jose would import a secret that is a KeyObject anew for every token, which costs half as much as verifying it. */
function importSecret(bytes: Uint8Array): Promise<webcrypto.CryptoKey> {
  const copy = Uint8Array.from(bytes);
  return webcrypto.subtle.importKey('raw', copy, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/**
 * The key set of a JSON Web Key Set (RFC 7517 section 5) that the operator gave, see readOwnKeys.
 *
 * @param json the parsed document
 * @param name where it comes from, for messages
 * @throws LecternError `key-invalid`
 */
export function createPublicKeySet(json: unknown, name: string): KeySet {
  const { keys } = readOwnKeys(json, name);
  return {
    name,
    algorithms: PUBLIC_KEY_ALGORITHMS,
    candidates: (header) => ({ keys: candidatesOf(keys, header) }),
  };
}

/**
 * The keys that may have signed a token, those of its name first: at most KEYS_TRIED_MAX, of them DEAR_KEYS_TRIED_MAX that are dear. A set
 * may have many keys of one name, or without any.
 */
export function candidatesOf(keys: readonly PublicKey[], { alg, kid }: TokenHeader): readonly KeyObject[] {
  let dear = 0;
  return (
    keys
      // A key without an identifier may be meant by any; the signature decides.
      .filter(
        (k) => k.algorithms.includes(alg) && (kid === undefined || k.kid === undefined || k.kid === kid),
      )
      .sort((a, b) => Number(b.kid === kid) - Number(a.kid === kid))
      .filter(({ isDear }) => !isDear || dear++ < DEAR_KEYS_TRIED_MAX)
      .slice(0, KEYS_TRIED_MAX)
      .map((k) => k.key)
  );
}

/** Keys left out of one set that the log names. */
export const KEYS_LEFT_OUT_TOLD_MAX = 10;

/** The usable keys of a set, and what is wrong with each of the others. */
export interface UsableKeys {
  readonly keys: readonly PublicKey[];
  readonly leftOut: readonly string[];
}

/**
 * The usable keys of the operator's own set. Symmetric and private keys are refused: the file is shared as if it held nothing
 * secret, so the key has to be replaced.
 *
 * @throws LecternError `key-invalid` for those; where it is no key set; where no key of it can be used
 */
export function readOwnKeys(json: unknown, name: string): UsableKeys {
  for (const [i, value] of listOf(json, name).entries()) {
    const leak = leakOf(value);
    if (leak !== null) throw invalid(`${name}, key ${i + 1} ${leak}`);
  }
  return readUsableKeys(json, name);
}

/**
 * The usable keys of any set. One bad key must not take the good ones with it. Keys with another purpose are left out without
 * a word, as RFC 7517 section 5 says.
 *
 * @throws LecternError `key-invalid` where it is no key set, or no key of it can be used
 */
export function readUsableKeys(json: unknown, name: string): UsableKeys {
  const keys: PublicKey[] = [];
  const leftOut: string[] = [];
  const list = listOf(json, name);
  for (const [i, value] of list.slice(0, KEY_SET_KEYS_MAX).entries()) {
    try {
      const key = readPublicKey(value, `key ${i + 1}`);
      if ('key' in key) keys.push(key);
      else if (key.oddity !== null) leftOut.push(key.oddity);
    } catch (error) {
      if (!(error instanceof LecternError)) throw error;
      leftOut.push(error.message);
    }
  }
  if (list.length > KEY_SET_KEYS_MAX) {
    leftOut.push(`keys from ${KEY_SET_KEYS_MAX + 1} on: ${KEY_SET_KEYS_MAX} are read`);
  }
  if (keys.length === 0) throw unusable(name, leftOut);
  return { keys, leftOut };
}

function listOf(json: unknown, name: string): readonly unknown[] {
  const list = typeof json === 'object' && json !== null ? (json as { keys?: unknown }).keys : undefined;
  if (Array.isArray(list)) return list;
  const isKey = typeof json === 'object' && json !== null && 'kty' in json;
  const found = isKey ? 'it is a single key; expected {"keys": […]} around it' : 'it has no array "keys"';
  throw invalid(`${name} is not a JSON Web Key Set: ${found}`);
}

/** Reasons in one message. */
const REASONS_TOLD_MAX = 3;

function unusable(name: string, leftOut: readonly string[]): LecternError {
  const reasons = leftOut.slice(0, REASONS_TOLD_MAX).join('; ');
  const why = reasons === '' ? '; supported are RSA, EC and Ed25519 keys' : `: ${reasons}`;
  return invalid(`${name} has no key that verifies signatures${why}`);
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

/**
 * The usable keys of a key set file as a set of their own, and what is wrong with the others.
 *
 * @throws LecternError `key-invalid` where the file cannot be read, is no JSON, or see readOwnKeys
 */
export async function readPublicKeys(
  path: string,
  bytesMax: number,
): Promise<{ readonly name: string; readonly jwks: object; readonly leftOut: readonly string[] }> {
  const name = `key set ${path}`;
  const text = await readTextFile(path, { name, bytesMax, code: 'key-invalid' });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the fault, which may be a key.
    if (/^\s*-----BEGIN /.test(text)) {
      throw invalid(
        `${name} is a PEM; expected a JSON Web Key Set ({"keys": […]}), to which it has to be converted`,
      );
    }
    throw invalid(`${name} is not JSON`);
  }
  const { keys, leftOut } = readOwnKeys(json, name);
  return { name, jwks: { keys: keys.map(toJwk) }, leftOut };
}

/**
 * The HS256 secret of a file, as text for createSecretKeySet. One line end after it does not count, as editors write one.
 *
 * @throws LecternError `key-invalid` where the file cannot be read, or its secret is too short or cannot be read
 */
export async function readSecret(path: string, bytesMax: number): Promise<string> {
  const name = `the HS256 secret file ${path}`;
  const text = await readTextFile(path, { name, bytesMax, code: 'key-invalid' });
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '')
    throw invalid(`${name} is empty; expected a secret of at least ${SECRET_BYTES_MIN} bytes`);
  keySetOf({ kind: 'secret', secret, name });
  return secret;
}

function invalid(message: string): LecternError {
  return new LecternError('key-invalid', message);
}
