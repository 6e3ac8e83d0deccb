import { CURSOR_CHARACTERS_MAX } from '../limits.js';
import { CONFLICT_DIMENSIONS, type ConflictBy } from '../model/fields.js';
import type { ConflictCursor, EventCursor } from './query.js';

/**
 * A cursor is a sort key in base64url of JSON, so it means the same place whichever snapshot or replica reads it. The
 * first element says which kind of list it belongs to.
 */

export function encodeEventCursor(cursor: EventCursor): string {
  return encode(['e', cursor.timeMs, cursor.endTimeMs, cursor.id]);
}

export function encodeConflictCursor(cursor: ConflictCursor): string {
  return encode(['c', cursor.startMs, cursor.endMs, cursor.by, cursor.key]);
}

/** Null where the text is not an event cursor. */
export function decodeEventCursor(text: string): EventCursor | null {
  const parts = decode(text, 'e', 4);
  if (parts === null) return null;
  const [, timeMs, endTimeMs, id] = parts;
  if (!isInstant(timeMs) || !isInstant(endTimeMs) || typeof id !== 'string') return null;
  return { timeMs, endTimeMs, id };
}

/** Null where the text is not a conflict cursor. */
export function decodeConflictCursor(text: string): ConflictCursor | null {
  const parts = decode(text, 'c', 5);
  if (parts === null) return null;
  const [, startMs, endMs, by, key] = parts;
  if (!isInstant(startMs) || !isInstant(endMs) || !isConflictBy(by) || typeof key !== 'string') return null;
  return { startMs, endMs, by, key };
}

function encode(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts), 'utf8').toString('base64url');
}

function decode(text: string, kind: string, length: number): unknown[] | null {
  if (text.length > CURSOR_CHARACTERS_MAX || !/^[\w-]+$/.test(text)) return null;
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
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
