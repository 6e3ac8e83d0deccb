/**
 * Folder fleet/. Publishers announce images in a store, and replicas serve them. This folder answers no
 * request and reads no record of a source.
 */
import { LecternError } from '../base/errors.js';
import type { HashedObject } from '../store/store.js';
import type { PublicKeys } from './keys.js';
import { isCount, isHash, isId } from './store-records.js';

/** What one announcement changed. */
export interface AnnouncedChange extends HashedObject {
  /** Sequence of the announcement before. */
  readonly from: number;
  /** The bytes in Base64, if they are few and the change is the last. Records of past announcements omit them. */
  readonly content?: string;
}

/** The announcement of an image, a signed record. */
export interface Head {
  /** Id of the store's series of announcements, made with the first one. */
  readonly epoch: string;
  /** Greater than every earlier sequence that a replica or the store knows. */
  readonly sequence: number;
  /** Id of the previously announced image; null for the first. */
  readonly previous: string | null;
  /** Id of the content. */
  readonly id: string;
  /** Format version of the image file. */
  readonly format: number;
  /** Name of an image file in the store, from which the last changes lead to the content. */
  readonly hash: string;
  /** Length of the file. */
  readonly bytes: number;
  /** The last changes, in their order. */
  readonly changes: readonly AnnouncedChange[];
  /** The number of changes that the image file already contains; the others follow it. */
  readonly contained: number;
  /** The publications before the image file, for `since`. Null if they are not known, or too many. */
  readonly history: HashedObject | null;
  /** SHA-256 of the values that no answer shows, in hexadecimal; the id of the content does not cover all of them. */
  readonly hidden: string;
  /** Number of events in the image. */
  readonly events: number;
  /** Number of records that were rejected. */
  readonly rejected: number;
  /** Epoch milliseconds on the publisher's clock, shown to people but never compared. */
  readonly announcedAtMs: number;
}

/** A head without the content of its last change, which only replicas with the previous image need. */
export function withoutContent(head: Head): Head {
  return { ...head, changes: head.changes.map(({ content: _, ...change }) => change) };
}

/** The changes that follow the image file. */
export function followingChanges({ changes, contained }: Head): readonly AnnouncedChange[] {
  return changes.slice(contained);
}

/** @throws LecternError `announcement-refused` */
export async function readHead(keys: PublicKeys, text: string): Promise<Head> {
  const head = (await keys.open('head', text).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw refused(`its signature is not valid: ${reason}`, cause);
  })) as Partial<Head> | null;
  const { epoch, sequence, previous, id, format, hash, bytes, hidden } = head ?? {};
  const { changes, contained, history, events, rejected, announcedAtMs } = head ?? {};
  const isObject = (each: HashedObject | null | undefined): boolean =>
    typeof each === 'object' && each !== null && isHash(each.hash) && isCount(each.bytes);
  const isChange = (each: AnnouncedChange): boolean =>
    isObject(each) && isCount(each.from) && ['undefined', 'string'].includes(typeof each.content);
  const isGood =
    Array.isArray(changes) &&
    changes.every(isChange) &&
    (history === null || isObject(history)) &&
    isId(epoch) &&
    [sequence, format, bytes, contained, events, rejected, announcedAtMs].every(isCount) &&
    (previous === null || isId(previous)) &&
    isId(id) &&
    [hash, hidden].every(isHash);
  if (!isGood) throw refused('it is not the description of an image');
  return head as Head;
}

function refused(reason: string, cause?: unknown): LecternError {
  return new LecternError('announcement-refused', `the announcement was refused: ${reason}`, { cause });
}
