/**
 * Key sets: where the keys that verify tokens come from, and which algorithms each may be used with. A symmetric
 * secret and public keys are separate kinds of set, so that a public key can never serve as an HMAC secret.
 */
import { type KeyObject, webcrypto } from 'node:crypto';
import { LecternError } from '../errors.js';
import { DEAR_KEYS_TRIED_MAX, KEY_SET_KEYS_MAX, KEYS_TRIED_MAX } from '../limits.js';
import { PUBLIC_KEY_ALGORITHMS, type PublicKey, readPublicKey } from './public-key.js';
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
 * The key set of a JSON Web Key Set (RFC 7517 section 5), public keys only. Keys for encryption, and of kinds that no
 * supported algorithm uses, are skipped as section 5 says; symmetric and private keys are refused, because whoever
 * puts one there is about to publish a secret.
 *
 * @param json the parsed document
 * @param name where it comes from, for messages
 * @throws LecternError `key-invalid`
 */
export function createPublicKeySet(json: unknown, name: string): KeySet {
  const keys: PublicKey[] = [];
  for (const [i, value] of listOf(json, name).entries()) {
    const key = readPublicKey(value, `${name}, key ${i + 1}`);
    if ('key' in key) keys.push(key);
  }
  if (keys.length === 0) throw unusable(name);
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

/**
 * The usable keys of a set that somebody else publishes. What is unusable is left out and told, since one bad key must
 * not take the good ones with it.
 *
 * @throws LecternError `key-invalid` where it is no key set, or no key of it can be used
 */
export function readUsableKeys(
  json: unknown,
  name: string,
): { readonly keys: readonly PublicKey[]; readonly leftOut: readonly string[] } {
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
  if (keys.length === 0) throw unusable(name);
  return { keys, leftOut };
}

function listOf(json: unknown, name: string): readonly unknown[] {
  const list = typeof json === 'object' && json !== null ? (json as { keys?: unknown }).keys : undefined;
  if (Array.isArray(list)) return list;
  const isKey = typeof json === 'object' && json !== null && 'kty' in json;
  const found = isKey ? 'it is a single key; expected {"keys": […]} around it' : 'it has no array "keys"';
  throw invalid(`${name} is not a JSON Web Key Set: ${found}`);
}

function unusable(name: string): LecternError {
  return invalid(`${name} has no key that verifies signatures; supported are RSA, EC and Ed25519 keys`);
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
export async function readPublicKeys(
  path: string,
  bytesMax: number,
): Promise<Extract<KeyMaterial, { readonly kind: 'public' }>> {
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
  return { kind: 'public', jwks: json, name };
}

/**
 * The HS256 secret of a file. One line end after it does not count, as editors write one.
 *
 * @throws LecternError `key-invalid` where the file cannot be read, or its secret is too short
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
