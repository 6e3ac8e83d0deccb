/**
 * Folder fleet/. Publishers announce images in a store, and replicas serve them. This folder answers no
 * request and reads no record of a source.
 */
import { LecternError } from '../base/errors.js';
import { ANNOUNCED_MAX, RECORD_TEXT_MAX, REPORTS_MAX } from '../base/limits.js';
import type { HashedObject, Store } from '../store/store.js';
import type { PublicKeys } from './keys.js';

/** Records of a store. What steers is signed: heads, pins and leases. Reports are JSON. */
export const HEAD = 'head';
/** The id of the image that every replica serves instead of the head. */
export const PIN = 'pin';
/** The publisher that leads. */
export const LEADER = 'leader';
const ANNOUNCED = 'announced.';
const REPLICA = 'replica.';

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

/** The last choice of an operator. The record stays after `unpin`, because its sequence is still needed. */
export interface Pin {
  /** Null if replicas serve the head. */
  readonly id: string | null;
  /**
   * The place of this choice in the order of announcements. Images that are served after this choice have at
   * least this sequence.
   */
  readonly sequence: number;
}

export interface Lease {
  readonly owner: string;
  /** Counts renewals, so that each renewal changes the record. */
  readonly beat: number;
  /** By the owner's clock, for people only. */
  readonly renewedAtMs: number;
}

/** A position in the order of announcements. */
export interface Floor {
  /** Id of the store's series of announcements. */
  readonly epoch: string;
  /** Grows with each announcement. */
  readonly sequence: number;
}

/**
 * A replica's report on itself, every few seconds. Reports are not signed, so they are only shown, with two exceptions: a
 * report of damage makes the publisher read the image itself, and it announces with a sequence above the served one.
 */
export interface ReplicaReport {
  /** Host and port of the replica, or host and process id of a replica that does not listen. */
  readonly name: string;
  /** Version of Lectern that the replica runs. */
  readonly version: string;
  /** The announcement that the replica serves; null if it serves none. */
  readonly serves:
    | (Floor & {
        /** Id of the image's content. */
        readonly id: string;
        /** Name of the image in the store. */
        readonly hash: string;
      })
    | null;
  /** Hash of an image whose object is missing or has wrong bytes. */
  readonly damaged: string | null;
  /** Why the last attempt to serve the head failed; null if it succeeded. */
  readonly lastError: string | null;
  /** Grows with each report. */
  readonly beat: number;
  /** When the replica made this report, by its own clock, for people only. A live replica reports every two seconds. */
  readonly reportedAtMs: number;
}

type Check = (value: unknown) => boolean;
type Shape<T> = Readonly<Record<keyof T, Check>>;

export const isId: Check = (value) => typeof value === 'string' && /^[\w-]{22}$/.test(value);
export const isHash: Check = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isText: Check = (value) => typeof value === 'string' && value.length <= RECORD_TEXT_MAX;
const isTime: Check = (value) => isCount(value) && !Number.isNaN(new Date(Number(value)).getTime());
const isContent: Check = (value) => value === undefined || typeof value === 'string';
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const has =
  <T>(shape: Shape<T>): Check =>
  (value) =>
    pick(value, shape) !== null;
const OBJECT_SHAPE: Shape<HashedObject> = { hash: isHash, bytes: isCount };
const CHANGE_SHAPE: Shape<AnnouncedChange> = { ...OBJECT_SHAPE, from: isCount, content: isContent };
const isServed = has<ReplicaReport['serves'] & {}>({
  epoch: isId,
  sequence: isCount,
  id: isId,
  hash: isHash,
});

/** What the members of records must be. Further members are left out. */
const HEAD_SHAPE: Shape<Head> = {
  ...OBJECT_SHAPE,
  epoch: isId,
  sequence: isCount,
  previous: orNull(isId),
  id: isId,
  format: isCount,
  changes: (value) => Array.isArray(value) && value.every(has(CHANGE_SHAPE)),
  contained: isCount,
  history: orNull(has(OBJECT_SHAPE)),
  hidden: isHash,
  events: isCount,
  rejected: isCount,
  announcedAtMs: isCount,
};
const PIN_SHAPE: Shape<Pin> = { id: orNull(isId), sequence: isCount };
const LEASE_SHAPE: Shape<Lease> = { owner: isText, beat: isCount, renewedAtMs: isTime };
const REPORT_SHAPE: Shape<ReplicaReport> = {
  name: isText,
  version: isText,
  serves: orNull(isServed),
  damaged: orNull(isHash),
  lastError: orNull(isText),
  beat: isCount,
  reportedAtMs: isTime,
};

/** The checked members; null if one is missing or wrong. */
function pick<T>(value: unknown, shape: Shape<T>): T | null {
  if (typeof value !== 'object' || value === null) return null;
  const members = Object.entries(shape) as [keyof T, Check][];
  const given = value as Readonly<Record<keyof T, unknown>>;
  if (!members.every(([name, check]) => check(Object.hasOwn(given, name) ? given[name] : undefined)))
    return null;
  return Object.fromEntries(members.map(([name]) => [name, given[name]])) as T;
}

