/**
 * Folder replication/. Publishers announce images in a store, and replicas serve them. This folder answers no
 * request and reads no record of a source.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CompactSign, compactVerify, decodeProtectedHeader } from 'jose';
import { LecternError } from '../errors.js';

/** The announcement of an image. Signed as a compact JWS (RFC 7515). */
export interface Head {
  /** Id of the store's series of announcements, made with the first one. Sequences of two epochs cannot be compared. */
  readonly epoch: string;
  /** Greater than every earlier sequence of its epoch. */
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
  /** A patch that turns another image into this one. Absent or null if there is none. */
  readonly patch?: {
    /** Hash of the image to which the patch applies. */
    readonly base: string;
    /** SHA-256 of the patch in hexadecimal, and its object's name in the store. */
    readonly hash: string;
    /** Length of the patch. */
    readonly bytes: number;
    /** A short patch itself, in Base64. Not kept in the records of past announcements. */
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
  /** Epoch milliseconds on the publisher's clock. Shown to people, but never compared. */
  readonly announcedAtMs: number;
}

/** The type of the JWS, so that no other signature of the key counts as a head. */
const KIND = 'lectern-head+jws';

export class SigningKey {
  readonly #key: KeyObject;
  readonly #algorithm: string;
  /** Checks signatures with this key. */
  readonly reader: HeadReader;

  /** @param path of an Ed25519 or P-256 private key, as PEM (PKCS #8) or JWK. @throws LecternError `key-invalid` */
  constructor(path: string) {
    this.#key = readKey(path, 'private');
    this.#algorithm = algorithmOf(this.#key, path);
    this.reader = new HeadReader(createPublicKey(this.#key));
  }

  sign(head: Head): Promise<string> {
    return new CompactSign(Buffer.from(JSON.stringify(head)))
      .setProtectedHeader({ alg: this.#algorithm, typ: KIND })
      .sign(this.#key);
  }
}

/** Reads heads, and checks their signature if there is a key. */
export class HeadReader {
  readonly #key: KeyObject | null;
  readonly #algorithm: string;

  /** @param key null checks no signature */
  constructor(key: KeyObject | null) {
    this.#key = key;
    this.#algorithm = key === null ? '' : algorithmOf(key, 'given');
  }

  /** @param path of a public key, as PEM (SPKI) or JWK. @throws LecternError `key-invalid` */
  static ofFile(path: string): HeadReader {
    const key = readKey(path, 'public');
    algorithmOf(key, path);
    return new HeadReader(key);
  }

  /** @throws LecternError `announcement-refused` */
  async read(text: string): Promise<Head> {
    let payload: Uint8Array;
    try {
      if (decodeProtectedHeader(text).typ !== KIND) throw new Error('it is of another type');
      if (this.#key === null) payload = Buffer.from(text.split('.')[1] ?? '', 'base64url');
      else ({ payload } = await compactVerify(text, this.#key, { algorithms: [this.#algorithm] }));
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
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
  const isId = (value: unknown): boolean => typeof value === 'string' && /^[\w-]{22}$/.test(value);
  const isHash = (value: unknown): boolean => /^[0-9a-f]{64}$/.test(String(value));
  const isContent = patch?.content === undefined || typeof patch.content === 'string';
  const isPatch =
    patch === null || (isHash(patch.base) && isHash(patch.hash) && isCount(patch.bytes) && isContent);
  const isGood =
    isPatch &&
    (history === null || (isHash(history.hash) && isCount(history.bytes))) &&
    isId(epoch) &&
    [sequence, format, bytes, events, rejected, announcedAtMs].every(isCount) &&
    (previous === null || isId(previous)) &&
    isId(id) &&
    isHash(hash);
  if (!isGood) throw refused('it is not the description of an image');
  return head as Head;
}

function readKey(path: string, kind: 'private' | 'public'): KeyObject {
  try {
    const text = readFileSync(path, 'utf8');
    const create = kind === 'private' ? createPrivateKey : createPublicKey;
    if (!text.trimStart().startsWith('{')) {
      // A public key can be derived from a private one, but a private key does not belong on a replica.
      if (kind === 'public' && text.includes('PRIVATE KEY')) throw new Error('it is a private key');
      return create(text);
    }
    const jwk = JSON.parse(text) as { readonly d?: string };
    if (kind === 'public' && jwk.d !== undefined) throw new Error('it is a private key');
    return create({ key: jwk, format: 'jwk' });
  } catch (cause) {
    const isFile = cause instanceof Error && 'syscall' in cause;
    const isPrivate = cause instanceof Error && cause.message === 'it is a private key';
    // Messages of parsers may repeat the content.
    const reason = isFile || isPrivate ? cause.message : `it is not a ${kind} key as PEM or JWK`;
    throw new LecternError('key-invalid', `the key file ${path} cannot be used: ${reason}`, { cause });
  }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, path: string): string {
  if (asymmetricKeyType === 'ed25519') return 'EdDSA';
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  const message = `the key file ${path} cannot be used: expected a key of Ed25519 or P-256`;
  throw new LecternError('key-invalid', message);
}

function refused(reason: string, cause?: unknown): LecternError {
  return new LecternError('announcement-refused', `the announcement was refused: ${reason}`, { cause });
}
