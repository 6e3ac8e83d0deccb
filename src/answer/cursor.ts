import { isUtf8 } from 'node:buffer';
import { CURSOR_CHARACTERS_MAX } from '../base/limits.js';
import { CONFLICT_DIMENSIONS, type ConflictBy } from '../base/model/fields.js';
import { firstWhere } from '../base/structures/search.js';
import type { ClusterKey } from '../snapshot/cluster-reader.js';
import type { EventKey } from '../snapshot/snapshot.js';
import { compareDirectoryKeys, type Directory, type DirectoryKey } from './directory.js';

/**
 * A cursor is the sort key after which a page continues, so that all snapshots and replicas can read it: base64url of a
 * JSON array, whose first element is the kind of list, and of a name after a line break. JSON would make some names six
 * times as long.
 */
export function encodeEventCursor(cursor: EventKey): string {
  return encode(['e', cursor.timeMs, cursor.endTimeMs, cursor.id]);
}

export function encodeConflictCursor({ startMs, endMs, by, key }: ClusterKey): string {
  return encode(['c', startMs, endMs, by], key);
}

/** @param list the name of a directory, or `free` */
export function encodeDirectoryCursor(list: string, { name, id }: DirectoryKey): string {
  return encode([list, id], name);
}

/** The index of the first entry after a cursor. The cursor's own entry may no longer exist. */
export function placeAfter(
  directory: Pick<Directory, 'keyOf'>,
  entries: Uint32Array,
  cursor: DirectoryKey,
): number {
  const isAfter = (n: number): boolean => compareDirectoryKeys(directory.keyOf(entries[n]!), cursor) > 0;
  return firstWhere(0, entries.length, isAfter);
}

export function decodeEventCursor(text: string): EventKey | null {
  const { parts, name } = decode(text, 'e', 4);
  const [, timeMs, endTimeMs, id] = parts;
  if (!isInstant(timeMs) || !isInstant(endTimeMs) || typeof id !== 'string' || name !== null) return null;
  return { timeMs, endTimeMs, id };
}

export function decodeConflictCursor(text: string): ClusterKey | null {
  const { parts, name: key } = decode(text, 'c', 4);
  const [, startMs, endMs, by] = parts;
  return isInstant(startMs) && isInstant(endMs) && isConflictBy(by) && key !== null
    ? { startMs, endMs, by, key }
    : null;
}

export function decodeDirectoryCursor(list: string, text: string): DirectoryKey | null {
  const { parts, name } = decode(text, list, 2);
  const [, id] = parts;
  return id === null || typeof id === 'string' ? { name, id } : null;
}

function encode(parts: readonly (string | number | null)[], name: string | null = null): string {
  const text = JSON.stringify(parts) + (name === null ? '' : `\n${name}`);
  return Buffer.from(text, 'utf8').toString('base64url');
}

interface Decoded {
  /** Empty for a text that is not a cursor of this kind. */
  readonly parts: readonly unknown[];
  readonly name: string | null;
}

const NO_CURSOR: Decoded = { parts: [], name: null };

function decode(text: string, kind: string, length: number): Decoded {
  if (text.length > CURSOR_CHARACTERS_MAX) return NO_CURSOR;
  const bytes = Buffer.from(text, 'base64url');
  // Node skips characters that are not base64url.
  if (bytes.toString('base64url') !== text || !isUtf8(bytes)) return NO_CURSOR;
  const written = bytes.toString('utf8');
  const end = written.indexOf('\n');
  try {
    const parts: unknown = JSON.parse(end === -1 ? written : written.slice(0, end));
    if (!Array.isArray(parts) || parts.length !== length || parts[0] !== kind) return NO_CURSOR;
    return { parts, name: end === -1 ? null : written.slice(end + 1) };
  } catch {
    return NO_CURSOR;
  }
}

function isInstant(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isConflictBy(value: unknown): value is ConflictBy {
  return CONFLICT_DIMENSIONS.some((dimension) => dimension.by === value);
}
