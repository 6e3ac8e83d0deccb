/** The identifier of a text as RFC 9562 section 5.5 makes it: the UUID of a name in the namespace of its field. */
import { createHash } from 'node:crypto';

/** The root of the namespaces of all fields. */
const ROOT = '5c04556c-e5e7-4f0c-88fc-fc2724c8fa91';

function nameBased(namespace: string, name: string): string {
  const bytes = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name, 'utf8')
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function derivedIdentifier(field: string, text: string): string {
  return nameBased(nameBased(ROOT, field), text.normalize('NFC'));
}
