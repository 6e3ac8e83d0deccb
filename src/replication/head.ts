/**
 * Folder replication/. Publishers announce images in a store, and replicas serve them. This folder answers no
 * request and reads no record of a source.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CompactSign, compactVerify, decodeProtectedHeader } from 'jose';
import { fileFault, LecternError } from '../errors.js';
import { isCount, isHash, isId } from './store-records.js';

/** The announcement of an image, signed as a compact JWS (RFC 7515). */
export interface Head {
  /** Id of the store's series of announcements, made with the first one. */
  readonly epoch: string;
  /** Greater than every earlier sequence that a replica or the store knows. */
  readonly sequence: number;
  /** Id of the previously announced image; null for the first. */
  readonly previous: string | null;
  /** Id of the image's content. */
  readonly id: string;
  /** Format version of the image file. */
  readonly format: number;
  /** SHA-256 of the image file in hexadecimal, which is also the name of its object in the store. */
  readonly hash: string;
  /** Length of the image file. */
  readonly bytes: number;
  /**
   * The earlier image that the store has in place of this one, and the patches from it to this one, in their order. Absent or null if the store has this image itself.
   */
  readonly stored?: {
    /** SHA-256 of the earlier image's file in hexadecimal, and its object's name in the store. */
    readonly hash: string;
    /** Length of the file. */
    readonly bytes: number;
    /** Names and lengths of the patches' objects. */
    readonly patches: readonly {
      /** SHA-256 of the patch in hexadecimal, and its object's name in the store. */
      readonly hash: string;
      /** Length of the patch. */
      readonly bytes: number;
    }[];
  } | null;
  /** A patch that turns another image into this one. Absent or null if there is none. */
  readonly patch?: {
    /** Hash of the image to which the patch applies. */
    readonly base: string;
    /** SHA-256 of the patch in hexadecimal, and its object's name in the store. */
    readonly hash: string;
    /** Length of the patch. */
    readonly bytes: number;
    /** The bytes of a short patch, in Base64. Records of past announcements omit them. */
    readonly content?: string;
  } | null;
  /** The earlier publications, for `since`. Absent or null if the publisher does not know them. */
  readonly history?: {
    /** SHA-256 of the object in hexadecimal, which is also its name in the store. */
    readonly hash: string;
    /** Length of the object. */
    readonly bytes: number;
  } | null;
  /** Number of events in the image. */
  readonly events: number;
  /** Number of records that were rejected. */
  readonly rejected: number;
  /** Epoch milliseconds on the publisher's clock, shown to people but never compared. */
  readonly announcedAtMs: number;
}

/** The type of the JWS, so that no other signature of the key counts as a head. */
const KIND = 'lectern-head+jws';

export class SigningKey {
  readonly #path: string;
  #text = '';
  #key: KeyObject;
  #algorithm: string;
  /** Checks signatures with this key, and with the previous key after a change of the file. */
  reader: HeadReader;