/** @throws LecternError `announcement-refused` */
export async function readHead(keys: PublicKeys, text: string): Promise<Head> {
  const value = await keys.open('head', text).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw refused(`the announcement was refused: its signature is not valid: ${reason}`, cause);
  });
  const head = pick(value, HEAD_SHAPE);
  if (head === null) throw refused('the announcement was refused: it is not the description of an image');
  return head;
}

export function refused(message: string, cause?: unknown): LecternError {
  return new LecternError('announcement-refused', message, { cause });
}

/** Called with the key of each ignored record: it is malformed or forged. */
export type OnIgnored = (key: string) => void;

/** A signed record. */
interface Signed<T> {
  /** Null if there is no record, or if it is malformed or forged. */
  readonly value: T | null;
  readonly text: string | null;
  /** Null if there is no record. */
  readonly revision: number | null;
}

async function readSigned<T>(
  store: Store,
  key: string,
  check: (text: string) => Promise<T | null>,
  onIgnored: OnIgnored = () => {},
): Promise<Signed<T>> {
  const record = await store.read(key);
  if (record === null) return { value: null, text: null, revision: null };
  const value = await check(record.text).catch(() => null);
  if (value === null) onIgnored(key);
  return { value, ...record };
}

/** The head under a key. */
export function readHeadAt(
  store: Store,
  keys: PublicKeys,
  key: string = HEAD,
  onIgnored?: OnIgnored,
): Promise<Signed<Head>> {
  return readSigned(store, key, (text) => readHead(keys, text), onIgnored);
}

/** The last choice of an operator; null if there was none, or if the record is malformed or forged. */
export async function readPin(store: Store, keys: PublicKeys, onIgnored?: OnIgnored): Promise<Pin | null> {
  const check = async (text: string): Promise<Pin | null> => pick(await keys.open('pin', text), PIN_SHAPE);
  return (await readSigned(store, PIN, check, onIgnored)).value;
}

/** The lease of the leading publisher. */
export function readLease(store: Store, keys: PublicKeys, onIgnored?: OnIgnored): Promise<Signed<Lease>> {
  const check = async (text: string): Promise<Lease | null> =>
    pick(await keys.open('lease', text), LEASE_SHAPE);
  return readSigned(store, LEADER, check, onIgnored);
}

function reportIn(text: string): ReplicaReport | null {
  try {
    return pick(JSON.parse(text), REPORT_SHAPE);
  } catch {
    return null;
  }
}

/**
 * A sequence greater than all given ones. The sequence comes from the clock, so it does not go back even if a
 * store is lost.
 */
export function sequenceAfter(...earlier: readonly (number | undefined)[]): number {
  return Math.max(Date.now(), ...earlier.map((each = 0) => each + 1));
}

/** The key of the last head of an image, by the image's id. */
export function announcedKey(id: string): string {
  return ANNOUNCED + id;
}

export function replicaKey(name: string): string {
  return REPLICA + name;
}

/**
 * Replaces a record, whatever its content. For records with one writer at a time, or whose last writer wins.
 */
export async function replace(store: Store, key: string, text: string): Promise<void> {
  // Terminates: each further round means that another writer was first.
  for (;;) {
    const record = await store.read(key);
    if (record?.text === text || (await store.swap(key, text, record?.revision ?? null)) !== null) return;
  }
}

/** The first ANNOUNCED_MAX announced heads, and the number of records that were not read. */
export async function announcedHeads(
  store: Store,
  keys: PublicKeys,
): Promise<{
  /** By key of the record; null for one that is malformed or forged, or a copy of a record under another key. */
  readonly heads: ReadonlyMap<string, Head | null>;
  readonly unread: number;
}> {
  const all = await store.keys(ANNOUNCED);
  const heads = new Map<string, Head | null>();
  for (const key of all.slice(0, ANNOUNCED_MAX)) {
    const { value: head, revision } = await readHeadAt(store, keys, key);
    if (revision !== null) heads.set(key, head !== null && key === announcedKey(head.id) ? head : null);
  }
  return { heads, unread: Math.max(0, all.length - ANNOUNCED_MAX) };
}

/** A report, with its record. */
interface StoredReport {
  readonly key: string;
  readonly revision: number;
  /** Null if the record is malformed. */
  readonly report: ReplicaReport | null;
}

/** The first REPORTS_MAX reports of replicas. */
export async function readReports(store: Store): Promise<StoredReport[]> {
  const reports: StoredReport[] = [];
  for (const key of (await store.keys(REPLICA)).slice(0, REPORTS_MAX)) {
    const record = await store.read(key);
    if (record === null) continue;
    reports.push({ key, revision: record.revision, report: reportIn(record.text) });
  }
  return reports;
}
