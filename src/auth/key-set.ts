/** A secret and public keys are separate kinds of set, so that a public key never serves as an HMAC secret. */
import { createPublicKey, type JsonWebKey, type KeyObject, webcrypto } from 'node:crypto';
import { LecternError } from '../base/errors.js';
import {
  DEAR_KEYS_TRIED_MAX,
  KEY_SET_KEYS_MAX,
  KEYS_TRIED_MAX,
  RSA_EXPONENT_BITS_MAX,
  RSA_MODULUS_BITS_MAX,
} from '../base/limits.js';
import { monotonicMs } from '../base/model/clock.js';

/**
 * The header fields of a token that select keys (RFC 7515 sections 4.1.1 and 4.1.4), not yet authenticated.
 */
export interface TokenHeader {
  readonly alg: string;
  readonly kid: string | undefined;
}

export type VerificationKey = KeyObject | webcrypto.CryptoKey;

export type KeyLookup =
  | { readonly keys: readonly VerificationKey[] }
  | { readonly unavailable: string; readonly retryAfterSeconds: number };

export interface KeySet {
  /** For messages. */
  readonly name: string;
  /** The only JWS algorithms (RFC 7518 section 3.1) for these keys. */
  readonly algorithms: readonly string[];
  /**
   * The keys that may have signed the token: at most KEYS_TRIED_MAX, the likeliest first. A promise if keys
   * must be fetched first.
   */
  candidates(header: TokenHeader): KeyLookup | Promise<KeyLookup>;
}

/** RFC 7518 section 3.2: the secret must be at least as long as the hash. */
export const SECRET_BYTES_MIN = 32;

/** The use of a secret, in messages. */
export type SecretUse = 'HS256' | 'feed';

/** Enough for a rotation that overlaps with the next; each bad token is checked against all of them. */
const SECRETS_MAX = 8;

/**
 * Reads secrets: the first one signs and verifies, the others only verify. A text has one secret a line. Returns a
 * fault as a clause ("it …") that reveals nothing of a secret.
 */
export function secretsIn(value: string | Uint8Array, use: SecretUse): readonly Uint8Array[] | string {
  const lines = typeof value === 'string' ? value.split(/\r?\n/).filter((line) => line !== '') : [value];
  if (lines.length === 0) return `it is empty; expected a secret of at least ${SECRET_BYTES_MIN} bytes`;
  if (lines.length > SECRETS_MAX)
    return `it has ${lines.length} lines; expected one secret a line, at most ${SECRETS_MAX}`;
  const secrets: Uint8Array[] = [];
  for (const [n, line] of lines.entries()) {
    const bytes = typeof line === 'string' ? bytesOfText(line) : line;
    const fault = typeof bytes === 'string' ? bytes : faultOfLength(bytes.byteLength, use);
    if (fault !== null) return n === 0 ? fault : `in line ${n + 1}, ${fault}; each line is one secret`;
    // Each secret has memory of its own: sending a part of a pooled buffer to a thread would send the whole pool.
    secrets.push(Uint8Array.from(bytes as Uint8Array));
  }
  return secrets;
}

function faultOfLength(byteLength: number, use: SecretUse): string | null {
  if (byteLength >= SECRET_BYTES_MIN) return null;
  return `it has ${byteLength} bytes; ${use === 'feed' ? 'a feed secret' : use} needs at least ${SECRET_BYTES_MIN}`;
}

function bytesOfText(text: string): Uint8Array | string {
  const encoding = /^(base64|base64url):/.exec(text)?.[1] as 'base64' | 'base64url' | undefined;
  if (encoding === undefined) return Buffer.from(text, 'utf8');
  const written = text.slice(`${encoding}:`.length).replace(/[ \t]/g, '');
  const bytes = Buffer.from(written, encoding);
  // Node skips invalid characters; encoding the bytes again detects them.
  const digits = bytes.toString(encoding).replace(/=+$/, '');
  const padded = digits.padEnd(Math.ceil(digits.length / 4) * 4, '=');
  if (written === digits || written === padded) return bytes;
  return `it begins with ${encoding}:, but the rest is not ${encoding} (RFC 4648)`;
}

