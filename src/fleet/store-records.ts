import { ANNOUNCED_MAX, RECORD_TEXT_MAX, REPORTS_MAX } from '../base/limits.js';
import type { Store } from '../store/store.js';
import type { PublicKeys, SignedKind } from './keys.js';

/** Records of a store. What steers is signed: heads, pins and leases. Reports are JSON. */
export const HEAD = 'head';
/** The id of the image that every replica serves instead of the head. */
export const PIN = 'pin';
/** The publisher that leads. */
export const LEADER = 'leader';
const ANNOUNCED = 'announced.';
const REPLICA = 'replica.';

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
 * A replica's report on itself, every few seconds. Reports are not signed, so they are only shown, and a report of
 * damage makes the publisher read the image itself.
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
export const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isText: Check = (value) => typeof value === 'string' && value.length <= RECORD_TEXT_MAX;
const isTime: Check = (value) => isCount(value) && !Number.isNaN(new Date(Number(value)).getTime());
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const isServed: Check = (value) =>
  pick(value, { epoch: isId, sequence: isCount, id: isId, hash: isHash }) !== null;

/** What the members of records must be. Further members are left out. */
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
  if (!members.every(([name, check]) => Object.hasOwn(given, name) && check(given[name]))) return null;
  return Object.fromEntries(members.map(([name]) => [name, given[name]])) as T;
}

/** Called with the key of each ignored record: it is malformed or forged. */
export type OnIgnored = (key: string) => void;

async function readSigned<T extends object>(
  store: Store,
  key: string,
  { keys, kind, shape, onIgnored = () => {} }: SignedReading<T>,
): Promise<(T & { readonly revision: number }) | null> {
  const record = await store.read(key);
  if (record === null) return null;
  const value = pick(await keys.open(kind, record.text).catch(() => null), shape);
  if (value === null) onIgnored(key);
  return value && { ...value, revision: record.revision };
}

interface SignedReading<T> {
  readonly keys: PublicKeys;
  readonly kind: SignedKind;
  readonly shape: Shape<T>;
  readonly onIgnored?: OnIgnored | undefined;
}

function checked<T>(text: string, shape: Shape<T>): T | null {
  try {
    return pick(JSON.parse(text), shape);
  } catch {
    return null;
  }
}

/** The last choice of an operator; null if there was none, or if the record is malformed or forged. */
export function readPin(store: Store, keys: PublicKeys, onIgnored?: OnIgnored): Promise<Pin | null> {
  return readSigned<Pin>(store, PIN, { keys, kind: 'pin', shape: PIN_SHAPE, onIgnored });
}

/** The lease of the leading publisher; null if there is none, or if the record is malformed or forged. */
export function readLease(
  store: Store,
  keys: PublicKeys,
  onIgnored?: OnIgnored,
): Promise<(Lease & { readonly revision: number }) | null> {
  return readSigned<Lease>(store, LEADER, { keys, kind: 'lease', shape: LEASE_SHAPE, onIgnored });
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

/** The texts of the first ANNOUNCED_MAX announced heads, by key, and the number of records that were not read. */
export async function announcedTexts(
  store: Store,
): Promise<{ readonly texts: ReadonlyMap<string, string>; readonly unread: number }> {
  const keys = await store.keys(ANNOUNCED);
  const texts = new Map<string, string>();
  for (const key of keys.slice(0, ANNOUNCED_MAX)) {
    const record = await store.read(key);
    if (record !== null) texts.set(key, record.text);
  }
  return { texts, unread: Math.max(0, keys.length - ANNOUNCED_MAX) };
}

/** A report, with its record. */
export interface StoredReport {
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
    reports.push({ key, revision: record.revision, report: checked(record.text, REPORT_SHAPE) });
  }
  return reports;
}
