/** The Authorization header before anything is verified. */
import { TOKEN_BYTES_MAX } from '../limits.js';

export type Credential =
  | { readonly kind: 'token'; readonly token: string }
  /** No header, or another scheme: the challenge has no error code (RFC 6750 section 3.1). */
  | { readonly kind: 'missing' }
  /** RFC 6750 section 3.1, `invalid_request`. */
  | { readonly kind: 'malformed'; readonly detail: string };

const MISSING: Credential = { kind: 'missing' };

const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** RFC 6750 section 2.1. @param times how often the header was sent */
export function readCredential(value: string | undefined, times: number): Credential {
  if (times > 1) return malformed('The Authorization header is given more than once; send it once.');
  if (value === undefined) return MISSING;
  const schemeEnd = value.indexOf(' ');
  const scheme = schemeEnd < 0 ? value : value.slice(0, schemeEnd);
  if (scheme !== 'Bearer' && scheme.toLowerCase() !== 'bearer') return MISSING;
  // RFC 9110 section 11.4 allows several spaces between scheme and token.
  const token = schemeEnd < 0 ? '' : value.slice(schemeEnd).replace(/^ +/, '');
  if (token === '') return malformed('The Authorization header says Bearer but has no token after it.');
  if (token.includes(' ')) return malformed('The Authorization header has more than one part after Bearer.');
  if (!B64TOKEN.test(token)) {
    return malformed('The token in the Authorization header has characters that no bearer token has.');
  }
  return { kind: 'token', token };
}

function malformed(detail: string): Credential {
  return { kind: 'malformed', detail };
}

const PARTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** By length modulo 4: unused bits of the last character. A remainder of 1 cannot occur. */
const SPARE_BITS = [0, null, 0b1111, 0b11] as const;

/** RFC 4648 section 3.5. */
function isCanonicalBase64url(part: string): boolean {
  const spare = SPARE_BITS[part.length % 4] ?? null;
  return spare !== null && (ALPHABET.indexOf(part.charAt(part.length - 1)) & spare) === 0;
}

/** RFC 7515 section 7.1. Only canonical base64url: each other spelling would take a place in the token cache. */
export function describeTokenShapeFault(token: string): string | null {
  if (token.length > TOKEN_BYTES_MAX) return `The token is longer than ${TOKEN_BYTES_MAX} bytes.`;
  const parts = PARTS.exec(token);
  if (parts === null) return 'The token is not a signed JWT of three base64url parts.';
  for (let i = 1; i <= 3; i++) {
    if (!isCanonicalBase64url(parts[i] as string)) return 'A part of the token is not canonical base64url.';
  }
  return null;
}
