import { isIPv4 } from 'node:net';
import { optionInvalid } from '../../base/errors.js';
import { shortDigest } from '../../base/model/derived-identifier.js';

/** @throws LecternError `option-invalid`; the message shows no possible secret */
export function parseAddress(text: string, what = 'the address of the source'): URL {
  // The constructor's error holds the whole text, so it is not passed on as the cause.
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    const found = url === null ? 'it cannot be parsed' : `its scheme is ${url.protocol.slice(0, -1)}`;
    throw optionInvalid(`${what} is not valid: ${found}; expected http://… or https://…`);
  }
  return url;
}

/** Whether only this machine can answer at a host of a URL. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}

/** A long name with letters and digits, and its ending. Private addresses of calendars have their secret in the path. */
const LONG_NAME = /^(?=[^/]*\d)(?=[^/]*[a-z])[^/]{20,}?(\.[a-z]{1,8})?$/i;

/**
 * The address for messages, without possible secrets: credentials, query values, and long names with digits in
 * the path.
 */
export function redactAddress(url: URL): string {
  const path = url.pathname.split('/').map((name) => name.replace(LONG_NAME, '…$1'));
  const names = [...url.searchParams].map(([name, value]) =>
    // A parameter without a value may be a secret itself.
    value === '' ? '…' : `${encodeURIComponent(name)}=…`,
  );
  return `${url.origin}${path.join('/')}${names.length === 0 ? '' : '?'}${names.join('&')}`;
}

/** Identifies an address without showing the address: 22 base64url characters. */
export function addressDigest(url: URL): string {
  const { href } = withoutCredentials(url);
  return shortDigest(href);
}

/** The address to request. Credentials are sent in a header field, and fragments never (RFC 9110 section 7.1). */
export function withoutCredentials(url: URL): URL {
  const bare = new URL(url.href);
  bare.username = '';
  bare.password = '';
  bare.hash = '';
  return bare;
}

/** The target of a redirect or link, which cannot choose credentials or lead from https to http. */
export function resolveReference(reference: string, from: URL): URL | { readonly problem: string } {
  if (!URL.canParse(reference, from.href)) return { problem: 'to an invalid address' };
  const url = withoutCredentials(new URL(reference, from));
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { problem: `to an address of the scheme ${url.protocol.slice(0, -1)}; expected http or https` };
  }
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    return { problem: `from https to ${redactAddress(url)}, which is not encrypted` };
  }
  return url;
}
