/** The bearer token in an Authorization header. */
export type Credential =
  | { readonly kind: 'token'; readonly token: string }
  /** No header, or another scheme: the challenge has no error code (RFC 6750 section 3.1). */
  | { readonly kind: 'missing' }
  /** RFC 6750 section 3.1, `invalid_request`. */
  | { readonly kind: 'malformed'; readonly detail: string };

const MISSING: Credential = { kind: 'missing' };

const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

export const TOKEN_CHARACTERS = 'letters, digits and "-._~+/", with "=" only at the end';

/** Null for a text that is long enough and can be sent as a bearer token. The fault never contains the text. */
export function tokenFault(text: string, charactersMin: number): string | null {
  if (text.length < charactersMin)
    return `it has ${text.length} characters; expected at least ${charactersMin}`;
  if (B64TOKEN.test(text)) return null;
  return `it has characters that are not allowed in a bearer token; expected ${TOKEN_CHARACTERS}`;
}

/** RFC 6750 section 2.1. @param times the number of Authorization headers */
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
    return malformed(
      'The token in the Authorization header has characters that are not allowed in a bearer token.',
    );
  }
  return { kind: 'token', token };
}

function malformed(detail: string): Credential {
  return { kind: 'malformed', detail };
}
