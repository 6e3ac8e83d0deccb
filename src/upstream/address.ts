import { createHash } from 'node:crypto';
import { LecternError } from '../errors.js';

/** @throws LecternError `option-invalid`; the message shows nothing that could be a secret */
export function parseAddress(text: string): URL {
  // The constructor's error holds the whole text, so it is not given as the cause.
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    const found = url === null ? 'it cannot be parsed' : `its scheme is ${url.protocol.slice(0, -1)}`;
    throw new LecternError(
      'option-invalid',
      `the address of the source is not valid: ${found}; expected http://… or https://…`,
    );
  }
  return url;
}

/** For messages: without credentials and values of query parameters, which may be secrets. */
export function redactAddress(url: URL): string {
  const names = [...url.searchParams.keys()].map((name) => `${encodeURIComponent(name)}=…`);
  return `${url.origin}${url.pathname}${names.length === 0 ? '' : '?'}${names.join('&')}`;
}

/** Identifies an address without showing it. 22 base64url characters. */
export function addressDigest(url: URL): string {
  const { href } = withoutCredentials(url);
  return createHash('sha256').update(href).digest().subarray(0, 16).toString('base64url');
}

/** Credentials are sent in a header field, fragments never (RFC 9110 section 7.1). */
export function withoutCredentials(url: URL): URL {
  const bare = new URL(url.href);
  bare.username = '';
  bare.password = '';
  bare.hash = '';
  return bare;
}

/** The target of a redirect or link. An upstream can neither choose credentials nor lead from https to http. */
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
