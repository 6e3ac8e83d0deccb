const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = '\ufeff';
/** An escaped pair of surrogates, or an escaped backslash, behind which "ud800" is plain text. */
const WHOLE_ESCAPES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\/g;
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * What keeps the bytes of a token's header or payload from being JSON that everybody reads alike (RFC 8259 section 8, RFC 7515 section
 * 5.2 step 3). Parsers forgive a byte order mark and lone surrogates; both are refused.
 *
 * @param part canonical base64url
 * @returns null where nothing does, else what follows "The header of the token"
 */
export function describeTextFault(part: string): string | null {
  let text: string;
  try {
    text = UTF8.decode(Buffer.from(part, 'base64url'));
  } catch {
    return 'is not UTF-8';
  }
  if (text.startsWith(BYTE_ORDER_MARK))
    return 'begins with a byte order mark; it must be JSON and nothing else';
  if (text.includes('\\u') && LONE_SURROGATE.test(text.replace(WHOLE_ESCAPES, ' '))) {
    return 'has half of a surrogate pair, which is no character';
  }
  return null;
}
