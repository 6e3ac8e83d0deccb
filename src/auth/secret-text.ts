/** RFC 7518 section 3.2: at least as long as the hash's output. */
export const SECRET_BYTES_MIN = 32;

/** By prefix: the two alphabets of RFC 4648 sections 4 and 5. */
const ENCODINGS = {
  'base64:': { encoding: 'base64', characters: /^[A-Za-z0-9+/]*={0,2}$/ },
  'base64url:': { encoding: 'base64url', characters: /^[A-Za-z0-9_-]*={0,2}$/ },
} as const;

/**
 * The bytes of an HS256 secret. A text counts as UTF-8, unless it begins with `base64:` or `base64url:`: so random bytes can be
 * given as text. White space in base64 does not count, since tools wrap long lines; padding may be left out.
 *
 * @returns the bytes, or what is wrong as a clause, "it …". The clause repeats nothing of the secret.
 */
export function secretBytes(secret: string | Uint8Array): Uint8Array | string {
  const bytes = typeof secret === 'string' ? bytesOfText(secret) : secret;
  if (typeof bytes === 'string' || bytes.byteLength >= SECRET_BYTES_MIN) return bytes;
  return `it has ${bytes.byteLength} bytes; HS256 needs at least ${SECRET_BYTES_MIN}`;
}

function bytesOfText(text: string): Uint8Array | string {
  const [prefix, form] = Object.entries(ENCODINGS).find(([start]) => text.startsWith(start)) ?? [];
  if (prefix === undefined || form === undefined) return Buffer.from(text, 'utf8');
  const written = text.slice(prefix.length).replace(/[ \t\r\n]/g, '');
  const digits = written.replace(/=+$/, '');
  const bytes = Buffer.from(digits, form.encoding);
  const isPadded = written.length > digits.length;
  // Node skips what it cannot read, so the way back shows whether all of it was read.
  const isWhole = bytes.toString(form.encoding).replace(/=+$/, '') === digits;
  if (form.characters.test(written) && isWhole && (!isPadded || written.length % 4 === 0)) return bytes;
  return `it begins with ${prefix}, but what follows is not ${form.encoding} (RFC 4648)`;
}