  /** @param path of an Ed25519 or P-256 private key, as PEM (PKCS #8) or JWK. @throws LecternError `key-invalid` */
  constructor(path: string) {
    this.#path = path;
    this.#text = readKeyFile(path);
    this.#key = privateKeyOf(this.#text, path);
    this.#algorithm = algorithmOf(this.#key, path);
    this.reader = new HeadReader([createPublicKey(this.#key)]);
  }

  /** The file, which is read again when it changes. */
  get file(): ReadAgain {
    return readAgain(
      this.#path,
      () => this.#text,
      (text) => {
        const key = privateKeyOf(text, this.#path);
        const algorithm = algorithmOf(key, this.#path);
        const reader = new HeadReader([createPublicKey(key), createPublicKey(this.#key)]);
        return () => {
          this.#text = text;
          this.#key = key;
          this.#algorithm = algorithm;
          this.reader = reader;
        };
      },
    );
  }

  sign(head: Head): Promise<string> {
    return new CompactSign(Buffer.from(JSON.stringify(head)))
      .setProtectedHeader({ alg: this.#algorithm, typ: KIND })
      .sign(this.#key);
  }
}

/** Reads heads, and checks their signature if there are keys. */
export class HeadReader {
  readonly #path: string;
  #text = '';
  #keys: readonly KeyObject[] | null;

  /** @param keys null checks no signature */
  constructor(keys: readonly KeyObject[] | null, path = '') {
    this.#keys = keys;
    this.#path = path;
  }

  /** @param path of public keys: PEM (SPKI), several in a row, a JWK or a JWKS. @throws LecternError `key-invalid` */
  static ofFile(path: string): HeadReader {
    const text = readKeyFile(path);
    const reader = new HeadReader(publicKeysOf(text, path), path);
    reader.#text = text;
    return reader;
  }

  /** The file, which is read again when it changes. */
  get file(): ReadAgain {
    return readAgain(
      this.#path,
      () => this.#text,
      (text) => {
        const keys = publicKeysOf(text, this.#path);
        return () => {
          this.#text = text;
          this.#keys = keys;
        };
      },
    );
  }

  /** @throws LecternError `announcement-refused` */
  async read(text: string): Promise<Head> {
    let payload: Uint8Array;
    try {
      if (decodeProtectedHeader(text).typ !== KIND) throw new Error('it does not sign an announcement');
      payload = await payloadOf(text, this.#keys);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw refused(`its signature is not valid: ${reason}`, cause);
    }
    return checkHead(payload);
  }
}

/** A head without the content of its patch, which only replicas with the previous image need. */
export function withoutPatch(head: Head): Head {
  if (head.patch?.content === undefined) return head;
  const { content: _, ...patch } = head.patch;
  return { ...head, patch };
}

/** What the store has of an image: the image itself, or an earlier image with patches. */
export function storedOf({ hash, bytes, stored = null }: Head): NonNullable<Head['stored']> {
  return stored ?? { hash, bytes, patches: [] };
}

/** Reads a head without checking its signature. Null for text that is not a head. */
export function headOf(text: string): Head | null {
  try {
    return checkHead(Buffer.from(text.split('.')[1] ?? '', 'base64url'));
  } catch {
    return null;
  }
}

function checkHead(payload: Uint8Array): Head {
  let head: Partial<Head> | null = null;
  try {
    head = JSON.parse(Buffer.from(payload).toString('utf8')) as Partial<Head> | null;
  } catch {
    // Refused below.
  }
  const { epoch, sequence, previous, id, format, hash, bytes, events, rejected, announcedAtMs } = head ?? {};
  const patch = head?.patch ?? null;
  const history = head?.history ?? null;
  const isContent = patch?.content === undefined || typeof patch.content === 'string';
  const isPatch =
    patch === null || (isHash(patch.base) && isHash(patch.hash) && isCount(patch.bytes) && isContent);
  const isStored =
    (head?.stored ?? null) === null ||
    [head?.stored, ...(head?.stored?.patches ?? [])].every(
      (each) => isHash(each?.hash) && isCount(each?.bytes),
    );
  const isGood =
    isPatch &&
    isStored &&
    (history === null || (isHash(history.hash) && isCount(history.bytes))) &&
    isId(epoch) &&
    [sequence, format, bytes, events, rejected, announcedAtMs].every(isCount) &&
    (previous === null || isId(previous)) &&
    isId(id) &&
    isHash(hash);
  if (!isGood) throw refused('it is not the description of an image');
  return head as Head;
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

/** A file of keys, as its watcher needs it. */
interface ReadAgain {
  readonly kind: 'publisher-keys';
  readonly paths: readonly string[];
  read(): Promise<(() => void) | null>;
}

function readAgain(path: string, present: () => string, check: (text: string) => () => void): ReadAgain {
  return {
    kind: 'publisher-keys',
    paths: [path],
    async read() {
      const text = readKeyFile(path);
      return text === present() ? null : check(text);
    },
  };
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new LecternError('key-invalid', `the key file ${path} cannot be read: ${fileFault(cause)}`, {
      cause,
    });
  }
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

function refused(reason: string, cause?: unknown): LecternError {
  return new LecternError('announcement-refused', `the announcement was refused: ${reason}`, { cause });
}
