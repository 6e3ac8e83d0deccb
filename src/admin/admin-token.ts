import { hash, timingSafeEqual } from 'node:crypto';
import { readCredential } from '../auth/credential.js';
import { readTextFile } from '../auth/text-file.js';
import { LecternError } from '../errors.js';
import { ADMIN_TOKEN_CHARACTERS_MIN, ADMIN_TOKEN_FILE_BYTES_MAX } from '../limits.js';

/** Keeps only a digest of the token. */
export class AdminToken {
  readonly #digest: Buffer;

  /** @throws LecternError `key-invalid`, which never shows the token */
  constructor(token: string, name: string) {
    if (token.length < ADMIN_TOKEN_CHARACTERS_MIN) {
      const expected = `expected at least ${ADMIN_TOKEN_CHARACTERS_MIN}`;
      throw new LecternError('key-invalid', `${name} has ${token.length} characters; ${expected}`);
    }
    if (readCredential(`Bearer ${token}`, 1).kind !== 'token') {
      throw new LecternError(
        'key-invalid',
        `${name} has characters that are not allowed in a bearer token; expected letters, digits and "-._~+/", "=" at the end`,
      );
    }
    this.#digest = digestOf(token);
  }

  /** Takes equal time for all tokens of equal length. */
  equals(token: string): boolean {
    return timingSafeEqual(digestOf(token), this.#digest);
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Throws LecternError `key-invalid`. */
export async function readAdminToken(path: string): Promise<string> {
  const name = `the admin token file ${path}`;
  const text = await readTextFile(path, {
    name,
    bytesMax: ADMIN_TOKEN_FILE_BYTES_MAX,
    code: 'key-invalid',
  });
  const token = text.replace(/\r?\n$/, '');
  new AdminToken(token, name);
  return token;
}
