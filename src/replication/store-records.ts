import { REPLICAS_NAMED_MAX, SEQUENCE_AHEAD_MS_MAX } from '../limits.js';
import type { Store } from '../store/store.js';

/** Records of a store: heads are signed, the others are JSON. */
export const HEAD = 'head';
/** A head that canaries serve first. */
export const CANDIDATE = 'candidate';
/** The id of the image that every replica serves instead of the head. */
export const PIN = 'pin';
/** The publisher that leads. */
export const LEADER = 'leader';
/** Whether new images are candidates. */
export const CANARY = 'canary';
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

/** The last choice of an operator; null if there was none, or if the record is malformed. */
export async function readPin(store: Store): Promise<Pin | null> {
  const pin = await readJson<Pin>(store, PIN);
  if (pin === null) return null;
  const sequence = isPossible(pin.sequence) ? Math.max(0, pin.sequence) : 0;
  return { id: typeof pin.id === 'string' ? pin.id : null, sequence };
}

/**
 * Written when a canary reports. The record stays when the canary is gone, until an operator replaces the
 * record.
 */
export interface CanaryRecord {
  readonly isExpected: boolean;
}

/** Null if no canary has ever reported in this store, or if the store lost the record. */
export async function readCanary(store: Store): Promise<boolean | null> {
  const record = await readJson<CanaryRecord>(store, CANARY);
  return record === null ? null : record.isExpected === true;
}

/** Whether an unsigned sequence may be right. Without this check, one forged record would stop announcements for good. */
export function isPossible(sequence: unknown): sequence is number {
  return Number.isSafeInteger(sequence) && Number(sequence) <= Date.now() + SEQUENCE_AHEAD_MS_MAX;
}

/**
 * A sequence greater than all given ones. The sequence comes from the clock, so it does not go back even if a
 * store is lost.
 */
export function sequenceAfter(...earlier: readonly (number | undefined)[]): number {
  return Math.max(Date.now(), ...earlier.map((each = 0) => each + 1));
}

export interface Lease {
  readonly owner: string;
  /** Counts renewals, so that each renewal changes the record. */
  readonly beat: number;
  /** By the owner's clock, for people only. Earlier versions do not write it. */
  readonly renewedAtMs?: number;
}

/** A position in the order of announcements. */
export interface Floor {
  /** Id of the store's series of announcements. */
  readonly epoch: string;
  /** Grows with each announcement. */
  readonly sequence: number;
}

/** A replica's report on itself, every few seconds. */
export interface ReplicaReport {
  /** Name of the replica. */
  readonly name: string;
  /** Version of Lectern that the replica runs. */
  readonly version: string;
  /** Whether the replica serves candidates. */
  readonly isCanary: boolean;
  /** Formats of image files that the replica reads. */
  readonly formats: readonly number[];
  /** The announcement that the replica serves; null if it serves none. */
  readonly serves:
    | (Floor & {
        /** Id of the image's content. */
        readonly id: string;
        /** Name of the image in the store. */
        readonly hash: string;
      })
    | null;
  /** The last head that the replica served. The replica refuses heads with a lower sequence. */
  readonly floor: Floor | null;
  /** Hash of an image that the replica fetches now. */
  readonly fetching: string | null;
  /** Hash of an image whose object is missing or has wrong bytes. */
  readonly damaged: string | null;
  /** Hashes of images that the replica refuses to serve. */
  readonly quarantined: readonly string[];
  /** Why the last attempt to serve the head failed; null if it succeeded. */
  readonly lastError: string | null;
  /** Grows with each report. */
  readonly beat: number;
}

/** The key of the last head of an image, by the image's id. Images that were only candidates have no such record. */
export function announcedKey(id: string): string {
  return ANNOUNCED + id;
}

export function replicaKey(name: string): string {
  return REPLICA + name;
}

/** Null if there is no record, or if it is malformed. */
export async function readJson<T>(
  store: Store,
  key: string,
): Promise<(T & { readonly revision: number }) | null> {
  const record = await store.read(key);
  if (record === null) return null;
  try {
    const value = JSON.parse(record.text) as T | null;
    return typeof value === 'object' && value !== null ? { ...value, revision: record.revision } : null;
  } catch {
    return null;
  }
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

/** The texts of all announced heads, by key. */
export async function announcedTexts(store: Store, keys: readonly string[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const key of keys.filter((each) => each.startsWith(ANNOUNCED))) {
    const record = await store.read(key);
    if (record !== null) texts.set(key, record.text);
  }
  return texts;
}

/** The reports of replicas, by key. */
export async function readReports(
  store: Store,
  keys: readonly string[],
): Promise<Map<string, ReplicaReport & { readonly revision: number }>> {
  const reports = new Map<string, ReplicaReport & { readonly revision: number }>();
  for (const key of keys.filter((each) => each.startsWith(REPLICA))) {
    const report = await readJson<ReplicaReport>(store, key);
    if (report !== null && Array.isArray(report.formats)) reports.set(key, report);
  }
  return reports;
}

/** `1 replica cannot read: a`, `2 replicas cannot read: a, b`. */
export function tellUnable(names: readonly string[]): string {
  const named = names.slice(0, REPLICAS_NAMED_MAX).join(', ');
  return `${names.length} replica${names.length === 1 ? '' : 's'} cannot read: ${named}`;
}
