import { createHash } from 'node:crypto';
import { CURSOR_CHARACTERS_MAX, CURSOR_KEY_UNITS_MAX } from '../limits.js';
import { CONFLICT_DIMENSIONS, type ConflictBy } from '../model/fields.js';
import type { ClusterKey, Clusters } from '../snapshot/cluster-reader.js';
import type { EventKey } from '../snapshot/snapshot.js';
import { firstWhere } from '../structures/search.js';
import { compareDirectoryKeys, type Directory, type DirectoryKey } from './directory.js';

/** The sort key after which a page of conflicts continues. A very long key is cut. */
export interface ConflictCursor extends ClusterKey {
  readonly keyDigest: string | null;
}

/** The entry after which a page of a directory continues. A very long name is cut. */
export interface DirectoryCursor extends DirectoryKey {
  readonly nameDigest: string | null;
}

/**
 * Cursors are base64url of JSON, so that all snapshots and replicas can read them. The first element is the
 * kind of list.
 */
export function encodeEventCursor(cursor: EventKey): string {
  return encode(['e', cursor.timeMs, cursor.endTimeMs, cursor.id]);
}

/** Cursors must fit into a request target, so a long key is cut and followed by a digest. */
export function encodeConflictCursor({ startMs, endMs, by, key }: ClusterKey): string {
  return key.length <= CURSOR_KEY_UNITS_MAX
    ? encode(['c', startMs, endMs, by, key])
    : encode(['c', startMs, endMs, by, beginningOf(key), digestOf(key)]);
}

/** The first cluster after a cursor. The cursor's own cluster may no longer exist. */
export function clusterAfter(clusters: Clusters, cursor: ConflictCursor): number {
  const { keyDigest } = cursor;
  if (keyDigest === null) return clusters.clusterAfter(cursor);
  const first = clusters.clusterFrom(cursor);
  for (let cluster = first; cluster < clusters.count; cluster++) {
    const { startMs, endMs, by, key } = clusters.keyOf(cluster);
    if (startMs !== cursor.startMs || endMs !== cursor.endMs || by !== cursor.by) break;
    if (!key.startsWith(cursor.key)) break;
    if (digestOf(key) === keyDigest) return cluster + 1;
  }
  return first;
}

/** @param list the name of a directory, or `free` */
export function encodeDirectoryCursor(list: string, { name, id }: DirectoryKey): string {
  return name === null || name.length <= CURSOR_KEY_UNITS_MAX
    ? encode([list, name, id])
    : encode([list, beginningOf(name), id, digestOf(name)]);
}

/** The index of the first entry after a cursor. The cursor's own entry may no longer exist. */
export function placeAfter(
  directory: Pick<Directory, 'keyOf'>,
  entries: Uint32Array,
  cursor: DirectoryCursor,
): number {
  const placeFrom = (key: DirectoryKey, isAfter: (order: number) => boolean): number =>
    firstWhere(0, entries.length, (n) => isAfter(compareDirectoryKeys(directory.keyOf(entries[n]!), key)));
  const { nameDigest, name: beginning } = cursor;
  if (nameDigest === null || beginning === null) return placeFrom(cursor, (order) => order > 0);
  const first = placeFrom({ name: beginning, id: '' }, (order) => order >= 0);
  for (let n = first; n < entries.length; n++) {
    const { name } = directory.keyOf(entries[n]!);
    if (name === null || !name.startsWith(beginning)) break;
    if (digestOf(name) === nameDigest) return placeFrom({ name, id: cursor.id }, (order) => order > 0);
  }
  return first;
}

function beginningOf(key: string): string {
  const cut = key.slice(0, CURSOR_KEY_UNITS_MAX);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22);
}

export function decodeEventCursor(text: string): EventKey | null {
  const parts = decode(text, 'e', 4);
  if (parts === null) return null;
  const [, timeMs, endTimeMs, id] = parts;
  if (!isInstant(timeMs) || !isInstant(endTimeMs) || typeof id !== 'string') return null;
  return { timeMs, endTimeMs, id };
}

export function decodeConflictCursor(text: string): ConflictCursor | null {
  const parts = decode(text, 'c', 5) ?? decode(text, 'c', 6);
  if (parts === null) return null;
  const [, startMs, endMs, by, key, keyDigest = null] = parts;
  if (!isInstant(startMs) || !isInstant(endMs) || !isConflictBy(by) || typeof key !== 'string') return null;
  if (keyDigest !== null && typeof keyDigest !== 'string') return null;
  return { startMs, endMs, by, key, keyDigest };
}

export function decodeDirectoryCursor(list: string, text: string): DirectoryCursor | null {
  const parts = decode(text, list, 3) ?? decode(text, list, 4);
  if (parts === null) return null;
  const [, name, id, nameDigest = null] = parts;
  const isTextOrNull = (part: unknown): part is string | null => part === null || typeof part === 'string';
  return isTextOrNull(name) && isTextOrNull(id) && isTextOrNull(nameDigest) ? { name, id, nameDigest } : null;
}

function encode(parts: readonly (string | number | null)[]): string {
  return Buffer.from(JSON.stringify(parts), 'utf8').toString('base64url');
}

function decode(text: string, kind: string, length: number): unknown[] | null {
  if (text.length > CURSOR_CHARACTERS_MAX) return null;
  const bytes = Buffer.from(text, 'base64url');
  // Node skips characters that are not base64url.
  if (bytes.toString('base64url') !== text) return null;
  try {
    const parts: unknown = JSON.parse(bytes.toString('utf8'));
    return Array.isArray(parts) && parts.length === length && parts[0] === kind ? parts : null;
  } catch {
    return null;
  }
}

function isInstant(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isConflictBy(value: unknown): value is ConflictBy {
  return CONFLICT_DIMENSIONS.some((dimension) => dimension.by === value);
}
