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
  const bytes = Buffer.from(record);
  const prefix = Buffer.allocUnsafe(RECORD_PREFIX_UNITS);
  writeRecordPrefix(bytes, 0, bytes.length, prefix);
  return prefix.toString('latin1');
}

/** The same from and to bytes. */
export function writeRecordPrefix(record: Uint8Array, from: number, to: number, target: Uint8Array): void {
  mix(record, from, to);
  const [high, low] = MIXED as unknown as readonly [number, number];
  writeHex(high, 8, target, 0);
  target[8] = target[13] = HYPHEN;
  writeHex(low >>> 16, 4, target, 9);
  target[14] = VERSION;
  writeHex(low, 3, target, 15);
}

/** The other half, `-xxxx-xxxxxxxxxxxx`, of the identifier of one of these rows, by its values: 62 bits. */
export function rowHalf(values: string): Buffer {
  const bytes = Buffer.from(values);
  mix(bytes, 0, bytes.length);
  const [high, low] = MIXED as unknown as readonly [number, number];
  const variant = (high & 0x3fffffff) | 0x80000000;
  const half = Buffer.allocUnsafe(RECORD_PREFIX_UNITS);
  half[0] = half[5] = HYPHEN;
  writeHex(variant >>> 16, 4, half, 1);
  writeHex(variant, 4, half, 6);
  writeHex(low, 8, half, 10);
  return half;
}

const HYPHEN = 0x2d;
const VERSION = 0x35;
const DIGITS = Buffer.from('0123456789abcdef');
/** Two words that depend on every byte of the text mixed last. */
const MIXED = new Int32Array(2);

function mix(bytes: Uint8Array, from: number, to: number): void {
  let a = 0x811c9dc5;
  let b = 0x2b5a7f31;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    a = Math.imul(a ^ byte, 0x01000193);
    a ^= a >>> 15;
    b = Math.imul(b ^ byte, 0x5bd1e995);
    b ^= b >>> 13;
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b);
  b = Math.imul(b ^ (b >>> 15), 0xc2b2ae35);
  MIXED[0] = a ^ (b >>> 16);
  MIXED[1] = b ^ (a >>> 13);
}

/** Writes the last digits of a word. */
function writeHex(word: number, digits: number, target: Uint8Array, at: number): void {
  for (let n = digits - 1, rest = word; n >= 0; n--, rest >>>= 4)
    target[at + n] = DIGITS[rest & 15] as number;
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
