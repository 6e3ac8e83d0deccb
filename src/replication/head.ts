/**
 * Folder replication/. Publishers announce images in a store, and replicas serve them. This folder answers no
 * request and reads no record of a source.
 */
import { LecternError } from '../errors.js';
import type { PublicKeys } from './keys.js';
import { isCount, isHash, isId } from './store-records.js';

/** The announcement of an image, a signed record. */
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

/** @throws LecternError `announcement-refused` */
export async function readHead(keys: PublicKeys, text: string): Promise<Head> {
  const head = (await keys.open('head', text).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw refused(`its signature is not valid: ${reason}`, cause);
  })) as Partial<Head> | null;
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

function refused(reason: string, cause?: unknown): LecternError {
  return new LecternError('announcement-refused', `the announcement was refused: ${reason}`, { cause });
}