/** Secrets as {@link secretsIn} reads them. Throws LecternError `key-invalid`. */
export function readSecrets(value: string | Uint8Array, name: string, use: SecretUse): readonly Uint8Array[] {
  const secrets = secretsIn(value, use);
  if (typeof secrets === 'string') throw keyInvalid(`${name} is invalid: ${secrets}`);
  return secrets;
}

/** @param secret at least SECRET_BYTES_MIN bytes */
export function createSecretKeySet(secret: Uint8Array, name = 'the HS256 secret'): KeySet {
  // jose would import a KeyObject again for every token, which is half the cost of verifying.
  let lookup: KeyLookup | Promise<KeyLookup> = webcrypto.subtle
    .importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    .then((key) => {
      const known = { keys: [key] };
      lookup = known;
      return known;
    });
  return { name, algorithms: ['HS256'], candidates: () => lookup };
}

/** The operator's own key set (RFC 7517 section 5). */
export function createPublicKeySet(json: unknown, name: string): KeySet {
  const { keys } = readOwnKeys(json, name);
  return {
    name,
    algorithms: PUBLIC_KEY_ALGORITHMS,
    candidates: (header) => ({ keys: candidatesOf(keys, header) }),
  };
}

/** Keys with the token's `kid` first: at most KEYS_TRIED_MAX, of which at most DEAR_KEYS_TRIED_MAX are expensive. */
export function candidatesOf(keys: readonly PublicKey[], { alg, kid }: TokenHeader): readonly KeyObject[] {
  let dear = 0;
  return (
    keys
      // A key without `kid` may fit any token.
      .filter(
        (k) => k.algorithms.includes(alg) && (kid === undefined || k.kid === undefined || k.kid === kid),
      )
      .sort((a, b) => Number(b.kid === kid) - Number(a.kid === kid))
      .filter(({ isDear }) => !isDear || dear++ < DEAR_KEYS_TRIED_MAX)
      .slice(0, KEYS_TRIED_MAX)
      .map((k) => k.key)
  );
}

/** The largest number of unusable keys that a log line lists. */
export const KEYS_LEFT_OUT_TOLD_MAX = 10;

interface UsableKeys {
  readonly keys: readonly PublicKey[];
  /** Faults of the unusable keys. */
  readonly leftOut: readonly string[];
}

/**
 * Like readUsableKeys, but a secret in the set is an error: others may know the file, so the operator must
 * replace the key.
 */
function readOwnKeys(json: unknown, name: string): UsableKeys {
  for (const [i, value] of listOf(json, name).entries()) {
    const leak = leakOf(value);
    if (leak !== null) throw keyInvalid(`${name}, key ${i + 1} ${leak}`);
  }
  return readUsableKeys(json, name);
}

/** Leaves out unusable keys (RFC 7517 section 5). Throws LecternError `key-invalid` if none remains. */
export function readUsableKeys(json: unknown, name: string): UsableKeys {
  const keys: PublicKey[] = [];
  const leftOut: string[] = [];
  const list = listOf(json, name);
  for (const [i, value] of list.slice(0, KEY_SET_KEYS_MAX).entries()) {
    try {
      const key = readPublicKey(value, `key ${i + 1}`);
      if (key !== null) keys.push(key);
    } catch (error) {
      if (!(error instanceof LecternError)) throw error;
      leftOut.push(error.message);
    }
  }
  if (list.length > KEY_SET_KEYS_MAX) {
    leftOut.push(`only the first ${KEY_SET_KEYS_MAX} keys are read`);
  }
  if (keys.length > 0) return { keys, leftOut };
  const reasons = leftOut.slice(0, 3).join('; ');
  const why = reasons === '' ? '; RSA, EC and Ed25519 keys are supported' : `: ${reasons}`;
  throw keyInvalid(`${name} has no key that verifies signatures${why}`);
}

