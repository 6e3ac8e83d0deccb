/** Name-based UUIDs for texts that are not UUIDs (RFC 9562 section 5.5). Equal texts of one field get equal UUIDs, in every load. */
import { hash } from 'node:crypto';
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
