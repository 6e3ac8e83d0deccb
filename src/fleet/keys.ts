/** Keys of publishers: what steers a replica or a publisher from a store is signed, as a compact JWS (RFC 7515). */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { CompactSign, compactVerify, decodeProtectedHeader } from 'jose';
import { fileFault, LecternError } from '../base/errors.js';
import { type KeptFile, keptText, type Take } from '../base/files/kept-files.js';
import { KEY_FILE_BYTES_MAX } from '../base/limits.js';

/** The kinds of signed records: announcements, choices of operators, leases. */
export type SignedKind = 'head' | 'pin' | 'lease';

/** The type of the JWS, so that no signature counts as a record of another kind. */
function typeOf(kind: SignedKind): string {
  return `lectern-${kind}+jws`;
}

/** Signs the records of a channel, and checks them. */
export interface Signer {
  sign(kind: SignedKind, value: object): Promise<string>;
  /** Checks signatures of this signer. */
  readonly keys: PublicKeys;
  /** The file of the key, which is read again when it changes; null without one. */
  readonly file: KeptFile | null;
}

/** Checks the signatures of records. */
export class PublicKeys {
  /** For the folder of the own account: records need no signature. */
  static readonly UNSIGNED: PublicKeys = new PublicKeys(null);
  /** The file, which is read again when it changes; null without one. */
  file: KeptFile | null = null;
  #keys: readonly KeyObject[] | null;

  constructor(keys: readonly KeyObject[] | null) {
    this.#keys = keys;
  }

  /** @param path of public keys: PEM (SPKI), several in a row, a JWK or a JWKS. @throws LecternError `key-invalid` */
  static ofFile(path: string): PublicKeys {
    const made = new PublicKeys([]);
    made.file = keptKey(path, (text) => {
      const keys = publicKeysOf(text, path);
      return () => {
        made.#keys = keys;
      };
    });
    return made;
  }

  /**
   * The value of a record; null if it is not JSON.
   *
   * @throws Error if the record is of another kind, or if no key has made its signature
   */
  async open(kind: SignedKind, text: string): Promise<unknown> {
    if (decodeProtectedHeader(text).typ !== typeOf(kind)) throw new Error(`it does not sign a ${kind}`);
    const payload = await payloadOf(text, this.#keys);
    try {
      return JSON.parse(Buffer.from(payload).toString('utf8'));
    } catch {
      return null;
    }
  }
}

export class SigningKey implements Signer {
  readonly file: KeptFile;
  #key: KeyObject | null = null;
  #algorithm = '';
  /** The public key, and the previous one after a change of the file. */
  keys: PublicKeys = new PublicKeys([]);

  /** @param path of an Ed25519 or P-256 private key, as PEM (PKCS #8) or JWK. @throws LecternError `key-invalid` */
  constructor(path: string) {
    this.file = keptKey(path, (text) => {
      const key = privateKeyOf(text, path);
      const algorithm = algorithmOf(key, path);
      const keys = [key, ...(this.#key === null ? [] : [this.#key])].map((each) => createPublicKey(each));
      return () => {
        this.#key = key;
        this.#algorithm = algorithm;
        this.keys = new PublicKeys(keys);
      };
    });
  }

  sign(kind: SignedKind, value: object): Promise<string> {
    return new CompactSign(Buffer.from(JSON.stringify(value)))
      .setProtectedHeader({ alg: this.#algorithm, typ: typeOf(kind) })
      .sign(this.#key as KeyObject);
  }
}

/** For the folder of the own account: records in the same form, with an empty signature. */
export const UNSIGNED: Signer = {
  async sign(kind, value) {
    const parts = [{ alg: 'none', typ: typeOf(kind) }, value];
    return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
  },
  keys: PublicKeys.UNSIGNED,
  file: null,
};

/**
 * Writes a new pair of keys: `NAME.key` for publishers and operators, `NAME.pub` for replicas.
 *
 * @throws LecternError `key-invalid` if a file exists, or cannot be written
 */
export function writeKeyPair(name: string): { readonly privateKey: string; readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const paths = { privateKey: `${name}.key`, publicKey: `${name}.pub` };
  try {
    const own = { flag: 'wx', mode: 0o600 };
    writeFileSync(paths.privateKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), own);
    writeFileSync(paths.publicKey, publicKey.export({ type: 'spki', format: 'pem' }), { flag: 'wx' });
  } catch (cause) {
    const { code, path } = cause as NodeJS.ErrnoException;
    const reason =
      code === 'EEXIST' ? 'it exists already, and is not replaced; expected a new name' : fileFault(cause);
    throw new LecternError('key-invalid', `the key file ${path} cannot be written: ${reason}`, { cause });
  }
  return paths;
}

/** @throws Error if no key has made the signature */
async function payloadOf(text: string, keys: readonly KeyObject[] | null): Promise<Uint8Array> {
  if (keys === null) return Buffer.from(text.split('.')[1] ?? '', 'base64url');
  let fault: unknown = new Error('there is no key');
  for (const key of keys) {
    try {
      return (await compactVerify(text, key, { algorithms: [algorithmOf(key, 'given')] })).payload;
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
}

/** A file of keys, which is read now, and again when it changes. `check` throws for a bad text. */
function keptKey(path: string, check: (text: string) => Take): KeptFile {
  const name = `the key file ${path}`;
  const file = { path, name, bytesMax: KEY_FILE_BYTES_MAX, code: 'key-invalid', isRegular: true } as const;
  const kept = keptText('publisher-keys', file, check);
  kept.readNow?.()?.();
  return kept;
}

function privateKeyOf(text: string, path: string): KeyObject {
  try {
    if (!isJson(text)) return createPrivateKey(text);
    return createPrivateKey({ key: JSON.parse(text) as ParsedKey, format: 'jwk' });
  } catch (cause) {
    // Messages of parsers may repeat the content.
    throw keyFault(path, 'it is not a private key as PEM or JWK', cause);
  }
}

function publicKeysOf(text: string, path: string): readonly KeyObject[] {
  let keys: KeyObject[];
  try {
    const found = isJson(text) ? jsonKeys(text) : (text.match(PEM) ?? []);
    const isPrivate = (each: string | ParsedKey): boolean =>
      typeof each === 'string' ? each.includes('PRIVATE KEY') : each.d !== undefined;
    // A public key can be derived from a private one, but a private key does not belong on a replica.
    if (found.some(isPrivate)) throw keyFault(path, 'it is a private key');
    keys = found.map((key) => createPublicKey(typeof key === 'string' ? key : { key, format: 'jwk' }));
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw keyFault(path, 'it is not a public key as PEM or JWK', cause);
  }
  if (keys.length === 0) throw keyFault(path, 'it is not a public key as PEM or JWK');
  for (const key of keys) algorithmOf(key, path);
  return keys;
}

interface ParsedKey {
  readonly d?: string;
  readonly [member: string]: unknown;
}

const PEM = /-----BEGIN [^-]+-----[\s\S]*?-----END [^-]+-----/g;

function isJson(text: string): boolean {
  return text.trimStart().startsWith('{');
}

function jsonKeys(text: string): readonly ParsedKey[] {
  const json = JSON.parse(text) as ParsedKey & { readonly keys?: readonly ParsedKey[] };
  return Array.isArray(json.keys) ? json.keys : [json];
}

function keyFault(path: string, reason: string, cause?: unknown): LecternError {
  return new LecternError('key-invalid', `the key file ${path} cannot be used: ${reason}`, { cause });
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, path: string): string {
  if (asymmetricKeyType === 'ed25519') return 'EdDSA';
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw keyFault(path, 'expected a key of Ed25519 or P-256');
}
