import type { IncomingHttpHeaders } from 'node:http';
import { addressDigest } from '../../upstream/address.js';
import type { RequestHeaders } from '../../upstream/call.js';

/** RFC 9110 section 8.8.3. */
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;
/** A date counts whole seconds, so a second change within one does not show. */
const DATE_RESOLUTION_MS = 1000;

/** Address and validator of an answer (RFC 9110 section 8.8) as a version. Null where no validator can be relied on. */
export function versionOf(url: URL, headers: IncomingHttpHeaders): string | null {
  const { etag, date, 'last-modified': lastModified } = headers;
  if (etag !== undefined && ENTITY_TAG.test(etag)) return JSON.stringify({ url: addressDigest(url), etag });
  if (lastModified === undefined || date === undefined) return null;
  // Section 8.8.2.2: then the date is a strong validator. Dates that cannot be parsed compare as false.
  const isSettled = Date.parse(date) - Date.parse(lastModified) >= DATE_RESOLUTION_MS;
  return isSettled ? JSON.stringify({ url: addressDigest(url), lastModified }) : null;
}

/** The condition for an address (RFC 9110 section 13.1); empty for a version of another. A version may come from a file. */
export function conditionalHeaders(previous: string | null, url: URL): RequestHeaders {
  let version: unknown;
  try {
    version = JSON.parse(previous ?? 'null');
  } catch {
    return {};
  }
  const { url: digest, etag, lastModified } = (version ?? {}) as Readonly<Record<string, unknown>>;
  if (digest !== addressDigest(url)) return {};
  if (typeof etag === 'string' && ENTITY_TAG.test(etag)) return { 'if-none-match': etag };
  if (typeof lastModified !== 'string' || Number.isNaN(Date.parse(lastModified))) return {};
  return { 'if-modified-since': new Date(lastModified).toUTCString() };
}
