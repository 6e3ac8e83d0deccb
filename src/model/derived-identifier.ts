/** Name-based UUIDs for texts that are no UUIDs (RFC 9562 section 5.5). Equal texts of one field get equal UUIDs, in every load. */
import { createHash } from 'node:crypto';
import type { FieldName } from './fields.js';

/** The root of all namespaces, drawn once. Another one would change every derived identifier. */
const ROOT = '5c04556c-e5e7-4f0c-88fc-fc2724c8fa91';

const namespaces = new Map<FieldName, Buffer>();

/** @param text is compared in Unicode NFC */
export function derivedIdentifier(field: FieldName, text: string): string {
  let namespace = namespaces.get(field);
  if (namespace === undefined) {
    namespace = nameBased(Buffer.from(ROOT.replaceAll('-', ''), 'hex'), field);
    namespaces.set(field, namespace);
  }
  const hex = nameBased(namespace, text.normalize('NFC')).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

function nameBased(namespace: Buffer, name: string): Buffer {
  const bytes = createHash('sha1').update(namespace).update(name, 'utf8').digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes;
}