function listOf(json: unknown, name: string): readonly unknown[] {
  const document = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  if (Array.isArray(document.keys)) return document.keys;
  const found =
    'kty' in document ? 'it is a single key; expected {"keys": […]} around it' : 'it has no array "keys"';
  throw keyInvalid(`${name} is not a JSON Web Key Set: ${found}`);
}

/** The text of the operator's key set file, with its usable keys only. Throws LecternError `key-invalid`. */
export function parsePublicKeys(
  text: string,
  name: string,
): { readonly jwks: object; readonly leftOut: readonly string[] } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the fault, which may be a key.
    const isPem = /^\s*-----BEGIN /.test(text);
    const expected = 'expected a JSON Web Key Set ({"keys": […]}); convert it';
    throw keyInvalid(isPem ? `${name} is a PEM; ${expected}` : `${name} is not JSON`);
  }
  const { keys, leftOut } = readOwnKeys(json, name);
  return { jwks: { keys: keys.map(toJwk) }, leftOut };
}

/** Fetched keys as plain data that crosses threads. Times are those of `monotonicMs`. */
export interface KeyState {
  readonly name: string;
  /** Grows when the keys change; 0 before the first keys. */
  readonly number: number;
  readonly keys: readonly JsonKey[];
  readonly usableUntilMs: number;
  readonly nextFetchMs: number;
  readonly problem: string | null;
}

/** Keys that one thread fetches for all threads. */
export interface FetchedKeys {
  readonly state: KeyState;
  /** Fetches newer keys; resolves at once during the cooldown. Never rejects. */
  want(): Promise<void>;
  listen(listener: () => void): void;
}

/** @param onChange called when verified tokens must be forgotten: the keys changed or are too old */
export function createRemoteKeySet(
  fetched: FetchedKeys,
  onChange: () => void,
  now: () => number = monotonicMs,
): KeySet {
  let number = 0;
  let keys: readonly PublicKey[] = [];
  let wasUsable = false;
  const isUsable = (): boolean => now() < fetched.state.usableUntilMs;

  function take(): void {
    const { state } = fetched;
    const isChanged = state.number !== number;
    if (isChanged) {
      number = state.number;
      keys = readUsableKeys({ keys: state.keys }, state.name).keys;
    }
    if (isChanged || (wasUsable && !isUsable())) onChange();
    wasUsable = isUsable();
  }

  /** Whether the present keys include one for the token, so that no newer set is needed. */
  function isKnown({ alg, kid }: TokenHeader): boolean {
    return keys.some((key) => (kid === undefined ? key.algorithms.includes(alg) : key.kid === kid));
  }

  function lookUp(header: TokenHeader): KeyLookup {
    const { problem, nextFetchMs } = fetched.state;
    const candidates = isUsable() ? candidatesOf(keys, header) : [];
    // After a failed fetch, an unknown key may be a new one.
    if (isUsable() && (problem === null || candidates.length > 0 || isKnown(header))) {
      return { keys: candidates };
    }
    const waitMs = Math.max(0, nextFetchMs - now());
    return {
      unavailable: problem ?? 'it has not been fetched yet',
      retryAfterSeconds: Math.ceil(waitMs / 1000) + 1,
    };
  }

  fetched.listen(take);
  take();
  return {
    name: fetched.state.name,
    algorithms: PUBLIC_KEY_ALGORITHMS,
    candidates: (header) =>
      isUsable() && isKnown(header) ? lookUp(header) : fetched.want().then(() => lookUp(header)),
  };
}

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

interface PublicKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
  readonly isDear: boolean;
}

/** Why a key is secret, worded as the end of a sentence. */
function leakOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if ((value as JsonKey).kty === 'oct') {
    return 'is symmetric ("kty": "oct"); a key set holds public keys only';
  }
  const isPrivate = Object.hasOwn(value, 'd') || Object.hasOwn(value, 'priv');
  return isPrivate ? 'is a private key; use the public key, without "d" and the primes' : null;
}

/** Null for a key with another purpose. Throws LecternError `key-invalid`. */
function readPublicKey(value: unknown, where: string): PublicKey | null {
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

function keyInvalid(message: string, cause?: unknown): LecternError {
  return new LecternError('key-invalid', message, { cause });
}
