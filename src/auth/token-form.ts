/** The form of a token, before verification. */
import { decodeProtectedHeader } from 'jose';
import { TOKEN_BYTES_MAX } from '../limits.js';
import type { TokenHeader } from './key-set.js';

const PARTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The unused bits of the last character, by the length modulo 4. A remainder of 1 cannot occur. */
const SPARE_BITS = [0, null, 0b1111, 0b11] as const;

/** RFC 4648 section 3.5. */
function isCanonicalBase64url(part: string): boolean {
  const spare = SPARE_BITS[part.length % 4] ?? null;
  return spare !== null && (ALPHABET.indexOf(part.charAt(part.length - 1)) & spare) === 0;
}

/**
 * RFC 7515 section 7.1. Only canonical base64url is accepted, because every other spelling would need another
 * place in the token cache.
 */
export function describeTokenShapeFault(token: string): string | null {
  if (token.length > TOKEN_BYTES_MAX) return `The token is longer than ${TOKEN_BYTES_MAX} bytes.`;
  const parts = PARTS.exec(token);
  if (parts === null) return 'The token is not a signed JWT of three base64url parts.';
  for (let i = 1; i <= 3; i++) {
    if (!isCanonicalBase64url(parts[i] as string)) return 'A part of the token is not canonical base64url.';
  }
  return null;
}

/** Keys and key addresses in a header are never used. */
export interface ReadHeader extends TokenHeader {
  readonly typ: unknown;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = '\ufeff';
/** Escaped surrogate pairs, and escaped backslashes, because "ud800" after such a backslash is plain text. */
const WHOLE_ESCAPES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\/g;
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * Why JSON parsers may disagree on a part of a token (RFC 8259 section 8, RFC 7515 section 5.2 step 3),
 * worded as the end of a sentence. Some parsers accept a byte order mark and lone surrogates.
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
    return 'has half of a surrogate pair, which is not a character';
  }
  return null;
}

/**
 * The header, or its fault, worded as the end of a sentence. Extensions (RFC 7515 section 4.1.11), `b64` (RFC
 * 7797) and nested tokens (RFC 7519 section 5.2) are refused, other parameters ignored (RFC 7515 section 4).
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
  if (typeof alg !== 'string') return 'has no "alg" string';
  if (kid !== undefined && typeof kid !== 'string') return 'has a "kid" that is not a string';
  if (cty !== undefined && typeof cty !== 'string') return 'has a "cty" that is not a string';
  if (cty !== undefined && mediaTypeOf(cty) === 'jwt') return 'declares a nested token ("cty")';
  if (Object.hasOwn(header, 'crit')) return 'has "crit", but no extension is supported';
  if (Object.hasOwn(header, 'b64')) return 'has "b64", which a JWT must not have';
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
