/** The header of a token, read before its signature is verified. */
import { decodeProtectedHeader } from 'jose';
import type { TokenHeader } from './key-set.js';

/** Keys and key addresses in a header are never used. */
export interface ReadHeader extends TokenHeader {
  readonly typ: unknown;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = '\ufeff';
/** Escaped surrogate pairs; and escaped backslashes, since "ud800" behind one is plain text. */
const WHOLE_ESCAPES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\/g;
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * Why JSON parsers may differ on a part of a token (RFC 8259 section 8, RFC 7515 section 5.2 step 3), as the end of a sentence.
 * Parsers accept a byte order mark and lone surrogates.
 */
export function describeTextFault(part: string): string | null {
  let text: string;
  try {
    text = UTF8.decode(Buffer.from(part, 'base64url'));
  } catch {
    return 'is not UTF-8';
  }
  if (text.startsWith(BYTE_ORDER_MARK)) {
    return 'begins with a byte order mark; it must be JSON and nothing else';
  }
  if (text.includes('\\u') && LONE_SURROGATE.test(text.replace(WHOLE_ESCAPES, ' '))) {
    return 'has half of a surrogate pair, which is no character';
  }
  return null;
}

/**
 * The header, or its fault as the end of a sentence. Extensions (RFC 7515 section 4.1.11), `b64` (RFC 7797) and nested tokens
 * (RFC 7519 section 5.2) are refused, other parameters ignored (RFC 7515 section 4).
 */
export function readHeader(token: string): ReadHeader | string {
  const textFault = describeTextFault(token.slice(0, token.indexOf('.')));
  if (textFault !== null) return textFault;
  let header: Readonly<Record<string, unknown>>;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    return 'is not a JSON object';
  }
  const { alg, kid, typ, cty } = header;
  if (typeof alg !== 'string') return 'has no "alg" that is a text';
  if (kid !== undefined && typeof kid !== 'string') return 'has a "kid" that is not a text';
  if (cty !== undefined && typeof cty !== 'string') return 'has a "cty" that is not a text';
  if (cty !== undefined && mediaTypeOf(cty) === 'jwt') return 'says that there is a token in the token';
  if (Object.hasOwn(header, 'crit')) return 'has "crit", of which no extension is understood';
  if (Object.hasOwn(header, 'b64')) return 'has "b64", which no JWT may have';
  return { alg, kid, typ };
}

/** RFC 7515 section 4.1.9. */
function mediaTypeOf(text: string): string {
  return text.toLowerCase().replace(/^application\//, '');
}

/** RFC 9068 section 4. */
export function isAccessTokenType(typ: unknown): boolean {
  return typeof typ === 'string' && mediaTypeOf(typ) === 'at+jwt';
}
