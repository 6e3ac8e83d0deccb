import { hash, timingSafeEqual } from 'node:crypto';
import { LecternError } from '../errors.js';
import type { KeptFile, Take } from '../files/kept-files.js';
import { keptTexts } from '../files/kept-texts.js';
import { readCredential } from '../http/request/credential.js';
import { ADMIN_TOKEN_CHARACTERS_MIN, ADMIN_TOKEN_FILE_BYTES_MAX } from '../limits.js';

/** The token that is valid now. Keeps only its digest. */
export class AdminToken {
  #digest: Buffer | null = null;

  /**
   * Checks a token and returns a function that activates it. Throws LecternError `key-invalid`, which never
   * contains the token.
   */
  check(token: string, name: string): Take {
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
    return () => {
      this.#digest = digestOf(token);
    };
  }

  /** The file with the token. */
  keptIn(path: string): KeptFile {
    const name = `the admin token file ${path}`;
    const file = { path, name, bytesMax: ADMIN_TOKEN_FILE_BYTES_MAX, code: 'key-invalid' } as const;
    return keptTexts('admin-tokens', [file], ([text = '']) => this.check(text.replace(/\r?\n$/, ''), name));
  }

  /** Takes the same time for all tokens of one length. */
  equals(token: string): boolean {
    return this.#digest !== null && timingSafeEqual(digestOf(token), this.#digest);
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
