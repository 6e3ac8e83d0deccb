import type { IncomingHttpHeaders } from 'node:http';
import { addressDigest } from '../../upstream/address.js';
import type { RequestHeaders } from '../../upstream/call.js';

/**
 * The version of what an address gives, and how to ask whether it is still the same: RFC 9110 sections 8.8 and 13.1.
 *
 * A version is JSON: a digest of the address that answered in the end, since a validator says nothing of another
 * address, and the entity tag or else the date.
 */
interface Version {
  readonly url: string;
  readonly etag?: string;
  readonly lastModified?: string;
}

/** RFC 9110 section 8.8.3. */
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;
/** A date counts whole seconds: what was made within the same one could be changed again without its changing. */
const DATE_RESOLUTION_MS = 1000;

/** @returns null where the answer has no validator that can be relied on */
export function versionOf(url: URL, headers: IncomingHttpHeaders): string | null {
  const { etag, date } = headers;
  const lastModified = headers['last-modified'];
  if (etag !== undefined && ENTITY_TAG.test(etag)) return format({ url: addressDigest(url), etag });
  if (lastModified === undefined || date === undefined) return null;
  // Section 8.8.2.2: then the date is as good as a strong validator. Not so where a date cannot be parsed.
  const isSettled = Date.parse(date) - Date.parse(lastModified) >= DATE_RESOLUTION_MS;
  return isSettled ? format({ url: addressDigest(url), lastModified }) : null;
}

/** The condition for one address: empty where `previous` is of another, or is none of ours. */
export function conditionalHeaders(previous: string | null, url: URL): RequestHeaders {
  const version = previous === null ? null : parse(previous);
  if (version === null || version.url !== addressDigest(url)) return {};
  if (version.etag !== undefined) return { 'if-none-match': version.etag };
  return version.lastModified === undefined ? {} : { 'if-modified-since': version.lastModified };
}

/** Whether a condition was put to this address, so that 304 is an answer to it. */
export function isConditional(previous: string | null, url: URL): boolean {
  return Object.keys(conditionalHeaders(previous, url)).length > 0;
}

function format(version: Version): string {
  return JSON.stringify(version);
}

/** It may come from a file on disk, so nothing about it is certain. */
function parse(text: string): Version | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { url, etag, lastModified } = value as Readonly<Record<string, unknown>>;
  if (typeof url !== 'string') return null;
  if (typeof etag === 'string' && ENTITY_TAG.test(etag)) return { url, etag };
  if (typeof lastModified !== 'string' || Number.isNaN(Date.parse(lastModified))) return null;
  return { url, lastModified: new Date(lastModified).toUTCString() };
}
