/** Name-based UUIDs for texts that are not UUIDs (RFC 9562 section 5.5). Equal texts of one field get equal UUIDs, in every load. */
import { hash } from 'node:crypto';
import type { FieldName } from './fields.js';
import { normaliseText } from './text.js';

/** The root of all namespaces, chosen at random once. Another root would change every derived identifier. */
const ROOT = '5c04556c-e5e7-4f0c-88fc-fc2724c8fa91';
export const NAMESPACE_BYTES = 16;
/** The 16 bytes of a UUID in text form. */
export const UUID_BYTES = 36;
const UTF8_BYTES_PER_UNIT = 3;

const HYPHEN = 0x2d;
/** The two hexadecimal digits of each byte, the first of them in the lower eight bits. */
const HEX_PAIRS: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);

const namespaces = new Map<FieldName, Buffer>();

/** @param text is compared in Unicode NFC, or as it is if it cannot be normalised */
export function derivedIdentifier(field: FieldName, text: string): string {
  return nameBased(namespaceOf(field), normaliseText(text) ?? text);
}

/** The bytes hashed before a text of the field. */
export function namespaceOf(field: FieldName): Buffer {
  let namespace = namespaces.get(field);
  if (namespace === undefined) {
    const root = Buffer.from(ROOT.replaceAll('-', ''), 'hex');
    namespace = Buffer.from(nameBased(root, field).replaceAll('-', ''), 'hex');
    namespaces.set(field, namespace);
  }
  return namespace;
}

/**
 * Like derivedIdentifier, for the bytes of the namespace and a text in NFC. Writes UUID_BYTES at `at`. The name may be
 * a part of the same bytes.
 */
export function writeNameBased(name: Buffer, bytes: Buffer, at: number): void {
  const digest = hash('sha1', name, 'binary');
  let place = at;
  for (let n = 0; n < NAMESPACE_BYTES; n++) {
    let byte = digest.charCodeAt(n);
    if (n === 6) byte = (byte & 0x0f) | 0x50;
    if (n === 8) byte = (byte & 0x3f) | 0x80;
    if (n === 4 || n === 6 || n === 8 || n === 10) bytes[place++] = HYPHEN;
    const pair = HEX_PAIRS[byte] as number;
    bytes[place++] = pair & 0xff;
    bytes[place++] = pair >>> 8;
  }
}

function nameBased(namespace: Buffer, name: string): string {
  const bytes = Buffer.allocUnsafe(NAMESPACE_BYTES + UTF8_BYTES_PER_UNIT * name.length);
  namespace.copy(bytes);
  const length = NAMESPACE_BYTES + bytes.write(name, NAMESPACE_BYTES, 'utf8');
  const hex = hash('sha1', bytes.subarray(0, length), 'hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
