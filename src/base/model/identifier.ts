import { derivedIdentifier } from './derived-identifier.js';
import type { IdentifierMode } from './event.js';
import type { FieldName } from './fields.js';
import { normaliseText } from './text.js';

/** The text form of RFC 9562 section 4, with any variant and version. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const LOWER_CASE_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Counted in code points, for `any` mode. */
export const IDENTIFIER_CHARACTERS_MAX = 64;

export function isUuid(text: string): boolean {
  return text.length === UUID_LENGTH && UUID.test(text);
}

/** The canonical form, or null for other texts. */
export function parseIdentifier(text: string, mode: IdentifierMode, field: FieldName): string | null {
  if (mode !== 'any') {
    if (LOWER_CASE_UUID.test(text)) return text;
    if (UUID.test(text)) return text.toLowerCase();
    return mode === 'derived' && text !== '' && normaliseText(text) !== null
      ? derivedIdentifier(field, text)
      : null;
  }
  if (text.length === 0 || !text.isWellFormed()) return null;
  // A code point has at most two UTF-16 units, so only lengths between these two bounds need counting.
  if (text.length <= IDENTIFIER_CHARACTERS_MAX) return text;
  if (text.length > 2 * IDENTIFIER_CHARACTERS_MAX) return null;
  return [...text].length <= IDENTIFIER_CHARACTERS_MAX ? text : null;
}

/**
 * A whole number as an identifier of `any` mode; null for other values. JSON numbers beyond 2^53 are refused,
 * because parsing has lost digits. A bigint is a 64-bit integer of MessagePack.
 */
export function digitsOf(value: unknown): string | null {
  if (typeof value === 'bigint') return BigInt.asIntN(65, value) === value ? String(value) : null;
  return Number.isSafeInteger(value) ? String(value) : null;
}

export function describeIdentifier(mode: IdentifierMode): string {
  if (mode === 'derived') return 'well-formed text of at least one character';
  return mode === 'uuid'
    ? 'a UUID such as 2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417'
    : `a string of 1 to ${IDENTIFIER_CHARACTERS_MAX} characters`;
}

const UUID_LENGTH = 36;
const IS_DIGIT: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  /^[0-9a-f]$/.test(String.fromCharCode(byte)) ? 1 : 0,
);
const HYPHEN = 0x2d;

export function isCanonicalUuid(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== UUID_LENGTH || to > bytes.length) return false;
  let digits = 1;
  for (let at = from; at < to; at++) {
    const place = at - from;
    if (place === 8 || place === 13 || place === 18 || place === 23) {
      if (bytes[at] !== HYPHEN) return false;
    } else digits &= IS_DIGIT[bytes[at] as number] as number;
  }
  return digits === 1;
}
