/** Name-based UUIDs for texts that are not UUIDs (RFC 9562 section 5.5). Equal texts of one field get equal UUIDs, in every load. */
import { createHash, hash } from 'node:crypto';
import type { FieldName } from './fields.js';
import { normaliseText } from './text.js';

/** The root of all namespaces, chosen at random once. Another root would change every derived identifier. */
const ROOT = '5c04556c-e5e7-4f0c-88fc-fc2724c8fa91';
const NAMESPACE_BYTES = 16;
const UTF8_BYTES_PER_UNIT = 3;

const namespaces = new Map<FieldName, Buffer>();

/** @param text is compared in Unicode NFC, or as it is if it cannot be normalised */
export function derivedIdentifier(field: FieldName, text: string): string {
  return nameBased(namespaceOf(field), normaliseText(text) ?? text);
}

/** 22 base64url characters, equal for equal texts. */
export function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');
}

/** `xxxxxxxx-xxxx-5xxx`: 60 bits, by which the rows of a record are found again. */
export const RECORD_PREFIX_UNITS = 18;

/**
 * The beginning of the identifiers of all rows that a record with several values has become. Two records of 10⁷ share
 * it with a probability of 4 · 10⁻⁵. A cryptographic hash would take a fifth of a load.
 */
export function recordPrefix(record: string): string {
  const [high, low] = mixed(record);
  return `${hexOf(high)}-${hexOf(low).slice(0, 4)}-5${hexOf(low).slice(5)}`;
}

/** The identifier of one of these rows, by its values: 62 bits. */
export function rowIdentifier(prefix: string, values: string): string {
  const [high, low] = mixed(values);
  const variant = hexOf((high & 0x3fffffff) | 0x80000000);
  return `${prefix}-${variant.slice(0, 4)}-${variant.slice(4)}${hexOf(low)}`;
}

/** Two words that depend on every unit of the text. */
function mixed(text: string): readonly [number, number] {
  let a = 0x811c9dc5;
  let b = 0x2b5a7f31;
  for (let n = 0; n < text.length; n++) {
    const unit = text.charCodeAt(n);
    a = Math.imul(a ^ unit, 0x01000193);
    a ^= a >>> 15;
    b = Math.imul(b ^ unit, 0x5bd1e995);
    b ^= b >>> 13;
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b);
  b = Math.imul(b ^ (b >>> 15), 0xc2b2ae35);
  return [a ^ (b >>> 16), b ^ (a >>> 13)];
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hexOf(word: number): string {
  return `${HEX[word >>> 24]}${HEX[(word >>> 16) & 0xff]}${HEX[(word >>> 8) & 0xff]}${HEX[word & 0xff]}`;
}

/** The bytes hashed before a text of the field. */
function namespaceOf(field: FieldName): Buffer {
  let namespace = namespaces.get(field);
  if (namespace === undefined) {
    const root = Buffer.from(ROOT.replaceAll('-', ''), 'hex');
    namespace = Buffer.from(nameBased(root, field).replaceAll('-', ''), 'hex');
    namespaces.set(field, namespace);
  }
  return namespace;
}

function nameBased(namespace: Buffer, name: string): string {
  const bytes = Buffer.allocUnsafe(NAMESPACE_BYTES + UTF8_BYTES_PER_UNIT * name.length);
  namespace.copy(bytes);
  const length = NAMESPACE_BYTES + bytes.write(name, NAMESPACE_BYTES, 'utf8');
  const hex = hash('sha1', bytes.subarray(0, length), 'hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
