import { createHash } from 'node:crypto';

/** A digest of the OpenAPI document that does not depend on the version of the package. @param {string} text */
export function documentDigest(text) {
  const document = JSON.parse(text);
  document.info.version = '';
  return createHash('sha256').update(JSON.stringify(document)).digest('hex').slice(0, 16);
}
